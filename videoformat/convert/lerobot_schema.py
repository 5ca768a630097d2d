"""Which features a dataset really has: what it declares against what its files hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from videoformat.convert.lerobot_columns import Column, infer_feature, plan_column
from videoformat.convert.lerobot_episode import EpisodeTable
from videoformat.convert.lerobot_info import INFO, LeRobotInfo, check_key
from videoformat.convert.lerobot_notes import Notes
from videoformat.convert.lerobot_parquet import RowReader, Rows, open_parquet
from videoformat.errors import DataError

__all__ = ["LeRobotSchema", "resolve_schema"]

_SAMPLE_ROWS = 1024


@dataclass(frozen=True, slots=True)
class LeRobotSchema:
    """The features that exist, and how the tabular ones are read.

    ``dropped`` are the declared features without data; ``first_file`` is the data file that
    decided.
    """

    features: dict[str, dict[str, Any]]
    columns: dict[str, Column]
    dropped: frozenset[str]
    first_file: str

    def check(self, rows: Rows, notes: Notes) -> None:
        """Checks that a data file has the columns that the first one has."""
        if late := sorted(self.dropped & rows.columns):
            raise DataError(
                f"{rows.name} has the column {late[0]}, which {INFO} declares and "
                f"{self.first_file} lacks"
            )
        if more := sorted(rows.columns - self.features.keys()):
            notes.add(
                "late columns",
                f"{rows.name} has the column {more[0]}, which neither {INFO} nor "
                f"{self.first_file} has; it is left out",
            )


def resolve_schema(
    info: LeRobotInfo, episodes: EpisodeTable, reader: RowReader, notes: Notes
) -> LeRobotSchema:
    """Looks at the first data file, and for the cameras at the video files."""
    features = {
        key: feature
        for key, feature in info.features.items()
        if feature["dtype"] != "video" or _keep_camera(key, episodes, notes)
    }
    columns: dict[str, Column] = {}
    name = ""
    if episodes.indices.size:
        rows = episodes.rows(0)
        name = rows.name
        with open_parquet(rows.path, rows.name) as file:
            stored = file.schema_arrow
        features = _resolve_columns(features, columns, stored, name, notes)
        for key in stored.names:
            if key not in info.features:
                feature = _undeclared(key, stored.field(key).type, rows, reader)
                features[key] = feature
                columns[key], _ = plan_column(key, feature, stored.field(key).type, name)
                notes.add(
                    f"undeclared {key}",
                    f"{name}: the column {key} is not in {INFO}; it is kept as "
                    f"{feature['dtype']} of shape {feature['shape']}",
                )
        if "frame_index" not in features:
            notes.add("frame_index", "there is no frame_index column; none is made up")
    dropped = frozenset(info.features.keys() - features.keys())
    return LeRobotSchema(features, columns, dropped, name)


def _keep_camera(key: str, episodes: EpisodeTable, notes: Notes) -> bool:
    if not episodes.indices.size or episodes.has_video(key):
        return True
    notes.add(f"camera {key}", f"{INFO} declares the camera {key}, no episode has its video")
    return False


def _resolve_columns(
    declared: dict[str, dict[str, Any]],
    columns: dict[str, Column],
    stored: pa.Schema,
    name: str,
    notes: Notes,
) -> dict[str, dict[str, Any]]:
    """The declared features that have data, with the dtype that they are stored in."""
    features: dict[str, dict[str, Any]] = {}
    for key, feature in declared.items():
        if feature["dtype"] == "video":
            features[key] = feature
        elif key not in stored.names:
            notes.add(f"column {key}", f"{INFO} declares {key}, {name} has no such column")
        elif feature["dtype"] == "image":
            features[key] = feature
        else:
            columns[key], dtype = plan_column(key, feature, stored.field(key).type, name)
            features[key] = feature if dtype is None else {**feature, "dtype": dtype}
            if dtype is not None:
                notes.add(
                    f"dtype {key}",
                    f"{INFO} declares {key} as {feature['dtype']}, {name} holds {dtype}, which is "
                    "kept",
                )
    return features


def _undeclared(key: str, stored: pa.DataType, rows: Rows, reader: RowReader) -> dict[str, Any]:
    check_key(key, rows.name)
    count = min(rows.count, _SAMPLE_ROWS)
    sample = Rows(rows.path, rows.name, rows.start, count, rows.columns)
    return infer_feature(stored, reader.read(sample, [key]).column(key))
