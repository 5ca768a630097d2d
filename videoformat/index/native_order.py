"""In which order coded pictures are presented."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from videoformat.bitstream.picture import Picture
from videoformat.errors import DataError, UnsupportedStreamError
from videoformat.index.native_sequences import chain_reason

__all__ = ["CodedTime", "presentation_ranks"]


class CodedTime(NamedTuple):
    """When an access unit is presented, and whether an edit list lets it be."""

    pts: int | None
    is_shown: bool


def presentation_ranks(
    pictures: Sequence[Picture],
    times: Sequence[CodedTime],
    restarts: Sequence[bool] | None,
    decoded: Sequence[int] | None,
) -> list[int | None]:
    """Each picture's ordinal in presentation order; None where it is not shown.

    ``times`` are those of each picture's access unit. ``restarts`` says which pictures begin a coded
    video sequence; None for AV1. ``decoded`` are the pictures in the order in which a decoder
    returned them, where that was found out. Raises ``UnsupportedStreamError`` where timestamps
    contradict the order of the bitstream, ``DataError`` where a decoder returned a picture twice.
    """
    if decoded is not None:
        if len(set(decoded)) != len(decoded):
            raise DataError("the decoder returned two frames for one access unit")
        order = [at for at in decoded if times[at].is_shown]
    else:
        shown = [
            at
            for at, (picture, time) in enumerate(zip(pictures, times, strict=True))
            if picture.is_shown and time.is_shown
        ]
        order = _bitstream_order(pictures, times, restarts, shown)
    _check_times(order, times)
    ranks: list[int | None] = [None] * len(pictures)
    for rank, at in enumerate(order):
        ranks[at] = rank
    return ranks


def _check_times(order: Sequence[int], times: Sequence[CodedTime]) -> None:
    """Timestamps, where the container has one for each picture, agree with the order."""
    stamps = [times[at].pts for at in order]
    known = [pts for pts in stamps if pts is not None]
    if len(known) < len(stamps) or len(set(known)) < len(known):
        return  # raw streams: the bitstream's order is all that there is
    for at, (before, after) in enumerate(itertools.pairwise(known)):
        if after < before:
            raise UnsupportedStreamError(
                "timestamps out of order",
                f"picture {order[at + 1]} has pts {after}, but the bitstream's own order puts it "
                f"behind picture {order[at]} with pts {before}",
            )


def _bitstream_order(
    pictures: Sequence[Picture],
    times: Sequence[CodedTime],
    restarts: Sequence[bool] | None,
    shown: list[int],
) -> list[int]:
    """Pictures in output order by their own order counts; chained ones by their timestamps."""
    if restarts is None:
        # Shown frames leave an AV1 decoder in the order of their headers (AV1 7.18).
        return shown
    starts = [at for at, begins in enumerate(restarts) if begins]
    keys = []
    for at in shown:
        picture = pictures[at]
        own: int | None = picture.order_count if chain_reason(picture) is None else times[at].pts
        keys.append((bisect_right(starts, at), at if own is None else own, at))
    return [at for _, _, at in sorted(keys)]
