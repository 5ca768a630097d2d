"""Datasets with something wrong: rows rewritten cell by cell, or bytes flipped in the files."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from videoformat.index.pictures import ChunkKey, PictureIndex
from videoformat.index.schema import PICTURE_TYPE, media_columns, table_schema
from videoformat.table import Table

Row = dict[str, Any]


def column_of(camera: str) -> str:
    return camera.replace(".", "/")


def rewritten(source: Path, target: Path, change: Callable[[list[Row]], object]) -> Path:
    """A copy of a dataset whose rows, as dictionaries with media as bytes, went through change."""
    table = Table.open(source)
    info = table.info
    numbers = list(range(table.count_rows()))
    rows: list[Row] = table.take(numbers, table.schema.names).to_pylist()
    for camera in info.cameras.values():
        column = media_columns(camera)[0]
        sizes = table.media_sizes(column, numbers)
        ranges = [(number, 0, size or 0) for number, size in zip(numbers, sizes, strict=True)]
        for row, media in zip(rows, table.read_ranges(column, ranges), strict=True):
            row[column] = media
    change(rows)
    made = Table.create(target, info)
    made.commit(made.write_rows(pa.Table.from_pylist(rows, schema=table_schema(info))))
    return target


def index_of(row: Row, camera: str) -> PictureIndex:
    column = column_of(camera)
    key = ChunkKey(
        *(row[name] for name in ("episode_uid", "chunk_index", "first_frame", "frame_count"))
    )
    cells = pa.array(row[f"{column}/pictures"], type=PICTURE_TYPE)
    return PictureIndex.from_arrow(key, cells, row[f"{column}/stream"])


def set_index(row: Row, camera: str, index: PictureIndex) -> None:
    """Stores an index with a checksum that is right for it."""
    column = column_of(camera)
    row[f"{column}/pictures"] = index.to_arrow().to_pylist()
    row[f"{column}/stream"] = index.stream_value()


def change_index(row: Row, camera: str, **columns: Any) -> None:
    set_index(row, camera, replace(index_of(row, camera), **columns))


def change_stream(row: Row, camera: str, **facts: Any) -> None:
    index = index_of(row, camera)
    set_index(row, camera, replace(index, stream=replace(index.stream, **facts)))


def change_key(row: Row, cameras: tuple[str, ...], **values: Any) -> None:
    """Changes which frames a row claims to hold, and every index with it."""
    indexes = {camera: index_of(row, camera) for camera in cameras}
    row.update(values)
    for camera, index in indexes.items():
        set_index(row, camera, replace(index, key=replace(index.key, **values)))


def at(values: tuple[Any, ...], position: int, value: Any) -> tuple[Any, ...]:
    """The same values with another one at a position."""
    return (*values[:position], value, *values[position + 1 :])


def data_files(uri: Path) -> list[Path]:
    """The files that hold rows and media, without those that say which version has which."""
    return sorted(path for path in (uri / "data").rglob("*") if path.is_file())


def flipped(source: Path, target: Path, file: Path, position: int, mask: int) -> Path:
    """A copy of a dataset with some bits of one byte of one file turned round."""
    shutil.copytree(source, target)
    copy = target / file.relative_to(source)
    data = bytearray(copy.read_bytes())
    data[position] ^= mask
    copy.write_bytes(data)
    return target
