"""Columns of a dataset in the form in which LeRobot's users ask for them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np

from videoformat.errors import ColumnNotFoundError, FrameNotFoundError
from videoformat.lerobot.rows import RowReader
from videoformat.loading import Selection

__all__ = ["FrameTable"]


class FrameTable:
    """What LeRobot calls ``hf_dataset``: rows by position, columns by key, no video.

    A row is a dict of tensors and texts, several rows a dict of lists, a column a list. Cameras that
    were recorded as images are columns, and their frames are decoded when a row is asked for.
    ``positions`` are the rows, counted in the selection; None is all.
    """

    def __init__(
        self,
        rows: RowReader,
        selection: Selection,
        features: Mapping[str, dict[str, Any]],
        positions: Sequence[int] | None = None,
    ) -> None:
        self._rows = rows
        self._selection = selection
        self.features = dict(features)
        self._positions = range(len(selection)) if positions is None else positions

    def __len__(self) -> int:
        return len(self._positions)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[at] for at in range(len(self)))

    @property
    def column_names(self) -> list[str]:
        """The keys of the columns."""
        return list(self.features)

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
            self._check(key)
            return [self._row(at, (key,))[key] for at in range(len(self))]
        if isinstance(key, slice):
            chosen: Iterable[int] = range(len(self))[key]
        elif isinstance(key, Iterable) and np.ndim(key):
            chosen = key
        else:
            return self._row(key, self.column_names)
        rows = [self._row(at, self.column_names) for at in chosen]
        return {name: [row[name] for row in rows] for name in self.features}

    def _check(self, column: str) -> None:
        if column not in self.features:
            raise ColumnNotFoundError(
                f"there is no column {column!r}; there are {', '.join(self.features)}"
            )

    def _position(self, at: Any) -> int:
        """The dataset's position of a row of this table."""
        row = operator.index(at)
        if not -len(self) <= row < len(self):
            raise FrameNotFoundError(
                f"there is no row {row}; valid are {-len(self)} to {len(self) - 1}"
            )
        return self._positions[row]

    def _row(self, at: Any, columns: Sequence[str]) -> dict[str, Any]:
        return self._rows.row(self._selection.place(self._position(at)), columns)

    def select_columns(self, column_names: str | Sequence[str]) -> FrameTable:
        """The same rows with some columns."""
        names = [column_names] if isinstance(column_names, str) else list(column_names)
        for name in names:
            self._check(name)
        chosen = {name: self.features[name] for name in names}
        return FrameTable(self._rows, self._selection, chosen, self._positions)

    def select(self, indices: Iterable[int]) -> FrameTable:
        """Some rows, in the order asked, with the same columns."""
        positions = [self._position(at) for at in indices]
        return FrameTable(self._rows, self._selection, self.features, positions)

    def unique(self, column: str) -> list[Any]:
        """The different values of a column of numbers or texts, in order of appearance."""
        values = (value.item() if hasattr(value, "item") else value for value in self[column])
        return list(dict.fromkeys(values))
