"""One row of the table: what one chunk of an episode holds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from videoformat.errors import CountMismatchError, DataError
from videoformat.index.features import Feature
from videoformat.index.pictures import ChunkKey, PictureIndex
from videoformat.index.schema import EXTERNAL_MEDIA_TYPE, DatasetInfo, media_columns, table_schema

__all__ = ["ChunkMedia", "EpisodeFacts", "ExternalRange", "chunk_row", "frame_values"]


@dataclass(frozen=True, slots=True)
class ExternalRange:
    """Media that stays where it is: bytes ``position`` to ``position + size`` of a file."""

    uri: str
    position: int
    size: int


@dataclass(frozen=True, slots=True)
class ChunkMedia:
    """One camera's part of a chunk: the pictures' bytes in stored order, and their index."""

    media: bytes | ExternalRange
    index: PictureIndex


@dataclass(frozen=True, slots=True)
class EpisodeFacts:
    """What belongs to the whole episode and stands on its first row."""

    length: int
    tasks: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    statistics: Mapping[str, Any] | None = None


def chunk_row(
    info: DatasetInfo,
    key: ChunkKey,
    values: Mapping[str, pa.Array],
    cameras: Mapping[str, ChunkMedia],
    episode: EpisodeFacts | None,
) -> pa.Table:
    """A table of one row. ``values`` holds each tabular feature's frames of this chunk, by key.

    Raises ``CountMismatchError`` where a feature has another number of frames than the chunk.
    """
    schema = table_schema(info)
    cells: dict[str, Any] = {
        "episode_uid": key.episode_uid,
        "chunk_index": key.chunk_index,
        "first_frame": key.first_frame,
        "frame_count": key.frame_count,
        "episode_length": episode.length if episode else None,
        "tasks": list(episode.tasks) if episode else None,
        "episode_metadata": _json(episode.metadata) if episode and episode.metadata else None,
        "episode_statistics": _json(episode.statistics) if episode and episode.statistics else None,
    }
    columns: dict[str, pa.Array] = {}
    for feature in info.features.values():
        if feature.is_camera:
            media, pictures, stream = media_columns(feature)
            part = cameras[feature.key]
            if isinstance(part.media, ExternalRange):
                columns[media] = pa.array([asdict(part.media)], EXTERNAL_MEDIA_TYPE)
                at = schema.get_field_index(media)
                field_here = schema.field(at).with_type(EXTERNAL_MEDIA_TYPE)
                schema = schema.set(at, field_here)
            else:
                cells[media] = part.media
            columns[pictures] = _one_list(part.index.to_arrow())
            cells[stream] = part.index.stream_value()
        else:
            columns[feature.column] = _one_list(_checked(feature, values[feature.key], key))
    arrays = [
        columns[item.name] if item.name in columns else pa.array([cells[item.name]], type=item.type)
        for item in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _one_list(values: pa.Array) -> pa.Array:
    """A list array with one entry that holds all the values."""
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)


def _checked(feature: Feature, values: pa.Array, key: ChunkKey) -> pa.Array:
    if len(values) != key.frame_count:
        raise CountMismatchError(
            f"episode {key.episode_uid!r}: feature {feature.key!r} has {len(values)} values for "
            f"the {key.frame_count} frames of chunk {key.chunk_index}"
        )
    if values.type != feature.arrow_type:
        raise DataError(
            f"episode {key.episode_uid!r}: feature {feature.key!r} has type {values.type}, "
            f"expected {feature.arrow_type}"
        )
    return values


def frame_values(feature: Feature, column: pa.ChunkedArray, counts: Sequence[int]) -> pa.Array:
    """The values of a tabular feature, one per frame, from its list column, without copying.

    ``counts`` are the frames of each row. Arrays of two or more dimensions come as Arrow's fixed
    shape tensors. Raises ``CountMismatchError`` where a row holds another number of values.
    """
    chunks = []
    row = 0
    for part in column.chunks:
        lengths = part.value_lengths().to_pylist()
        for length in lengths:
            if length != counts[row]:
                raise CountMismatchError(
                    f"feature {feature.key!r}: a row holds {length} values for {counts[row]} frames"
                )
            row += 1
        chunks.append(part.flatten())
    joined = pa.chunked_array(chunks, type=feature.arrow_type)
    if len(feature.shape) > 1 and pa.types.is_fixed_size_list(feature.arrow_type):
        tensor = pa.fixed_shape_tensor(feature.arrow_type.value_type, feature.shape)
        joined = pa.chunked_array(
            [pa.ExtensionArray.from_storage(tensor, part) for part in joined.chunks], type=tensor
        )
    return joined
