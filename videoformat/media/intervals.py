"""Where a star's intervals begin and end, and which of their frames is the anchor.

Strategy: a quick encoder measures what each frame costs by itself, and what it costs when it is predicted
from a frame 1, 2, 4, … before it. From these, what it costs from any anchor is estimated, and of all ways
to cut the frames at hand into intervals the one that takes the fewest bytes is found by dynamic
programming. So a camera that stands still has long intervals, one that moves has short ones, and an
interval ends where another scene begins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

__all__ = ["FrameCost", "Interval", "IntervalPlanner", "anchor_place", "cut_into", "distances"]

_Costs: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

# A cut changes luma by more than so many levels on average, and is confirmed where prediction saves less
# than a fifth.
_CUT_LEVELS = 12.0
_CUT_RATIO = 0.8
# What cannot be predicted is coded by itself, with a little more to say so.
_HIGHEST_RATIO = 1.2
# How much more of a frame is new at twice the distance, where that was not measured.
_GROWTH = 1.3
# What an encoder spends on an anchor is this part of what a frame costs by itself, and grows with what is
# taken from it, in frames: the finer it is then.
_ANCHOR_COST = 0.8, 1.05
_TAKEN = 2.0, 8.0


@dataclass(frozen=True, slots=True)
class FrameCost:
    """What was measured of a frame: bytes, at the resolution that was measured.

    ``alone``: by itself. ``predicted``: of each distance that was measured, in frames, what it takes when
    it is predicted from the frame so far before it. ``changed``: by how many levels luma differs on
    average from the frame before.
    """

    alone: int
    predicted: tuple[tuple[int, int], ...] = ()
    changed: float = 0.0


@dataclass(frozen=True, slots=True)
class Interval:
    """Consecutive frames: how many, which of them is the anchor, and how well the rest follow.

    ``ratio`` estimates the bytes of a frame that is predicted, as a part of its own without that.
    """

    count: int
    anchor: int
    ratio: float

    @property
    def taken(self) -> float:
        """How many frames' worth of bytes is not spent, because it is taken from the anchor."""
        return (self.count - 1) * max(0.0, 1 - self.ratio)


def anchor_place(count: int, *, leads: bool) -> int:
    """The middle of an interval, or its first frame where nothing may precede the anchor."""
    return 0 if leads else count // 2


def cut_into(frames: int, bound: int) -> list[int]:
    """The lengths of intervals of nearly equal length, each at most ``bound``."""
    parts = -(-frames // bound)
    return [frames * (at + 1) // parts - frames * at // parts for at in range(parts)]


def distances(bound: int) -> tuple[int, ...]:
    """The distances to measure for intervals of at most ``bound`` frames: 1, 2, 4, …"""
    return tuple(1 << power for power in range(max(1, (bound // 2).bit_length())))


@dataclass(frozen=True, slots=True)
class _Frame:
    """A frame at hand, and how many frames of its scene came before it."""

    cost: FrameCost
    follows: int


class IntervalPlanner:
    """Chooses intervals of at most ``bound`` frames, which come one after the other.

    ``anchor_cost``: what the encoder spends on an anchor, as a part of what the frame costs by itself:
    where little is taken from it, and where much.
    """

    def __init__(self, bound: int, anchor_cost: tuple[float, float] = _ANCHOR_COST) -> None:
        self.bound = bound
        self._anchor_cost = anchor_cost
        self._distances = distances(bound)
        self._frames: deque[_Frame] = deque()
        self._last: _Frame | None = None

    def add(self, cost: FrameCost) -> None:
        """Takes the next frame."""
        nearest = min(cost.predicted, default=None)
        begins = (
            nearest is not None
            and cost.changed > _CUT_LEVELS
            and nearest[1] > _CUT_RATIO * cost.alone
        )
        follows = 0 if self._last is None or begins else self._last.follows + 1
        self._last = _Frame(cost, follows)
        self._frames.append(self._last)

    def choose(self, *, leads: bool, is_all: bool) -> Interval:
        """The next interval out of the frames at hand, of which there are ``bound`` or all.

        Its frames are no longer at hand then. ``leads``: its anchor has to be its first frame.
        ``is_all``: no frames follow these.
        """
        frames = list(self._frames)
        cuts = (at for at, frame in enumerate(frames) if at and not frame.follows)
        scene = next(cuts, len(frames))
        chosen = self._chosen(frames[:scene], leads=leads, ends=is_all or scene < len(frames))
        for _ in range(chosen.count):
            self._frames.popleft()
        return chosen

    def _chosen(self, frames: Sequence[_Frame], *, leads: bool, ends: bool) -> Interval:
        """The first interval of a scene; where it does not end, it is taken to go on as it is."""
        count = len(frames)
        # An interval may use up all that is at hand, so what follows is imagined.
        total = count if ends else count + self.bound
        alone = np.array([max(1, frame.cost.alone) for frame in frames], np.float64)
        alone = np.concatenate([alone, np.full(total - count, alone[-1])])
        reach = min(self.bound, total) - 1
        ratios = self._ratios(frames, total, reach)
        before, after = _sums(ratios, alone)
        best = np.zeros(total + 1)
        # What the frames from ``at`` on cost at the least, the last first, so that only the first interval
        # has to be looked at for what leads.
        for at in range(total - 1, -1, -1):
            sizes = np.arange(1, min(self.bound, total - at) + 1)
            if not at and not ends:
                sizes = sizes[:count]
            places = np.zeros_like(sizes) if leads and not at else sizes // 2
            leaves = before[places, at + places] + after[sizes - 1 - places, at + places]
            spent = self._anchors(alone[at + places], leaves, sizes) + leaves + best[at + sizes]
            first = int(np.argmin(spent))
            best[at] = spent[first]
        size, place = int(sizes[first]), int(places[first])
        others = alone[:size].sum() - alone[place]
        return Interval(size, place, float(leaves[first] / others) if size > 1 else 1.0)

    def _anchors(self, alone: _Costs, leaves: _Costs, sizes: np.ndarray[Any, Any]) -> _Costs:
        """What anchors cost in intervals of these sizes, whose other frames cost ``leaves``."""
        few, many = self._anchor_cost
        taken = np.maximum(0.0, (sizes - 1) - leaves / alone)
        return np.asarray(alone * np.interp(taken, _TAKEN, (few, many)))

    def _ratios(self, frames: Sequence[_Frame], total: int, reach: int) -> _Costs:
        """By distance (from 0) and twice the middle of two frames: what one costs from the other.

        As a part of what it costs by itself.
        """
        middles = np.arange(2 * total - 1)
        known: list[tuple[int, _Costs]] = []
        for distance in self._distances:
            found = [
                (2 * at - distance, size / max(1, frame.cost.alone))
                for at, frame in enumerate(frames)
                for measured, size in frame.cost.predicted
                # What is predicted from another scene says nothing.
                if measured == distance <= frame.follows
            ]
            if found:
                places, parts = zip(*found, strict=True)
                known.append((distance, np.interp(middles, places, parts)))
        if not known:
            known.append((1, np.full(len(middles), 1.0)))
        scales = [distance for distance, _ in known]
        table = np.zeros((reach + 1, len(middles)))
        for distance in range(1, reach + 1):
            upper = int(np.searchsorted(scales, distance))
            if upper == len(scales):
                last, ratios = known[-1]
                table[distance] = ratios * _GROWTH ** np.log2(distance / last)
            elif scales[upper] == distance or not upper:
                table[distance] = known[upper][1]
            else:
                (low, near), (high, far) = known[upper - 1], known[upper]
                part = np.log2(distance / low) / np.log2(high / low)
                table[distance] = near + part * (far - near)
        return np.minimum(table, _HIGHEST_RATIO)


def _sums(ratios: _Costs, alone: _Costs) -> tuple[_Costs, _Costs]:
    """What so many frames (first axis) before, and after, an anchor (second axis) cost together.

    What is beyond the ends costs without bound.
    """
    reach, total = len(ratios), len(alone)
    before, after = np.zeros((reach, total)), np.zeros((reach, total))
    anchors = np.arange(total)
    for distance in range(1, reach):
        for table, frames in ((before, anchors - distance), (after, anchors + distance)):
            is_there = (frames >= 0) & (frames < total)
            inside = np.where(is_there, frames, 0)
            middles = np.clip(anchors + frames, 0, 2 * total - 2)
            cost = alone[inside] * ratios[distance, middles]
            table[distance] = table[distance - 1] + np.where(is_there, cost, np.inf)
    return before, after
