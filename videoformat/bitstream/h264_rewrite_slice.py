"""One slice of a rewritten H.264 closure: a new header in front of the same slice data."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from videoformat.bitstream.bits import bits_to_bytes, se_bits, u_bits, ue_bits
from videoformat.bitstream.h264_rewrite_sps import FRAME_NUM_BITS, ORDER_COUNT_BITS
from videoformat.bitstream.h264_slice import SliceHeader
from videoformat.bitstream.nal import escape, unescape
from videoformat.errors import BitstreamError

__all__ = ["PictureHeader", "rewrite_slice"]

_MAX_FRAME_NUM = 1 << FRAME_NUM_BITS
_END_OF_MODIFICATIONS = ue_bits(3)
_END_OF_OPERATIONS = ue_bits(0)


@dataclass(frozen=True, slots=True)
class PictureHeader:
    """What the slice headers of a rewritten picture share.

    ``idr_pic_id`` is ``None`` unless it is an IDR picture. ``unmarked`` are the ``frame_num`` of
    the reference frames that no later picture of the closure needs.
    """

    nal_ref_idc: int
    frame_num: int
    idr_pic_id: int | None
    pic_order_cnt_lsb: int
    delta_pic_order_cnt_bottom: int
    unmarked: tuple[int, ...]


def rewrite_slice(
    nal_unit: bytes,
    header: SliceHeader,
    bits: str,
    picture: PictureHeader,
    lists: Sequence[Sequence[int]],
) -> bytes:
    """The slice with its new header; ``lists`` name reference frames by their ``frame_num``.

    ``header`` and ``bits`` are the old header, parsed and as bits from after the NAL unit header.
    """
    at = header.positions
    new = [bits[: at.frame_num], u_bits(picture.frame_num, FRAME_NUM_BITS)]
    if not header.sps.frame_mbs_only_flag:
        new.append("0")  # field_pic_flag
    if picture.idr_pic_id is not None:
        new.append(ue_bits(picture.idr_pic_id))
    new.append(u_bits(picture.pic_order_cnt_lsb, ORDER_COUNT_BITS))
    if header.pps.bottom_field_pic_order_in_frame_present_flag:
        new.append(se_bits(picture.delta_pic_order_cnt_bottom))
    new.append(bits[at.order_count_end : at.modification])
    new += [_modification(entries, picture.frame_num) for entries in lists]
    new.append(bits[at.modification_end : at.marking])
    if picture.nal_ref_idc:
        new.append(_marking(picture))
    new.append(bits[at.marking_end : at.end])
    nal_unit_type = 1 if picture.idr_pic_id is None else 5
    first_byte = bytes([picture.nal_ref_idc << 5 | nal_unit_type])
    join = _join_cabac if header.pps.entropy_coding_mode_flag else _join_cavlc
    return join(nal_unit, at.end, first_byte, "".join(new))


def _modification(entries: Sequence[int], frame_num: int) -> str:
    """``ref_pic_list_modification()`` that names every entry (7.3.3.1, 8.2.4.3.1)."""
    new = ["1"]
    predicted = frame_num
    for entry in entries:
        new.append(_difference_of_pic_nums((entry - predicted) % _MAX_FRAME_NUM))
        predicted = entry
    new.append(_END_OF_MODIFICATIONS)
    return "".join(new)


@functools.lru_cache(maxsize=1024)
def _difference_of_pic_nums(difference: int) -> str:
    """``modification_of_pic_nums_idc`` and ``abs_diff_pic_num_minus1``."""
    if 0 < difference < _MAX_FRAME_NUM // 2:
        return ue_bits(1) + ue_bits(difference - 1)
    # The same picture again is MaxPicNum less.
    return ue_bits(0) + ue_bits(_MAX_FRAME_NUM - difference - 1)


def _marking(picture: PictureHeader) -> str:
    """``dec_ref_pic_marking()`` (7.3.3.3)."""
    if picture.idr_pic_id is not None:
        return "00"  # no_output_of_prior_pics_flag, long_term_reference_flag
    if not picture.unmarked:
        return "0"  # the sliding window, which never has to slide
    operations = [
        ue_bits(1) + ue_bits((picture.frame_num - frame_num) % _MAX_FRAME_NUM - 1)
        for frame_num in picture.unmarked
    ]
    return "1" + "".join(operations) + _END_OF_OPERATIONS


def _join_cabac(nal_unit: bytes, end: int, first_byte: bytes, header: str) -> bytes:
    """Slice data of CABAC is whole bytes after ``cabac_alignment_one_bit`` (7.3.4): copied."""
    start = 1 + (end + 7) // 8
    clean = _end_of_dependence(nal_unit, start)
    aligned = header + "1" * (-len(header) % 8)
    between = unescape(nal_unit[:clean])[start:]
    return escape(first_byte + bits_to_bytes(aligned) + between) + nal_unit[clean:]


def _end_of_dependence(nal_unit: bytes, start: int) -> int:
    """An offset from which bytes can be copied with their emulation prevention.

    It is just after the first byte of slice data that is not 0: from there on, what is prevented
    does not depend on what came before. ``start`` counts bytes without emulation prevention.
    """
    at = start
    prevention = nal_unit.find(b"\0\0\3")
    while 0 <= prevention <= at - 2:
        at += 1
        prevention = nal_unit.find(b"\0\0\3", prevention + 3)
    size = len(nal_unit)
    while at < size and (
        nal_unit[at] == 0 or (nal_unit[at] == 3 and nal_unit[at - 2 : at] == b"\0\0")
    ):
        at += 1
    return min(at + 1, size)


def _join_cavlc(nal_unit: bytes, end: int, first_byte: bytes, header: str) -> bytes:
    """Slice data of CAVLC follows the header bit by bit: shifted as one large integer."""
    data = unescape(nal_unit[1:]).rstrip(b"\0")
    trailing = (data[-1] & -data[-1]).bit_length() - 1 if data else 0  # after rbsp_stop_one_bit
    size = 8 * len(data) - end - trailing
    if size < 1:
        raise BitstreamError(f"slice of {len(nal_unit)} bytes without slice data")
    slice_data = int.from_bytes(data[end // 8 :], "big") >> trailing & ((1 << size) - 1)
    padding = -(len(header) + size) % 8
    joined = (int("1" + header, 2) << size | slice_data) << padding
    # The 1 before the header keeps its zeros; it makes a byte of its own.
    octets = joined.to_bytes((len(header) + size + padding) // 8 + 1, "big")
    return escape(first_byte + octets[1:])
