"""The encoded images of an image feature: inside the Parquet file, or in files of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from videoformat.convert.lerobot_columns import storage_type
from videoformat.convert.lerobot_json import shown
from videoformat.convert.lerobot_parquet import Rows, open_parquet, stream
from videoformat.convert.lerobot_paths import DatasetRoot
from videoformat.errors import CountMismatchError, DataError

__all__ = ["read_images"]

# An image is large and its row is small: a few rows at a time bound the memory.
_BATCH_ROWS = 16
MAX_IMAGE_BYTES = 1 << 28


def read_images(root: DatasetRoot, rows: Rows, key: str) -> Iterator[bytes]:
    """The encoded bytes of each row's image, in order, a few rows in memory at a time."""
    row = 0
    with open_parquet(rows.path, rows.name) as file:
        for column in _columns(file, rows, key):
            for data, path in zip(*_values(column, f"{rows.name}: {key}"), strict=True):
                yield _image(root, data, path, f"{rows.name}: {key} in row {rows.start + row}")
                row += 1
    if row != rows.count:
        raise CountMismatchError(f"{rows.name}: {key} has {row} images, expected {rows.count}")


def _columns(file: pq.ParquetFile, rows: Rows, key: str) -> Iterator[pa.ChunkedArray]:
    first = 0
    for group in range(file.metadata.num_row_groups):
        size = file.metadata.row_group(group).num_rows
        start = max(rows.start - first, 0)
        stop = min(rows.start + rows.count - first, size)
        if start < stop:
            for part in stream(file, [key], group, start, stop, _BATCH_ROWS):
                yield part.column(key)
        first += size


def _values(column: pa.ChunkedArray, where: str) -> tuple[list[Any], list[Any]]:
    """The bytes and the paths of some rows; one of the two may be null in a row."""
    stored = storage_type(column.type)
    nothing = [None] * len(column)
    try:
        if pa.types.is_binary(stored) or pa.types.is_large_binary(stored):
            return column.to_pylist(), nothing
        if pa.types.is_string(stored) or pa.types.is_large_string(stored):
            return nothing, column.cast(stored).to_pylist()
        if pa.types.is_struct(stored):
            names = {field.name for field in stored}
            if names & {"bytes", "path"}:
                column = column.cast(stored)
                return (
                    pc.struct_field(column, "bytes").to_pylist() if "bytes" in names else nothing,
                    pc.struct_field(column, "path").to_pylist() if "path" in names else nothing,
                )
    except (pa.ArrowException, ValueError) as error:
        raise DataError(f"{where}: {error}") from error
    raise DataError(f"{where} is {column.type}, expected struct<bytes: binary, path: string>")


def _image(root: DatasetRoot, data: object, path: object, where: str) -> bytes:
    if isinstance(data, bytes):
        return data
    if not isinstance(path, str) or data is not None:
        raise DataError(f"{where} has neither bytes nor a path")
    return _read(root.require(path, where), f"{where}: {shown(path)}")


def _read(path: Path, where: str) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_IMAGE_BYTES + 1)
    except OSError as error:
        raise DataError(f"{where}: cannot be read: {error}") from error
    if len(data) > MAX_IMAGE_BYTES:
        raise DataError(f"{where}: more than {MAX_IMAGE_BYTES} bytes")
    return data
