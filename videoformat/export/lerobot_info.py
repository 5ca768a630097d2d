"""``meta/info.json`` and what else both LeRobot layouts write in one way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from videoformat.dataset import Dataset
from videoformat.index.pictures import Stream

__all__ = ["camera_declaration", "info_facts", "write_json"]

# Of other tools' keys, those that state what is stated anew.
_STATED = frozenset(
    [
        "codebase_version", "robot_type", "total_episodes", "total_frames", "total_tasks",
        "total_videos", "total_chunks", "chunks_size", "data_files_size_in_mb",
        "video_files_size_in_mb", "fps", "splits", "data_path", "video_path", "features",
    ]
)  # fmt: skip


def camera_declaration(dataset: Dataset, camera: str, stream: Stream) -> dict[str, Any]:
    """A camera's feature: what it was declared as, and what its video is."""
    declared = dict(dataset.features[camera])
    old = declared.pop("video_info", None)
    kept = declared.get("info") or old
    kept = dict(kept) if isinstance(kept, Mapping) else {}
    return {
        **declared,
        "dtype": "video",
        "shape": [stream.height, stream.width, 3],
        "names": declared.get("names") or ["height", "width", "channels"],
        "info": {
            **kept,
            "video.height": stream.height,
            "video.width": stream.width,
            "video.codec": stream.codec,
            "video.pix_fmt": stream.pixel_format,
            "video.is_depth_map": False,
            "video.fps": whole(dataset.fps),
            "video.channels": 3,
            "has_audio": False,
        },
    }


def whole(number: float) -> float:
    """An integer where it is one: LeRobot's ``fps`` is."""
    return int(number) if number == int(number) else number


def info_facts(
    dataset: Dataset, features: Mapping[str, Any], *, episodes: int, frames: int, tasks: int
) -> dict[str, Any]:
    """What both versions state; keys of other tools come along."""
    kept = {key: value for key, value in dataset.info.items() if key not in _STATED}
    return {
        **kept,
        "robot_type": dataset.robot_type,
        "total_episodes": episodes,
        "total_frames": frames,
        "total_tasks": tasks,
        "fps": whole(dataset.fps),
        "splits": {"train": f"0:{episodes}"},
        "features": dict(features),
    }


def write_json(path: Path, value: Any) -> None:
    """JSON as LeRobot writes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=4, ensure_ascii=False), encoding="utf-8")
