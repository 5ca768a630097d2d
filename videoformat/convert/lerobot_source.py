"""LeRobot datasets v2.0, v2.1 and v3.0, read without LeRobot.

Metadata and tables are read; of frames only their place is told, nothing is decoded.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa

from videoformat.convert.lerobot_episode import EpisodeTable, LeRobotEpisode, VideoSlice
from videoformat.convert.lerobot_episodes_v2 import EpisodesV2
from videoformat.convert.lerobot_episodes_v3 import EpisodesV3
from videoformat.convert.lerobot_images import read_images
from videoformat.convert.lerobot_info import Version, read_info
from videoformat.convert.lerobot_json import read_json
from videoformat.convert.lerobot_notes import Notes
from videoformat.convert.lerobot_parquet import RowReader, Rows
from videoformat.convert.lerobot_paths import DatasetRoot
from videoformat.convert.lerobot_schema import LeRobotSchema, resolve_schema
from videoformat.convert.lerobot_tasks import read_tasks
from videoformat.convert.lerobot_timing import check_rows, note_clock, note_video_fps
from videoformat.errors import ColumnNotFoundError, EpisodeNotFoundError

__all__ = ["LeRobotEpisode", "LeRobotSource", "VideoSlice"]

STATS = "meta/stats.json"


class _Episodes(Sequence[LeRobotEpisode]):
    """The episodes in order of their index, each made when asked for."""

    __slots__ = ("_cameras", "_table")

    def __init__(self, table: EpisodeTable, cameras: Sequence[str]) -> None:
        self._table = table
        self._cameras = tuple(cameras)

    def __len__(self) -> int:
        return int(self._table.indices.size)

    @overload
    def __getitem__(self, index: int) -> LeRobotEpisode: ...
    @overload
    def __getitem__(self, index: slice) -> list[LeRobotEpisode]: ...
    def __getitem__(self, index: int | slice) -> LeRobotEpisode | list[LeRobotEpisode]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        position = operator.index(index)
        if not -len(self) <= position < len(self):
            raise EpisodeNotFoundError(f"episode {position}, the dataset has {len(self)}")
        position %= len(self)
        entry = self._table.entry(position)
        return LeRobotEpisode(
            episode_index=int(self._table.indices[position]),
            length=int(self._table.lengths[position]),
            tasks=entry.tasks,
            metadata=entry.metadata,
            stats=entry.stats,
            videos={key: self._table.video(position, key) for key in self._cameras},
        )


class LeRobotSource:
    """A LeRobot dataset in a local folder.

    ``features`` has LeRobot's form and only those that exist; ``info_extra`` are the keys of
    ``meta/info.json`` that are not used here, as they came. ``tasks`` are texts by task index.
    ``stats`` are the dataset-wide statistics, if it has them. ``notes`` say what was unusual and
    what was done about it; reading may add to them.

    Raises ``DatasetNotFoundError`` where there is no dataset, ``UnsupportedStreamError`` for
    another version, and ``DataError`` for what contradicts itself.
    """

    def __init__(self, root: str | Path) -> None:
        self._root = DatasetRoot(root)
        self._notes = Notes()
        self._reader = RowReader()
        info = read_info(self._root, self._notes)
        self._table: EpisodeTable = (EpisodesV3 if info.version == "v3.0" else EpisodesV2)(
            self._root, info, self._notes
        )
        self.version: Version = info.version
        self.fps: int | float = info.fps
        self.robot_type: str | None = info.robot_type
        self.info_extra: dict[str, Any] = info.extra
        self.tasks: list[str] = read_tasks(self._root, info.version, self._notes)
        stats = self._root.find(STATS, STATS)
        self.stats: dict[str, Any] | None = (
            read_json(stats, STATS).values if stats is not None else None
        )
        self._schema: LeRobotSchema = resolve_schema(info, self._table, self._reader, self._notes)
        note_video_fps(info.fps, self.features, self._notes)
        if len(self.episodes) and "timestamp" in self._schema.columns:
            first = self._normalised(self._table.rows(0), ["timestamp"])
            note_clock(first.column("timestamp"), info.fps, self._notes)

    def __reduce__(self) -> tuple[type[LeRobotSource], tuple[Path]]:
        return type(self), (self._root.path,)

    @property
    def root(self) -> Path:
        """The folder."""
        return self._root.path

    @property
    def notes(self) -> list[str]:
        """Quirks that were found and what was done, the first of each kind."""
        return self._notes.texts

    @property
    def features(self) -> dict[str, dict[str, Any]]:
        """The features that exist, in LeRobot's form."""
        return self._schema.features

    def _keys(self, dtype: str) -> list[str]:
        return [key for key, feature in self.features.items() if feature["dtype"] == dtype]

    @property
    def video_keys(self) -> list[str]:
        """The cameras whose frames are in video files."""
        return self._keys("video")

    @property
    def image_keys(self) -> list[str]:
        """The cameras whose frames are images, one a row."""
        return self._keys("image")

    @property
    def tabular_keys(self) -> list[str]:
        """The features that ``table`` returns, in order."""
        return [key for key in self.features if key in self._schema.columns]

    @property
    def arrow_types(self) -> dict[str, pa.DataType]:
        """The Arrow type of one row's value of each tabular feature."""
        return {key: self._schema.columns[key].arrow_type for key in self.tabular_keys}

    @property
    def episodes(self) -> Sequence[LeRobotEpisode]:
        """The episodes in order of their index, each read when asked for."""
        return _Episodes(self._table, self.video_keys)

    @property
    def episode_indices(self) -> list[int]:
        """The ``episode_index`` of every episode, in order, without reading the episodes."""
        indices: list[int] = self._table.indices.tolist()
        return indices

    @property
    def episode_lengths(self) -> list[int]:
        """The number of frames of every episode, in order, without reading the episodes."""
        lengths: list[int] = self._table.lengths.tolist()
        return lengths

    def _rows(self, episode: LeRobotEpisode) -> Rows:
        position = int(np.searchsorted(self._table.indices, episode.episode_index))
        if position == len(self.episodes) or self._table.indices[position] != episode.episode_index:
            raise EpisodeNotFoundError(
                f"episode {episode.episode_index}, the dataset has {len(self.episodes)}"
            )
        rows = self._table.rows(position)
        self._schema.check(rows, self._notes)
        return rows

    def _normalised(self, rows: Rows, keys: Sequence[str]) -> pa.Table:
        table = self._reader.read(rows, keys)
        columns = [self._schema.columns[key] for key in keys]
        return pa.table(
            [column.normalise(table.column(column.key), rows.name) for column in columns],
            schema=pa.schema([(column.key, column.arrow_type) for column in columns]),
        )

    def table(self, episode: LeRobotEpisode) -> pa.Table:
        """The episode's rows in order, the tabular features only.

        A feature of shape ``()`` or ``(1,)`` is a column of scalars, any other of numbers, booleans
        or strings is one ``fixed_size_list<T>[n]`` in row-major order; dtypes without such a form
        are kept as they come.
        """
        rows = self._rows(episode)
        table = self._normalised(rows, self.tabular_keys)
        check_rows(table, f"episode {episode.episode_index}, {rows.name}", self.tasks, self._notes)
        return table

    def images(self, episode: LeRobotEpisode, key: str) -> Iterator[bytes]:
        """The encoded images (PNG, JPEG, …) of an image feature, row by row."""
        if key not in self.image_keys:
            raise ColumnNotFoundError(f"no image feature {key!r}, there are {self.image_keys}")
        return read_images(self._root, self._rows(episode), key)
