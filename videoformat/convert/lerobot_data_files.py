"""The data files of LeRobot v3.0, and which of their rows are an episode's.

Strategy: rows are found by a data file's own ``episode_index`` column. The tables' pointers say
which file to look in first: the converter from v2.1 left stale ones at the boundary between two
files, and merging left ones that point beyond the last file.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from videoformat.convert.lerobot_file_groups import FileGroups
from videoformat.convert.lerobot_notes import Notes
from videoformat.convert.lerobot_parquet import Rows
from videoformat.convert.lerobot_paths import DatasetRoot, PathTemplate
from videoformat.convert.lerobot_runs import EpisodeRuns, FileRuns
from videoformat.errors import CountMismatchError, DataError

__all__ = ["DataFiles"]

TABLE = "meta/episodes"
_Integers = npt.NDArray[np.int64]


class DataFiles:
    """Finds the rows of the episode at a position.

    ``files`` and ``first_index`` are the pointers of the tables: the file of each episode, and its
    first row counted over the whole dataset.
    """

    def __init__(
        self,
        root: DatasetRoot,
        template: PathTemplate,
        files: FileGroups,
        first_index: _Integers,
        lengths: _Integers,
        notes: Notes,
    ) -> None:
        self._root = root
        self._template = template
        self._files = files
        self._lengths = lengths
        self._notes = notes
        self._runs = EpisodeRuns()
        self._first_row: _Integers = first_index - files.minima(first_index)
        self._rows_before: _Integers = files.sums_before(lengths)
        self._file_rows: _Integers = files.sums(lengths)
        self._elsewhere: dict[int, list[Rows]] | None = None

    def rows(self, position: int) -> Rows:
        """Where the rows are, verified against the file."""
        name = self._name(position)
        length = int(self._lengths[position])
        path = self._root.find(name, f"episode {position}")
        if path is None:
            return self._find_elsewhere(position, f"{name}, which is not there")
        file = self._runs.of(path, name)
        start = int(self._first_row[position])
        if file.runs is None:
            self._check_unnamed(position, file)
            return Rows(path, name, start, length, file.columns)
        run = file.runs.get(position)
        if run is None:
            return self._find_elsewhere(position, f"{name}, where it has no rows")
        if run[1] != length:
            raise CountMismatchError(
                f"episode {position}: {TABLE} says {length} rows, {name} holds {run[1]}"
            )
        if run[0] != start:
            self._notes.add(
                "dataset_from_index",
                f"episode {position}: dataset_from_index says row {start} of {name}, its "
                f"episode_index column says row {run[0]}; the column is followed",
            )
        return Rows(path, name, run[0], length, file.columns)

    def _check_unnamed(self, position: int, file: FileRuns) -> None:
        """Without an ``episode_index`` column, the numbers of the tables must all agree."""
        rows = int(self._file_rows[position])
        before = int(self._rows_before[position])
        start = int(self._first_row[position])
        if file.num_rows != rows or start != before:
            raise CountMismatchError(
                f"episode {position}: {TABLE} says row {start} of {file.name}, after {before} "
                f"rows of other episodes, and {rows} rows in all; the file holds {file.num_rows}, "
                "without an episode_index column"
            )

    def _name(self, position: int) -> str:
        return self._template.path(self._files.fields(position))

    def _find_elsewhere(self, position: int, pointer: str) -> Rows:
        """Resolves a stale pointer: looks for the episode's rows in every data file there is.

        LeRobot itself reads all files of the folder and needs the pointers for downloads only, so
        datasets with wrong ones are in use.
        """
        if self._elsewhere is None:
            self._elsewhere = self._every_run()
        found = self._elsewhere.get(position, [])
        where = f"episode {position}: {TABLE} points at {pointer}"
        if len(found) != 1:
            files = " and ".join(rows.name for rows in found) or "no other data file"
            raise DataError(f"{where}; {files} {'have' if found else 'has'} rows of it")
        length = int(self._lengths[position])
        if found[0].count != length:
            raise CountMismatchError(
                f"{where}; {found[0].name} holds {found[0].count} rows of it, expected {length}"
            )
        self._notes.add(
            "stale",
            f"{where}; its rows are in {found[0].name}. Such pointers are resolved by the "
            "episode_index column",
        )
        return found[0]

    def _every_run(self) -> dict[int, list[Rows]]:
        """The runs of every data file by episode."""
        every: dict[int, list[Rows]] = {}
        for name in self._root.glob(self._template.pattern):
            path = self._root.require(name, TABLE)
            file = self._runs.of(path, name)
            for episode, (start, count) in (file.runs or {}).items():
                every.setdefault(episode, []).append(Rows(path, name, start, count, file.columns))
        return every
