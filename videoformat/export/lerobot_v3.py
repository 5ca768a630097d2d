"""LeRobot v3.0: many episodes in one data file and in one video file of each camera.

A camera's files are cut by sizes of their own, so their numbers differ from one camera to the next.
An episode is never split, and an episode whose stream does not fit into the track that is open (other
parameter sets) begins another file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from videoformat.export.lerobot_info import camera_declaration, info_facts, whole, write_json
from videoformat.export.lerobot_rows import RowsOfEpisodes
from videoformat.export.lerobot_stats import episode_statistics
from videoformat.export.mp4 import write_by_count
from videoformat.export.samples import CameraEpisode
from videoformat.export.source import ExportSource
from videoformat.index.statistics import aggregate_statistics

__all__ = ["LeRobotV3"]

CHUNK_FILES = 1000
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
EPISODES_PATH = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
DATA_FILE_MB = 100
VIDEO_FILE_MB = 200
_MIB = 2**20


@dataclass(slots=True)
class _Place:
    """The file that is being filled: its number, and its bytes so far."""

    number: int = 0
    size: int = 0

    def facts(self) -> dict[str, int]:
        return {
            "chunk_index": self.number // CHUNK_FILES,
            "file_index": self.number % CHUNK_FILES,
        }

    def next(self) -> None:
        self.number, self.size = self.number + 1, 0


@dataclass(slots=True)
class _Track:
    """The episodes of the video file that is being filled."""

    place: _Place = field(default_factory=_Place)
    videos: list[CameraEpisode] = field(default_factory=list)
    first: Any = None


class LeRobotV3:
    """Writes a dataset into an empty folder, episode by episode."""

    def __init__(self, source: ExportSource, root: Path, data_mb: float, video_mb: float) -> None:
        self._source, self._root = source, root
        self._data_mb, self._video_mb = data_mb, video_mb
        self._rows = RowsOfEpisodes(source, "List")
        self._data = _Place()
        self._writer: pq.ParquetWriter | None = None
        self._tracks = {camera: _Track() for camera in source.dataset.cameras}
        self._episodes: list[dict[str, Any]] = []
        self._statistics: list[dict[str, Any]] = []
        self._first = 0

    def add(self, episode: int) -> None:
        """Writes an episode; its videos when their file is full."""
        number, length = len(self._episodes), self._source.length(episode)
        table = self._rows.table(episode, number, self._first)
        statistics = episode_statistics(self._source, episode, table)
        row: dict[str, Any] = {
            "episode_index": number,
            "tasks": self._source.tasks(episode),
            "length": length,
        }
        row |= {f"data/{name}": value for name, value in self._write_rows(table).items()}
        row |= {"dataset_from_index": self._first, "dataset_to_index": self._first + length}
        for camera in self._tracks:
            facts = self._write_video(camera, self._source.video(episode, camera))
            row |= {f"videos/{camera}/{name}": value for name, value in facts.items()}
        self._episodes.append(row)
        self._statistics.append(statistics)
        self._first += length

    def _write_rows(self, table: pa.Table) -> dict[str, int]:
        place = self._data
        if place.size and place.size + table.nbytes >= self._data_mb * _MIB:
            self._close_data()
            place.next()
        if self._writer is None:
            path = self._new(DATA_PATH.format(**place.facts()))
            self._writer = pq.ParquetWriter(path, self._rows.schema)
        # One row group an episode.
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))
        place.size += table.nbytes
        return place.facts()

    def _close_data(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _write_video(self, camera: str, video: CameraEpisode) -> dict[str, Any]:
        track = self._tracks[camera]
        full = track.place.size + video.byte_count >= self._video_mb * _MIB
        if track.videos and (full or track.videos[0].kind != video.kind):
            self._close_video(camera)
            track.place.next()
        before = sum(len(item.samples) for item in track.videos)
        track.videos.append(video)
        track.first = track.first or video.stream
        track.place.size += video.byte_count
        rate = self._source.rate
        return {
            **track.place.facts(),
            "from_timestamp": float(before / rate),
            "to_timestamp": float((before + len(video.samples)) / rate),
        }

    def _close_video(self, camera: str) -> None:
        track = self._tracks[camera]
        if not track.videos:
            return
        path = self._new(VIDEO_PATH.format(video_key=camera, **track.place.facts()))
        source = self._source
        write_by_count(path, source.table, track.videos, source.rate, source.allowed)
        track.videos = []

    def finish(self) -> None:
        """Writes what is still open, and the metadata."""
        self._close_data()
        for camera in self._tracks:
            self._close_video(camera)
        self._write_episodes()
        tasks = self._rows.tasks.texts
        pq.write_table(_tasks_table(tasks), self._new("meta/tasks.parquet"))
        write_json(self._new("meta/stats.json"), aggregate_statistics(self._statistics) or {})
        dataset = self._source.dataset
        features = self._rows.declarations()
        for camera, track in self._tracks.items():
            if track.first is not None:
                features[camera] = camera_declaration(dataset, camera, track.first)
        facts = info_facts(
            dataset,
            features,
            episodes=len(self._episodes),
            frames=self._first,
            tasks=len(tasks),
        )
        paths = {"data_path": DATA_PATH, "video_path": VIDEO_PATH if self._tracks else None}
        sizes = {
            "chunks_size": CHUNK_FILES,
            "data_files_size_in_mb": whole(self._data_mb),
            "video_files_size_in_mb": whole(self._video_mb),
        }
        info = {"codebase_version": "v3.0", **facts, **sizes, **paths}
        write_json(self._new("meta/info.json"), info)

    def _write_episodes(self) -> None:
        """The episodes' own facts, then their statistics, which many tools leave unread."""
        place = {"meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0}
        shared = set.intersection(*(set(item) for item in self._statistics))
        rows = [
            {
                **row,
                **{
                    f"stats/{key}/{name}": value
                    for key in statistics
                    if key in shared
                    for name, value in statistics[key].items()
                },
                **place,
            }
            for row, statistics in zip(self._episodes, self._statistics, strict=True)
        ]
        path = self._new(EPISODES_PATH.format(chunk_index=0, file_index=0))
        pq.write_table(pa.Table.from_pylist(rows), path)

    def _new(self, name: str) -> Path:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def _tasks_table(tasks: list[str]) -> pa.Table:
    """Tasks as pandas writes them with the text as its index, which LeRobot reads."""
    columns = [
        {
            "name": name,
            "field_name": name,
            "pandas_type": kind,
            "numpy_type": stored,
            "metadata": None,
        }
        for name, kind, stored in (("task_index", "int64", "int64"), ("task", "unicode", "object"))
    ]
    index = {
        "name": None,
        "field_name": None,
        "pandas_type": "unicode",
        "numpy_type": "object",
        "metadata": {"encoding": "UTF-8"},
    }
    pandas = {"index_columns": ["task"], "column_indexes": [index], "columns": columns}
    table = pa.table(
        {
            "task_index": pa.array(range(len(tasks)), pa.int64()),
            "task": pa.array(tasks, pa.string()),
        }
    )
    return table.replace_schema_metadata({"pandas": json.dumps(pandas)})
