"""Reading a dataset: episodes, frames, tables."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa

from videoformat.directory import Directory, EpisodeRows, as_index
from videoformat.errors import ColumnNotFoundError, DataError, InvalidArgumentError
from videoformat.index.features import Feature
from videoformat.index.rows import frame_values
from videoformat.reading import Reader, ReadOptions, ReadPlan, ReadReport
from videoformat.reading.ahead import run_ahead
from videoformat.reading.stack import Request, Stack, check_out, check_size
from videoformat.table import Table

__all__ = ["Dataset", "open_dataset"]

UInt8Array = np.ndarray[Any, np.dtype[np.uint8]]


def open_dataset(
    uri: str | os.PathLike[str],
    storage_options: Mapping[str, str] | None = None,
    version: int | str | dt.datetime | None = None,
    *,
    allowed_sources: Sequence[str | os.PathLike[str]] = (),
    options: ReadOptions | None = None,
) -> Dataset:
    """Opens a dataset at a local path or in an object store (``s3://``, ``gs://``, ``az://``, …).

    ``storage_options`` go to the object store as Lance names them; the usual environment variables
    work too. ``version`` is a number, a tag, or a time (the newest version made by then); None is the
    newest, as it is now: what others append later is not seen. ``allowed_sources`` are the folders or URI prefixes whose files may be read
    where a dataset keeps its media in its source's files (``convert(video="reference")``); none by
    default, so that a dataset from a stranger makes no reader open other files. ``options`` are
    threads, caches and the like. Raises ``DatasetNotFoundError``, ``UnsupportedFormatError``, ``DataError``,
    ``StoreError``.
    """
    table = Table.open(uri, storage_options=storage_options, version=version)
    sources = [os.fspath(item) for item in allowed_sources]
    return Dataset(table, allowed_sources=sources, options=options)


def _reopen(
    uri: str,
    storage_options: Mapping[str, str] | None,
    version: int,
    sources: Sequence[str],
    options: ReadOptions,
) -> Dataset:
    return open_dataset(uri, storage_options, version, allowed_sources=sources, options=options)


class Dataset:
    """One version of a dataset, read only. Made by ``open``.

    Episodes and frames are counted from 0; negative indices count from the end. A dataset pickles
    as its address and version.
    """

    def __init__(
        self,
        table: Table,
        *,
        allowed_sources: Sequence[str] = (),
        options: ReadOptions | None = None,
    ) -> None:
        self._table = table
        self._allowed_sources = tuple(allowed_sources)
        self._reader = Reader(table, options=options, allowed_sources=self._allowed_sources)
        self.last_read: ReadReport | None = None

    def __repr__(self) -> str:
        return (
            f"Dataset({self.uri!r}, version={self.version}, episodes={self.num_episodes}, "
            f"frames={self.num_frames}, cameras={self.cameras})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (
            self.uri,
            self._table.storage_options,
            self.version,
            self._allowed_sources,
            self._reader.options,
        )

    @property
    def uri(self) -> str:
        """Its address."""
        return self._table.uri

    @property
    def storage_options(self) -> dict[str, str] | None:
        """What the object store was opened with."""
        return self._table.storage_options

    @property
    def allowed_sources(self) -> tuple[str, ...]:
        """Where media outside the dataset may lie."""
        return self._allowed_sources

    @property
    def version(self) -> int:
        """The number of the version that is open."""
        return self._table.version

    @property
    def fps(self) -> float:
        """Frames a second, nominally; exact times are each picture's ``pts``."""
        return self._table.info.fps

    @property
    def robot_type(self) -> str | None:
        """The robot, as the recording named it."""
        return self._table.info.robot_type

    @property
    def features(self) -> dict[str, dict[str, Any]]:
        """Every feature in LeRobot's form, cameras included."""
        return {
            key: {**feature.declaration, "shape": feature.shape}
            for key, feature in self._table.info.features.items()
        }

    @property
    def cameras(self) -> list[str]:
        """The keys of the features that are kept as video."""
        return list(self._table.info.cameras)

    @property
    def tasks(self) -> list[str]:
        """The text of each ``task_index``; for datasets without one, the tasks in episode order."""
        if self._table.info.tasks:
            return list(self._table.info.tasks)
        texts: dict[str, None] = {}
        for batch in self._table.scan(["tasks"]):
            for tasks in batch.column("tasks").to_pylist():
                texts.update(dict.fromkeys(tasks or ()))
        return list(texts)

    @property
    def statistics(self) -> dict[str, Any] | None:
        """Statistics of the whole dataset as they came with it, or None."""
        statistics = self._table.info.statistics
        return None if statistics is None else dict(statistics)

    @property
    def info(self) -> dict[str, Any]:
        """Keys that belong to other tools, kept as they came."""
        return dict(self._table.info.info)

    @cached_property
    def directory(self) -> Directory:
        """Which rows hold which frames; read at first use."""
        return Directory(self._table.directory())

    @property
    def num_episodes(self) -> int:
        """Episodes."""
        return len(self.directory)

    @property
    def num_frames(self) -> int:
        """Frames of all episodes; every camera has as many pictures that are shown."""
        return self.directory.frame_count

    def __len__(self) -> int:
        return self.num_frames

    @property
    def episodes(self) -> pa.Table:
        """One row per episode.

        ``episode_index``, ``episode_uid``, ``length`` and ``from_index`` (frames; the second counts
        over the dataset), ``chunk_count``, ``tasks`` (list of strings), ``metadata`` and
        ``statistics`` (JSON, or null).
        """
        directory = self.directory
        own = ["tasks", "episode_metadata", "episode_statistics"]
        firsts = directory.first_rows
        taken = self._table.take(firsts.tolist(), own) if len(firsts) else None
        columns = {
            "episode_index": pa.array(range(len(firsts)), pa.int64()),
            "episode_uid": pa.array(directory.uids(), pa.string()),
            "length": pa.array(directory.lengths, pa.int64()),
            "from_index": pa.array(np.cumsum(directory.lengths) - directory.lengths, pa.int64()),
            "chunk_count": pa.array(directory.chunk_counts, pa.int64()),
        }
        types = [pa.list_(pa.string()), pa.string(), pa.string()]
        for name, kind, shown in zip(own, types, ["tasks", "metadata", "statistics"], strict=True):
            columns[shown] = taken.column(name) if taken else pa.array([], kind)
        return pa.table(columns)

    def rows(
        self,
        episode: int,
        indices: Iterable[int] | None = None,
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """Tabular features of an episode, one row per frame.

        ``indices`` are frames in any order, None for all; ``columns`` are feature keys, None for
        all tabular ones. Vectors are fixed-size lists; arrays of two or more dimensions are Arrow's
        fixed shape tensors. Raises ``EpisodeNotFoundError``, ``FrameNotFoundError``,
        ``ColumnNotFoundError``.
        """
        rows = self.directory.episode(episode)
        table = self._frames(list(rows.rows), self._tabular(columns))
        return table if indices is None else table.take(pa.array(rows.resolve(indices), pa.int64()))

    def frames_table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Tabular features of the whole dataset, one row per frame, episode after episode.

        Asks for what it returns: name the columns that are needed.
        """
        return self._frames(None, self._tabular(columns))

    def _tabular(self, columns: Sequence[str] | None) -> list[Feature]:
        tabular = self._table.info.tabular
        if columns is None:
            return list(tabular.values())
        if isinstance(columns, str):
            raise InvalidArgumentError(f"columns is a list of feature keys, got {columns!r}")
        for key in columns:
            if key not in tabular:
                raise ColumnNotFoundError(
                    f"there is no tabular feature {key!r}; there are {', '.join(tabular) or 'none'}"
                )
        return [tabular[key] for key in columns]

    def _frames(self, rows: list[int] | None, features: list[Feature]) -> pa.Table:
        names = [feature.column for feature in features]
        counts = self.directory.frame_counts
        if rows is None:
            batches = list(self._table.scan(names)) if names else []
            schema = pa.schema([self._table.schema.field(name) for name in names])
            taken = pa.Table.from_batches(batches, schema=schema)
        else:
            counts = [counts[row] for row in rows]
            taken = self._table.take(rows, names) if names else pa.table({})
        try:
            columns = {
                feature.key: frame_values(feature, taken.column(feature.column), counts)
                for feature in features
            }
        except DataError as error:
            raise type(error)(f"{self.uri}: {error}") from error
        return pa.table(columns)

    def pictures(self, episode: int, camera: str) -> pa.Table:
        """The picture index of an episode's camera: one row per coded picture, in decode order.

        The columns are those of ``spec/v1/table.md`` after ``chunk_index``; ``offset`` and
        ``references`` count within the chunk.
        """
        rows = self.directory.episode(episode)
        self._camera(camera)
        keys = [(row, camera) for row in rows.rows]
        found = self._reader.indexes(keys)
        parts = []
        for number, key in enumerate(keys):
            part = pa.Table.from_struct_array(found[key].to_arrow())
            chunk = pa.array([number] * part.num_rows, pa.int32())
            parts.append(part.add_column(0, "chunk_index", chunk))
        return pa.concat_tables(parts)

    def streams(self, episode: int, camera: str) -> list[dict[str, Any]]:
        """The stream facts of each chunk: codec, size, colour, structure (``spec/v1/table.md``)."""
        rows = self.directory.episode(episode)
        self._camera(camera)
        found = self._reader.indexes([(row, camera) for row in rows.rows])
        return [found[row, camera].stream_value() for row in rows.rows]

    def plan(self, requests: Iterable[Request]) -> ReadPlan:
        """What reading these ``(episode, camera, index)`` would fetch and decode, without it."""
        wanted, _ = self._group(requests)
        return self._reader.plan(wanted, ReadReport())

    def explain(self, requests: Iterable[Request]) -> ReadReport:
        """What reading these ``(episode, camera, index)`` costs, by reading them.

        The frames are thrown away as they come; memory is needed for their coded bytes alone.
        """
        wanted, _ = self._group(requests)
        self._read(wanted, _throw_away)
        return self.last_read or ReadReport()

    def read_frames(
        self,
        episode: int,
        camera: str,
        indices: Iterable[int],
        *,
        size: tuple[int, int] | None = None,
        out: UInt8Array | None = None,
    ) -> UInt8Array:
        """Frames of one camera: uint8 [N, H, W, 3], RGB, in the order asked, duplicates kept.

        ``size`` is (height, width) to scale to, in one pass from the coded samples; None is the
        camera's own. ``out`` is an array of that shape to fill in and return, which saves a loader
        the cost of new memory. Raises ``EpisodeNotFoundError``, ``FrameNotFoundError``,
        ``ColumnNotFoundError``, and a ``DataError`` where what is stored is damaged: a wrong frame
        is never returned.
        """
        rows = self.directory.episode(episode)
        frames = rows.resolve(indices)
        feature = self._camera(camera)
        wanted = _by_chunk(rows, camera, frames)
        slots: dict[Request, list[int]] = {}
        for slot, frame in enumerate(frames):
            slots.setdefault((rows.episode, camera, frame), []).append(slot)
        height, width = check_size(size) or (feature.height, feature.width)
        shape = (len(frames), height, width, 3)
        stack = Stack(shape, slots, None if out is None else check_out(out, shape))
        self._read(wanted, stack.place, size)
        return stack.array()

    @overload
    def read_batch(
        self, requests: Iterable[Request], *, size: tuple[int, int] | None = ...
    ) -> list[UInt8Array]: ...
    @overload
    def read_batch(
        self,
        requests: Iterable[Request],
        *,
        size: tuple[int, int] | None = ...,
        out: UInt8Array | Literal["stack"],
    ) -> UInt8Array: ...
    def read_batch(
        self,
        requests: Iterable[Request],
        *,
        size: tuple[int, int] | None = None,
        out: UInt8Array | Literal["stack"] | None = None,
    ) -> list[UInt8Array] | UInt8Array:
        """Frames of any episodes and cameras, each uint8 [H, W, 3], in the order asked.

        One plan for all: what two requests share is fetched and decoded once. ``size`` is (height,
        width) to scale every frame to. ``out``: ``"stack"`` returns one array [N, H, W, 3], which
        frames of one size allow; an array of that shape (or a torch tensor's ``numpy()``) is filled
        in and returned; None returns a list, in which equal requests get arrays of their own.
        """
        wanted, slots = self._group(requests)
        count = sum(map(len, slots.values()))
        if out is None:
            frames: list[UInt8Array] = [np.empty(0, np.uint8)] * count

            def place(episode: int, camera: str, frame: int, rgb: UInt8Array) -> None:
                first, *others = slots[episode, camera, frame]
                frames[first] = np.ascontiguousarray(rgb)
                for slot in others:
                    frames[slot] = rgb.copy()

            self._read(wanted, place, check_size(size))
            return frames
        stack = self._stack(out, count, slots, check_size(size))
        self._read(wanted, stack.place, size)
        return stack.array()

    def read_batches(
        self,
        batches: Iterable[Iterable[Request]],
        *,
        ahead: int = 2,
        size: tuple[int, int] | None = None,
        stack: bool = False,
    ) -> Iterator[list[UInt8Array] | UInt8Array]:
        """Batches one after the other, up to ``ahead`` of them read while the caller works.

        Each is what ``read_batch`` returns (with ``stack``: one array). An error surfaces at its
        own batch. The reading thread ends with the iterator, also where that is closed early.
        """

        def read(requests: Iterable[Request]) -> list[UInt8Array] | UInt8Array:
            if stack:
                return self.read_batch(requests, size=size, out="stack")
            return self.read_batch(requests, size=size)

        return run_ahead(read, batches, ahead)

    def _stack(
        self,
        out: UInt8Array | str,
        count: int,
        slots: Mapping[Request, Sequence[int]],
        size: tuple[int, int] | None,
    ) -> Stack:
        """The array that a batch fills: one of the caller's, checked, or a new one."""
        sizes = {size} if size else {self._frame_size(camera) for _, camera, _ in slots}
        if len(sizes) > 1:
            raise InvalidArgumentError(
                f"frames of {sorted(sizes)} do not stack; give a size, or out=None for a list"
            )
        height, width = sizes.pop() if sizes else (0, 0)
        shape = (count, height, width, 3)
        if isinstance(out, str):
            if out != "stack":
                raise InvalidArgumentError(f"out is {out!r}, expected 'stack', an array or None")
            return Stack(shape, slots)
        return Stack(shape, slots, check_out(out, shape))

    def _frame_size(self, camera: str) -> tuple[int, int]:
        feature = self._camera(camera)
        return feature.height, feature.width

    def _read(self, wanted: Any, place: Any, size: tuple[int, int] | None = None) -> None:
        report = ReadReport()
        self._reader.read_wanted(wanted, place, report, size)
        self.last_read = report

    def _camera(self, camera: str) -> Feature:
        feature = self._table.info.cameras.get(camera) if isinstance(camera, str) else None
        if feature is None:
            raise ColumnNotFoundError(
                f"there is no camera {camera!r}; there are {', '.join(self.cameras) or 'none'}"
            )
        return feature

    def _group(
        self, requests: Iterable[Request]
    ) -> tuple[dict[tuple[int, str], tuple[int, set[int]]], dict[Request, list[int]]]:
        """Requests by chunk, and the slots of the answer that each frame fills."""
        wanted: dict[tuple[int, str], tuple[int, set[int]]] = {}
        slots: dict[Request, list[int]] = {}
        episodes: dict[int, EpisodeRows] = {}
        for slot, request in enumerate(requests):
            try:
                given, camera, index = request
            except (TypeError, ValueError):
                raise InvalidArgumentError(
                    f"a request is (episode, camera, index), got {request!r}"
                ) from None
            episode = self.directory.resolve(given)
            rows = episodes.get(episode)
            if rows is None:
                rows = episodes[episode] = self.directory.episode(episode)
            self._camera(camera)
            (frame,) = rows.resolve([as_index(index, "a frame index")])
            for key, value in _by_chunk(rows, camera, [frame]).items():
                wanted.setdefault(key, (episode, set()))[1].update(value[1])
            slots.setdefault((episode, camera, frame), []).append(slot)
        return wanted, slots


def _throw_away(_episode: int, _camera: str, _frame: int, _rgb: UInt8Array) -> None:
    """A place for frames that nobody wants."""


def _by_chunk(
    rows: EpisodeRows, camera: str, frames: Iterable[int]
) -> dict[tuple[int, str], tuple[int, set[int]]]:
    wanted: dict[tuple[int, str], tuple[int, set[int]]] = {}
    for frame in frames:
        key = (rows.row_of(frame), camera)
        wanted.setdefault(key, (rows.episode, set()))[1].add(frame)
    return wanted
