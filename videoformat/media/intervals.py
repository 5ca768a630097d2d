"""Where a star's intervals begin and end, and which of their frames is the anchor.

Strategy: what a frame costs when it is predicted from an anchor, as a part of what it costs by itself,
is measured: a quick encoder codes a few pairs of frames of the real size at about the real quantiser.
The costs by distance say which length takes the fewest bytes a frame. So a camera that stands still
has long intervals, one that moves has short ones, and an interval ends before a scene cut.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from videoformat.media.color import luma

if TYPE_CHECKING:
    import av

__all__ = ["Interval", "IntervalPlanner", "cut_into"]

# For cuts, luma is compared at half the height and width of what is given; a cut changes it by more
# than so many levels on average, and is confirmed where prediction saves less than a fifth.
_COARSE = 2
_CUT_LEVELS = 12.0
_CUT_RATIO = 0.8
# So many frames apart and in one scene, two frames cost about the same by themselves.
_NEAR = 2


@dataclass(frozen=True, slots=True)
class Interval:
    """Consecutive frames: how many, which of them is the anchor, and how well the rest follow.

    ``ratio`` estimates the bytes of a frame that is predicted, as a part of its own without that.
    """

    count: int
    anchor: int
    ratio: float


def anchor_place(count: int, *, leads: bool) -> int:
    """The middle of an interval, or its first frame where nothing may precede the anchor."""
    return 0 if leads else count // 2


def cut_into(frames: int, bound: int) -> list[int]:
    """The lengths of intervals of nearly equal length, each at most ``bound``."""
    parts = -(-frames // bound)
    return [frames * (at + 1) // parts - frames * at // parts for at in range(parts)]


@dataclass(slots=True)
class _Frame:
    """A frame at hand: small luma, its bytes by itself once known, whether a scene begins with it."""

    picture: av.VideoFrame
    coarse: np.ndarray[Any, np.dtype[np.float32]]
    alone: int | None = None
    begins: bool = False


class IntervalPlanner:
    """Chooses intervals of at most ``bound`` frames, which come one after the other.

    ``probe`` gives the bytes of a frame by itself, and of another that is predicted from it. Frames
    may be smaller than they are, as long as it measures the same on them.
    """

    def __init__(
        self, bound: int, probe: Callable[[av.VideoFrame, av.VideoFrame], tuple[int, int]]
    ) -> None:
        self.bound = bound
        self._probe = probe
        self._frames: deque[_Frame] = deque()
        self._last: _Frame | None = None

    def add(self, frame: av.VideoFrame) -> None:
        """Takes the next frame."""
        before, self._last = self._last, _Frame(frame, _coarse(frame))
        if before is not None:
            changed = float(np.abs(self._last.coarse - before.coarse).mean()) > _CUT_LEVELS
            self._last.begins = changed and self._ratio((before, self._last), 0, 1) > _CUT_RATIO
        self._frames.append(self._last)

    def choose(self, *, leads: bool, is_all: bool) -> Interval:
        """The next interval out of the frames at hand, of which there are ``bound`` or all.

        Its frames are no longer at hand then. ``leads``: its anchor has to be its first frame.
        ``is_all``: no frames follow these.
        """
        chosen = self._chosen(tuple(self._frames)[: self.bound], leads=leads, is_all=is_all)
        for _ in range(chosen.count):
            self._frames.popleft()
        return chosen

    def _chosen(self, frames: Sequence[_Frame], *, leads: bool, is_all: bool) -> Interval:
        # A scene cut begins the next interval.
        cuts = (at for at, frame in enumerate(frames) if frame.begins and at)
        scene = next(cuts, len(frames))
        ends = is_all and scene == len(self._frames)
        costs = self._costs(frames[:scene], leads=leads)
        if ends:
            # What is left is shared out evenly: no last interval of a few frames.
            count = min(
                (-(-scene // parts) for parts in range(1, scene + 1)),
                key=lambda size: (_rate(costs, size, leads=leads) * _shares(scene, size), -size),
            )
        else:
            count = min(
                range(1, scene + 1), key=lambda size: (_rate(costs, size, leads=leads), -size)
            )
        place = anchor_place(count, leads=leads)
        others = [costs[abs(at - place)] for at in range(count) if at != place]
        return Interval(count, place, float(np.mean(others)) if others else 1.0)

    def _costs(self, frames: Sequence[_Frame], *, leads: bool) -> list[float]:
        """The cost of a frame by its distance to the anchor, from 0 to the longest possible.

        ``frames`` are all that are at hand of a scene.
        """
        scene = len(frames)
        reach = scene - 1 if leads else scene // 2
        known = [(0, 0.0)]
        distance = 1
        best = 1.0
        while distance <= reach:
            known.append((distance, self._cost_at(frames, distance, leads=leads)))
            costs = _interpolated(known, distance)
            size = min(scene, distance + 1 if leads else 2 * distance + 1)
            rate = _rate(costs, size, leads=leads)
            # Past the best length, costs a frame only grow: longer distances are not measured.
            if rate > 1.15 * best:
                break
            best = min(best, rate)
            distance = min(2 * distance, reach) if distance < reach else reach + 1
        if len(known) == 1:
            known.append((1, 1.0))
        return _interpolated(known, scene)

    def _cost_at(self, frames: Sequence[_Frame], distance: int, *, leads: bool) -> float:
        if leads:
            return self._ratio(frames, 0, distance, near=_NEAR)
        # The frames at both ends of an interval whose anchor is so far from them.
        found = [self._ratio(frames, distance, 0, near=_NEAR)]
        if 2 * distance < len(frames):
            found.append(self._ratio(frames, distance, 2 * distance, near=_NEAR))
        return sum(found) / len(found)

    def _ratio(self, frames: Sequence[_Frame], key: int, other: int, *, near: int = 0) -> float:
        """What a frame that is predicted costs, as a part of what it costs by itself.

        Not of what the anchor costs: plain frames that prediction does not help would look cheap
        beside a rich one. What it costs by itself may be known of one of the frames ``near`` it.
        """
        one = frames[key]
        one.alone, predicted = self._probe(one.picture, frames[other].picture)
        return predicted / self._alone(frames, other, key, near)

    def _alone(self, frames: Sequence[_Frame], at: int, key: int, near: int) -> int:
        for distance in range(near + 1):
            for place in (at - distance, at + distance):
                found = frames[place].alone if 0 <= place < len(frames) else None
                if found is not None:
                    return found
        found, _ = self._probe(frames[at].picture, frames[key].picture)
        frames[at].alone = found
        return found


def _shares(frames: int, size: int) -> float:
    """How much of the intervals of ``size`` that it takes for so many frames is used."""
    return -(-frames // size) * size / frames


def _rate(costs: Sequence[float], size: int, *, leads: bool) -> float:
    """What a frame of an interval costs on average, an anchor being 1."""
    place = anchor_place(size, leads=leads)
    return (1 + sum(costs[abs(at - place)] for at in range(size))) / size


def _interpolated(known: Sequence[tuple[int, float]], reach: int) -> list[float]:
    """Costs by distance; beyond the last that was measured, they grow as they did before it."""
    distances = [distance for distance, _ in known]
    values = [value for _, value in known]
    costs = np.interp(np.arange(reach + 1), distances, values)
    last, slope = distances[-1], 0.0
    if len(known) > 2:
        slope = max(0.0, (values[-1] - values[-2]) / (distances[-1] - distances[-2]))
    elif last:
        slope = values[-1]
    beyond = np.arange(reach + 1) - last
    return [float(cost) for cost in np.where(beyond > 0, values[-1] + slope * beyond, costs)]


def _coarse(frame: av.VideoFrame) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Luma, averaged over squares."""
    samples = luma(frame)
    height, width = (side // _COARSE * _COARSE for side in samples.shape)
    squares = samples[:height, :width].reshape(
        height // _COARSE, _COARSE, width // _COARSE, _COARSE
    )
    return np.asarray(squares.mean((1, 3), dtype=np.float32))
