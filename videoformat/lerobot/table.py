"""Columns of a dataset in the form in which LeRobot's users ask for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

from videoformat.errors import ColumnNotFoundError
from videoformat.lerobot.rows import RowReader
from videoformat.loading import Selection

__all__ = ["FrameTable"]


class FrameTable:
    """What LeRobot calls ``hf_dataset``: rows by position, columns by key, no video.

    A row is a dict of tensors and texts, several rows a dict of lists, a column a list.
    """

    def __init__(self, rows: RowReader, selection: Selection, columns: Sequence[str]) -> None:
        self._rows = rows
        self._selection = selection
        self.column_names = list(columns)

    def __len__(self) -> int:
        return len(self._selection)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[at] for at in range(len(self)))

    @property
    def num_rows(self) -> int:
        """Rows."""
        return len(self)

    @overload
    def __getitem__(self, key: str) -> list[Any]: ...
    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice | Sequence[int]) -> dict[str, list[Any]]: ...
    def __getitem__(self, key: str | int | slice | Sequence[int]) -> Any:
        if isinstance(key, str):
            if key not in self.column_names:
                raise ColumnNotFoundError(
                    f"there is no column {key!r}; there are {', '.join(self.column_names)}"
                )
            return [self._row(at, (key,))[key] for at in range(len(self))]
        if isinstance(key, int):
            return self._row(key, self.column_names)
        chosen = range(len(self))[key] if isinstance(key, slice) else key
        rows = [self._row(at, self.column_names) for at in chosen]
        return {name: [row[name] for row in rows] for name in self.column_names}

    def _row(self, at: int, columns: Sequence[str]) -> dict[str, Any]:
        return self._rows.row(self._selection.place(at), columns)

    def select_columns(self, column_names: str | Sequence[str]) -> FrameTable:
        """The same rows with some columns."""
        names = [column_names] if isinstance(column_names, str) else list(column_names)
        for name in names:
            if name not in self.column_names:
                raise ColumnNotFoundError(
                    f"there is no column {name!r}; there are {', '.join(self.column_names)}"
                )
        return FrameTable(self._rows, self._selection, names)

    def unique(self, column: str) -> list[Any]:
        """The different values of a column of numbers or texts, in order of appearance."""
        values = (value.item() if hasattr(value, "item") else value for value in self[column])
        return list(dict.fromkeys(values))
