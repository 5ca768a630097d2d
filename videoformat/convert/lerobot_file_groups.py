"""Which episodes share a file, and sums over those that do."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["FileGroups"]

_Integers = npt.NDArray[np.int64]


class FileGroups:
    """Positions by the ``chunk_index`` and ``file_index`` that they point at.

    ``first_positions`` holds one position of each file.
    """

    __slots__ = ("_chunk", "_file", "_group", "_order", "_starts", "first_positions")

    def __init__(self, chunk_index: _Integers, file_index: _Integers) -> None:
        self._chunk = chunk_index
        self._file = file_index
        # Positions by file, and within a file in ascending order.
        self._order = np.lexsort((file_index, chunk_index))
        new = np.ones(self._order.size, dtype=bool)
        new[1:] = (np.diff(chunk_index[self._order]) != 0) | (np.diff(file_index[self._order]) != 0)
        self._starts = np.flatnonzero(new)
        self._group = np.cumsum(new) - 1
        self.first_positions: list[int] = self._order[self._starts].tolist()

    def fields(self, position: int) -> dict[str, int | str]:
        """The fields of a path template for a position's file."""
        return {
            "chunk_index": int(self._chunk[position]),
            "file_index": int(self._file[position]),
        }

    def _spread(self, in_order: _Integers) -> _Integers:
        """Values by file and position, back by position."""
        values = np.empty_like(in_order)
        values[self._order] = in_order
        return values

    def sums_before(self, values: _Integers) -> _Integers:
        """For each position, the sum over the earlier positions of its file."""
        in_order = values[self._order]
        before = np.cumsum(in_order) - in_order
        return self._spread(before - before[self._starts][self._group])

    def sums(self, values: _Integers) -> _Integers:
        """For each position, the sum over all positions of its file."""
        if not values.size:
            return values
        return self._spread(np.add.reduceat(values[self._order], self._starts)[self._group])

    def minima(self, values: _Integers) -> _Integers:
        """For each position, the smallest value in its file."""
        if not values.size:
            return values
        return self._spread(np.minimum.reduceat(values[self._order], self._starts)[self._group])

    def out_of_order(self, values: npt.NDArray[np.float64]) -> tuple[int, int] | None:
        """Two neighbours in a file whose values do not increase, if there are any.

        A value that is not finite stands for both.
        """
        infinite = np.flatnonzero(~np.isfinite(values))
        if infinite.size:
            return int(infinite[0]), int(infinite[0])
        in_order = values[self._order]
        wrong = np.flatnonzero((np.diff(in_order) <= 0) & (np.diff(self._group) == 0))
        if not wrong.size:
            return None
        return int(self._order[wrong[0]]), int(self._order[wrong[0] + 1])
