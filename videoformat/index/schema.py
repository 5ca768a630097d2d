"""The Arrow schema of a dataset's table: the specification's tables in code.

``spec/v1/schema/`` holds the same types as JSON; a test keeps the two equal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from videoformat.errors import DataError, UnsupportedFormatError
from videoformat.index.features import Feature, parse_features

__all__ = [
    "EPISODE_FIELDS",
    "EXTERNAL_MEDIA_TYPE",
    "FEATURE_KEY",
    "FORMAT_VERSION",
    "MEDIA_TYPE",
    "METADATA_KEY",
    "PICTURE_TYPE",
    "STREAM_TYPE",
    "DatasetInfo",
    "media_columns",
    "table_schema",
]

FORMAT_VERSION = "1.0"
METADATA_KEY = b"videoformat"
FEATURE_KEY = b"videoformat:feature"
KNOWN_READER_FLAGS: frozenset[str] = frozenset()
KNOWN_WRITER_FLAGS: frozenset[str] = frozenset()

# In the table this is Lance's blob type (version 2); here it stands for the bytes themselves.
MEDIA_TYPE = pa.large_binary()
# Media that stays in a file of its own: the bytes ``position`` to ``position + size`` of ``uri``.
EXTERNAL_MEDIA_TYPE = pa.struct(
    [
        pa.field("uri", pa.string()),
        pa.field("position", pa.uint64()),
        pa.field("size", pa.uint64()),
    ]
)

PICTURE_TYPE = pa.struct(
    [
        pa.field("frame_index", pa.int64()),
        pa.field("pts", pa.int64()),
        pa.field("poc", pa.int32()),
        pa.field("picture_type", pa.string()),
        pa.field("is_random_access", pa.bool_()),
        pa.field("is_reference", pa.bool_()),
        pa.field("offset", pa.int64()),
        pa.field("size", pa.int32()),
        pa.field("references", pa.list_(pa.int32())),
        pa.field("reference_lists", pa.list_(pa.list_(pa.int32()))),
        pa.field("crc32", pa.uint32()),
    ]
)

STREAM_TYPE = pa.struct(
    [
        pa.field("codec", pa.string()),
        pa.field("width", pa.int32()),
        pa.field("height", pa.int32()),
        pa.field("decoded_width", pa.int32()),
        pa.field("decoded_height", pa.int32()),
        pa.field("pixel_format", pa.string()),
        pa.field("color_matrix", pa.string()),
        pa.field("color_range", pa.string()),
        pa.field("color_primaries", pa.string()),
        pa.field("color_transfer", pa.string()),
        pa.field("time_base_numerator", pa.int32()),
        pa.field("time_base_denominator", pa.int32()),
        pa.field("framing", pa.string()),
        pa.field("configuration", pa.binary()),
        pa.field("structure", pa.string()),
        pa.field("interval", pa.int32()),
        pa.field("closure_bound", pa.int32()),
        pa.field("access", pa.string()),
        pa.field("access_reason", pa.string()),
        pa.field("encoder", pa.string()),
        pa.field("source_uri", pa.string()),
        pa.field("source_size", pa.int64()),
        pa.field("media_size", pa.int64()),
        pa.field("checksum", pa.uint32()),
    ]
)

EPISODE_FIELDS = (
    pa.field("episode_uid", pa.string()),
    pa.field("chunk_index", pa.int32()),
    pa.field("first_frame", pa.int64()),
    pa.field("frame_count", pa.int32()),
    pa.field("episode_length", pa.int64()),
    pa.field("tasks", pa.list_(pa.string())),
    pa.field("episode_metadata", pa.string()),
    pa.field("episode_statistics", pa.string()),
)


def media_columns(camera: Feature) -> tuple[str, str, str]:
    """The names of a camera's three columns: its media, its picture index, its stream."""
    return camera.column, f"{camera.column}/pictures", f"{camera.column}/stream"


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """Dataset-wide facts: JSON in the table's schema metadata under ``videoformat``.

    ``fps`` is frames a second. ``tasks`` is the text of each ``task_index``. ``info`` keeps keys
    that belong to other tools as they came. ``source`` says what a conversion reads, so that it
    can be continued. ``extra`` keeps keys of this JSON that this version does not know.
    """

    fps: float
    features: Mapping[str, Feature]
    robot_type: str | None = None
    tasks: tuple[str, ...] = ()
    statistics: Mapping[str, Any] | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    source: Mapping[str, Any] | None = None
    format_version: str = FORMAT_VERSION
    reader_flags: tuple[str, ...] = ()
    writer_flags: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cameras(self) -> dict[str, Feature]:
        """The features that are kept as bitstreams, by key."""
        return {key: feature for key, feature in self.features.items() if feature.is_camera}

    @property
    def tabular(self) -> dict[str, Feature]:
        """The features that are columns of values, by key."""
        return {key: feature for key, feature in self.features.items() if not feature.is_camera}

    def with_tasks(self, tasks: tuple[str, ...]) -> DatasetInfo:
        """The same facts with another list of tasks."""
        return replace(self, tasks=tasks)

    def to_json(self) -> bytes:
        """The JSON that is stored."""
        return json.dumps(
            {
                **self.extra,
                "format_version": self.format_version,
                "reader_flags": list(self.reader_flags),
                "writer_flags": list(self.writer_flags),
                "fps": self.fps,
                "robot_type": self.robot_type,
                "features": {key: dict(item.declaration) for key, item in self.features.items()},
                "tasks": list(self.tasks),
                "statistics": self.statistics,
                "info": dict(self.info),
                "source": self.source,
            },
            ensure_ascii=False,
        ).encode()

    @staticmethod
    def from_schema(schema: pa.Schema) -> DatasetInfo:
        """Reads the facts back, from JSON for what was declared and from columns for types.

        Raises ``DataError`` where the JSON is not what the specification says, and
        ``UnsupportedFormatError`` for a format version or a reader flag that is not known.
        """
        raw = (schema.metadata or {}).get(METADATA_KEY)
        if raw is None:
            raise DataError(
                "the table's schema metadata has no 'videoformat' key: not a videoformat dataset"
            )
        try:
            # Of bytes, json.loads takes other encodings too, and half surrogates.
            facts = json.loads(raw.decode())
            if b"\\ud" in raw.lower():
                # Half of a surrogate pair is no text: nothing could write or store it again.
                json.dumps(facts, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise DataError(f"the dataset's metadata is not JSON: {error}") from None
        if not isinstance(facts, dict):
            raise DataError(f"the dataset's metadata is {type(facts).__name__}, expected an object")
        return _info_from_facts(facts, schema)


_KNOWN_KEYS = frozenset(
    [
        "format_version",
        "reader_flags",
        "writer_flags",
        "fps",
        "robot_type",
        "features",
        "tasks",
        "statistics",
        "info",
        "source",
    ]
)


def _typed(facts: dict[str, Any], key: str, kinds: type | tuple[type, ...], default: Any) -> Any:
    value = facts.get(key, default)
    if value is not default and (not isinstance(value, kinds) or isinstance(value, bool)):
        raise DataError(f"the dataset's metadata: {key} is {value!r}")
    return value


def _strings(facts: dict[str, Any], key: str) -> tuple[str, ...]:
    values = _typed(facts, key, list, [])
    if not all(isinstance(value, str) for value in values):
        raise DataError(f"the dataset's metadata: {key} is {values!r}, expected strings")
    return tuple(values)


def _info_from_facts(facts: dict[str, Any], schema: pa.Schema) -> DatasetInfo:
    version = _typed(facts, "format_version", str, "")
    if version.split(".")[0] != FORMAT_VERSION.split(".", maxsplit=1)[0]:
        raise UnsupportedFormatError(
            f"the dataset has format version {version!r}, this reader knows {FORMAT_VERSION!r}"
        )
    reader_flags = _strings(facts, "reader_flags")
    unknown = sorted(set(reader_flags) - KNOWN_READER_FLAGS)
    if unknown:
        raise UnsupportedFormatError(
            f"the dataset requires reader flags {', '.join(unknown)}, which this version lacks"
        )
    fps = _typed(facts, "fps", (int, float), None)
    if fps is None or not 0 < fps < 1e6:
        raise DataError(f"the dataset's metadata: fps is {fps!r}, expected a positive number")
    types = {}
    for column in schema:
        key = (column.metadata or {}).get(FEATURE_KEY)
        if key is not None and (
            pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
        ):
            types[key.decode("utf-8", "replace")] = column.type.value_type
    try:
        features = parse_features(_typed(facts, "features", dict, {}), types)
    except ValueError as error:
        raise DataError(f"the dataset's metadata: {error}") from None
    _check_columns(features, schema)
    return DatasetInfo(
        fps=fps,
        features=features,
        robot_type=_typed(facts, "robot_type", str, None) if facts.get("robot_type") else None,
        tasks=_strings(facts, "tasks"),
        statistics=_typed(facts, "statistics", dict, None) if facts.get("statistics") else None,
        info=_typed(facts, "info", dict, {}),
        source=_typed(facts, "source", dict, None) if facts.get("source") else None,
        format_version=version,
        reader_flags=reader_flags,
        writer_flags=_strings(facts, "writer_flags"),
        extra={key: value for key, value in facts.items() if key not in _KNOWN_KEYS},
    )


def _check_columns(features: Mapping[str, Feature], schema: pa.Schema) -> None:
    """Every column that the facts promise is in the table, with its type."""
    names = set(schema.names)
    for expected in EPISODE_FIELDS:
        if expected.name not in names or schema.field(expected.name).type != expected.type:
            raise DataError(
                f"the table's column {expected.name!r} is missing or not {expected.type}"
            )
    for feature in features.values():
        needed = media_columns(feature) if feature.is_camera else (feature.column,)
        absent = [name for name in needed if name not in names]
        if absent:
            raise DataError(f"feature {feature.key!r}: the table has no column {absent[0]!r}")
        if feature.is_camera:
            _, pictures, stream = media_columns(feature)
            list_type = schema.field(pictures).type
            item_type = list_type.value_type if pa.types.is_list(list_type) else list_type
            _check_struct(pictures, item_type, PICTURE_TYPE)
            _check_struct(stream, schema.field(stream).type, STREAM_TYPE)
        elif schema.field(feature.column).type != pa.list_(feature.arrow_type):
            raise DataError(
                f"feature {feature.key!r}: column type {schema.field(feature.column).type}, "
                f"expected list<{feature.arrow_type}>"
            )


def _check_struct(column: str, actual: pa.DataType, expected: pa.DataType) -> None:
    """A struct has at least the fields that this version reads; it may have more."""
    if not pa.types.is_struct(actual):
        raise DataError(f"the table's column {column!r} has type {actual}, expected a struct")
    for item in expected:
        at = actual.get_field_index(item.name)
        if at < 0 or actual.field(at).type != item.type:
            raise DataError(f"the table's column {column!r} lacks field {item.name!r}: {item.type}")


def table_schema(info: DatasetInfo) -> pa.Schema:
    """The schema of a dataset's table, with ``MEDIA_TYPE`` where the table has Lance's blob type."""
    fields = list(EPISODE_FIELDS)
    for feature in info.features.values():
        metadata = {FEATURE_KEY: feature.key.encode()}
        if feature.is_camera:
            media, pictures, stream = media_columns(feature)
            fields.append(pa.field(media, MEDIA_TYPE, metadata=metadata))
            fields.append(pa.field(pictures, pa.list_(PICTURE_TYPE)))
            fields.append(pa.field(stream, STREAM_TYPE))
        else:
            fields.append(pa.field(feature.column, pa.list_(feature.arrow_type), metadata=metadata))
    return pa.schema(fields, metadata={METADATA_KEY: info.to_json()})
