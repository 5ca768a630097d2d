"""LeRobot v3.0 on disk: many episodes in one table and in one video file.

The tables, and each camera's videos, start another file by sizes of their own, so the numbers of
the files that hold one episode differ from one camera to the next.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lerobot_sample.episode import Episode
from lerobot_sample.spec import SampleSpec
from lerobot_sample.stats import QUANTILES, aggregate, select
from lerobot_sample.video import concatenate

_CHUNK_FILES = 1000
_MIB = 1 << 20
_DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
_VIDEO = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
_EPISODES = "meta/episodes/chunk-000/file-000.parquet"
_STATS = ["min", "max", "mean", "std", "count", *QUANTILES]


@dataclass(slots=True)
class _Files:
    """Which file of a kind is being filled, and what is in it so far."""

    limit: float
    number: int = 0
    size: int = 0
    episodes: list[Episode] = field(default_factory=list)

    def is_full(self, more: int) -> bool:
        return bool(self.episodes) and self.size + more >= self.limit

    def put(self, episode: Episode, size: int) -> None:
        self.episodes.append(episode)
        self.size += size

    def next(self) -> None:
        self.number, self.size, self.episodes = self.number + 1, 0, []

    def place(self) -> dict[str, int]:
        return {
            "chunk_index": self.number // _CHUNK_FILES,
            "file_index": self.number % _CHUNK_FILES,
        }


class LayoutV3:
    """Collects episodes and writes a file when the next episode would overfill it."""

    def __init__(self, root: Path, spec: SampleSpec) -> None:
        self._root, self._spec = root, spec
        self._data = _Files(spec.data_file_mb * _MIB)
        self._videos = {key: _Files(spec.video_file_mb * _MIB) for key in spec.video_keys}
        self._rows: list[dict[str, Any]] = []
        self._stats: list[Episode] = []

    def add(self, episode: Episode) -> None:
        if self._data.is_full(episode.table.nbytes):
            self._write_data()
        self._data.put(episode, episode.table.nbytes)
        row: dict[str, Any] = {
            "episode_index": episode.index,
            "tasks": [self._spec.tasks[episode.task_index]],
            "length": episode.length,
        }
        row |= {f"data/{name}": value for name, value in self._data.place().items()}
        row["dataset_from_index"] = episode.first_index
        row["dataset_to_index"] = episode.first_index + episode.length
        for key, files in self._videos.items():
            size = episode.videos[key].stat().st_size
            if files.is_full(size):
                self._write_video(key)
            before = sum(e.length for e in files.episodes)
            files.put(episode, size)
            row |= {f"videos/{key}/{name}": value for name, value in files.place().items()}
            row[f"videos/{key}/from_timestamp"] = before / self._spec.fps
            row[f"videos/{key}/to_timestamp"] = (before + episode.length) / self._spec.fps
        for key, found in select(episode.stats, _STATS).items():
            row |= {f"stats/{key}/{name}": value for name, value in found.items()}
        row |= {"meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0}
        self._rows.append(row)
        self._stats.append(episode)

    def finish(self) -> None:
        self._write_data()
        for key in self._videos:
            self._write_video(key)
        pq.write_table(pa.Table.from_pylist(self._rows), self._new(_EPISODES))
        pq.write_table(_tasks_table(self._spec.tasks), self._new("meta/tasks.parquet"))
        of_all = {
            key: aggregate([e.stats[key] for e in self._stats]) for key in self._spec.features()
        }
        for name, value in (("stats", select(of_all, _STATS)), ("info", self._info())):
            text = json.dumps(value, indent=4, ensure_ascii=False)
            self._new(f"meta/{name}.json").write_text(text, encoding="utf-8")

    def _write_data(self) -> None:
        files = self._data
        schema = files.episodes[0].table.schema
        with pq.ParquetWriter(self._new(_DATA.format(**files.place())), schema) as writer:
            for episode in files.episodes:
                writer.write_table(episode.table)  # one row group for each episode
        files.next()

    def _write_video(self, key: str) -> None:
        files = self._videos[key]
        path = self._new(_VIDEO.format(video_key=key, **files.place()))
        parts = [episode.videos[key] for episode in files.episodes]
        if len(parts) == 1:
            parts[0].rename(path)
        else:
            concatenate(path, parts, [e.length for e in files.episodes], self._spec.fps)
        files.next()

    def _new(self, name: str) -> Path:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _info(self) -> dict[str, Any]:
        spec, count = self._spec, len(self._rows)
        return {
            "codebase_version": spec.version,
            "robot_type": "synthetic",
            "total_episodes": count,
            "total_frames": spec.total_frames,
            "total_tasks": len(spec.tasks),
            "chunks_size": _CHUNK_FILES,
            "data_files_size_in_mb": spec.data_file_mb,
            "video_files_size_in_mb": spec.video_file_mb,
            "fps": spec.fps,
            "splits": {"train": f"0:{count}"},
            "data_path": _DATA,
            "video_path": _VIDEO,
            "features": spec.features(),
        }


def _tasks_table(tasks: tuple[str, ...]) -> pa.Table:
    """The tasks as pandas writes a frame whose index is the task's text."""
    index = "__index_level_0__"
    described = {
        "index_columns": [index],
        "column_indexes": [
            {
                "name": None,
                "field_name": None,
                "pandas_type": "unicode",
                "numpy_type": "object",
                "metadata": {"encoding": "UTF-8"},
            }
        ],
        "columns": [
            {
                "name": name,
                "field_name": name or index,
                "pandas_type": pandas_type,
                "numpy_type": numpy_type,
                "metadata": None,
            }
            for name, pandas_type, numpy_type in (
                ("task_index", "int64", "int64"),
                (None, "unicode", "object"),
            )
        ],
    }
    table = pa.table(
        {
            "task_index": pa.array(range(len(tasks)), pa.int64()),
            index: pa.array(tasks, pa.string()),
        }
    )
    return table.replace_schema_metadata({"pandas": json.dumps(described)})
