"""The rows of an episode as LeRobot writes them: its own columns derived, the others as stored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from videoformat.errors import DataError, InvalidArgumentError
from videoformat.export.source import ExportSource
from videoformat.index.features import Feature

__all__ = ["DERIVED", "RowsOfEpisodes", "TaskNumbers", "check_keys"]

# Written by LeRobot itself: seconds, counts, the number of the task. All scalars.
DERIVED: Mapping[str, str] = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}
# LeRobot 0.6 compares with this tolerance (seconds).
TOLERANCE_S = 1e-4


def check_keys(keys: Sequence[str]) -> None:
    """Feature keys become names of folders: none may lead out of them."""
    for key in keys:
        if key in (".", "..") or "/" in key or "\\" in key or "\0" in key:
            raise InvalidArgumentError(f"feature {key!r} cannot be the name of a folder")


class TaskNumbers:
    """The numbers of task texts, in the order in which the dataset lists or uses them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = list(texts)
        self._numbers = {text: at for at, text in reversed(list(enumerate(self.texts)))}

    def number(self, text: str) -> int:
        """The number of a text, which gets one where it has none."""
        if text not in self._numbers:
            self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return self._numbers[text]


class RowsOfEpisodes:
    """Makes the table of each episode.

    ``list_type`` is the name that the ``datasets`` library had for lists when a version was current.
    """

    def __init__(self, source: ExportSource, list_type: str) -> None:
        self.source = source
        self.dataset = source.dataset
        self.tasks = TaskNumbers(self.dataset.tasks)
        features = source.table.info.tabular
        # LeRobot fills in an item's task from its number; a feature of that name would be hidden.
        self.own = {
            key: item for key, item in features.items() if key not in DERIVED and key != "task"
        }
        self.schema = self._schema(list_type)

    def declarations(self) -> dict[str, dict[str, Any]]:
        """The features in ``info.json``, without cameras."""
        declared = self.dataset.features
        own = {key: {**declared[key], "shape": list(item.shape)} for key, item in self.own.items()}
        for key, dtype in DERIVED.items():
            kept = declared.get(key, {"names": None})
            own[key] = {**kept, "dtype": dtype, "shape": [1]}
        return own

    def _schema(self, list_type: str) -> pa.Schema:
        fields = [pa.field(key, _stored_type(item)) for key, item in self.own.items()]
        fields += [
            pa.field(key, pa.type_for_alias(dtype.replace("float32", "float")))
            for key, dtype in DERIVED.items()
        ]
        described = {
            item.name: _hugging_face(item.type, self.own.get(item.name), list_type)
            for item in fields
        }
        if None in described.values():
            return pa.schema(fields)
        text = json.dumps({"info": {"features": described}})
        return pa.schema(fields, metadata={"huggingface": text})

    def table(self, episode: int, number: int, first: int) -> pa.Table:
        """The rows of an episode that becomes ``number`` and whose first row becomes ``first``."""
        dataset = self.dataset
        stored = dataset.rows(episode)
        count = dataset.directory.episode(episode).length
        columns: list[Any] = [_storage(stored.column(key), item) for key, item in self.own.items()]
        columns += [
            self._timestamps(stored, episode, count),
            pa.array(np.arange(count, dtype=np.int64)),
            pa.array(np.full(count, number, np.int64)),
            pa.array(np.arange(first, first + count, dtype=np.int64)),
            self._task_numbers(stored, episode, count),
        ]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def _timestamps(self, stored: pa.Table, episode: int, count: int) -> pa.Array:
        regular = np.arange(count) / self.dataset.fps
        if "timestamp" in stored.column_names:
            times = np.asarray(stored.column("timestamp").to_pylist(), np.float64)
            if np.all(np.abs(times - regular) < TOLERANCE_S):
                return pa.array(times.astype(np.float32))
            # LeRobot looks frames up by these times, and the n-th frame is at n / fps in the file.
            self.source.notes.append(
                f"episode {episode}: timestamps are written as frame_index / fps; the stored ones "
                f"differ by up to {float(np.max(np.abs(times - regular))):.6g} s"
            )
        return pa.array(regular.astype(np.float32))

    def _task_numbers(self, stored: pa.Table, episode: int, count: int) -> pa.Array:
        if "task_index" in stored.column_names and self.dataset.tasks:
            numbers = stored.column("task_index").combine_chunks().cast(pa.int64())
            low, high = min(numbers.to_pylist()), max(numbers.to_pylist())
            if not 0 <= low <= high < len(self.tasks.texts):
                raise DataError(
                    f"episode {episode}: task_index {low} to {high}, the dataset has "
                    f"{len(self.tasks.texts)} tasks"
                )
            return numbers
        if "task" in stored.column_names:
            texts = stored.column("task").to_pylist()
        else:
            texts = [(self.source.tasks(episode) or [""])[0]] * count
        return pa.array([self.tasks.number(text or "") for text in texts], pa.int64())


def _stored_type(feature: Feature) -> pa.DataType:
    """The type in parquet: arrays of two and more dimensions are nested lists there."""
    if len(feature.shape) < 2 or not pa.types.is_fixed_size_list(feature.arrow_type):
        return feature.arrow_type
    nested = feature.arrow_type.value_type
    for _ in feature.shape:
        nested = pa.list_(nested)
    return nested


def _storage(column: pa.ChunkedArray, feature: Feature) -> Any:
    if len(feature.shape) < 2 or not pa.types.is_fixed_size_list(feature.arrow_type):
        return column
    nested = [value.tolist() for part in column.chunks for value in part.to_numpy_ndarray()]
    return pa.array(nested, _stored_type(feature))


def _hugging_face(kind: pa.DataType, feature: Feature | None, list_type: str) -> Any:
    """The description of a column that the ``datasets`` library keeps beside it; None: not known."""
    if feature is not None and len(feature.shape) > 1 and pa.types.is_list(kind):
        if feature.numpy_dtype is None:
            return None
        size = f"Array{len(feature.shape)}D"
        return {"shape": list(feature.shape), "dtype": feature.dtype, "_type": size}
    if pa.types.is_fixed_size_list(kind):
        inner = _hugging_face(kind.value_type, None, list_type)
        return inner and {"feature": inner, "length": kind.list_size, "_type": list_type}
    if pa.types.is_list(kind) or pa.types.is_struct(kind):
        return None
    name = {"float": "float32", "double": "float64", "halffloat": "float16"}.get(
        str(kind), str(kind)
    )
    return {"dtype": name, "_type": "Value"}
