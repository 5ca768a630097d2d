"""LeRobot's ``meta`` over this format."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np

from videoformat.errors import EpisodeNotFoundError, InvalidArgumentError
from videoformat.lerobot.columns import lerobot_features
from videoformat.lerobot.tasks import TaskTable
from videoformat.loading import DatasetHandle

__all__ = ["DatasetInfo", "EpisodeTable", "LeRobotDatasetMetadata"]


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """What LeRobot's ``meta/info.json`` says; also by key, as a mapping."""

    codebase_version: str
    fps: int | float
    features: dict[str, dict[str, Any]]
    total_episodes: int
    total_frames: int
    total_tasks: int
    robot_type: str | None
    splits: dict[str, str]
    extra: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, key: str) -> Any:
        if key in self.__dataclass_fields__:
            return getattr(self, key)
        return self.extra[key]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or a default."""
        try:
            return self[key]
        except KeyError:
            return default


class EpisodeTable:
    """Episodes by position, each a dict, or a column of all of them by name."""

    def __init__(self, handle: DatasetHandle) -> None:
        self._handle = handle
        lengths = handle.facts.lengths
        self._ends = np.cumsum(lengths)

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[at] for at in range(len(self)))

    @property
    def column_names(self) -> list[str]:
        """The columns there are."""
        return ["episode_index", "tasks", "length", "dataset_from_index", "dataset_to_index"]

    @overload
    def __getitem__(self, key: str) -> list[Any]: ...
    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    def __getitem__(self, key: str | int) -> list[Any] | dict[str, Any]:
        lengths = self._handle.facts.lengths
        if isinstance(key, str):
            columns: dict[str, Callable[[], list[Any]]] = {
                "episode_index": lambda: list(range(len(self))),
                "tasks": lambda: self._handle.episodes.column("tasks").to_pylist(),
                "length": lengths.tolist,
                "dataset_from_index": (self._ends - lengths).tolist,
                "dataset_to_index": self._ends.tolist,
            }
            return columns[key]()
        if not -len(self) <= key < len(self):
            raise EpisodeNotFoundError(f"there is no episode {key}; valid are 0 to {len(self) - 1}")
        at = range(len(self))[key]
        end, length = int(self._ends[at]), int(lengths[at])
        return {
            "episode_index": at,
            "tasks": self._handle.episodes.column("tasks")[at].as_py() or [],
            "length": length,
            "dataset_from_index": end - length,
            "dataset_to_index": end,
        }


class LeRobotDatasetMetadata:
    """The facts of a dataset under LeRobot's names."""

    def __init__(
        self,
        repo_id: str,
        root: str | os.PathLike[str] | None = None,
        revision: int | str | None = None,
        *,
        handle: DatasetHandle | None = None,
    ) -> None:
        self.repo_id = repo_id
        self._handle = handle or DatasetHandle(root or repo_id, version=revision)
        self.revision = revision
        facts = self._handle.facts
        self.features = lerobot_features(facts)
        self.tasks = TaskTable(facts.tasks)
        self.episodes = EpisodeTable(self._handle)

    @property
    def root(self) -> Path | str:
        """Where the dataset is: a path, or the URI of an object store."""
        uri = self._handle.uri
        return uri if "://" in uri else Path(uri)

    @property
    def version(self) -> int:
        """The number of the dataset's version."""
        return self._handle.version

    @property
    def url_root(self) -> str:
        """The same as text."""
        return self._handle.uri

    @cached_property
    def info(self) -> DatasetInfo:
        """What LeRobot keeps in ``meta/info.json``."""
        facts = self._handle.facts
        extra = dict(facts.info)
        return DatasetInfo(
            codebase_version=str(extra.pop("codebase_version", "v3.0")),
            fps=self.fps,
            features=self.features,
            total_episodes=self.total_episodes,
            total_frames=self.total_frames,
            total_tasks=self.total_tasks,
            robot_type=facts.robot_type,
            splits=extra.pop("splits", {"train": f"0:{self.total_episodes}"}),
            extra=extra,
        )

    @property
    def fps(self) -> int | float:
        """Frames a second; an integer where it is one."""
        fps = self._handle.facts.fps
        return int(fps) if float(fps).is_integer() else fps

    @property
    def robot_type(self) -> str | None:
        """The robot, as the recording named it."""
        return self._handle.facts.robot_type

    @property
    def names(self) -> dict[str, Any]:
        """The names of each feature's dimensions."""
        return {key: feature.get("names") for key, feature in self.features.items()}

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each feature."""
        return {key: tuple(feature["shape"]) for key, feature in self.features.items()}

    def _keys(self, *dtypes: str) -> list[str]:
        return [key for key, feature in self.features.items() if feature["dtype"] in dtypes]

    @property
    def image_keys(self) -> list[str]:
        """Cameras that were recorded as images."""
        return self._keys("image")

    @property
    def video_keys(self) -> list[str]:
        """Cameras that were recorded as video."""
        return self._keys("video")

    @property
    def camera_keys(self) -> list[str]:
        """All cameras."""
        return self._keys("video", "image")

    @property
    def depth_keys(self) -> list[str]:
        """Cameras of depth, which this format does not hold."""
        return []

    @property
    def has_language_columns(self) -> bool:
        """Whether there are columns of dtype ``language``."""
        return bool(self._keys("language"))

    @property
    def tools(self) -> Any:
        """Tool schemas of the recording, as they came."""
        return self._handle.facts.info.get("tools")

    @property
    def total_episodes(self) -> int:
        """Episodes."""
        return len(self._handle.facts.lengths)

    @property
    def total_frames(self) -> int:
        """Frames of all episodes."""
        return int(self._handle.facts.lengths.sum())

    @property
    def total_tasks(self) -> int:
        """Tasks."""
        return len(self.tasks)

    @cached_property
    def stats(self) -> dict[str, dict[str, np.ndarray[Any, Any]]] | None:
        """Statistics of each feature, or None where the dataset has none."""
        stored = self._handle.facts.statistics
        if stored is None:
            return None
        return {
            key: {name: np.asarray(value) for name, value in values.items()}
            for key, values in stored.items()
            if isinstance(values, Mapping)
        }

    @property
    def episode_stats(self) -> list[dict[str, Any] | None]:
        """Statistics of each episode, as they came."""
        stored = self._handle.episodes.column("statistics").to_pylist()
        return [None if value is None else json.loads(value) for value in stored]

    def get_task_index(self, task: str) -> int | None:
        """The index of a task's text, or None."""
        return self.tasks.index_of(task)

    def filter_episodes(
        self,
        predicate: Callable[[dict[str, Any]], bool],
        candidates: Iterable[int] | None = None,
    ) -> list[int]:
        """The episodes of which the predicate is true, ascending; of ``candidates``, or of all."""
        if not callable(predicate):
            raise InvalidArgumentError(f"a predicate of an episode is needed, got {predicate!r}")
        asked = None if candidates is None else set(candidates)
        return [
            at
            for at, episode in enumerate(self.episodes)
            if (asked is None or at in asked) and predicate(episode)
        ]

    def __repr__(self) -> str:
        return (
            f"LeRobotDatasetMetadata({self.repo_id!r}, root={str(self.root)!r}, "
            f"episodes={self.total_episodes}, frames={self.total_frames}, "
            f"features={list(self.features)})"
        )
