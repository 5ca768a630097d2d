"""``meta/info.json`` of a LeRobot dataset, v2.0 to v3.0."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from videoformat.convert.lerobot_json import JsonObject, read_json
from videoformat.convert.lerobot_notes import Notes
from videoformat.convert.lerobot_paths import DatasetRoot, PathTemplate
from videoformat.errors import DataError, DatasetNotFoundError, UnsupportedStreamError

__all__ = ["LeRobotInfo", "Version", "check_key", "feature_shape", "read_info"]

Version = Literal["v2.0", "v2.1", "v3.0"]

INFO = "meta/info.json"
MAX_COUNT = 2**40
MAX_FPS = 1_000_000
MAX_LIST_SIZE = 2**31 - 1
_VERSIONS: dict[str, Version] = {"v2.0": "v2.0", "v2.1": "v2.1", "v3.0": "v3.0"}
_USED = {
    "chunks_size",
    "codebase_version",
    "data_path",
    "features",
    "fps",
    "robot_type",
    "total_episodes",
    "total_frames",
    "video_path",
}
STANDARD_DATA_PATH = {
    2: "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
    3: "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
}
STANDARD_VIDEO_PATH = {
    2: "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
    3: "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
}
# The first v2.0 datasets on the hub have data/train-00000-of-00050.parquet.
_KNOWN_FIELDS = {
    2: {"episode_chunk", "episode_index", "total_episodes", "video_key"},
    3: {"chunk_index", "file_index", "video_key"},
}
_NEEDED_FIELDS = {2: {"episode_index"}, 3: {"chunk_index", "file_index"}}


@dataclass(frozen=True, slots=True)
class LeRobotInfo:
    """The checked content of ``meta/info.json``.

    ``standard_data_path`` and ``standard_video_path`` are the layout that LeRobot itself writes,
    for datasets whose own templates are wrong. ``extra`` are the keys that are not used here.
    """

    version: Version
    fps: int | float
    robot_type: str | None
    features: dict[str, dict[str, Any]]
    chunks_size: int
    total_episodes: int | None
    total_frames: int | None
    data_path: PathTemplate
    video_path: PathTemplate
    standard_data_path: PathTemplate
    standard_video_path: PathTemplate
    extra: dict[str, Any]

    def keys_of(self, *dtypes: str) -> Iterator[str]:
        """The features of these dtypes, in order."""
        return (key for key, feature in self.features.items() if feature["dtype"] in dtypes)


def check_key(key: str, where: str) -> None:
    """Refuses a feature key that could not be a part of a path; LeRobot forbids slashes."""
    if not key.isprintable() or "/" in key or "\\" in key or key in {"", ".", ".."}:
        raise DataError(f"{where}: feature key {key!r}, expected printable characters and no slash")
    if len(key.encode()) > 255:
        raise DataError(f"{where}: feature key {key[:40]!r}… is longer than 255 bytes")


def feature_shape(feature: JsonObject) -> tuple[int, ...]:
    """The shape of a feature, bounded by what one fixed-size list can hold."""
    shape = feature.values.get("shape")
    expected = "a list of at most 5 integers of at least 1"
    if not isinstance(shape, list) or len(shape) > 5:
        raise feature.error("shape", expected)
    if any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in shape):
        raise feature.error("shape", expected)
    if math.prod(shape) > MAX_LIST_SIZE:
        raise feature.error("shape", f"at most {MAX_LIST_SIZE} values")
    return tuple(shape)


def _version(info: JsonObject) -> Version:
    text = info.text("codebase_version")
    version = _VERSIONS.get("v" + text.removeprefix("v"))
    if version is None:
        # The kind is a short name, and the text is a stranger's.
        kind = text[:16] if text.isprintable() else repr(text[:16])
        raise UnsupportedStreamError(
            f"LeRobot {kind}", f"{info.where}: codebase_version, expected one of {[*_VERSIONS]}"
        )
    storage = info.optional_text("storage_format")
    if storage not in {None, "parquet"}:
        raise UnsupportedStreamError(
            f"LeRobot storage format {shown_kind(storage)}",
            f"{info.where}: storage_format, expected Parquet and MP4 files",
        )
    return version


def shown_kind(text: str | None) -> str:
    """A stranger's word as a part of an error's kind."""
    return repr((text or "")[:16])


def _features(info: JsonObject) -> dict[str, dict[str, Any]]:
    features = info.object("features")
    for key in features.values:
        check_key(key, features.where)
        feature = features.object(key)
        feature.text("dtype")
        feature_shape(feature)
    return dict(features.values)


def _templates(info: JsonObject, major: int, cameras: int, notes: Notes) -> list[PathTemplate]:
    video_needs = _NEEDED_FIELDS[major] | ({"video_key"} if cameras > 1 else set())
    standard = (
        ("data_path", STANDARD_DATA_PATH[major], _NEEDED_FIELDS[major]),
        ("video_path", STANDARD_VIDEO_PATH[major], video_needs),
    )
    templates = []
    for key, layout, needed in standard:
        text = info.optional_text(key)
        if text is None and (key == "data_path" or cameras):
            notes.add(key, f"{info.where}: no {key}; the standard layout {layout} is assumed")
        known = _KNOWN_FIELDS[major] - ({"video_key"} if key == "data_path" else set())
        templates.append(
            PathTemplate(
                layout if text is None else text, f"{info.where}: {key}", known=known, needed=needed
            )
        )
        templates.append(PathTemplate(layout, key, known=known, needed=needed))
    return templates


def _refuse_version_1(root: DatasetRoot) -> None:
    """v1.x kept its metadata in another folder."""
    where = "meta_data/info.json"
    if (path := root.find(where, where)) is not None:
        version = read_json(path, where).values.get("codebase_version", "v1.x")
        raise UnsupportedStreamError(
            f"LeRobot {version[:16] if isinstance(version, str) else 'v1.x'}",
            f"{where}: codebase_version, expected one of {[*_VERSIONS]}",
        )


def read_info(root: DatasetRoot, notes: Notes) -> LeRobotInfo:
    """Reads and checks ``meta/info.json``."""
    path = root.find(INFO, INFO)
    if path is None:
        _refuse_version_1(root)
        raise DatasetNotFoundError(f"no LeRobot dataset at {root.path}: there is no {INFO}")
    info = read_json(path, INFO)
    version = _version(info)
    major = int(version[1])
    features = _features(info)
    cameras = sum(feature["dtype"] == "video" for feature in features.values())
    data_path, standard_data_path, video_path, standard_video_path = _templates(
        info, major, cameras, notes
    )
    if info.values.get("chunks_size") is None:
        notes.add("chunks_size", f"{INFO}: no chunks_size; LeRobot's default of 1000 is assumed")
        chunks_size = 1000
    else:
        chunks_size = info.integer("chunks_size", 1, MAX_COUNT)
    totals = [
        info.integer(key, 0, MAX_COUNT) if info.values.get(key) is not None else None
        for key in ("total_episodes", "total_frames")
    ]
    return LeRobotInfo(
        version=version,
        fps=info.number("fps", MAX_FPS),
        robot_type=info.optional_text("robot_type"),
        features=features,
        chunks_size=chunks_size,
        total_episodes=totals[0],
        total_frames=totals[1],
        data_path=data_path,
        video_path=video_path,
        standard_data_path=standard_data_path,
        standard_video_path=standard_video_path,
        extra={key: value for key, value in info.values.items() if key not in _USED},
    )
