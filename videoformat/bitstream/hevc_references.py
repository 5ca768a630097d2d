"""Which pictures an HEVC picture refers to (ITU-T H.265 8.3.2, 8.3.4)."""

from __future__ import annotations

from collections.abc import Sequence

from videoformat.bitstream.hevc_slice import I_SLICE, SliceSegmentHeader
from videoformat.errors import BitstreamError, UnsupportedStreamError

__all__ = ["ReferencePictures"]


class ReferencePictures:
    """The pictures that are marked "used for short-term reference", by their order counts."""

    __slots__ = ("_positions",)

    def __init__(self) -> None:
        self._positions: dict[int, int] = {}

    def clear(self) -> None:
        """Unmarks all pictures: a coded video sequence begins."""
        self._positions = {}

    def add(self, position: int, order_count: int) -> None:
        """Marks the picture that was decoded (8.1.3)."""
        self._positions[order_count] = position

    def lists(
        self, position: int, order_count: int, segments: Sequence[SliceSegmentHeader]
    ) -> tuple[tuple[int, ...], ...]:
        """Applies the picture's reference picture set, then builds the lists of its slices.

        Lists are of positions, for each slice in turn list 0 and, of a B slice, list 1.
        """
        ref_pic_set = segments[0].short_term_ref_pic_set
        marked = self._positions
        counts = [
            order_count + delta
            for delta, _ in ref_pic_set.negative_pics + ref_pic_set.positive_pics
        ]
        # A picture that is named but absent is left out: it matters only where a list has it.
        self._positions = marked = {count: marked[count] for count in counts if count in marked}
        if segments[0].slice_type == I_SLICE and len(segments) == 1:
            return ()
        st_curr_before = [order_count + delta for delta, used in ref_pic_set.negative_pics if used]
        st_curr_after = [order_count + delta for delta, used in ref_pic_set.positive_pics if used]
        candidates = (st_curr_before + st_curr_after, st_curr_after + st_curr_before)
        lists = []
        for segment in segments:
            for size, entries, initial in zip(
                segment.num_ref_idx_active, segment.list_entries, candidates, strict=True
            ):
                if not size:
                    continue
                if not initial:
                    raise BitstreamError(
                        f"picture {position} has a P or B slice, but no usable picture in its "
                        "reference picture set"
                    )
                if entries is None:
                    # RefPicListTemp repeats the candidates until the list is full (8-8, 8-10).
                    named = (initial * (size // len(initial) + 1))[:size]
                else:
                    named = [initial[entry] for entry in entries]
                try:
                    lists.append(tuple([marked[count] for count in named]))
                except KeyError as error:
                    raise UnsupportedStreamError(
                        "missing reference",
                        f"picture {position} refers to PicOrderCntVal {error.args[0]}, "
                        f"those kept are {sorted(marked)}",
                    ) from None
        return tuple(lists)
