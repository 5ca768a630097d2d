"""Runs of rows from Parquet files, with bounded memory and with errors that name the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from videoformat.errors import CountMismatchError, DataError

__all__ = ["RowReader", "Rows", "integers", "open_parquet", "parquet_errors"]

# A file that one tool wrote may have all its episodes in one row group; decoding that once and
# keeping it turns a quadratic pass over its episodes into a linear one.
KEPT_BYTES = 1 << 28
MAX_ROWS = 1 << 28
_BATCH_ROWS = 8192


@dataclass(frozen=True, slots=True)
class Rows:
    """A run of rows of one file.

    ``name`` is the file's path below the root, for errors; ``columns`` are the names of all its
    columns.
    """

    path: Path
    name: str
    start: int
    count: int
    columns: frozenset[str]


@contextmanager
def parquet_errors(name: str) -> Iterator[None]:
    """Turns what Arrow raises for damaged bytes into a ``DataError`` that names the file."""
    try:
        yield
    # ValueError: text that is not UTF-8 fails where it becomes a Python string.
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{name}: cannot be read as Parquet: {error}") from error


@contextmanager
def open_parquet(
    path: Path, name: str, metadata: pq.FileMetaData | None = None
) -> Iterator[pq.ParquetFile]:
    """An open file whose column names are unique and whose rows are not beyond all bounds.

    ``metadata`` is the file's footer, where it was read before. Whatever Arrow raises while it is open becomes a ``DataError``: a damaged footer is noticed at
    the first look at any part of it.
    """
    with (
        parquet_errors(name),
        pq.ParquetFile(
            path,
            metadata=metadata,
            buffer_size=1 << 20,
            pre_buffer=False,
            page_checksum_verification=True,
        ) as file,
    ):
        columns = file.schema_arrow.names
        if len(set(columns)) != len(columns):
            raise DataError(f"{name}: two columns have one name")
        if not 0 <= file.metadata.num_rows <= MAX_ROWS:
            raise DataError(f"{name}: {file.metadata.num_rows} rows, at most {MAX_ROWS} are read")
        yield file


def integers(column: pa.ChunkedArray, where: str) -> npt.NDArray[np.int64]:
    """A column of integers without nulls; ``where`` names it."""
    if column.null_count:
        raise DataError(f"{where}: null in {column.null_count} of {len(column)} rows")
    try:
        # A safe cast refuses fractions and what does not fit.
        return np.asarray(column.cast(pa.int64()).to_numpy(), dtype=np.int64)
    except pa.ArrowException as error:
        raise DataError(f"{where}: {column.type}, expected integers: {error}") from error


class RowReader:
    """Reads runs of rows.

    The last footer is kept (a table of 100,000 episodes has thousands of row groups, which take
    longer to parse than one of them takes to read), and the last row group that was larger than a
    run stays decoded.
    """

    __slots__ = ("_footer", "_kept")

    def __init__(self) -> None:
        self._footer: tuple[Path, pq.FileMetaData, npt.NDArray[np.int64]] | None = None
        self._kept: tuple[tuple[Path, int, tuple[str, ...]], pa.Table] | None = None

    def read(self, rows: Rows, columns: Sequence[str]) -> pa.Table:
        """The columns of a run, in the order asked; row groups outside the run are not read."""
        if missing := [name for name in columns if name not in rows.columns]:
            raise DataError(f"{rows.name}: there is no column {missing[0]}")
        footer = self._footer
        known = footer[1] if footer is not None and footer[0] == rows.path else None
        with open_parquet(rows.path, rows.name, known) as file:
            if footer is None or known is None:
                self._footer = footer = (rows.path, file.metadata, _group_starts(file))
            parts = list(self._parts(file, footer[2], rows, list(columns)))
        found = sum(part.num_rows for part in parts)
        if not parts or found != rows.count:
            raise CountMismatchError(
                f"{rows.name}: of the {rows.count} rows from {rows.start} on, {found} are there"
            )
        return pa.concat_tables(parts)

    def _parts(
        self, file: pq.ParquetFile, starts: npt.NDArray[np.int64], rows: Rows, columns: list[str]
    ) -> Iterator[pa.Table]:
        end = rows.start + rows.count
        group = max(int(np.searchsorted(starts, rows.start, side="right")) - 1, 0)
        while group < len(starts) - 1 and starts[group] < end:
            first, size = int(starts[group]), int(starts[group + 1] - starts[group])
            start, stop = max(rows.start - first, 0), min(end - first, size)
            if start < stop:
                yield from self._part(file, rows, columns, group, start, stop, size)
            group += 1

    def _part(
        self,
        file: pq.ParquetFile,
        rows: Rows,
        columns: list[str],
        group: int,
        start: int,
        stop: int,
        size: int,
    ) -> Iterator[pa.Table]:
        key = (rows.path, group, tuple(columns))
        kept = self._kept
        if kept is not None and kept[0] == key:
            yield kept[1].slice(start, stop - start)
            return
        if stop - start == size:
            # The selection of "a" takes "a.b" along.
            yield file.read_row_group(group, columns=columns).select(columns)
            return
        # What the group takes in memory is known once it is decoded: a footer may lie about it,
        # and pyarrow 26 ends the process over damaged metadata of a column chunk.
        parts: list[pa.Table] = []
        decoded = 0
        for position, part in _batches(file, columns, group, _BATCH_ROWS):
            low, high = max(start - position, 0), min(stop - position, part.num_rows)
            if low < high:
                yield part.slice(low, high - low)
            decoded += part.nbytes
            if decoded <= KEPT_BYTES:
                parts.append(part)
                continue
            parts.clear()
            if position + part.num_rows >= stop:
                return
        if parts:
            self._kept = (key, pa.concat_tables(parts))


def _group_starts(file: pq.ParquetFile) -> npt.NDArray[np.int64]:
    """The first row of every row group, and the number of all rows."""
    metadata = file.metadata
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    if any(size < 0 for size in sizes):
        raise ValueError("a row group of less than no rows")
    return np.cumsum([0, *sizes])


def _batches(
    file: pq.ParquetFile, columns: list[str], group: int, batch_rows: int
) -> Iterator[tuple[int, pa.Table]]:
    """The rows of one row group, a batch in memory at a time, each with its first row."""
    position = 0
    for batch in file.iter_batches(batch_rows, row_groups=[group], columns=columns):
        yield position, pa.Table.from_batches([batch]).select(columns)
        position += batch.num_rows


def stream(
    file: pq.ParquetFile, columns: list[str], group: int, start: int, stop: int, batch_rows: int
) -> Iterator[pa.Table]:
    """Rows ``start`` to ``stop`` (exclusive) of one row group, a batch in memory at a time."""
    for position, part in _batches(file, columns, group, batch_rows):
        low, high = max(start - position, 0), min(stop - position, part.num_rows)
        if low < high:
            yield part.slice(low, high - low)
        if position + part.num_rows >= stop:
            break
