"""One episode of a LeRobot dataset, and what a table of episodes answers about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from videoformat.convert.lerobot_info import INFO, LeRobotInfo
from videoformat.convert.lerobot_parquet import Rows
from videoformat.errors import CountMismatchError, DataError

__all__ = ["MAX_EPISODE_FRAMES", "EpisodeEntry", "EpisodeTable", "LeRobotEpisode", "VideoSlice"]

MAX_EPISODE_FRAMES = 2**31 - 1
MAX_EPISODE_INDEX = 2**40


@dataclass(frozen=True, slots=True)
class VideoSlice:
    """The frames of one camera of one episode inside a video file.

    ``first_frame`` and ``frame_count`` are ordinals in presentation order; no timestamp is
    involved. ``file_frame_count`` is how many frames the tables say the file holds in all: a reader
    that finds another number must not trust any slice of that file.
    """

    path: Path
    first_frame: int
    frame_count: int
    file_frame_count: int


@dataclass(frozen=True, slots=True)
class LeRobotEpisode:
    """One episode: what the dataset's tables say about it, and where its frames are.

    ``metadata`` are the per-episode keys that are neither pointers nor statistics, as they came.
    ``videos`` maps every camera to its slice.
    """

    episode_index: int
    length: int
    tasks: tuple[str, ...]
    metadata: dict[str, Any]
    stats: dict[str, Any] | None
    videos: Mapping[str, VideoSlice]


@dataclass(frozen=True, slots=True)
class EpisodeEntry:
    """The part of an episode that only its own line or row knows."""

    tasks: tuple[str, ...]
    metadata: dict[str, Any]
    stats: dict[str, Any] | None


class EpisodeTable(Protocol):
    """The episodes in order of their index; a *position* counts them from 0."""

    @property
    def indices(self) -> npt.NDArray[np.int64]:
        """The episode index at each position, ascending."""
        ...

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of frames at each position."""
        ...

    def entry(self, position: int) -> EpisodeEntry:
        """Tasks, metadata and statistics."""
        ...

    def rows(self, position: int) -> Rows:
        """Where the episode's rows are, verified against the data file."""
        ...

    def video(self, position: int, key: str) -> VideoSlice:
        """Where a camera's frames are; the file is there."""
        ...

    def has_video(self, key: str) -> bool:
        """Whether any episode has a file of this camera."""
        ...


def check_episodes(
    info: LeRobotInfo, indices: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], where: str
) -> None:
    """Checks a table of episodes, sorted by index, against itself and ``meta/info.json``."""
    repeated = np.flatnonzero(np.diff(indices) == 0)
    if repeated.size:
        raise DataError(f"{where}: episode {indices[repeated[0]]} is there twice")
    if indices.size and (indices[0] < 0 or indices[-1] > MAX_EPISODE_INDEX):
        raise DataError(
            f"{where}: episode_index {indices[0]} to {indices[-1]}, "
            f"expected 0 to {MAX_EPISODE_INDEX} at most"
        )
    wrong = np.flatnonzero((lengths < 1) | (lengths > MAX_EPISODE_FRAMES))
    if wrong.size:
        raise DataError(
            f"{where}: episode {indices[wrong[0]]} has length {lengths[wrong[0]]}, "
            f"expected 1 to {MAX_EPISODE_FRAMES}"
        )
    for name, expected, found in (
        ("total_episodes", info.total_episodes, indices.size),
        ("total_frames", info.total_frames, int(lengths.sum())),
    ):
        if expected is not None and expected != found:
            raise CountMismatchError(
                f"{INFO}: {name} is {expected}, {where} has {found}; a table may be incomplete"
            )
