"""The tasks of a LeRobot dataset: ``meta/tasks.jsonl`` or ``meta/tasks.parquet``."""

from __future__ import annotations

from videoformat.convert.lerobot_json import read_json_lines
from videoformat.convert.lerobot_notes import Notes
from videoformat.convert.lerobot_parquet import integers, open_parquet
from videoformat.convert.lerobot_paths import DatasetRoot
from videoformat.errors import DataError

__all__ = ["read_tasks"]

JSON_LINES = "meta/tasks.jsonl"
PARQUET = "meta/tasks.parquet"
MAX_TASK_INDEX = 1 << 20
# pandas stores an index without a name under the first; LeRobot 0.6 names it.
_TEXT_COLUMNS = ("task", "__index_level_0__")


def read_tasks(root: DatasetRoot, version: str, notes: Notes) -> list[str]:
    """The task texts by task index.

    LeRobot 0.6 reads ``tasks.parquet`` by position and writes by the ``task_index`` column; the
    column is what rows were written with, so it decides here.
    """
    where = PARQUET if version == "v3.0" else JSON_LINES
    pairs = _from_parquet(root) if version == "v3.0" else _from_json_lines(root)
    tasks: dict[int, str] = {}
    for index, task in pairs:
        if not 0 <= index <= MAX_TASK_INDEX:
            raise DataError(f"{where}: task_index is {index}, expected 0 to {MAX_TASK_INDEX}")
        if index in tasks:
            raise DataError(f"{where}: task_index {index} is there twice")
        tasks[index] = task
    if list(tasks) != sorted(tasks):
        notes.add("task order", f"{where}: not in order of task_index, which is what counts here")
    size = max(tasks, default=-1) + 1
    if size != len(tasks):
        notes.add("task gaps", f"{where}: {len(tasks)} tasks of {size}; the others are empty texts")
    return [tasks.get(index, "") for index in range(size)]


def _from_json_lines(root: DatasetRoot) -> list[tuple[int, str]]:
    path = root.require(JSON_LINES, JSON_LINES)
    return [
        (line.integer("task_index", 0, MAX_TASK_INDEX), line.text("task"))
        for _, _, line in read_json_lines(path, JSON_LINES)
    ]


def _from_parquet(root: DatasetRoot) -> list[tuple[int, str]]:
    with open_parquet(root.require(PARQUET, PARQUET), PARQUET) as file:
        names = file.schema_arrow.names
        text = next((name for name in _TEXT_COLUMNS if name in names), None)
        if text is None or "task_index" not in names:
            raise DataError(
                f"{PARQUET}: columns {names[:10]}, expected task_index and one of {_TEXT_COLUMNS}"
            )
        table = file.read(columns=["task_index", text])
        texts = table.column(text).to_pylist()
    if not all(isinstance(task, str) for task in texts):
        raise DataError(f"{PARQUET}: {text} holds {table.column(text).type}, expected strings")
    indices = integers(table.column("task_index"), f"{PARQUET}: task_index").tolist()
    return list(zip(indices, texts, strict=True))
