"""Statistics of a whole dataset from those that its episodes keep."""

from __future__ import annotations

import json
from typing import Any

from videoformat.index.statistics import aggregate_statistics
from videoformat.table import Table

__all__ = ["dataset_statistics"]


def dataset_statistics(table: Table) -> dict[str, Any] | None:
    """Aggregated statistics; None where any episode keeps none that can be read."""
    found: list[dict[str, Any] | None] = []
    for batch in table.scan(["chunk_index", "episode_statistics"]):
        for chunk, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if chunk != 0:
                continue
            if text is None:
                return None
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                return None
            if not isinstance(value, dict):
                return None
            found.append(value)
    return aggregate_statistics(found)
