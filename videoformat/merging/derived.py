"""Columns that count an episode's place in its dataset, rewritten where the place changes.

LeRobot derives ``episode_index``, ``index`` and ``task_index`` from where an episode lies; copied as
they are they would contradict the dataset that they come to.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from videoformat.errors import DataError
from videoformat.index.features import Feature
from videoformat.index.schema import DatasetInfo

__all__ = ["rewritten_places"]


def rewritten_places(
    row: pa.Table, source: DatasetInfo, tasks: Sequence[str], episode: int, first: int
) -> pa.Table:
    """A row with its place rewritten, where the dataset keeps it and it is one integer a frame.

    ``tasks`` are the texts of each ``task_index`` where it comes to; ``episode`` is the episode's
    ordinal there, ``first`` the number, in the dataset, of the row's first frame. Raises
    ``DataError`` for a ``task_index`` that no text belongs to.
    """
    count = row.column("frame_count")[0].as_py()
    for key in ("episode_index", "index", "task_index"):
        feature = source.tabular.get(key)
        if feature is None or not _counts(feature):
            continue
        if key == "task_index":
            if not source.tasks:
                continue
            values = _mapped(row.column(feature.column), source.tasks, tasks)
        elif key == "index":
            values = pa.array(np.arange(first, first + count, dtype=np.int64))
        else:
            values = pa.array(np.full(count, episode, np.int64))
        row = _with_values(row, feature, values)
    return row


def _counts(feature: Feature) -> bool:
    return feature.is_scalar and feature.dtype.startswith(("int", "uint"))


def _mapped(column: pa.ChunkedArray, source: Sequence[str], target: Sequence[str]) -> pa.Array:
    place = {text: at for at, text in reversed(list(enumerate(target)))}
    mapping = pa.array([place[text] for text in source], pa.int64())
    indices = pc.list_flatten(column).combine_chunks().cast(pa.int64())
    wrong = pc.filter(indices, pc.or_(pc.less(indices, 0), pc.greater_equal(indices, len(source))))
    if len(wrong) or indices.null_count:
        seen = wrong[0].as_py() if len(wrong) else None
        raise DataError(f"task_index is {seen}, the dataset has {len(source)} tasks")
    return mapping.take(indices)


def _with_values(row: pa.Table, feature: Feature, values: pa.Array) -> pa.Table:
    try:
        cast = values.cast(feature.arrow_type)
    except pa.ArrowInvalid as error:
        raise DataError(f"{feature.key} does not fit its type {feature.dtype}: {error}") from None
    at = row.schema.get_field_index(feature.column)
    cell = pa.ListArray.from_arrays(pa.array([0, len(cast)], pa.int32()), cast)
    return row.set_column(at, row.schema.field(at), cell)
