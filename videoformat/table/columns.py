"""Columns that are added to, or replaced in, a table whose rows stay where they are.

Strategy: functions on Lance's own object, without an error of this package in them; ``Table`` turns
what they raise into those. A fragment gets one more data file that holds the column alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lance
import pyarrow as pa

__all__ = ["with_column", "with_values"]


def with_column(
    dataset: lance.LanceDataset, field: pa.Field, cells: pa.Array
) -> tuple[list[Any], Any]:
    """The fragments with a new column, and the schema with it. ``cells`` has one entry a row."""
    fragments, schema, start = [], None, 0
    for fragment in dataset.get_fragments():
        count = fragment.count_rows()
        part = pa.Table.from_arrays(
            [cells.slice(start, count)], schema=pa.schema([field], metadata=None)
        )
        merged, schema = fragment.merge_columns(part.to_reader())
        fragments.append(merged)
        start += count
    return fragments, schema


def with_values(
    dataset: lance.LanceDataset, column: str, cells: Sequence[Any], kind: pa.DataType
) -> tuple[list[Any], list[int]]:
    """The fragments that have changes in a column, and the fields that were changed.

    ``cells`` has one entry a row; a fragment whose cells are all what they are is left out.
    """
    changed: list[Any] = []
    fields: list[int] = []
    start = 0
    for fragment in dataset.get_fragments():
        stored = fragment.to_table(columns=[column], with_row_id=True)
        part = pa.array(cells[start : start + stored.num_rows], kind)
        start += stored.num_rows
        if part.equals(stored.column(column).combine_chunks()):
            continue
        rows = pa.table({"_rowid": stored.column("_rowid").combine_chunks(), column: part})
        updated, fields = fragment.update_columns(rows, left_on="_rowid", right_on="_rowid")
        changed.append(updated)
    return changed, fields
