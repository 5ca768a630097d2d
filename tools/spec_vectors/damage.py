"""Datasets that a reader must refuse, each wrong in one way, and one from a later minor version."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa

from videoformat.index.pictures import ChunkKey, PictureIndex, Stream
from videoformat.index.schema import METADATA_KEY, PICTURE_TYPE, STREAM_TYPE

__all__ = ["DAMAGES", "Damage", "damaged", "from_later_version"]

Row = dict[str, Any]
CAMERA = "observation.images.top"
MEDIA = "observation/images/top"
PICTURES, STREAM = f"{MEDIA}/pictures", f"{MEDIA}/stream"


@dataclass(frozen=True, slots=True)
class Damage:
    """One way to be wrong.

    ``frame`` of the first episode is what a reader is asked for; ``error`` is the library's.
    ``change`` works on the rows; ``facts`` on the JSON of the schema metadata.
    """

    name: str
    refuse: str
    error: str
    change: Callable[[list[Row]], list[Row]] = list
    facts: Callable[[Row], Row] = dict
    drop: str | None = None
    frame: int = 1


def damaged(rows: pa.Table, damage: Damage) -> pa.Table:
    """The rows with one thing wrong."""
    facts = damage.facts(json.loads(rows.schema.metadata[METADATA_KEY]))
    schema = rows.schema.with_metadata({METADATA_KEY: json.dumps(facts).encode()})
    table = pa.Table.from_pylist(damage.change(rows.to_pylist()), schema=schema)
    return table.drop_columns([damage.drop]) if damage.drop else table


def seal(row: Row) -> Row:
    """The row with the checksum that its cells have, wrong as they may be."""
    index = object.__new__(PictureIndex)
    key = ChunkKey(*(row[item.name] for item in fields(ChunkKey)))
    stream = Stream(**{item.name: row[STREAM][item.name] for item in fields(Stream)})
    columns: Row = {i.name: [p[i.name] for p in row[PICTURES]] for i in PICTURE_TYPE}
    for name, value in {"key": key, "stream": stream, **columns}.items():
        object.__setattr__(index, name, value)
    row[STREAM]["checksum"] = index.checksum()
    return row


def _in_picture(at: int, *, sealed: bool, **values: Any) -> Callable[[list[Row]], list[Row]]:
    def change(rows: list[Row]) -> list[Row]:
        rows[0][PICTURES][at] |= values
        return [seal(rows[0]) if sealed else rows[0], *rows[1:]]

    return change


def _in_stream(**values: Any) -> Callable[[list[Row]], list[Row]]:
    def change(rows: list[Row]) -> list[Row]:
        rows[0][STREAM] |= values
        return [seal(rows[0]), *rows[1:]]

    return change


def _in_row(at: int, **values: Any) -> Callable[[list[Row]], list[Row]]:
    def change(rows: list[Row]) -> list[Row]:
        rows[at] |= values
        return rows

    return change


def _flip_media(rows: list[Row]) -> list[Row]:
    picture = rows[0][PICTURES][-1]
    media = bytearray(rows[0][MEDIA])
    media[picture["offset"] + picture["size"] // 2] ^= 1
    return [{**rows[0], MEDIA: bytes(media)}, *rows[1:]]


def _cut_media(rows: list[Row]) -> list[Row]:
    return [{**rows[0], MEDIA: rows[0][MEDIA][:-1]}, *rows[1:]]


def _exchange_indexes(rows: list[Row]) -> list[Row]:
    for name in (PICTURES, STREAM):
        rows[0][name], rows[1][name] = rows[1][name], rows[0][name]
    return rows


def _flip_checksum(rows: list[Row]) -> list[Row]:
    rows[0][STREAM]["checksum"] ^= 1
    return rows


def _without_row(at: int) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [row for number, row in enumerate(rows) if number != at]


# The rows: one episode of two chunks of three frames each; pictures are frames 0, 2, 1.
DAMAGES: tuple[Damage, ...] = (
    Damage("media-bit", "a flipped bit in an access unit", "ChecksumError", _flip_media),
    Damage("media-cut", "the media lacks its last byte", "DataError", _cut_media),
    Damage(
        "reference-lost",
        "a reference is gone from a picture",
        "ChecksumError",
        _in_picture(2, sealed=False, references=[0]),
    ),
    Damage(
        "checksum-bit", "a flipped bit in the index's checksum", "ChecksumError", _flip_checksum
    ),
    Damage(
        "indexes-exchanged",
        "two chunks have each other's index",
        "ChecksumError",
        _exchange_indexes,
    ),
    Damage(
        "frame-index-twice",
        "two pictures show one frame, under a right checksum",
        "StructureError",
        _in_picture(1, sealed=True, frame_index=0),
    ),
    Damage(
        "reference-forward",
        "a picture references itself, under a right checksum",
        "StructureError",
        _in_picture(2, sealed=True, references=[0, 2]),
    ),
    Damage(
        "references-none",
        "a closure that starts at no random access point, under a right checksum",
        "StructureError",
        _in_picture(2, sealed=True, references=[]),
    ),
    Damage(
        "picture-outside",
        "a picture reaches beyond the media, under a right checksum",
        "StructureError",
        _in_picture(2, sealed=True, size=1 << 20),
    ),
    Damage(
        "picture-type-null",
        "a field of the index is null that must not be",
        "DataError",
        _in_picture(2, sealed=False, picture_type=None),
    ),
    Damage("chunk-missing", "the second chunk is gone", "CountMismatchError", _without_row(1)),
    Damage("first-chunk-missing", "the first chunk is gone", "CountMismatchError", _without_row(0)),
    Damage(
        "chunk-overlap",
        "the second chunk begins a frame too early",
        "CountMismatchError",
        _in_row(1, first_frame=2),
        frame=4,
    ),
    Damage(
        "size-differs",
        "the decoder returns another size than the stream says",
        "DataError",
        _in_stream(decoded_width=80, width=80),
    ),
    Damage(
        "access-unknown",
        "an access kind without a name here",
        "VideoFormatError",
        _in_stream(access="guess"),
    ),
    Damage(
        "codec-unknown", "a codec without a name here", "VideoFormatError", _in_stream(codec="vvc")
    ),
    Damage(
        "framing-unknown",
        "a framing without a name here",
        "VideoFormatError",
        _in_stream(framing="mp4"),
    ),
    Damage(
        "matrix-unknown",
        "a colour matrix without a name here",
        "VideoFormatError",
        _in_stream(color_matrix="ycgco"),
    ),
    Damage(
        "pixel-format-unknown",
        "a pixel format without a name here",
        "VideoFormatError",
        _in_stream(pixel_format="yuv999p"),
    ),
    Damage(
        "reader-flag-unknown",
        "a reader flag that nobody knows",
        "UnsupportedFormatError",
        facts=lambda facts: {**facts, "reader_flags": ["of-the-future"]},
    ),
    Damage(
        "major-version-2",
        "a later major version",
        "UnsupportedFormatError",
        facts=lambda facts: {**facts, "format_version": "2.0"},
    ),
    Damage("no-stream-column", "a camera without its stream column", "DataError", drop=STREAM),
)


def from_later_version(rows: pa.Table) -> pa.Table:
    """The rows as a later minor version might write them: more metadata, columns and fields.

    The time of the first picture is unknown, and a writer flag is set that readers may ignore.
    """
    facts = json.loads(rows.schema.metadata[METADATA_KEY])
    facts |= {"format_version": "1.99", "writer_flags": ["of-the-future"], "novelty": {"a": 1}}
    fields_of = {
        PICTURES: pa.list_(pa.struct([pa.field("novelty", pa.int8()), *PICTURE_TYPE])),
        STREAM: pa.struct([pa.field("novelty", pa.string()), *STREAM_TYPE]),
    }
    columns = [item.with_type(fields_of.get(item.name, item.type)) for item in rows.schema]
    schema = pa.schema([pa.field("novelty", pa.int64()), *columns])
    schema = schema.with_metadata({METADATA_KEY: json.dumps(facts).encode()})
    table = rows.to_pylist()
    for number, row in enumerate(table):
        row[PICTURES][0]["pts"] = None
        for picture in row[PICTURES]:
            picture["novelty"] = 7
        row[STREAM]["novelty"] = "new"
        row["novelty"] = number
        seal(row)
    return pa.Table.from_pylist(table, schema=schema)
