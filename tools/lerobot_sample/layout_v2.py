"""LeRobot v2.0 and v2.1 on disk: one table and one video per camera for each episode."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from lerobot_sample.episode import Episode
from lerobot_sample.spec import SampleSpec
from lerobot_sample.stats import aggregate, select

_CHUNK_EPISODES = 1000
_DATA = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
_VIDEO = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"


class LayoutV2:
    """Puts episodes into place as they come; ``finish`` writes what spans them."""

    def __init__(self, root: Path, spec: SampleSpec) -> None:
        self._root, self._spec = root, spec
        self._episodes: list[Episode] = []

    def add(self, episode: Episode) -> None:
        place = {
            "episode_chunk": episode.index // _CHUNK_EPISODES,
            "episode_index": episode.index,
        }
        data = self._root / _DATA.format(**place)
        data.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(episode.table, data)
        for key, recorded in episode.videos.items():
            video = self._root / _VIDEO.format(**place, video_key=key)
            video.parent.mkdir(parents=True, exist_ok=True)
            recorded.rename(video)
        self._episodes.append(episode)

    def finish(self) -> None:
        meta = self._root / "meta"
        meta.mkdir()
        tasks = self._spec.tasks
        _write_lines(
            meta / "tasks.jsonl",
            ({"task_index": index, "task": task} for index, task in enumerate(tasks)),
        )
        _write_lines(
            meta / "episodes.jsonl",
            (
                {"episode_index": e.index, "tasks": [tasks[e.task_index]], "length": e.length}
                for e in self._episodes
            ),
        )
        names = ["min", "max", "mean", "std"]
        if self._spec.version == "v2.0":
            of_all = {
                key: aggregate([e.stats[key] for e in self._episodes])
                for key in self._spec.features()
            }
            _write_json(meta / "stats.json", select(of_all, names))
        else:
            _write_lines(
                meta / "episodes_stats.jsonl",
                (
                    {"episode_index": e.index, "stats": select(e.stats, [*names, "count"])}
                    for e in self._episodes
                ),
            )
        _write_json(meta / "info.json", self._info())

    def _info(self) -> dict[str, Any]:
        spec, count = self._spec, len(self._episodes)
        return {
            "codebase_version": spec.version,
            "robot_type": "synthetic",
            "total_episodes": count,
            "total_frames": spec.total_frames,
            "total_tasks": len(spec.tasks),
            "total_videos": count * len(spec.cameras),
            "total_chunks": -(-count // _CHUNK_EPISODES),
            "chunks_size": _CHUNK_EPISODES,
            "fps": spec.fps,
            "splits": {"train": f"0:{count}"},
            "data_path": _DATA,
            "video_path": _VIDEO,
            "features": spec.features(),
        }


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=4, ensure_ascii=False), encoding="utf-8")


def _write_lines(path: Path, rows: Iterable[object]) -> None:
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(lines, encoding="utf-8")
