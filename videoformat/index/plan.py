"""From frames to what a read fetches and feeds. Pure: no I/O, no decoder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from videoformat.errors import FrameNotFoundError, StructureError
from videoformat.index.pictures import PictureIndex

__all__ = ["ByteRange", "ChunkPlan", "plan_chunk"]


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes ``start`` to ``end`` (exclusive) of a chunk's media."""

    start: int
    end: int

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """What one chunk contributes to a read.

    ``frames`` are the wanted frames, ascending and unique, and ``targets`` their pictures.
    ``groups`` are runs of pictures in decode order; a decoder is drained and flushed between two
    groups. ``ranges`` are the byte ranges that hold exactly these pictures, ascending, adjacent
    pictures merged.
    """

    frames: tuple[int, ...]
    targets: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    ranges: tuple[ByteRange, ...]

    @property
    def picture_count(self) -> int:
        """Pictures that are decoded."""
        return sum(map(len, self.groups))

    @property
    def byte_count(self) -> int:
        """Bytes that are fetched: the sum of the closure's sizes."""
        return sum(item.size for item in self.ranges)


def merge_ranges(index: PictureIndex, positions: Iterable[int]) -> tuple[ByteRange, ...]:
    """The byte ranges of some pictures, ascending, with adjacent ones merged."""
    merged: list[ByteRange] = []
    for start, end in sorted(
        (index.offset[at], index.offset[at] + index.size[at]) for at in positions
    ):
        if merged and merged[-1].end == start:
            merged[-1] = ByteRange(merged[-1].start, end)
        else:
            merged.append(ByteRange(start, end))
    return tuple(merged)


def group_pictures(index: PictureIndex, closed: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Cuts a closure, in decode order, into groups that each decode from a flushed decoder.

    A decoder that is fed on across a gap in the reference pictures may conceal the gap (H.264
    frame_num gaps, 8.2.5.2) or mistake the picture order (H.265 8.3.1: PicOrderCntMsb follows the
    previous picture). So a group ends wherever a reference picture was left out, and the next
    begins at a random access point. Raises ``StructureError`` where that is not possible.
    """
    groups: list[tuple[int, ...]] = []
    begin = 0
    for at in range(1, len(closed)):
        before = index.references_before
        skipped = before[closed[at]] - before[closed[at - 1] + 1]
        if not skipped:
            continue
        first = closed[at]
        if not index.is_random_access[first] or any(
            min(index.references[later], default=first) < first for later in closed[at:]
        ):
            raise StructureError(
                f"episode {index.key.episode_uid!r} chunk {index.key.chunk_index}: the closure "
                f"leaves out reference pictures before picture {first}, where decoding cannot start"
            )
        groups.append(tuple(closed[begin:at]))
        begin = at
    groups.append(tuple(closed[begin:]))
    for group in groups:
        if not index.is_random_access[group[0]]:
            raise StructureError(
                f"episode {index.key.episode_uid!r} chunk {index.key.chunk_index}: picture "
                f"{group[0]} starts a closure and is not a random access point"
            )
    return tuple(groups)


def plan_chunk(index: PictureIndex, frames: Iterable[int]) -> ChunkPlan:
    """Plans the read of some frames (counted in the episode) of one chunk.

    Raises ``FrameNotFoundError`` for a frame that the chunk does not hold.
    """
    wanted = tuple(sorted(set(frames)))
    try:
        targets = tuple(index.position_of[frame] for frame in wanted)
    except KeyError as error:
        raise FrameNotFoundError(
            f"frame {error.args[0]} is not in the chunk, which holds {index.key.first_frame} to "
            f"{index.key.end_frame - 1}"
        ) from None
    if not targets:
        return ChunkPlan((), (), (), ())
    closed = sorted(index.closure(targets))
    return ChunkPlan(wanted, targets, group_pictures(index, closed), merge_ranges(index, closed))
