"""Windows of frames around a frame: which frames they hold, and which of them are padding."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from videoformat.errors import InvalidArgumentError

__all__ = ["Window", "frame_deltas", "window"]


@dataclass(frozen=True, slots=True)
class Window:
    """Frames of one episode; ``is_pad`` marks those that stand in for one outside of it."""

    frames: tuple[int, ...]
    is_pad: tuple[bool, ...]


def window(frame: int, deltas: Sequence[int], length: int) -> Window:
    """The frames at some distances from a frame, clamped to an episode of ``length`` frames."""
    wanted = [frame + delta for delta in deltas]
    return Window(
        tuple(min(max(at, 0), length - 1) for at in wanted),
        tuple(not 0 <= at < length for at in wanted),
    )


def frame_deltas(
    delta_timestamps: Mapping[str, Sequence[float]], fps: float, tolerance_s: float
) -> dict[str, tuple[int, ...]]:
    """Distances in frames for distances in seconds.

    Raises ``InvalidArgumentError`` (a ``ValueError``) for one that is not within ``tolerance_s`` of
    a multiple of ``1/fps``.
    """
    found: dict[str, tuple[int, ...]] = {}
    wrong: dict[str, list[float]] = {}
    for key, deltas in delta_timestamps.items():
        given = [_seconds(key, delta) for delta in deltas]
        frames = [round(delta * fps) for delta in given]
        off = [
            delta
            for delta, frame in zip(given, frames, strict=True)
            if abs(delta * fps - frame) / fps > tolerance_s
        ]
        if off:
            wrong[key] = off
        found[key] = tuple(frames)
    if wrong:
        raise InvalidArgumentError(
            f"delta_timestamps are multiples of 1/fps = 1/{fps:g} s within tolerance_s = "
            f"{tolerance_s:g}; these are not: {wrong}"
        )
    return found


def _seconds(key: str, delta: Any) -> float:
    if isinstance(delta, bool | np.bool_) or not isinstance(delta, int | float | np.number):
        raise InvalidArgumentError(f"delta_timestamps[{key!r}] holds {delta!r}, expected seconds")
    seconds = float(delta)
    if not math.isfinite(seconds):
        raise InvalidArgumentError(f"delta_timestamps[{key!r}] holds {seconds}")
    return seconds
