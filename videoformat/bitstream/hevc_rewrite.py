"""A closure of an HEVC stream as a stream of its own (ITU-T H.265 8.3).

Strategy: pictures that others of the closure still need stay in the decoded picture buffer, and no
more, so each picture gets an explicit reference picture set of just those, and its lists are
modified where the initial ones are not the lists it had. Where nothing before is needed any more, an
intra picture becomes an IDR picture, whatever it was: a decoder can start there, and the closure does
not depend on what the decoder saw before. Differences of order counts are kept, since motion vectors
and weights are scaled by them; the counts themselves start anew at each IDR picture. The collocated
picture of temporal motion vector prediction is an entry of a list, so a closure holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from videoformat.bitstream.closure import ClosurePicture
from videoformat.bitstream.hevc_nal import (
    CRA_NUT,
    IDR_W_RADL,
    RADL_N,
    RADL_R,
    RASL_N,
    TRAIL_N,
    TRAIL_R,
    base_layer_units_of,
    is_coded_slice_segment,
    is_idr,
    is_irap,
    is_leading,
    is_sub_layer_non_reference,
)
from videoformat.bitstream.hevc_parameter_sets import parse_configuration
from videoformat.bitstream.hevc_rewrite_headers import (
    ORDER_COUNT_LSB_BITS,
    NewReferences,
    rewrite_picture_parameter_set,
    rewrite_sequence_parameter_set,
    rewrite_slice_segment,
)
from videoformat.bitstream.hevc_rps import MAXIMUM_PICTURES
from videoformat.bitstream.hevc_slice import SliceSegmentHeader, parse_slice_segment_header
from videoformat.bitstream.nal import to_annexb
from videoformat.errors import DataError, UnsupportedStreamError

__all__ = ["HevcRewriter"]

_MODULUS = 1 << ORDER_COUNT_LSB_BITS


class HevcRewriter:
    """Rewrites closures of one stream; a ``ClosureRewriter``.

    ``configuration`` is the stream's: an ``hvcC`` record, and access units are then length-prefixed,
    or parameter sets in byte stream format. What comes out is in byte stream format, slice segments
    alone: parameter sets and other NAL units in the access units are left out.
    """

    def __init__(self, configuration: bytes) -> None:
        self._parameter_sets, self._length_size = parse_configuration(configuration)
        self._configuration = to_annexb(
            (
                *self._parameter_sets.video_parameter_sets,
                *map(rewrite_sequence_parameter_set, self._parameter_sets.sequence_parameter_sets),
                *map(rewrite_picture_parameter_set, self._parameter_sets.picture_parameter_sets),
            )
        )

    @property
    def configuration(self) -> bytes:
        """The parameter sets of every rewritten closure, in byte stream format."""
        return self._configuration

    def rewrite(self, pictures: Sequence[ClosurePicture]) -> list[bytes]:
        """The access units, one per picture, in byte stream format.

        ``pictures`` are in decode order, and hold every picture that one of them references. Raises
        ``DataError`` where the pictures contradict their bytes or each other,
        ``UnsupportedStreamError`` where their order counts are too far apart.
        """
        last_use: dict[int, int] = {}
        for picture in pictures:
            for entries in picture.reference_lists:
                for position in entries:
                    last_use[position] = picture.position
        sequence = _Sequence()
        live: list[ClosurePicture] = []
        rewritten = []
        for picture in pictures:
            live = [kept for kept in live if last_use[kept.position] >= picture.position]
            segments = self._slice_segments(picture)
            new = sequence.place(picture, segments[0][1], live)
            rewritten.append(_rewrite_picture(picture, segments, new, live))
            if picture.position in last_use:
                live.append(picture)
        return rewritten

    def _slice_segments(
        self, picture: ClosurePicture
    ) -> list[tuple[bytes, SliceSegmentHeader, str]]:
        segments = [
            (unit, *parse_slice_segment_header(nal_unit_type, unit, self._parameter_sets))
            for nal_unit_type, unit in base_layer_units_of(picture.access_unit, self._length_size)
            if is_coded_slice_segment(nal_unit_type)
        ]
        if not segments:
            raise DataError(f"the access unit of picture {picture.position} holds no slice segment")
        return segments


@dataclass(slots=True)
class _Sequence:
    """Places pictures in the coded video sequences of the rewritten stream.

    ``offset`` is what turns an order count of the closure into one of the stream. ``previous`` is
    the latter of prevTid0Pic (8.3.1). ``irap`` is the former of the last IRAP picture, and ``starts``
    whether that one begins the sequence.
    """

    offset: int = 0
    previous: int = 0
    irap: int = 0
    starts: bool = False

    def place(
        self, picture: ClosurePicture, header: SliceSegmentHeader, live: Sequence[ClosurePicture]
    ) -> NewReferences:
        """What the picture's headers must say, given the pictures that are still needed."""
        _check_order_count(picture, header)
        if not live:
            if picture.reference_lists:
                raise DataError(
                    f"picture {picture.position} refers to {picture.reference_lists}, which are not "
                    "in the closure before it"
                )
            self.offset = -picture.order_count
            self.previous = 0
            self.irap = picture.order_count
            self.starts = True
            kept = header.nal_unit_type if is_idr(header.nal_unit_type) else IDR_W_RADL
            return NewReferences(kept, 0, 0, (), ())
        nal_unit_type = self._nal_unit_type(picture, header.nal_unit_type)
        order_count = picture.order_count + self.offset
        difference = (order_count - self.previous) % _MODULUS
        if difference > _MODULUS // 2:
            difference -= _MODULUS
        deltas = [kept.order_count - picture.order_count for kept in live]
        if difference != order_count - self.previous or max(map(abs, deltas)) > _MODULUS // 2:
            raise UnsupportedStreamError(
                "order counts too far apart",
                f"picture {picture.position} has {picture.order_count}, the pictures that it or "
                f"later ones need have {[kept.order_count for kept in live]}",
            )
        if len(live) > MAXIMUM_PICTURES or 0 in deltas or len(set(deltas)) < len(deltas):
            raise DataError(
                f"picture {picture.position} of order count {picture.order_count} would follow "
                f"pictures of order counts {[kept.order_count for kept in live]}, expected at most "
                f"{MAXIMUM_PICTURES} and no count twice"
            )
        if (
            header.temporal_id == 0
            and not is_leading(nal_unit_type)
            and not is_sub_layer_non_reference(nal_unit_type)
        ):
            self.previous = order_count
        used = {position for entries in picture.reference_lists for position in entries}
        pictures = sorted(
            (delta, kept.position in used) for delta, kept in zip(deltas, live, strict=True)
        )
        return NewReferences(
            nal_unit_type,
            header.temporal_id,
            order_count % _MODULUS,
            tuple(entry for entry in reversed(pictures) if entry[0] < 0),
            tuple(entry for entry in pictures if entry[0] > 0),
        )

    def _nal_unit_type(self, picture: ClosurePicture, nal_unit_type: int) -> int:
        """Its type among the pictures that are left.

        A picture before the last IRAP picture in output order is a leading picture of it, others are
        not (table 7-1). A leading picture is decodable where the IRAP picture is all that it needs
        of what came before, which is so where that begins the sequence.
        """
        if nal_unit_type == CRA_NUT:
            self.irap = picture.order_count
            self.starts = False
            return nal_unit_type
        if is_irap(nal_unit_type):
            raise DataError(
                f"picture {picture.position} begins a sequence by its NAL type {nal_unit_type}, but "
                "pictures before it are needed after it"
            )
        referenced = not is_sub_layer_non_reference(nal_unit_type)
        if picture.order_count > self.irap:
            if is_leading(nal_unit_type):
                return TRAIL_R if referenced else TRAIL_N
            return nal_unit_type
        if self.starts:
            return RADL_R if referenced else RADL_N
        return nal_unit_type if is_leading(nal_unit_type) else RASL_N + referenced


def _check_order_count(picture: ClosurePicture, header: SliceSegmentHeader) -> None:
    modulus = 1 << header.sps.log2_max_pic_order_cnt_lsb
    if picture.order_count % modulus != header.slice_pic_order_cnt_lsb:
        raise DataError(
            f"picture {picture.position} is stored with order count {picture.order_count}, its "
            f"slice_pic_order_cnt_lsb is {header.slice_pic_order_cnt_lsb} of {modulus}"
        )


def _rewrite_picture(
    picture: ClosurePicture,
    segments: Sequence[tuple[bytes, SliceSegmentHeader, str]],
    new: NewReferences,
    live: Sequence[ClosurePicture],
) -> bytes:
    by_delta = {kept.order_count - picture.order_count: kept.position for kept in live}
    before = [by_delta[delta] for delta, used in new.negative_pics if used]
    after = [by_delta[delta] for delta, used in new.positive_pics if used]
    initial = (before + after, after + before)
    lists = iter(picture.reference_lists)
    units = []
    for unit, header, bits in segments:
        list_entries = []
        for size, candidates in zip(header.num_ref_idx_active, initial, strict=True):
            if size:
                entries = next(lists, ())
                if len(entries) != size or not set(entries) <= set(candidates):
                    raise DataError(
                        f"picture {picture.position} is stored with a list of pictures {entries}, "
                        f"its slice says {size}, and the closure before it has {candidates}"
                    )
                repeated = (candidates * (size // len(candidates) + 1))[:size]
                list_entries.append(
                    None if list(entries) == repeated else [candidates.index(at) for at in entries]
                )
        units.append(rewrite_slice_segment(unit, header, bits, new, list_entries))
    if next(lists, None) is not None:
        raise DataError(
            f"picture {picture.position} is stored with more lists than its slices have"
        )
    return to_annexb(units)
