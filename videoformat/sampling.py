"""The order of a training epoch that knows what frames share. Pure: no torch, no I/O.

Strategy: the frames of an interval share the anchors that they are predicted from, so reading some
of them together decodes these once. Every interval's frames are put in a random order and cut into
groups of ``group`` frames; all groups of all intervals are put in a random order; and the frames of
``buffer`` consecutive places are mixed once more, as a shuffle buffer of that size would. Every
frame comes exactly once.

Random orders are ranks of a hash of (seed, epoch, what is ordered). So any stretch of an epoch
can be had without what comes before it: an epoch is resumed, or dealt to ranks, by its positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from videoformat.errors import InvalidArgumentError

__all__ = ["EpochOrder", "OrderSettings", "intervals_of"]

Int64Array = np.ndarray[Any, np.dtype[np.int64]]
UInt64Array = np.ndarray[Any, np.dtype[np.uint64]]
_GOLDEN_GAMMA = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


@dataclass(frozen=True, slots=True)
class OrderSettings:
    """How an epoch is ordered.

    ``group``: frames of one interval that stay together; 1 is a uniform shuffle. ``buffer``: frames
    that are mixed with each other; best a multiple of the batch size that is read as one plan.
    """

    group: int = 8
    buffer: int = 32
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("group", "buffer"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise InvalidArgumentError(f"{name} is {getattr(self, name)!r}, expected 1 or more")
        if not isinstance(self.seed, int):
            raise InvalidArgumentError(f"seed is {self.seed!r}, expected an integer")


def intervals_of(chunk_frames: Int64Array, interval: int) -> Int64Array:
    """Where each interval begins, and where the last one ends, counted over all chunks' frames.

    Each chunk begins with an anchor, and then has one every ``interval`` frames.
    """
    if interval < 1:
        raise InvalidArgumentError(f"interval is {interval}, expected 1 or more")
    counts = np.asarray(chunk_frames, np.int64)
    pieces = -(-counts // interval)
    first = np.repeat(np.cumsum(counts) - counts, pieces)
    within = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    starts: Int64Array = np.append(first + within * interval, counts.sum())
    return starts


def _mix(values: UInt64Array) -> UInt64Array:
    """The finalizer of SplitMix64: every bit of the result depends on every bit of the value."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _key(*parts: int) -> np.uint64:
    """One key of several integers."""
    key = np.zeros(1, np.uint64)
    for part in parts:
        key = _mix((key + np.uint64(_GOLDEN_GAMMA)) ^ np.uint64(part & _MASK))
    return np.uint64(key[0])


def _hashes(ordinals: Int64Array, key: np.uint64) -> UInt64Array:
    """A pseudo-random number for each ordinal."""
    return _mix(_mix(ordinals.astype(np.uint64) * np.uint64(_GOLDEN_GAMMA)) ^ key)


class EpochOrder:
    """The order of one epoch, or of one rank's share of it.

    ``starts`` are those of ``intervals_of``. Ranks get stretches of the epoch that do not overlap
    and leave nothing out; their lengths differ by one frame at most. Memory is a few words a group,
    not a word a frame.
    """

    def __init__(
        self,
        starts: Int64Array,
        settings: OrderSettings,
        epoch: int = 0,
        *,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        if world_size < 1 or not 0 <= rank < world_size:
            raise InvalidArgumentError(f"rank is {rank} of a world of {world_size}")
        self._starts = np.asarray(starts, np.int64)
        self._settings = settings
        self._epoch = epoch
        total = int(self._starts[-1] - self._starts[0]) if len(self._starts) else 0
        self._begin = total * rank // world_size
        self._end = total * (rank + 1) // world_size

    def __len__(self) -> int:
        return self._end - self._begin

    def __iter__(self) -> Iterator[int]:
        return self.iterate()

    @cached_property
    def _groups(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Of each group in the epoch's order: its interval, its place there, where it begins."""
        lengths = np.diff(self._starts)
        pieces = -(-lengths // self._settings.group)
        interval = np.repeat(np.arange(len(lengths)), pieces)
        within = np.arange(len(interval)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        sizes = np.minimum(self._settings.group, lengths[interval] - within * self._settings.group)
        key = _key(self._settings.seed, self._epoch, 1)
        order = np.argsort(_hashes(np.arange(len(interval)), key), kind="stable")
        ends = np.cumsum(sizes[order])
        return interval[order], within[order], ends - sizes[order]

    def _in_groups(self, begin: int, end: int) -> Int64Array:
        """Frames of the whole epoch's places ``begin`` to ``end``, before the buffer mixes them."""
        intervals, within, firsts = self._groups
        first = int(np.searchsorted(firsts, begin, side="right")) - 1
        last = int(np.searchsorted(firsts, end, side="left"))
        key = _key(self._settings.seed, self._epoch, 2)
        parts = []
        for at in range(first, last):
            start, stop = self._starts[intervals[at]], self._starts[intervals[at] + 1]
            frames = np.arange(start, stop)
            frames = frames[np.argsort(_hashes(frames, key), kind="stable")]
            low = int(within[at]) * self._settings.group
            parts.append(frames[low : low + self._settings.group])
        joined = np.concatenate(parts)
        offset = begin - int(firsts[first])
        return joined[offset : offset + end - begin]

    def frames(self, begin: int, end: int) -> Int64Array:
        """The frames at places ``begin`` to ``end`` (exclusive) of this rank's share."""
        begin, end = max(begin, 0), min(end, len(self))
        if begin >= end:
            return np.empty(0, np.int64)
        buffer = self._settings.buffer
        key = _key(self._settings.seed, self._epoch, 3)
        parts = []
        for block in range(begin // buffer, -(-end // buffer)):
            low, high = block * buffer, min((block + 1) * buffer, len(self))
            frames = self._in_groups(self._begin + low, self._begin + high)
            mixed = frames[np.argsort(_hashes(frames, key), kind="stable")]
            parts.append(mixed[max(begin - low, 0) : end - low])
        return np.concatenate(parts)

    def iterate(self, begin: int = 0) -> Iterator[int]:
        """The frames from a place on, a buffer at a time."""
        buffer = self._settings.buffer
        while begin < len(self):
            end = (begin // buffer + 1) * buffer
            yield from self.frames(begin, end).tolist()
            begin = end
