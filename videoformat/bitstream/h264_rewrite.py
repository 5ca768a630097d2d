"""Rewriting an H.264 closure so that an ordinary decoder decodes it exactly.

Strategy: a decoder finds the references of a slice by what the headers of all pictures before it
made of its buffer (``frame_num``, sliding window, default lists). With pictures left out that goes
wrong, so the headers of those that stay are written anew: ``frame_num`` dense, every list spelled
out entry by entry, frames unmarked as soon as no later picture needs them, and a first intra
picture made an IDR picture. Order counts keep their differences, on which implicit weights and
temporal direct prediction depend. Slice data is not touched.

Of the frames that the original decoder holds after a picture, the rewritten stream holds those that
are needed later: ``max_num_ref_frames`` is kept and the sliding window never slides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from videoformat.bitstream.closure import ClosurePicture
from videoformat.bitstream.h264 import parse_h264_configuration
from videoformat.bitstream.h264_order_count import field_order_count_delta
from videoformat.bitstream.h264_parameter_sets import ParameterSets
from videoformat.bitstream.h264_rewrite_slice import PictureHeader, rewrite_slice
from videoformat.bitstream.h264_rewrite_sps import (
    FRAME_NUM_BITS,
    ORDER_COUNT_BITS,
    rewrite_sequence_parameter_set,
)
from videoformat.bitstream.h264_sei import parse_sei
from videoformat.bitstream.h264_slice import SLICE_I, SliceHeader, parse_slice_header_bits
from videoformat.bitstream.nal import split_annexb, split_length_prefixed, to_annexb
from videoformat.errors import DataError, UnsupportedStreamError

__all__ = ["H264Rewriter"]

_SLICE_TYPES = (1, 5)
_SEI, _SPS, _PPS = 6, 7, 8


@dataclass(frozen=True, slots=True)
class _Slice:
    nal_unit: bytes
    header: SliceHeader
    bits: str
    lists: tuple[tuple[int, ...], ...]


class H264Rewriter:
    """Rewrites closures of one stream.

    ``configuration`` is an ``avcC`` record or parameter sets in byte stream format, with the
    encoder's version SEI if the stream has one (``H264Indexer.configuration_nal_units``).
    ``length_size`` says how access units are framed where the configuration does not: the size of
    the length before each NAL unit, or 0 for byte stream format.
    """

    def __init__(self, configuration: bytes, *, length_size: int | None = None) -> None:
        record = parse_h264_configuration(configuration)
        self._length_size = record.length_size if length_size is None else length_size
        self._parameter_sets = ParameterSets()
        self._version_sei: bytes | None = None
        for nal_unit in record.nal_units:
            kind = nal_unit[0] & 31
            if kind == _SPS:
                self._parameter_sets.add_sequence_parameter_set(nal_unit)
            elif kind == _PPS:
                self._parameter_sets.add_picture_parameter_set(nal_unit)
            elif self._version_sei is None and _is_version(nal_unit):
                self._version_sei = nal_unit
        sets = self._parameter_sets
        self.configuration = to_annexb(
            [
                *map(rewrite_sequence_parameter_set, sets.sequence_parameter_sets),
                *(pps.nal_unit for pps in sets.picture_parameter_sets),
            ]
        )

    def rewrite(self, pictures: Sequence[ClosurePicture]) -> list[bytes]:
        """The access units of a closure, in byte stream format.

        ``pictures`` are in decode order and hold every picture that one of them references; they
        may be of several coded video sequences. The first access unit begins with the encoder's
        version SEI, because decoders work around the faults of known encoders.

        Raises ``DataError`` where the pictures contradict their bytes or each other, and
        ``UnsupportedStreamError`` where the result could not be exact.
        """
        units = [self._split(picture.access_unit) for picture in pictures]
        slices = [
            self._slices(picture, of_picture)
            for picture, of_picture in zip(pictures, units, strict=True)
        ]
        prefix = self._version_sei or next(
            (unit for of_picture in units for unit in of_picture if _is_version(unit)), None
        )
        rewritten = []
        starts = [of_picture[0].header.is_idr for of_picture in slices]
        sequence = _Sequence(pictures, _led(pictures, starts))
        for picture, of_picture in zip(pictures, slices, strict=True):
            header, frame_nums = sequence.next(picture, of_picture)
            nal_units = [] if prefix is None else [prefix]
            prefix = None
            for each in of_picture:
                lists = [[frame_nums[at] for at in entries] for entries in each.lists]
                nal_units.append(
                    rewrite_slice(each.nal_unit, each.header, each.bits, header, lists)
                )
            rewritten.append(to_annexb(nal_units))
        return rewritten

    def _split(self, access_unit: bytes) -> list[bytes]:
        if self._length_size:
            return split_length_prefixed(access_unit, self._length_size)
        return split_annexb(access_unit)

    def _slices(self, picture: ClosurePicture, nal_units: list[bytes]) -> list[_Slice]:
        """The slices of a picture, each with its own of the picture's reference lists."""
        lists = iter(picture.reference_lists)
        slices = []
        for nal_unit in nal_units:
            if nal_unit[0] & 31 in _SLICE_TYPES:
                header, bits = parse_slice_header_bits(nal_unit, self._parameter_sets)
                own = tuple(_own_lists(picture, header, lists))
                slices.append(_Slice(nal_unit, header, bits, own))
        if not slices:
            raise DataError(f"picture {picture.position} has no slice in its access unit")
        if next(lists, None) is not None:
            raise DataError(
                f"picture {picture.position} has {len(picture.reference_lists)} reference lists, "
                f"more than its {len(slices)} slices use"
            )
        return slices


def _is_version(nal_unit: bytes) -> bool:
    return nal_unit[0] & 31 == _SEI and parse_sei(nal_unit).is_encoder_version


def _own_lists(
    picture: ClosurePicture, header: SliceHeader, lists: Iterator[tuple[int, ...]]
) -> Iterator[tuple[int, ...]]:
    for active in header.num_ref_idx_active:
        entries = next(lists, ())
        if len(entries) != active:
            raise DataError(
                f"picture {picture.position} has a reference list of {len(entries)} entries, its "
                f"slice header says {active}"
            )
        yield entries


def _led(pictures: Sequence[ClosurePicture], starts: Sequence[bool]) -> frozenset[int]:
    """The positions of pictures that a later one of their sequence precedes in output order.

    Decoders take what precedes an IDR picture in output order and follows it in decoding order for
    broken, so none of these may become one.
    """
    led = set()
    lowest: int | None = None
    for picture, is_idr in zip(reversed(pictures), reversed(starts), strict=True):
        if lowest is not None and lowest < picture.order_count:
            led.add(picture.position)
        else:
            lowest = picture.order_count
        if is_idr:
            lowest = None
    return frozenset(led)


class _Sequence:
    """The state that the rewritten headers carry from picture to picture.

    ``led`` are the positions of pictures that must not become IDR pictures.
    """

    def __init__(self, pictures: Sequence[ClosurePicture], led: frozenset[int]) -> None:
        self._led = led
        self._last_use = {
            at: picture.position
            for picture in pictures
            for entries in picture.reference_lists
            for at in entries
        }
        self._frame_nums: dict[int, int] = {}  # of the reference frames, by position
        self._previous_position: int | None = None
        self._reference_frame_num = 0  # PrevRefFrameNum
        self._base = 0  # the order count of the last IDR picture
        self._reference_lsb = 0  # of the last reference picture, not wrapped
        self._idr_pic_id = 0

    def next(
        self, picture: ClosurePicture, slices: Sequence[_Slice]
    ) -> tuple[PictureHeader, dict[int, int]]:
        """The header of the next picture, and ``frame_num`` of the frames that it may name."""
        first = slices[0].header
        self._check(picture, first)
        frame_nums = dict(self._frame_nums)
        is_intra = all(each.header.slice_type == SLICE_I for each in slices)
        needed = [at for at in frame_nums if self._last_use[at] > picture.position]
        is_idr = first.is_idr or (is_intra and not needed and picture.position not in self._led)
        if is_idr:
            if needed:
                raise DataError(f"a picture after IDR picture {picture.position} names {needed}")
            self._frame_nums.clear()
            self._base = picture.order_count
            self._idr_pic_id ^= 1  # 7.4.3: two IDR pictures in a row must differ
            frame_num, nal_ref_idc = 0, max(first.nal_ref_idc, 1)
        elif self._previous_position is None:
            kind = (
                "starts with no intra picture" if not is_intra else "leads over its first picture"
            )
            raise UnsupportedStreamError(f"a closure that {kind}", f"picture {picture.position}")
        else:
            frame_num = (self._reference_frame_num + 1) % (1 << FRAME_NUM_BITS)
            nal_ref_idc = first.nal_ref_idc if picture.position in self._last_use else 0
        unmarked: tuple[int, ...] = ()
        if nal_ref_idc:
            if not is_idr:
                unmarked = self._unmark(picture.position)
            self._mark(picture, first, frame_num)
        delta = self._bottom_delta(first)
        lsb = self._order_count(picture, delta, is_idr=is_idr, is_reference=nal_ref_idc > 0)
        self._previous_position = picture.position
        idr_pic_id = self._idr_pic_id if is_idr else None
        return (
            PictureHeader(nal_ref_idc, frame_num, idr_pic_id, lsb, delta, unmarked),
            frame_nums,
        )

    def _check(self, picture: ClosurePicture, header: SliceHeader) -> None:
        """What the row says is what the bytes say, and every reference is at hand."""
        if self._previous_position is not None and picture.position <= self._previous_position:
            raise DataError(f"picture {picture.position} follows {self._previous_position}")
        for entries in picture.reference_lists:
            for at in entries:
                if at not in self._frame_nums:
                    raise DataError(
                        f"picture {picture.position} references {at}, which the closure does not "
                        f"hold as a reference before it; it holds {sorted(self._frame_nums)}"
                    )
        if picture.position in self._last_use and not header.nal_ref_idc:
            raise DataError(f"picture {picture.position} is referenced, but nal_ref_idc is 0")
        if header.sps.pic_order_cnt_type == 0:
            top = picture.order_count - min(0, header.delta_pic_order_cnt_bottom)
            if (top - header.pic_order_cnt_lsb) % (1 << header.sps.log2_max_pic_order_cnt_lsb):
                raise DataError(
                    f"picture {picture.position} has order count {picture.order_count}, "
                    f"pic_order_cnt_lsb of its slice header is {header.pic_order_cnt_lsb}"
                )

    def _unmark(self, position: int) -> tuple[int, ...]:
        """Forgets the frames whose last use is over once this picture is decoded."""
        over = [at for at in self._frame_nums if self._last_use[at] <= position]
        return tuple([self._frame_nums.pop(at) for at in over])

    def _mark(self, picture: ClosurePicture, header: SliceHeader, frame_num: int) -> None:
        self._reference_frame_num = frame_num
        if picture.position in self._last_use:
            self._frame_nums[picture.position] = frame_num
        capacity = max(header.sps.max_num_ref_frames, 1)
        if len(self._frame_nums) > capacity:
            raise DataError(
                f"picture {picture.position} makes {len(self._frame_nums)} reference frames, "
                f"max_num_ref_frames is {capacity}"
            )

    def _bottom_delta(self, header: SliceHeader) -> int:
        """``delta_pic_order_cnt_bottom``, as far as the picture parameter set lets it be written."""
        delta = field_order_count_delta(header)
        if header.pps.bottom_field_pic_order_in_frame_present_flag or not delta:
            return delta
        if header.sps.mb_adaptive_frame_field_flag:
            # Field macroblocks predict by the fields' own order counts (8.4.1.2.3, 8.4.2.3.1).
            raise UnsupportedStreamError(
                "field order counts without delta_pic_order_cnt_bottom",
                f"offset_for_top_to_bottom_field is {delta}",
            )
        return 0  # frames that hold frame macroblocks only are compared by the smaller count

    def _order_count(
        self, picture: ClosurePicture, delta: int, *, is_idr: bool, is_reference: bool
    ) -> int:
        """``pic_order_cnt_lsb``: the order count after the last IDR picture's, of the top field."""
        top = picture.order_count - self._base - min(0, delta)
        previous = top if is_idr else self._reference_lsb
        if abs(top - previous) >= 1 << (ORDER_COUNT_BITS - 1):
            raise UnsupportedStreamError(
                "order counts too far apart",
                f"{top} follows {previous} at picture {picture.position}",
            )
        if is_reference:
            self._reference_lsb = top
        return top % (1 << ORDER_COUNT_BITS)
