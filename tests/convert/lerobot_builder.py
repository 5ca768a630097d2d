"""Writes LeRobot datasets of a few rows for tests: valid ones, to be broken on disk afterwards.

Video files hold a word and no video: the source reads tables and decodes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

CAMERA = "observation.images.top"
FPS = 10
Columns = dict[str, Any]


def feature(dtype: str, *shape: int, **more: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "names": None, **more}


DEFAULT = {
    "timestamp": feature("float32", 1),
    "frame_index": feature("int64", 1),
    "episode_index": feature("int64", 1),
    "index": feature("int64", 1),
    "task_index": feature("int64", 1),
}


def default_columns(episode: int, length: int, first_index: int) -> Columns:
    return {
        "timestamp": pa.array([frame / FPS for frame in range(length)], pa.float32()),
        "frame_index": pa.array(range(length), pa.int64()),
        "episode_index": pa.array([episode] * length, pa.int64()),
        "index": pa.array(range(first_index, first_index + length), pa.int64()),
        "task_index": pa.array([episode % 2] * length, pa.int64()),
    }


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def write_lines(path: Path, values: Sequence[object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(value) + "\n" for value in values))


def write_parquet(path: Path, table: pa.Table, **options: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **options)


def write_video(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"video")


def edit_info(root: Path, *remove: str, **changes: Any) -> None:
    path = root / "meta/info.json"
    info = json.loads(path.read_text())
    for key in remove:
        del info[key]
    path.write_text(json.dumps(info | changes))


def edit_table(path: Path, **columns: Any) -> None:
    """Replaces or adds columns of a Parquet file; ``None`` removes one."""
    table = pq.read_table(path)
    for name, values in columns.items():
        present = name in table.column_names
        if values is None:
            table = table.drop_columns([name])
        elif present:
            table = table.set_column(table.column_names.index(name), name, pa.array(values))
        else:
            table = table.append_column(name, pa.array(values))
    pq.write_table(table, path)


def _info(version: str, lengths: Sequence[int], cameras: Sequence[str], features: Any) -> Any:
    videos = {camera: feature("video", 4, 6, 3) for camera in cameras}
    return {
        "codebase_version": version,
        "robot_type": "so101",
        "total_episodes": len(lengths),
        "total_frames": sum(lengths),
        "total_tasks": 2,
        "chunks_size": 1000,
        "fps": FPS,
        "splits": {"train": f"0:{len(lengths)}"},
        "features": features | videos | DEFAULT,
    }


def _data(
    episode: int, lengths: Sequence[int], columns: Callable[[int, int], Columns] | None
) -> pa.Table:
    length = lengths[episode]
    values = default_columns(episode, length, sum(lengths[:episode]))
    return pa.table((columns(episode, length) if columns else {}) | values)


def build_v2(
    root: Path,
    lengths: Sequence[int] = (3, 2),
    *,
    version: str = "v2.1",
    cameras: Sequence[str] = (CAMERA,),
    features: dict[str, Any] | None = None,
    columns: Callable[[int, int], Columns] | None = None,
) -> Path:
    data = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
    video = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
    info = _info(version, lengths, cameras, features or {})
    write_json(root / "meta/info.json", info | {"data_path": data, "video_path": video})
    write_lines(
        root / "meta/episodes.jsonl",
        [
            {"episode_index": episode, "tasks": [f"task {episode % 2}"], "length": length}
            for episode, length in enumerate(lengths)
        ],
    )
    write_lines(
        root / "meta/tasks.jsonl", [{"task_index": i, "task": f"task {i}"} for i in range(2)]
    )
    if version == "v2.1":
        write_lines(
            root / "meta/episodes_stats.jsonl",
            [
                {"episode_index": episode, "stats": {"timestamp": {"count": [length]}}}
                for episode, length in enumerate(lengths)
            ],
        )
    for episode in range(len(lengths)):
        fields = {"episode_chunk": episode // 1000, "episode_index": episode}
        write_parquet(root / data.format(**fields), _data(episode, lengths, columns))
        for camera in cameras:
            write_video(root / video.format(**fields, video_key=camera))
    return root


def build_v3(
    root: Path,
    lengths: Sequence[int] = (3, 2, 4),
    *,
    data_files: Sequence[int] = (0, 0, 1),
    video_files: Sequence[int] = (0, 1, 1),
    cameras: Sequence[str] = (CAMERA,),
    features: dict[str, Any] | None = None,
    columns: Callable[[int, int], Columns] | None = None,
    row_group_size: int | None = None,
) -> Path:
    """``data_files`` and ``video_files`` are the file index of each episode."""
    data = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
    video = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
    info = _info("v3.0", lengths, cameras, features or {})
    write_json(root / "meta/info.json", info | {"data_path": data, "video_path": video})
    tasks = pa.table({"task_index": [0, 1], "__index_level_0__": ["task 0", "task 1"]})
    write_parquet(root / "meta/tasks.parquet", tasks)
    episodes: list[dict[str, Any]] = []
    for episode, length in enumerate(lengths):
        first = sum(lengths[:episode])
        row: dict[str, Any] = {
            "episode_index": episode,
            "tasks": [f"task {episode % 2}"],
            "length": length,
            "data/chunk_index": 0,
            "data/file_index": data_files[episode],
            "dataset_from_index": first,
            "dataset_to_index": first + length,
        }
        for camera in cameras:
            before = sum(
                lengths[other]
                for other in range(episode)
                if video_files[other] == video_files[episode]
            )
            row |= {
                f"videos/{camera}/chunk_index": 0,
                f"videos/{camera}/file_index": video_files[episode],
                f"videos/{camera}/from_timestamp": before / FPS,
                f"videos/{camera}/to_timestamp": (before + length) / FPS,
            }
            write_video(
                root
                / video.format(video_key=camera, chunk_index=0, file_index=video_files[episode])
            )
        row["stats/timestamp/count"] = [length]
        row |= {"meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0}
        episodes.append(row)
    if episodes:
        write_parquet(
            root / "meta/episodes/chunk-000/file-000.parquet", pa.Table.from_pylist(episodes)
        )
    for file in sorted(set(data_files[: len(lengths)])):
        parts = [
            _data(episode, lengths, columns)
            for episode in range(len(lengths))
            if data_files[episode] == file
        ]
        write_parquet(
            root / data.format(chunk_index=0, file_index=file),
            pa.concat_tables(parts),
            row_group_size=row_group_size,
        )
    return root


EPISODES_V3 = "meta/episodes/chunk-000/file-000.parquet"
