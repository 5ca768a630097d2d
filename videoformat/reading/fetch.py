"""Fetching what plans ask for: one planned read a camera, or straight from a local file.

Strategy: all ranges of a camera, over all chunks, go to Lance in one call, which joins those that lie
close together and keeps many requests under way. Each call waits for two round trips, one for where
the rows' media lies and one for the media; so the calls of several cameras are made at the same time.
Where a camera's ranges are all of one chunk, a handle of the chunk's media makes the call: where that lies
came with the index or was looked up in a read before, so there is one round trip.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from videoformat.index.features import Feature
from videoformat.index.schema import media_columns
from videoformat.reading.local_media import LocalMedia
from videoformat.reading.options import ReadOptions
from videoformat.reading.plan import ChunkRead
from videoformat.reading.report import ReadReport
from videoformat.table import MediaPlace, RowMedia, Table

__all__ = ["MediaFetcher", "counted"]

MAXIMUM_READS = 8  # of different cameras at once, each with Lance's own requests side by side


@contextmanager
def counted(table: Table, report: ReadReport) -> Iterator[None]:
    """Adds what Lance reads from the store in the block to a report."""
    requests, byte_count = table.store_reads()
    try:
        yield
    finally:
        now = table.store_reads()
        report.store_requests += now[0] - requests
        report.store_bytes += now[1] - byte_count


class MediaFetcher:
    """Fetches the media of chunks of one version. Safe to use from several threads."""

    def __init__(self, table: Table, cameras: Mapping[str, Feature], options: ReadOptions) -> None:
        self._table = table
        self._cameras = cameras
        self._options = options
        root = table.local_root if options.direct_reads else None
        self._local = None if root is None else LocalMedia(root)

    def media_of(self, row: int, camera: str, place: MediaPlace | None) -> RowMedia | None:
        """A handle of a chunk's media in an object store; None on a local disk."""
        if self._table.local_root is not None:
            return None
        column = media_columns(self._cameras[camera])[0]
        gap = self._options.gap_bytes
        return self._table.row_media(column, row, place=place, gap_bytes=gap)

    def is_read_directly(self, chunk: ChunkRead) -> bool:
        """Whether a chunk's media is looked for in its file first, local or in a store."""
        return chunk.place is not None and (self._local is not None or chunk.media is not None)

    def fetch(self, chunks: Sequence[ChunkRead], report: ReadReport) -> list[list[bytes]]:
        """The bytes of every range of every chunk, in the plans' order."""
        begin = time.perf_counter()
        parts: dict[int, list[bytes]] = {}
        if self._local is not None:
            for at, chunk in enumerate(chunks):
                found = self._fetch_directly(self._local, chunk, report)
                if found is not None:
                    parts[at] = found
        rest = [at for at in range(len(chunks)) if at not in parts]
        if rest:
            found_rest = self.fetch_through_lance([chunks[at] for at in rest], report)
            parts.update(zip(rest, found_rest, strict=True))
        report.seconds["fetch"] += time.perf_counter() - begin
        return [parts[at] for at in range(len(chunks))]

    def _fetch_directly(
        self, local: LocalMedia, chunk: ChunkRead, report: ReadReport
    ) -> list[bytes] | None:
        if chunk.place is None:
            return None
        files = self._table.data_files_of(chunk.row)
        ranges = [(item.start, item.size) for item in chunk.plan.ranges]
        parts = local.read(files, chunk.place, ranges)
        if parts is not None:
            report.direct_reads += len(ranges)
            report.ranges += len(ranges)
            report.media_bytes += chunk.plan.byte_count
        return parts

    def fetch_through_lance(
        self, chunks: Sequence[ChunkRead], report: ReadReport
    ) -> list[list[bytes]]:
        """The same by Lance alone, which looks up where media lies that was read before."""
        cameras = list(dict.fromkeys(chunk.camera for chunk in chunks))
        wanted = {
            camera: [at for at, it in enumerate(chunks) if it.camera == camera]
            for camera in cameras
        }

        def fetch(camera: str) -> list[bytes]:
            first = chunks[wanted[camera][0]]
            if len(wanted[camera]) == 1 and first.media is not None:
                return first.media.read_ranges(
                    [(item.start, item.size) for item in first.plan.ranges]
                )
            requests = [
                (chunks[at].row, item.start, item.size)
                for at in wanted[camera]
                for item in chunks[at].plan.ranges
            ]
            column = media_columns(self._cameras[camera])[0]
            return self._table.read_ranges(column, requests, gap_bytes=self._options.gap_bytes)

        with counted(self._table, report):
            answers = list(self._side_by_side(fetch, cameras))
        parts: list[list[bytes]] = [[] for _ in chunks]
        for camera, found in zip(cameras, answers, strict=True):
            ranges = iter(found)
            for at in wanted[camera]:
                parts[at] = [next(ranges) for _ in chunks[at].plan.ranges]
            report.range_reads += 1
            report.ranges += len(found)
            report.media_bytes += sum(map(len, found))
        return parts

    def _side_by_side(
        self, fetch: Callable[[str], list[bytes]], cameras: Sequence[str]
    ) -> Iterable[list[bytes]]:
        """What each camera's read gives; a store's round trips are waited for once for all."""
        if len(cameras) == 1 or self._table.local_root is not None:
            return map(fetch, cameras)
        with ThreadPoolExecutor(min(len(cameras), MAXIMUM_READS)) as threads:
            return list(threads.map(fetch, cameras))
