"""The episodes of LeRobot v2.0 and v2.1: JSON Lines, and one file per episode and camera."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from videoformat.convert.lerobot_episode import (
    MAX_EPISODE_FRAMES,
    MAX_EPISODE_INDEX,
    EpisodeEntry,
    VideoSlice,
    check_episodes,
)
from videoformat.convert.lerobot_info import LeRobotInfo
from videoformat.convert.lerobot_json import JsonObject, read_json_line, read_json_lines
from videoformat.convert.lerobot_notes import Notes
from videoformat.convert.lerobot_parquet import Rows
from videoformat.convert.lerobot_paths import DatasetRoot, PathTemplate
from videoformat.convert.lerobot_runs import EpisodeRuns
from videoformat.errors import CountMismatchError, DataError

__all__ = ["EpisodesV2"]

EPISODES = "meta/episodes.jsonl"
EPISODES_STATS = "meta/episodes_stats.jsonl"


class EpisodesV2:
    """An ``EpisodeTable`` that keeps three integers an episode and parses a line when asked."""

    def __init__(self, root: DatasetRoot, info: LeRobotInfo, notes: Notes) -> None:
        self._root = root
        self._info = info
        self._notes = notes
        self._runs = EpisodeRuns()
        self._path = root.require(EPISODES, EPISODES)
        stats = root.find(EPISODES_STATS, EPISODES_STATS)
        self._stats = _StatsLines(stats) if stats is not None else None
        if info.version == "v2.1" and stats is None:
            notes.add("stats", f"there is no {EPISODES_STATS}; episodes have no statistics")
        columns: list[tuple[int, int, int]] = [
            (
                line.integer("episode_index", 0, MAX_EPISODE_INDEX),
                line.integer("length", 1, MAX_EPISODE_FRAMES),
                offset,
            )
            for offset, _, line in read_json_lines(self._path, EPISODES)
        ]
        table = np.array(sorted(columns), dtype=np.int64).reshape(-1, 3)
        self.indices: npt.NDArray[np.int64] = table[:, 0]
        self.lengths: npt.NDArray[np.int64] = table[:, 1]
        self._offsets: npt.NDArray[np.int64] = table[:, 2]
        check_episodes(info, self.indices, self.lengths, EPISODES)
        if self.indices.size and self.indices[-1] != self.indices.size - 1:
            notes.add(
                "gaps",
                f"{EPISODES}: {self.indices.size} episodes with indices up to {self.indices[-1]}; "
                "the missing ones are left out",
            )

    def entry(self, position: int) -> EpisodeEntry:
        """Tasks, metadata and statistics."""
        line = read_json_line(self._path, EPISODES, int(self._offsets[position]))
        known = {"episode_index", "tasks", "length"}
        episode = int(self.indices[position])
        return EpisodeEntry(
            line.texts("tasks"),
            {key: value for key, value in line.values.items() if key not in known},
            self._stats.of(episode) if self._stats is not None else None,
        )

    def rows(self, position: int) -> Rows:
        """Where the episode's rows are: all of its file."""
        episode = int(self.indices[position])
        length = int(self.lengths[position])
        path, name = self._locate(
            "data_path", self._info.data_path, self._info.standard_data_path, episode, ""
        )
        file = self._runs.of(path, name)
        if file.num_rows != length:
            raise CountMismatchError(
                f"episode {episode}: {EPISODES} says {length} frames, {name} holds {file.num_rows}"
            )
        if file.runs is not None and file.runs.get(episode) != (0, length):
            raise DataError(
                f"episode {episode}: {name} holds rows of the episodes {sorted(file.runs)[:5]}"
            )
        return Rows(path, name, 0, length, file.columns)

    def video(self, position: int, key: str) -> VideoSlice:
        """Where a camera's frames are: all of its file."""
        length = int(self.lengths[position])
        path, _ = self._locate(
            "video_path",
            self._info.video_path,
            self._info.standard_video_path,
            int(self.indices[position]),
            key,
        )
        return VideoSlice(path, 0, length, length)

    def has_video(self, key: str) -> bool:
        """Whether any episode has a file of this camera."""
        templates = (self._info.video_path, self._info.standard_video_path)
        return any(
            self._root.find(template.path(self._fields(int(episode), key)), "video_path")
            is not None
            for episode in self.indices
            for template in templates
        )

    def _fields(self, episode: int, key: str) -> dict[str, int | str]:
        return {
            "episode_chunk": episode // self._info.chunks_size,
            "episode_index": episode,
            "total_episodes": self.indices.size,
            "video_key": key,
        }

    def _locate(
        self, what: str, template: PathTemplate, standard: PathTemplate, episode: int, key: str
    ) -> tuple[Path, str]:
        """The file that the template names, or else the one of the standard layout."""
        fields = self._fields(episode, key)
        name = template.path(fields)
        path = self._root.find(name, what)
        if path is not None:
            return path, name
        other = standard.path(fields)
        path = self._root.find(other, what) if other != name else None
        if path is None:
            camera = f", camera {key}" if key else ""
            raise DataError(
                f"episode {episode}{camera}: there is no file {name}"
                + (f" and no file {other}" if other != name else "")
            )
        self._notes.add(
            what,
            f"{what} {template.text} names no file for episode {episode}; where it does not, the "
            f"standard layout is used ({other})",
        )
        return path, other


class _StatsLines:
    """Lines of ``meta/episodes_stats.jsonl`` by episode.

    A line is long (tens of kilobytes), so none is read before an episode at or after it is asked
    for, and reading on in order parses each line once.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offsets: dict[int, int] = {}
        self._next = 0
        self._complete = False
        # Episodes are converted side by side.
        self._lock = threading.Lock()

    def of(self, episode: int) -> dict[str, Any] | None:
        """The statistics of an episode, or ``None`` where no line has them."""
        with self._lock:
            return self._find(episode)

    def _find(self, episode: int) -> dict[str, Any] | None:
        if episode in self._offsets:
            return _stats(read_json_line(self._path, EPISODES_STATS, self._offsets[episode]))
        if self._complete:
            return None
        for start, end, line in read_json_lines(self._path, EPISODES_STATS, self._next):
            found = line.integer("episode_index", 0, MAX_EPISODE_INDEX)
            if found in self._offsets:
                raise DataError(f"{line.where}: episode {found} is there twice")
            self._offsets[found] = start
            self._next = end
            if found == episode:
                return _stats(line)
        self._complete = True
        return None


def _stats(line: JsonObject) -> dict[str, Any]:
    return line.object("stats").values
