"""LeRobot v2.1: one data file an episode, and one video file an episode and camera."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from videoformat.export.lerobot_info import camera_declaration, info_facts, write_json
from videoformat.export.lerobot_rows import RowsOfEpisodes
from videoformat.export.lerobot_stats import episode_statistics
from videoformat.export.mp4 import write_by_count
from videoformat.export.source import ExportSource
from videoformat.index.statistics import aggregate_statistics

__all__ = ["LeRobotV21"]

CHUNK_EPISODES = 1000
DATA_PATH = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
VIDEO_PATH = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"


class LeRobotV21:
    """Writes a dataset into an empty folder, episode by episode."""

    def __init__(self, source: ExportSource, root: Path) -> None:
        self._source, self._root = source, root
        self._rows = RowsOfEpisodes(source, "Sequence")
        self._episodes: list[dict[str, Any]] = []
        self._statistics: list[dict[str, Any]] = []
        self._streams: dict[str, Any] = {}
        self._first = 0

    def add(self, episode: int) -> None:
        """Writes an episode."""
        source = self._source
        number, length = len(self._episodes), source.length(episode)
        table = self._rows.table(episode, number, self._first)
        statistics = episode_statistics(source, episode, table)
        place = {"episode_chunk": number // CHUNK_EPISODES, "episode_index": number}
        pq.write_table(table, self._new(DATA_PATH.format(**place)))
        for camera in source.dataset.cameras:
            video = source.video(episode, camera)
            path = self._new(VIDEO_PATH.format(video_key=camera, **place))
            write_by_count(path, source.table, [video], source.rate, source.allowed)
            self._streams.setdefault(camera, video.stream)
        kept = {
            key: value
            for key, value in source.metadata(episode).items()
            if key not in ("episode_index", "tasks", "length")
        }
        facts = {"episode_index": number, "tasks": source.tasks(episode), "length": length}
        self._episodes.append({**facts, **kept})
        self._statistics.append(statistics)
        self._first += length

    def finish(self) -> None:
        """Writes the metadata."""
        dataset, count = self._source.dataset, len(self._episodes)
        tasks = self._rows.tasks.texts
        features = self._rows.declarations()
        for camera, stream in self._streams.items():
            features[camera] = camera_declaration(dataset, camera, stream)
        facts = info_facts(dataset, features, episodes=count, frames=self._first, tasks=len(tasks))
        own = {
            "total_videos": count * len(self._streams),
            "total_chunks": -(-count // CHUNK_EPISODES),
            "chunks_size": CHUNK_EPISODES,
            "data_path": DATA_PATH,
            "video_path": VIDEO_PATH if self._streams else None,
        }
        write_json(self._new("meta/info.json"), {"codebase_version": "v2.1", **facts, **own})
        self._write_lines("episodes", self._episodes)
        self._write_lines(
            "tasks", [{"task_index": at, "task": text} for at, text in enumerate(tasks)]
        )
        self._write_lines(
            "episodes_stats",
            [{"episode_index": at, "stats": item} for at, item in enumerate(self._statistics)],
        )
        # LeRobot aggregates for itself; others read this file.
        write_json(self._new("meta/stats.json"), aggregate_statistics(self._statistics) or {})

    def _write_lines(self, name: str, values: Sequence[dict[str, Any]]) -> None:
        lines = [json.dumps(value, ensure_ascii=False) + "\n" for value in values]
        self._new(f"meta/{name}.jsonl").write_text("".join(lines), encoding="utf-8")

    def _new(self, name: str) -> Path:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path
