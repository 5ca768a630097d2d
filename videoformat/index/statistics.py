"""Statistics of several episodes from those of each, as LeRobot aggregates them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["aggregate_statistics"]

_WEIGHTED = ("mean", "q01", "q10", "q50", "q90", "q99")
Float64Array = np.ndarray[Any, np.dtype[np.float64]]


def aggregate_statistics(
    statistics: Sequence[Mapping[str, Any] | None],
) -> dict[str, dict[str, Any]] | None:
    """Statistics by feature over all episodes; None where an episode has none.

    Minimum, maximum, count, mean and standard deviation are exact; quantiles are means weighted by
    the counts, which is what LeRobot 0.6 takes for them. A feature, or one of its statistics, that
    any episode lacks or states in another shape is left out.
    """
    if not statistics or any(not item for item in statistics):
        return None
    present = [item for item in statistics if item]
    features = [key for key in present[0] if all(key in item for item in present)]
    result = {}
    for key in features:
        # A stranger's numbers may be too large to be added up; infinity says so.
        with np.errstate(over="ignore", invalid="ignore"):
            merged = _feature([item[key] for item in present])
        if merged:
            result[key] = merged
    return result or None


def _columns(parts: Sequence[Any]) -> dict[str, Float64Array]:
    """Each statistic of one feature, stacked over the episodes."""
    if not all(isinstance(part, Mapping) for part in parts):
        return {}
    stacked = {}
    for name in parts[0]:
        try:
            values = np.stack([np.asarray(part[name], np.float64) for part in parts])
        except (KeyError, OverflowError, TypeError, ValueError):
            continue
        if name != "count" or np.isfinite(values).all():
            stacked[name] = values
    return stacked


def _feature(parts: Sequence[Any]) -> dict[str, Any]:
    columns = _columns(parts)
    counts = columns.get("count")
    merged: dict[str, Any] = {}
    if "min" in columns:
        merged["min"] = columns["min"].min(axis=0)
    if "max" in columns:
        merged["max"] = columns["max"].max(axis=0)
    total = 0.0 if counts is None else float(counts.sum())
    if counts is None or counts.size != len(parts) or not 0 < total < 2**63:
        return {name: value.tolist() for name, value in merged.items()}
    for name in _WEIGHTED:
        if name in columns:
            merged[name] = _weighted(columns[name], counts)
    if {"mean", "std"} <= columns.keys():
        spread = columns["std"] ** 2 + (columns["mean"] - merged["mean"]) ** 2
        merged["std"] = np.sqrt(_weighted(spread, counts))
    result = {name: value.tolist() for name, value in merged.items()}
    return {**result, "count": [int(total)]}


def _weighted(values: Float64Array, counts: Float64Array) -> Float64Array:
    weights = counts.reshape(len(values), *[1] * (values.ndim - 1))
    mean: Float64Array = (values * weights).sum(axis=0) / counts.sum()
    return mean
