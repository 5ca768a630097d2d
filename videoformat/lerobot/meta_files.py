"""LeRobot's ``meta/`` folder for a dataset of this format: what LeRobot itself reads first."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from videoformat.lerobot.metadata import LeRobotDatasetMetadata

__all__ = ["POINTER", "STORAGE_FORMAT", "write_meta"]

STORAGE_FORMAT = "videoformat"
# Where the dataset is, for the reader that is given the folder of its metadata.
POINTER = "meta/videoformat.json"
_CHUNK_FILES = 1000


def write_meta(
    uri: str | os.PathLike[str],
    folder: str | os.PathLike[str] | None = None,
    *,
    version: int | str | None = None,
) -> Path:
    """Writes ``meta/`` of LeRobot v3.0 that names this format as its storage, and returns its root.

    ``folder`` gets it; None is the dataset's own folder, which a local dataset has. The version
    that is newest, or ``version``, is the one that LeRobot will read.
    """
    meta = LeRobotDatasetMetadata(str(uri), root=uri, revision=version)
    root = Path(folder if folder is not None else uri)
    episodes = root / "meta/episodes/chunk-000"
    episodes.mkdir(parents=True, exist_ok=True)
    _write_json(root / "meta/info.json", _info(meta))
    if meta.stats is not None:
        _write_json(root / "meta/stats.json", meta.stats)
    parquet.write_table(_tasks(meta), root / "meta/tasks.parquet")
    parquet.write_table(_episodes(meta), episodes / "file-000.parquet")
    _write_json(root / POINTER, {"uri": meta.url_root, "version": meta.version})
    return root


def _info(meta: LeRobotDatasetMetadata) -> dict[str, Any]:
    return {
        "codebase_version": "v3.0",
        "storage_format": STORAGE_FORMAT,
        "robot_type": meta.robot_type,
        "total_episodes": meta.total_episodes,
        "total_frames": meta.total_frames,
        "total_tasks": meta.total_tasks,
        "chunks_size": _CHUNK_FILES,
        "fps": meta.fps,
        "splits": {"train": f"0:{meta.total_episodes}"},
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
        "features": meta.features,
    }


def _tasks(meta: LeRobotDatasetMetadata) -> pa.Table:
    """Tasks as pandas writes a frame that is indexed by their text."""
    texts = meta.tasks.index
    table = pa.table({"task_index": pa.array(range(len(texts)), pa.int64()), "task": texts})
    described = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": [
            {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": dtype,
             "metadata": None}
            for name, kind, dtype in (("task_index", "int64", "int64"), ("task", "unicode", "object"))
        ],
        "creator": {"library": "pyarrow", "version": pa.__version__},
    }  # fmt: skip
    return table.replace_schema_metadata({"pandas": json.dumps(described)})


def _episodes(meta: LeRobotDatasetMetadata) -> pa.Table:
    columns: dict[str, Any] = {name: meta.episodes[name] for name in meta.episodes.column_names}
    columns["tasks"] = pa.array(columns["tasks"], pa.list_(pa.string()))
    zeros = pa.array(np.zeros(meta.total_episodes, np.int64))
    for name in ("data/chunk_index", "data/file_index"):
        columns[name] = zeros
    for name in ("meta/episodes/chunk_index", "meta/episodes/file_index"):
        columns[name] = zeros
    return pa.table(columns)


def _write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, indent=4, ensure_ascii=False, default=_plain)
    path.write_text(text, encoding="utf-8")


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} does not become JSON")
