"""Which rows of a data file belong to which episode, by its own ``episode_index`` column."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from videoformat.convert.lerobot_parquet import integers, open_parquet
from videoformat.errors import DataError

__all__ = ["EpisodeRuns", "FileRuns"]

EPISODE_INDEX = "episode_index"


@dataclass(frozen=True, slots=True)
class FileRuns:
    """The runs of one file: episode index to (first row, number of rows).

    ``runs`` is ``None`` where the file has no ``episode_index`` column. ``columns`` are the names
    of all columns of the file.
    """

    name: str
    num_rows: int
    columns: frozenset[str]
    runs: dict[int, tuple[int, int]] | None


class EpisodeRuns:
    """Reads a file's ``episode_index`` column once for the episodes that follow each other in it."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: tuple[Path, FileRuns] | None = None

    def of(self, path: Path, name: str) -> FileRuns:
        """The runs of a file.

        Raises ``DataError`` where the rows of an episode do not follow each other.
        """
        last = self._last
        if last is None or last[0] != path:
            self._last = last = (path, _read(path, name))
        return last[1]


def _read(path: Path, name: str) -> FileRuns:
    with open_parquet(path, name) as file:
        columns = frozenset(file.schema_arrow.names)
        num_rows = file.metadata.num_rows
        if EPISODE_INDEX not in columns:
            return FileRuns(name, num_rows, columns, None)
        column = file.read(columns=[EPISODE_INDEX]).column(EPISODE_INDEX)
    values = integers(column, f"{name}: {EPISODE_INDEX}")
    starts = np.flatnonzero(np.diff(values, prepend=values[:1] - 1))
    counts = np.diff(starts, append=values.size)
    runs: dict[int, tuple[int, int]] = {}
    for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
        episode = int(values[start])
        if episode in runs:
            raise DataError(
                f"{name}: the rows of episode {episode} are in several places, at row "
                f"{runs[episode][0]} and at row {start}"
            )
        runs[episode] = (start, count)
    return FileRuns(name, num_rows, columns, runs)
