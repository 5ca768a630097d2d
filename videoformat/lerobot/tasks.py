"""Tasks as LeRobot's readers ask for them, without pandas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["TaskRow", "TaskTable"]


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task; ``name`` is its text, as a row of a frame that is indexed by text has it."""

    name: str
    task_index: int

    def __getitem__(self, key: str) -> Any:
        if key != "task_index":
            raise KeyError(key)
        return self.task_index


class _ByPosition:
    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    def __getitem__(self, at: int) -> TaskRow:
        position = range(len(self._texts))[int(at)]
        return TaskRow(self._texts[position], position)


class _ByText:
    def __init__(self, positions: dict[str, int]) -> None:
        self._positions = positions

    def __getitem__(self, text: str) -> TaskRow:
        return TaskRow(text, self._positions[text])


class TaskTable:
    """``tasks.iloc[task_index].name`` is a text, ``tasks.loc[text].task_index`` its index."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = tuple(texts)
        self._positions = {text: at for at, text in reversed(list(enumerate(self._texts)))}

    def __len__(self) -> int:
        return len(self._texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __contains__(self, text: object) -> bool:
        return text in self._positions

    @property
    def index(self) -> list[str]:
        """The texts, in the order of ``task_index``."""
        return list(self._texts)

    def __getitem__(self, column: str) -> list[int]:
        """The column ``task_index``, the only one that a frame indexed by text has."""
        if column != "task_index":
            raise KeyError(column)
        return list(range(len(self._texts)))

    @property
    def iloc(self) -> _ByPosition:
        """Rows by position."""
        return _ByPosition(self._texts)

    @property
    def loc(self) -> _ByText:
        """Rows by text."""
        return _ByText(self._positions)

    def index_of(self, text: str) -> int | None:
        """The index of a text, or None."""
        return self._positions.get(text)
