"""Rows with everything in them, also what this version does not know, ready to be written."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from videoformat.errors import DataError
from videoformat.index.schema import EXTERNAL_MEDIA_TYPE, MEDIA_TYPE, METADATA_KEY
from videoformat.sources import EXTERNAL_KIND
from videoformat.table import Table

__all__ = ["whole_row"]


def whole_row(table: Table, row: int) -> pa.Table:
    """One row with its media.

    Media that lies in a file outside the dataset stays there: what is copied is the reference, and
    the file is not opened.
    """
    media = table.media_columns
    names = [name for name in table.schema.names if name not in media]
    taken = table.take([row], names)
    columns: dict[str, pa.Array] = {}
    fields: dict[str, pa.Field] = {}
    for name in table.schema.names:
        field = table.schema.field(name)
        if name not in media:
            columns[name] = taken.column(name).combine_chunks()
            fields[name] = field
            continue
        value, kind = _media(table, name, row)
        columns[name] = pa.array([value], kind)
        # What marks the column as Lance's blob is put there anew.
        metadata = {
            key: item for key, item in (field.metadata or {}).items() if not _is_lances(key)
        }
        fields[name] = pa.field(name, kind, metadata=metadata or None)
    schema = pa.schema(
        list(fields.values()), metadata={METADATA_KEY: table.schema.metadata[METADATA_KEY]}
    )
    return pa.Table.from_arrays(list(columns.values()), schema=schema)


def _is_lances(key: bytes) -> bool:
    return key.startswith((b"ARROW:extension", b"lance-"))


def _media(table: Table, name: str, row: int) -> tuple[Any, pa.DataType]:
    place = table.take([row], [name]).column(name).to_pylist()[0]
    if place is None:
        raise DataError(f"{table.uri}: {name} of row {row} is null")
    size = int(place["size"])
    if place.get("kind") == EXTERNAL_KIND:
        reference = {"uri": place["blob_uri"], "position": place["position"], "size": size}
        return reference, EXTERNAL_MEDIA_TYPE
    return table.read_ranges(name, [(row, 0, size)])[0], MEDIA_TYPE
