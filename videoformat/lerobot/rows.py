"""A frame's columns as LeRobot's items hold them, stored and derived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from videoformat.errors import DataError
from videoformat.lerobot.columns import POSITION_COLUMNS, TASK_TEXT, lerobot_value
from videoformat.loading import DatasetHandle, FrameColumns, FramePlace
from videoformat.torch.images import frames_to_tensor

__all__ = ["RowReader"]


class RowReader:
    """Values of columns for frames of a dataset."""

    def __init__(self, handle: DatasetHandle, cache_bytes: int) -> None:
        facts = handle.facts
        self._handle = handle
        self._tasks = {text: at for at, text in reversed(list(enumerate(facts.tasks)))}
        self._stored = [
            key
            for key, feature in facts.features.items()
            if key not in facts.cameras and key not in POSITION_COLUMNS
        ]
        self._columns = FrameColumns(handle, self._stored, cache_bytes)

    def row(self, place: FramePlace, columns: Sequence[str]) -> dict[str, Any]:
        """One frame's values of some columns."""
        return {key: self.value(place, key) for key in columns}

    def value(self, place: FramePlace, key: str) -> Any:
        """One frame's value of one column."""
        if key == "frame_index":
            return torch.tensor(place.frame)
        if key == "episode_index":
            return torch.tensor(place.episode)
        if key == "index":
            return torch.tensor(place.index)
        if key in self._handle.facts.cameras:
            frames = self._handle.dataset.read_frames(place.episode, key, [place.frame])
            return frames_to_tensor(list(frames), as_float=True, channels_first=True)[0]
        if key not in self._stored:
            if key == "task_index":
                return torch.tensor(self.task_index(place))
            if key == "timestamp":
                return torch.tensor(place.frame / self._handle.facts.fps, dtype=torch.float32)
        return lerobot_value(self._columns.episode(place.episode)[key][place.frame])

    def window(self, place: FramePlace, key: str, frames: Sequence[int]) -> Any:
        """The values of several frames of one episode, stacked where they are numbers."""
        first = place.index - place.frame
        values = [
            self.value(FramePlace(place.episode, frame, first + frame), key) for frame in frames
        ]
        return torch.stack(values) if isinstance(values[0], torch.Tensor) else values

    def task_index(self, place: FramePlace) -> int:
        """The index of a frame's task: stored, or where its text is among the tasks."""
        values = self._columns.episode(place.episode) if self._stored else {}
        if "task_index" in values:
            return int(values["task_index"][place.frame])
        if TASK_TEXT in values:
            text = values[TASK_TEXT][place.frame]
            if text not in self._tasks:
                raise DataError(
                    f"episode {place.episode}, frame {place.frame}: task {text!r} is not among the "
                    f"{len(self._tasks)} tasks of the dataset"
                )
            return self._tasks[text]
        return 0

    def task(self, place: FramePlace) -> str:
        """A frame's task as text; empty where the dataset knows none."""
        at = self.task_index(place)
        tasks = self._handle.facts.tasks
        if not tasks:
            return ""
        if not 0 <= at < len(tasks):
            raise DataError(
                f"episode {place.episode}, frame {place.frame}: task_index {at}, there are "
                f"{len(tasks)} tasks"
            )
        return tasks[at]
