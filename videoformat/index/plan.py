"""From frames to what a read fetches and feeds. Pure: no I/O, no decoder.

Strategy: a closure is a walk over ``references``. How it may be fed depends on the stream:

``direct``
    The closure as it is. For H.264 and HEVC it is cut into groups wherever a reference picture was
    left out; for AV1, whose decoder keeps no count of pictures, it is one group.

``rewrite``
    Three ways are compared, target by target, and the cheapest by bytes and pictures is taken:
    every picture from a random access point up to the target; the same without pictures that none
    references; the exact closure with rewritten headers.

``sequential``
    Every picture from a random access point up to the target, which is what the stored references
    of such a stream say.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from videoformat.bitstream.codecs import moves_slice_data
from videoformat.errors import FrameNotFoundError, StructureError
from videoformat.index.pictures import PictureIndex

__all__ = ["ByteRange", "ChunkPlan", "Group", "plan_chunk", "plan_in_sequence"]

# What decoding costs, in arbitrary units, fitted to FFmpeg's H.264 and HEVC decoders on one core:
# so much a macroblock of 16x16, a coded byte, and a picture whose headers are rewritten.
_COST_PER_MACROBLOCK = 0.35
_COST_PER_BYTE = 0.025
_COST_PER_REWRITE = 50.0


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
class Group:
    """Pictures that are fed to a flushed decoder in this order, with headers rewritten or not.

    ``targets`` are those of them whose frames are wanted from this group: another group may hold
    one of them too, as a picture that this decoder cannot get right and nothing here needs.
    """

    pictures: tuple[int, ...]
    targets: tuple[int, ...]
    is_rewritten: bool = False


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """What one chunk contributes to a read.

    ``frames`` are the wanted frames, ascending and unique, and ``targets`` their pictures. A decoder
    is drained and flushed between two groups. ``ranges`` are the byte ranges that hold exactly these
    pictures, ascending, adjacent pictures merged.
    """

    frames: tuple[int, ...]
    targets: tuple[int, ...]
    steps: tuple[Group, ...]
    ranges: tuple[ByteRange, ...]

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The pictures of each group, in decode order."""
        return tuple(step.pictures for step in self.steps)

    @property
    def picture_count(self) -> int:
        """Pictures that are decoded."""
        return sum(len(step.pictures) for step in self.steps)

    @property
    def byte_count(self) -> int:
        """Bytes that are fetched: the sum of the pictures' sizes."""
        return sum(item.size for item in self.ranges)


def merge_ranges(index: PictureIndex, positions: Iterable[int]) -> tuple[ByteRange, ...]:
    """The byte ranges of some pictures, ascending, with adjacent ones merged."""
    offset, size = index.offset, index.size
    merged: list[ByteRange] = []
    start = end = -1
    for at in sorted(set(positions), key=offset.__getitem__):
        place = offset[at]
        if place != end:
            if end >= 0:
                merged.append(ByteRange(start, end))
            start = place
        end = place + size[at]
    if end >= 0:
        merged.append(ByteRange(start, end))
    return tuple(merged)


def _where(index: PictureIndex) -> str:
    return f"episode {index.key.episode_uid!r} chunk {index.key.chunk_index}"


def group_pictures(index: PictureIndex, closed: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Cuts a closure, in decode order, into groups that each decode from a flushed decoder.

    A decoder that is fed on across a gap in the reference pictures may conceal the gap (H.264
    frame_num gaps, 8.2.5.2) or mistake the picture order (H.265 8.3.1: PicOrderCntMsb follows the
    previous picture). So a group ends wherever a reference picture was left out, and the next
    begins at a random access point. AV1 names references by slot (AV1 7.20), and what the closure
    leaves out never filled a slot that it reads, so its closures are one group. Raises
    ``StructureError`` where decoding cannot start at a group's first picture.
    """
    groups: list[tuple[int, ...]] = []
    begin = 0
    before = index.references_before
    for at in range(1, len(closed)):
        skipped = before[closed[at]] - before[closed[at - 1] + 1]
        if not skipped or index.stream.codec == "av1":
            continue
        first = closed[at]
        if not index.is_random_access[first] or any(
            min(index.references[later], default=first) < first for later in closed[at:]
        ):
            raise StructureError(
                f"{_where(index)}: the closure leaves out reference pictures before picture "
                f"{first}, where decoding cannot start"
            )
        groups.append(tuple(closed[begin:at]))
        begin = at
    groups.append(tuple(closed[begin:]))
    for group in groups:
        if not index.is_random_access[group[0]]:
            raise StructureError(
                f"{_where(index)}: picture {group[0]} starts a closure and is not a random access "
                "point"
            )
    return tuple(groups)


def _sequential_start(index: PictureIndex, target: int) -> int:
    """The last random access point from which a decoder returns a picture and what it needs."""
    points = index.random_access_points
    at = bisect_right(points, index.earliest[target]) - 1
    if at < 0:
        raise StructureError(
            f"{_where(index)}: no random access point at or before picture {index.earliest[target]}"
        )
    while at and _leads(index, target, points[at]):
        at -= 1
    return points[at]


def _leads(index: PictureIndex, picture: int, start: int) -> bool:
    """Whether a picture is presented before the random access point at which decoding starts.

    Decoders do not return such pictures, be they decodable or not (HEVC 8.1.3: RASL; H.264 D.2.8:
    what precedes a recovery point in output order). An IDR picture, whose order count is 0, is no
    such point: what leads over it is of its own sequence (RADL).
    """
    own, first = index.poc[picture], index.poc[start]
    if index.stream.codec == "av1" or not first or own is None:
        return False
    return own < first


def _cost(index: PictureIndex, pictures: Sequence[int], *, rewritten: bool = False) -> float:
    stream = index.stream
    macroblocks = -(-stream.decoded_width // 16) * -(-stream.decoded_height // 16)
    per_picture = macroblocks * _COST_PER_MACROBLOCK + (_COST_PER_REWRITE if rewritten else 0.0)
    coded = sum(index.size[at] for at in pictures)
    return len(pictures) * per_picture + coded * _COST_PER_BYTE


def _everything(index: PictureIndex, start: int, last: int) -> list[int]:
    """The pictures from a random access point up to another that a decoder is fed in sequence.

    Pictures that lead over the start reference what was not fed; none of the targets needs them.
    H.264 counts reference pictures (frame_num), and a decoder would fill a gap with pictures of its
    own making (8.2.5.2), which can take the place of others in lists: so those stay.
    """
    counted = index.stream.codec == "h264"
    return [
        at
        for at in range(start, last + 1)
        if index.earliest[at] >= start or (counted and index.is_reference[at])
    ]


def _plan_targets(index: PictureIndex, start: int, targets: list[int]) -> Group:
    """The cheapest exact way to targets that all decode from one random access point."""
    closed = sorted(index.closure(targets))
    everything = _everything(index, start, max(targets))
    wanted = set(closed)
    without = [at for at in everything if index.is_reference[at] or at in wanted or at == start]
    aims = tuple(targets)
    best = Group(tuple(everything), aims)
    cost = _cost(index, everything)
    kept = set(without)
    if len(without) < len(everything) and all(
        kept.issuperset(index.references[at]) for at in without if index.earliest[at] >= start
    ):
        best, cost = Group(tuple(without), aims), _cost(index, without)
    if len(closed) < len(best.pictures) and _can_rewrite(index, closed):
        exact = _cost(index, closed, rewritten=True)
        if exact < cost:
            best = Group(tuple(closed), aims, is_rewritten=True)
    return best


def _can_rewrite(index: PictureIndex, closed: Sequence[int]) -> bool:
    """Whether a closure can be made into a stream of its own.

    Its headers must be known and its first picture intra. In H.264 that becomes an IDR picture, and
    decoders take for broken what precedes one in output order; HEVC has RADL pictures for that. And
    slice data must bear a header of another length.
    """
    first = closed[0]
    if not moves_slice_data(index.stream.codec, index.stream.configuration):
        return False
    if index.picture_type[first] != "I" or any(index.reference_lists[at] is None for at in closed):
        return False
    return index.stream.codec != "h264" or not any(_leads(index, at, first) for at in closed)


def _by_start(index: PictureIndex, targets: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Targets by the random access point that they are decoded from, both ascending."""
    found: dict[int, list[int]] = {}
    for target in targets:
        found.setdefault(_sequential_start(index, target), []).append(target)
    return sorted(found.items())


def _targets_of(
    index: PictureIndex, frames: Iterable[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The wanted frames, ascending and unique, and their pictures."""
    wanted = tuple(sorted(set(frames)))
    try:
        return wanted, tuple([index.position_of[frame] for frame in wanted])
    except KeyError as error:
        raise FrameNotFoundError(
            f"frame {error.args[0]} is not in the chunk, which holds {index.key.first_frame} to "
            f"{index.key.end_frame - 1}"
        ) from None


def plan_chunk(index: PictureIndex, frames: Iterable[int]) -> ChunkPlan:
    """Plans the read of some frames (counted in the episode) of one chunk.

    Raises ``FrameNotFoundError`` for a frame that the chunk does not hold.
    """
    wanted, targets = _targets_of(index, frames)
    if not targets:
        return ChunkPlan((), (), (), ())
    if index.stream.access == "direct":
        closed = sorted(index.closure(targets))
        wanted_here = set(targets)
        steps = tuple(
            Group(pictures, tuple([at for at in pictures if at in wanted_here]))
            for pictures in group_pictures(index, closed)
        )
    else:
        # Closures that are not decodable as they are: one group a start point.
        steps = tuple(_plan_targets(index, *item) for item in _by_start(index, targets))
    fetched = [at for step in steps for at in step.pictures]
    return ChunkPlan(wanted, targets, steps, merge_ranges(index, fetched))


def plan_in_sequence(index: PictureIndex, frames: Iterable[int]) -> ChunkPlan:
    """The same read with nothing left out, as a player does it that seeks; for comparison."""
    wanted, targets = _targets_of(index, frames)
    steps = tuple(
        Group(tuple(_everything(index, start, max(own))), tuple(own))
        for start, own in _by_start(index, targets)
    )
    fetched = [at for step in steps for at in step.pictures]
    return ChunkPlan(wanted, targets, steps, merge_ranges(index, fetched))
