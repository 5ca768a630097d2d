"""Searching the rate factor that gives a quality, for benchmarks that compare at one."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["match"]


def match(
    quality: Callable[[float], float], target: float, start: float, bounds: tuple[float, float], *,
    step: float = 0.5, tolerance: float = 0.15, tries: int = 4,
) -> float:  # fmt: skip
    """The rate factor whose quality is within a tolerance of the target, or the nearest tried.

    Quality falls as the factor grows: by half a decibel a step of 1 is the first guess, then lines
    through the two tries that are nearest lead on, in whole steps.
    """
    low, high = bounds
    tried: dict[float, float] = {}
    factor = start
    for _ in range(tries):
        tried[factor] = quality(factor)
        nearest = sorted(tried, key=lambda item: abs(tried[item] - target))[:2]
        if abs(tried[nearest[0]] - target) <= tolerance:
            break
        slope = -0.5
        if len(nearest) == 2:
            slope = (tried[nearest[0]] - tried[nearest[1]]) / (nearest[0] - nearest[1])
        guess = nearest[0] + (target - tried[nearest[0]]) / min(slope, -0.05)
        factor = min(high, max(low, round(guess / step) * step))
        if factor in tried:
            break
    return min(tried, key=lambda item: abs(tried[item] - target))
