"""Nominal frame rates: which are usable, and each as an exact fraction."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from videoformat.errors import InvalidArgumentError

__all__ = ["check_fps", "frame_rate"]

MINIMUM_FPS, MAXIMUM_FPS = 1e-6, 1e5
# Both halves of a time base are 32-bit integers.
_MAXIMUM_TERM = 2**31 - 1


def check_fps(fps: Any) -> float:
    """A usable frame rate. Raises ``InvalidArgumentError``."""
    number = fps.item() if isinstance(fps, np.generic) else fps
    if (
        isinstance(number, bool)
        or not isinstance(number, int | float)
        or not MINIMUM_FPS <= number <= MAXIMUM_FPS
    ):
        raise InvalidArgumentError(
            f"fps is {fps!r}, expected a number from {MINIMUM_FPS:g} to {MAXIMUM_FPS:g}"
        )
    return number


def frame_rate(fps: float) -> Fraction:
    """A frame rate as an exact fraction of two 32-bit integers: 29.97 becomes 30000/1001.

    Raises ``InvalidArgumentError`` as ``check_fps`` does.
    """
    check_fps(fps)
    for rate in (Fraction(round(fps)), Fraction(1000 * round(fps * 1001 / 1000), 1001)):
        if rate > 0 and math.isclose(rate, fps, rel_tol=1e-5):
            return rate
    # The larger of a rate and its inverse bounds both of its terms.
    large = Fraction(fps) if fps > 1 else 1 / Fraction(fps)
    near = large.limit_denominator(min(100_000, _MAXIMUM_TERM // math.ceil(large)))
    return near if fps > 1 else 1 / near
