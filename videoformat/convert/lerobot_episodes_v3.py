"""The episodes of LeRobot v3.0: Parquet tables, and many episodes in one file.

Strategy: the tables say where an episode's frames are by ``from_timestamp``, a sum of floats that
drifts from the frames it stands for. Only the *order* of those timestamps is used: within one video
file the episodes follow each other, so the lengths before an episode say which frame is its first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from videoformat.convert.lerobot_data_files import DataFiles
from videoformat.convert.lerobot_episode import EpisodeEntry, VideoSlice, check_episodes
from videoformat.convert.lerobot_file_groups import FileGroups
from videoformat.convert.lerobot_info import MAX_COUNT, LeRobotInfo
from videoformat.convert.lerobot_notes import Notes
from videoformat.convert.lerobot_parquet import (
    RowReader,
    Rows,
    integers,
    open_parquet,
    parquet_errors,
)
from videoformat.convert.lerobot_paths import DatasetRoot
from videoformat.errors import CountMismatchError, DataError

__all__ = ["EpisodesV3"]

EPISODES = "meta/episodes"
_Integers = npt.NDArray[np.int64]
_ROW_POINTERS = (
    "episode_index",
    "length",
    "data/chunk_index",
    "data/file_index",
    "dataset_from_index",
    "dataset_to_index",
)
_VIDEO_POINTERS = ("chunk_index", "file_index", "from_timestamp")
_UNUSED = ("meta/episodes/chunk_index", "meta/episodes/file_index")


def _is_entry(column: str) -> bool:
    """Whether a column says something of an episode other than where it is."""
    if column.startswith("videos/"):
        return column.rpartition("/")[2] not in {*_VIDEO_POINTERS, "to_timestamp"}
    return column not in {*_ROW_POINTERS, *_UNUSED}


@dataclass(frozen=True, slots=True)
class _Camera:
    """Of one camera, for each position: the file, its first frame there, and all frames there."""

    files: FileGroups
    first_frame: _Integers
    file_frame_count: _Integers


class EpisodesV3:
    """An ``EpisodeTable`` that keeps a few integers an episode and reads a row when asked."""

    def __init__(self, root: DatasetRoot, info: LeRobotInfo, notes: Notes) -> None:
        self._root = root
        self._info = info
        self._notes = notes
        self._reader = RowReader()
        self._names = root.glob(f"{EPISODES}/*/*.parquet")
        if not self._names:
            raise DataError(f"{EPISODES}: there is no table {EPISODES}/*/*.parquet")
        self._entry_columns: list[list[str]] = []
        pointers, sizes = self._read_pointers()
        order = np.argsort(pointers["episode_index"], kind="stable")
        self._file_of: _Integers = np.repeat(np.arange(len(sizes)), sizes)[order]
        self._row_of: _Integers = np.concatenate([np.arange(size) for size in sizes])[order]
        integer = {
            name: integers(column.take(pa.array(order)), f"{EPISODES}: {name}")
            for name, column in pointers.items()
            if not name.endswith("_timestamp")
        }
        self.indices: _Integers = integer["episode_index"]
        self.lengths: _Integers = integer["length"]
        check_episodes(info, self.indices, self.lengths, EPISODES)
        self._check_pointers(integer)
        self._data = DataFiles(
            root,
            info.data_path,
            FileGroups(integer["data/chunk_index"], integer["data/file_index"]),
            integer["dataset_from_index"],
            self.lengths,
            notes,
        )
        self._cameras: dict[str, _Camera] = {}
        for key in info.keys_of("video"):
            prefix = f"videos/{key}"
            if f"{prefix}/chunk_index" in integer:
                starts = _floats(pointers[f"{prefix}/from_timestamp"], f"{EPISODES}: {prefix}")
                files = FileGroups(
                    integer[f"{prefix}/chunk_index"], integer[f"{prefix}/file_index"]
                )
                self._cameras[key] = self._place(key, files, starts[order])

    def _read_pointers(self) -> tuple[dict[str, pa.ChunkedArray], list[int]]:
        """The pointer columns of all tables, one after the other, and the tables' sizes."""
        parts: list[pa.Table] = []
        wanted: list[str] = []
        for name in self._names:
            with open_parquet(self._root.require(name, EPISODES), name) as file:
                columns = file.schema_arrow.names
                wanted = wanted or self._wanted(columns)
                if missing := [column for column in wanted if column not in columns]:
                    raise DataError(f"{name}: there is no column {missing[0]}")
                parts.append(file.read(columns=wanted).select(wanted))
            self._entry_columns.append([column for column in columns if _is_entry(column)])
        with parquet_errors(EPISODES):
            table = pa.concat_tables(parts, promote_options="permissive")
        pointers = {name: table.column(name) for name in wanted}
        return pointers, [part.num_rows for part in parts]

    def _wanted(self, columns: list[str]) -> list[str]:
        """The pointer columns: of the rows, and of each camera that has any."""
        wanted = [*_ROW_POINTERS]
        for key in self._info.keys_of("video"):
            parts = [f"videos/{key}/{part}" for part in _VIDEO_POINTERS]
            if any(part in columns for part in parts):
                wanted += parts
        return wanted

    def _check_pointers(self, integer: dict[str, _Integers]) -> None:
        """Indices of episodes without gaps, and pointers within bounds, that agree on lengths."""
        gaps = np.flatnonzero(self.indices != np.arange(self.indices.size))
        if gaps.size:
            raise CountMismatchError(
                f"{EPISODES}: episode {gaps[0]} is missing, the next is {self.indices[gaps[0]]}"
            )
        for name, values in integer.items():
            wrong = np.flatnonzero((values < 0) | (values > MAX_COUNT))
            if wrong.size:
                raise DataError(
                    f"{EPISODES}: {name} of episode {wrong[0]} is {values[wrong[0]]}, "
                    f"expected 0 to {MAX_COUNT}"
                )
        spans = integer["dataset_to_index"] - integer["dataset_from_index"]
        wrong = np.flatnonzero(spans != self.lengths)
        if wrong.size:
            episode = int(wrong[0])
            raise CountMismatchError(
                f"{EPISODES}: episode {episode} has length {self.lengths[episode]}, its rows "
                f"{integer['dataset_from_index'][episode]} to "
                f"{integer['dataset_to_index'][episode]} are {spans[episode]}"
            )

    def _place(self, key: str, files: FileGroups, starts: npt.NDArray[np.float64]) -> _Camera:
        """Which frames of its file each episode has, from the lengths before it."""
        wrong = files.out_of_order(starts)
        if wrong is not None:
            before, position = wrong
            after = f" after {starts[before]} of episode {before}" if before != position else ""
            raise DataError(
                f"{EPISODES}: videos/{key}/from_timestamp of episode {position} is "
                f"{starts[position]}{after} in {self._video_name(key, files, position)}; the order "
                "of the episodes in that file is not known"
            )
        first_frame = files.sums_before(self.lengths)
        off = np.abs(starts * self._info.fps - first_frame)
        if off.size and off.max() >= 0.5:
            worst = int(off.argmax())
            self._notes.add(
                f"drift {key}",
                f"videos/{key}/from_timestamp of {int((off >= 0.5).sum())} episodes is half a frame "
                f"or more from the frames before them, at most {off[worst]:.1f} frames (episode "
                f"{worst}: {starts[worst]} s, frame {first_frame[worst]}); frames are counted, "
                "timestamps are not used",
            )
        return _Camera(files, first_frame, files.sums(self.lengths))

    def _video_name(self, key: str, files: FileGroups, position: int) -> str:
        return self._info.video_path.path({**files.fields(position), "video_key": key})

    def entry(self, position: int) -> EpisodeEntry:
        """Tasks, metadata and statistics."""
        table = int(self._file_of[position])
        name, columns = self._names[table], self._entry_columns[table]
        path = self._root.require(name, EPISODES)
        rows = Rows(path, name, int(self._row_of[position]), 1, frozenset(columns))
        with parquet_errors(name):
            values = self._reader.read(rows, columns).to_pylist()[0] if columns else {}
        tasks = values.pop("tasks", None)
        tasks = [] if tasks is None else tasks
        if not isinstance(tasks, list) or not all(isinstance(task, str) for task in tasks):
            raise DataError(f"{name}: tasks of episode {position} are not a list of strings")
        stats: dict[str, dict[str, object]] = {}
        for column in [column for column in values if column.startswith("stats/")]:
            feature, _, statistic = column.removeprefix("stats/").rpartition("/")
            stats.setdefault(feature, {})[statistic] = values.pop(column)
        return EpisodeEntry(tuple(tasks), values, stats or None)

    def video(self, position: int, key: str) -> VideoSlice:
        """Where a camera's frames are, counted and not timed."""
        camera = self._cameras[key]
        name = self._video_name(key, camera.files, position)
        return VideoSlice(
            self._root.require(name, f"episode {position}, camera {key}"),
            int(camera.first_frame[position]),
            int(self.lengths[position]),
            int(camera.file_frame_count[position]),
        )

    def has_video(self, key: str) -> bool:
        """Whether the tables and the folders know this camera."""
        camera = self._cameras.get(key)
        if camera is None:
            return False
        return any(
            self._root.find(self._video_name(key, camera.files, position), EPISODES) is not None
            for position in camera.files.first_positions
        )

    def rows(self, position: int) -> Rows:
        """Where the episode's rows are, by the data file's own ``episode_index`` column."""
        return self._data.rows(position)


def _floats(column: pa.ChunkedArray, where: str) -> npt.NDArray[np.float64]:
    try:
        column = column.cast(pa.float64())
    except pa.ArrowException as error:
        raise DataError(f"{where}/from_timestamp: {column.type}, expected numbers") from error
    # A null becomes NaN, which no order allows.
    return np.asarray(column.to_numpy(), dtype=np.float64)
