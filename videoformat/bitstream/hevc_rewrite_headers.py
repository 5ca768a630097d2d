"""Parameter sets and slice segments in which the references of a closure are spelled out.

The new parameter sets give ``slice_pic_order_cnt_lsb`` 16 bits, hold no reference picture sets and
announce no long-term pictures, and let every slice modify its lists. A slice segment's header is
taken apart at ``SlicePositions`` and put together with new elements in between; its data is copied
byte by byte. That is exact: a header ends in ``byte_alignment()``, whose 1 keeps its last byte from
being 0, so the emulation prevention of the data never depends on the header before it, and
``entry_point_offset_minus1``, which counts those bytes too (H.265 7.4.7.1), keeps its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from videoformat.bitstream.bits import BitReader, bits_to_bytes, u_bits, ue_bits
from videoformat.bitstream.hevc_nal import is_idr, is_irap
from videoformat.bitstream.hevc_pps import PictureParameterSet
from videoformat.bitstream.hevc_slice import SliceSegmentHeader
from videoformat.bitstream.hevc_sps import SequenceParameterSet
from videoformat.bitstream.nal import escape, unescape

__all__ = [
    "ORDER_COUNT_LSB_BITS",
    "NewReferences",
    "rewrite_picture_parameter_set",
    "rewrite_sequence_parameter_set",
    "rewrite_slice_segment",
]

ORDER_COUNT_LSB_BITS = 16


@dataclass(frozen=True, slots=True)
class NewReferences:
    """What the header of a picture says in the rewritten stream.

    ``negative_pics`` and ``positive_pics`` are as in ``ShortTermRefPicSet``.
    """

    nal_unit_type: int
    temporal_id: int
    slice_pic_order_cnt_lsb: int
    negative_pics: tuple[tuple[int, bool], ...]
    positive_pics: tuple[tuple[int, bool], ...]

    @property
    def num_pic_total_curr(self) -> int:
        """NumPicTotalCurr: how many pictures its lists may hold (7-55)."""
        return sum(used for _, used in self.negative_pics + self.positive_pics)

    def bits(self) -> str:
        """From ``slice_pic_order_cnt_lsb`` to the end of an explicit ``st_ref_pic_set()``.

        The set's index is 0, since the SPS has none, so ``inter_ref_pic_set_prediction_flag`` is
        absent.
        """
        parts = [
            u_bits(self.slice_pic_order_cnt_lsb, ORDER_COUNT_LSB_BITS),
            "0",  # short_term_ref_pic_set_sps_flag
            ue_bits(len(self.negative_pics)),
            ue_bits(len(self.positive_pics)),
        ]
        for entries in (self.negative_pics, self.positive_pics):
            previous = 0
            for delta, used in entries:
                parts.append(ue_bits(abs(delta - previous) - 1))  # delta_poc_sX_minus1
                parts.append("1" if used else "0")  # used_by_curr_pic_sX_flag
                previous = delta
        return "".join(parts)


def rewrite_sequence_parameter_set(sps: SequenceParameterSet) -> bytes:
    """The NAL unit of an SPS without reference picture sets and with 16-bit order counts."""
    bits = BitReader(unescape(sps.nal_unit[2:]), "SPS").bits
    at = sps.positions
    return (
        sps.nal_unit[:2]
        + _rbsp(
            bits[: at.log2_max_pic_order_cnt_lsb_minus4]
            + ue_bits(ORDER_COUNT_LSB_BITS - 4)
            + bits[at.sps_sub_layer_ordering_info_present_flag : at.num_short_term_ref_pic_sets]
            + ue_bits(0)  # num_short_term_ref_pic_sets
            + "0"  # long_term_ref_pics_present_flag
            + bits[at.sps_temporal_mvp_enabled_flag :]
        )
    )


def rewrite_picture_parameter_set(pps: PictureParameterSet) -> bytes:
    """The NAL unit of a PPS with ``lists_modification_present_flag`` equal to 1."""
    bits = BitReader(unescape(pps.nal_unit[2:]), "PPS").bits
    at = pps.lists_modification_position
    return pps.nal_unit[:2] + _rbsp(bits[:at] + "1" + bits[at + 1 :])


def _rbsp(bits: str) -> bytes:
    """The payload that ends in the last 1 of ``bits``, its ``rbsp_stop_one_bit``."""
    bits = bits.rstrip("0")
    return escape(bits_to_bytes(bits + "0" * (-len(bits) % 8)))


def rewrite_slice_segment(
    nal_unit: bytes,
    header: SliceSegmentHeader,
    bits: str,
    new: NewReferences,
    list_entries: Sequence[Sequence[int] | None],
) -> bytes:
    """A slice segment with a new header.

    ``header`` and ``bits`` are the old one, as ``parse_slice_segment_header`` gives them. ``list_entries`` has one item for each list of the slice: its entries, or ``None`` where the
    initial list is the right one.
    """
    at = header.positions
    # (begin, end, what to put there instead), ascending; no_output_of_prior_pics_flag comes first.
    edits = [
        (
            1,
            1 + is_irap(header.nal_unit_type),
            "0" if is_irap(new.nal_unit_type) else "",
        )
    ]
    if at.ref_pic_set is not None and at.ref_pic_set_end is not None:
        if is_idr(new.nal_unit_type):
            # An IDR picture has no slice_temporal_mvp_enabled_flag either (7.3.6.1).
            end = at.ref_pic_set_end + header.sps.sps_temporal_mvp_enabled_flag
            edits.append((at.ref_pic_set, end, ""))
        else:
            edits.append((at.ref_pic_set, at.ref_pic_set_end, new.bits()))
    if at.lists_modification is not None and at.lists_modification_end is not None:
        modification = _ref_pic_lists_modification(new.num_pic_total_curr, list_entries)
        edits.append((at.lists_modification, at.lists_modification_end, modification))
    parts: list[str] = []
    position = 0
    for begin, end, replacement in edits:
        parts += (bits[position:begin], replacement)
        position = end
    parts.append(bits[position : at.end])
    nal_unit_header = bytes([new.nal_unit_type << 1, new.temporal_id + 1])
    data = nal_unit[_escaped_length(nal_unit, at.end // 8 + 1) :]
    return nal_unit_header + _rbsp("".join(parts) + "1") + data


def _ref_pic_lists_modification(
    num_pic_total_curr: int, list_entries: Sequence[Sequence[int] | None]
) -> str:
    """``ref_pic_lists_modification()`` (7.3.6.2), absent where there is nothing to choose from."""
    if num_pic_total_curr <= 1:
        return ""
    width = (num_pic_total_curr - 1).bit_length()
    return "".join(
        "0" if entries is None else "1" + "".join(u_bits(entry, width) for entry in entries)
        for entries in list_entries
    )


def _escaped_length(nal_unit: bytes, rbsp_length: int) -> int:
    """Where in a NAL unit the first ``rbsp_length`` bytes of its payload end."""
    end = 2 + rbsp_length
    found = nal_unit.find(b"\0\0\3", 2, end)
    while found >= 0:
        end += 1
        found = nal_unit.find(b"\0\0\3", found + 3, end)
    return end
