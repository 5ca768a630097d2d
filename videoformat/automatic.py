"""Values that a writer fills in: times, counts, the number of a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from videoformat.errors import ConflictError, InvalidArgumentError
from videoformat.index.features import Feature
from videoformat.index.values import check_value
from videoformat.table import Table

__all__ = ["AUTOMATIC", "OWN_FEATURES", "AutomaticValues", "check_automatic", "task_of"]

# Filled in where the dataset has them and the frame does not.
AUTOMATIC = ("timestamp", "frame_index", "episode_index", "index", "task_index", "task")
# Added to every dataset that does not declare them.
OWN_FEATURES: Mapping[str, Mapping[str, Any]] = {
    "timestamp": {"dtype": "float32", "shape": [1], "names": None},
    "task": {"dtype": "string", "shape": [1], "names": None},
}
# Writers that add tasks at the same moment: one of them gets through each time.
_TASK_ATTEMPTS = 100


def check_automatic(features: Mapping[str, Feature]) -> None:
    """Raises ``InvalidArgumentError`` where a feature that is filled in cannot hold its value."""
    for key in AUTOMATIC:
        feature = features.get(key)
        if feature is None:
            continue
        kinds = "O" if key == "task" else "f" if key == "timestamp" else "iuf"
        kind = "O" if feature.dtype == "string" else getattr(feature.numpy_dtype, "kind", "")
        if not feature.is_scalar or not kind or kind not in kinds:
            expected = {"O": "a string", "f": "a floating point number"}.get(kinds[0], "an integer")
            raise InvalidArgumentError(
                f"feature {key!r} is {feature.dtype} of shape {feature.shape}, expected {expected}"
            )


class AutomaticValues:
    """Fills in what frames leave out, for the episodes of one writer.

    ``table`` is the newest version that is known: a task that is new to the dataset is written into
    its facts, which makes one. ``index`` and ``episode_index`` count on from what the dataset held
    when the writer was opened, whatever others append later.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self._episodes = self._frames = 0
        if {"index", "episode_index"} & set(table.info.features):
            directory = table.directory().to_pydict()
            self._frames = sum(directory["frame_count"])
            self._episodes = sum(index == 0 for index in directory["chunk_index"])

    def count_episode(self, frames: int) -> None:
        """Counts an episode of so many frames that was saved."""
        self._episodes += 1
        self._frames += frames

    def fill(
        self, frame: Mapping[str, Any], given: Mapping[str, Any], frame_index: int
    ) -> dict[str, Any]:
        """The values of frame ``frame_index`` of the open episode that are not given.

        Raises ``InvalidArgumentError`` where one is not what the dataset's feature can hold.
        """
        values = {}
        for key in AUTOMATIC:
            feature = self.table.info.tabular.get(key)
            if feature is not None and key not in given:
                values[key] = check_value(feature, self._value(key, frame, frame_index))
        return values

    def _value(self, key: str, frame: Mapping[str, Any], frame_index: int) -> Any:
        match key:
            case "timestamp":
                return frame_index / self.table.info.fps
            case "frame_index":
                return frame_index
            case "episode_index":
                return self._episodes
            case "index":
                return self._frames + frame_index
            case "task_index":
                return self._task_index(task_of(frame))
        return task_of(frame)

    def _task_index(self, task: str) -> int:
        if task not in self.table.info.tasks:
            self._add_task(task)
        return self.table.info.tasks.index(task)

    def _add_task(self, task: str) -> None:
        """Writes a new task into the dataset's facts, after whatever others have added."""
        for attempt in range(_TASK_ATTEMPTS):
            newest = self.table.latest()
            if task not in newest.info.tasks:
                try:
                    newest = newest.with_info(newest.info.with_tasks((*newest.info.tasks, task)))
                except ConflictError:
                    if attempt + 1 < _TASK_ATTEMPTS:
                        continue
                    raise
            self.table = newest
            return


def task_of(frame: Mapping[str, Any]) -> str:
    """The text of a frame's task, empty where it has none."""
    task = frame.get("task", "")
    if not isinstance(task, str):
        raise InvalidArgumentError(f"'task': {task!r}, expected a string")
    return task
