"""Reading frames: everything that is asked for in one call goes down the path together.

Strategy: the indexes that are not cached come in one take; frames are grouped by chunk, so that what
two frames share is fetched and decoded once; all ranges of a camera go out in one planned read; every
access unit is compared with its checksum before it is fed; every wanted picture must come back with
the tag that it was fed with. Anything else raises and names episode, camera and frame. Groups are
independent of each other, and are decoded side by side where the options say so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from videoformat.errors import ChecksumError, DataError
from videoformat.forks import enter_lance
from videoformat.index.features import Feature
from videoformat.index.pictures import PictureIndex
from videoformat.index.plan import Group, plan_chunk
from videoformat.index.schema import media_columns
from videoformat.media.color import Color, to_rgb
from videoformat.media.decoder import DecodedPicture
from videoformat.reading.decode import StepDecoder
from videoformat.reading.fetch import MediaFetcher, counted
from videoformat.reading.frame_cache import FrameCache
from videoformat.reading.indexes import KEY_COLUMNS, IndexCache, LoadedIndex, parse_index
from videoformat.reading.options import ReadOptions
from videoformat.reading.plan import ChunkRead, ReadPlan
from videoformat.reading.report import ReadReport
from videoformat.sources import AllowedSources
from videoformat.table import Table, place_of

__all__ = ["Reader"]

UInt8Array = np.ndarray[Any, np.dtype[np.uint8]]
Place = Callable[[int, str, int, UInt8Array], None]


class Reader:
    """Reads frames of one version of a dataset. Safe to use from several threads."""

    def __init__(
        self,
        table: Table,
        *,
        options: ReadOptions | None = None,
        allowed_sources: Sequence[str] = (),
    ) -> None:
        self.table = table
        self.options = options or ReadOptions()
        self.cameras: Mapping[str, Feature] = table.info.cameras
        self._sources = AllowedSources(allowed_sources)
        self._indexes = IndexCache(self.options.index_cache_bytes)
        self._frames = FrameCache(self.options.frame_cache_bytes)
        self._steps = StepDecoder()
        self._media = MediaFetcher(table, self.cameras, self.options)
        self._pool: tuple[int, ThreadPoolExecutor] | None = None

    def indexes(
        self, wanted: Sequence[tuple[int, str]], report: ReadReport | None = None
    ) -> dict[tuple[int, str], PictureIndex]:
        """The picture indexes of some (row, camera) pairs: those not cached come in one take."""
        found = self._loaded(wanted, report or ReadReport())
        return {key: loaded.index for key, loaded in found.items()}

    def _loaded(
        self, wanted: Sequence[tuple[int, str]], report: ReadReport
    ) -> dict[tuple[int, str], LoadedIndex]:
        begin = time.perf_counter()
        found: dict[tuple[int, str], LoadedIndex] = {}
        missing = []
        for key in dict.fromkeys(wanted):
            loaded = self._indexes.get(key)
            if loaded is None:
                missing.append(key)
            else:
                found[key] = loaded
        report.index_hits += len(found)
        report.index_misses += len(missing)
        if missing:
            report.takes += 1
            with counted(self.table, report):
                found.update(self._load(missing))
        report.seconds["index"] += time.perf_counter() - begin
        return found

    def _load(
        self, missing: list[tuple[int, str]]
    ) -> Iterator[tuple[tuple[int, str], LoadedIndex]]:
        rows = sorted({row for row, _ in missing})
        columns = list(KEY_COLUMNS)
        for camera in sorted({camera for _, camera in missing}):
            columns += media_columns(self.cameras[camera])
        taken = self.table.take(rows, columns).combine_chunks()
        at_row = {row: at for at, row in enumerate(rows)}
        for row, camera in missing:
            feature = self.cameras[camera]
            index = parse_index(taken, at_row[row], feature)
            # Taken, a blob column says where each blob lies.
            cell = taken.column(media_columns(feature)[0])[at_row[row]].as_py()
            self._sources.check(cell, index.stream)
            # Nothing is asked of media before this check: it may lie outside the dataset.
            place = place_of(cell)
            loaded = LoadedIndex(index, place, self._media.media_of(row, camera, place))
            self._indexes.put((row, camera), loaded)
            yield (row, camera), loaded

    def plan(
        self, wanted: Mapping[tuple[int, str], tuple[int, set[int]]], report: ReadReport
    ) -> ReadPlan:
        """Plans a read of frames by (row, camera); values are the episode and its frames."""
        enter_lance()  # what is cached may need no call to Lance, and is refused all the same
        found = self._loaded(list(wanted), report)
        begin = time.perf_counter()
        chunks = []
        for key, (episode, frames) in wanted.items():
            row, camera = key
            loaded = found[key]
            try:
                steps = plan_chunk(loaded.index, frames)
            except DataError as error:
                raise type(error)(f"camera {camera!r}, episode {episode}: {error}") from error
            chunks.append(
                ChunkRead(episode, camera, row, loaded.index, steps, loaded.place, loaded.media)
            )
        report.seconds["plan"] += time.perf_counter() - begin
        return ReadPlan(tuple(chunks))

    def read_wanted(
        self,
        wanted: Mapping[tuple[int, str], tuple[int, set[int]]],
        place: Place,
        report: ReadReport,
        size: tuple[int, int] | None = None,
    ) -> None:
        """Plans and reads; frames that are kept are placed without either."""
        rest = self._place_kept(wanted, place, report, size) if self._frames.capacity else wanted
        self.read(self.plan(rest, report), place, report, size)

    def _place_kept(
        self,
        wanted: Mapping[tuple[int, str], tuple[int, set[int]]],
        place: Place,
        report: ReadReport,
        size: tuple[int, int] | None,
    ) -> dict[tuple[int, str], tuple[int, set[int]]]:
        """Places what the cache has, and returns what it has not."""
        rest: dict[tuple[int, str], tuple[int, set[int]]] = {}
        for (row, camera), (episode, frames) in wanted.items():
            for frame in frames:
                kept = self._frames.get((row, camera, frame, size))
                if kept is None:
                    rest.setdefault((row, camera), (episode, set()))[1].add(frame)
                    continue
                place(episode, camera, frame, kept)
                report.frame_hits += 1
                report.frames += 1
        return rest

    def read(
        self,
        plan: ReadPlan,
        place: Place,
        report: ReadReport,
        size: tuple[int, int] | None = None,
    ) -> None:
        """Fetches and decodes a plan; ``place`` takes (episode, camera, frame, RGB) as they come.

        What ``place`` is given is its own to keep, and may be a view with padded lines; it may be
        called from several threads at once. ``size`` is (height, width) to scale to, None for a
        frame's own.
        """
        fetched = self.fetch(plan, report)
        tasks = [
            (chunk, step, parts)
            for chunk, parts in zip(plan.chunks, fetched, strict=True)
            for step in chunk.plan.steps
        ]

        if self.options.decode_threads == 1 or len(tasks) < 2:
            for task in tasks:
                self._read_step(*task, place, size, report)
            return

        def run(task: tuple[ChunkRead, Group, list[bytes]]) -> ReadReport:
            own = ReadReport()
            self._read_step(*task, place, size, own)
            return own

        for own in self._executor().map(run, tasks):
            report.add(own)

    def _executor(self) -> ThreadPoolExecutor:
        """The threads that decode; those of another process do not survive a fork."""
        if self._pool is None or self._pool[0] != os.getpid():
            threads = ThreadPoolExecutor(
                self.options.decode_threads, thread_name_prefix="videoformat-decode"
            )
            self._pool = (os.getpid(), threads)
        return self._pool[1]

    def _read_step(
        self,
        chunk: ChunkRead,
        step: Group,
        parts: list[bytes],
        place: Place,
        size: tuple[int, int] | None,
        report: ReadReport,
    ) -> None:
        try:
            self._place_step(chunk, step, parts, place, size, report)
        except ChecksumError:
            if not self._media.is_read_directly(chunk):
                raise
            # Read without Lance: whether the bytes are damaged is for Lance's own read to say.
            parts = self._media.fetch_through_lance([chunk], report)[0]
            self._place_step(chunk, step, parts, place, size, report)

    def _place_step(
        self,
        chunk: ChunkRead,
        step: Group,
        parts: list[bytes],
        place: Place,
        size: tuple[int, int] | None,
        report: ReadReport,
    ) -> None:
        stream = chunk.index.stream
        color = Color(
            stream.color_matrix, stream.color_range, stream.color_primaries, stream.color_transfer
        )
        for frame, picture in self._steps.decode(chunk, step, parts, report):
            begin = time.perf_counter()
            rgb = to_rgb(picture, color, stream.height, stream.width, size)
            if self._frames.capacity:
                self._frames.put((chunk.row, chunk.camera, frame, size), rgb)
            place(chunk.episode, chunk.camera, frame, rgb)
            report.seconds["rgb"] += time.perf_counter() - begin
            report.frames += 1

    def decode(
        self, chunk: ChunkRead, parts: list[bytes], report: ReadReport
    ) -> Iterator[tuple[int, DecodedPicture]]:
        """Decodes one chunk's closure; yields the wanted frames as (frame, decoded picture).

        Raises what is wrong with the data, with episode, camera and frames in the message.
        """
        for step in chunk.plan.steps:
            yield from self._steps.decode(chunk, step, parts, report)

    def fetch(self, plan: ReadPlan, report: ReadReport) -> list[list[bytes]]:
        """The bytes of every range of every chunk: one planned read a camera."""
        return self._media.fetch(plan.chunks, report)
