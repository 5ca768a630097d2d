"""The media of one row, for reads that touch no other: as few round trips to the store as can be.

Strategy: a planned read over many rows first reads where each row's blob lies, and only then the media, so
it waits for the store twice. Of a single row whose index was just taken that is known already: Lance
answers it when a blob column is taken (kind, number, position, size). So the first time a few ranges are
read straight from the blob's file. Many, and those of a row that is read again, are read by a handle of
Lance's, which looks the place up once and from then on plans all ranges in one call.

Only the name of a blob's file follows from Lance's layout, which is no contract: a file that is not there
or gives too few bytes is read by the handle. Media that lies outside the dataset has no such place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import lance
import lance.blob
import lance.file

from videoformat.errors import DataError
from videoformat.table.errors import lance_errors

__all__ = ["MediaPlace", "RowMedia", "StoreFiles", "blob_file", "place_of"]

PACKED, DEDICATED = 1, 2
# Ranges that are read from the blob's file, each by a request of its own; a window's are two.
MAXIMUM_REQUESTS = 4


@dataclass(frozen=True, slots=True)
class MediaPlace:
    """Where Lance says that a blob lies: its number, its bytes within that file."""

    blob_id: int
    position: int
    size: int


def place_of(cell: Mapping[str, Any] | None) -> MediaPlace | None:
    """The place in a taken cell of a blob column, or None for a kind that lies elsewhere."""
    if cell is None or cell.get("kind") not in (PACKED, DEDICATED):
        return None
    return MediaPlace(int(cell["blob_id"]), int(cell["position"]), int(cell["size"]))


def blob_file(data_file: str, blob_id: int) -> str:
    """The name of a blob's file under ``data/``: its number as 32 bits, lowest first."""
    return f"{data_file.removesuffix('.lance')}/{f'{blob_id:032b}'[::-1]}.blob"


class StoreFiles:
    """A table's files in an object store, and what was asked of it. Safe for several threads."""

    def __init__(self, session: lance.file.LanceFileSession) -> None:
        self._session = session
        self._lock = threading.Lock()
        self.requests = 0
        self.byte_count = 0

    def read(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes] | None:
        """Ranges of a file side by side, or None where they are not all found."""
        others = ranges[1:]
        try:
            if others:
                with ThreadPoolExecutor(len(others)) as threads:
                    waiting = [threads.submit(self._read, path, *item) for item in others]
                    parts = [self._read(path, *ranges[0])]
                    parts += [future.result() for future in waiting]
            else:
                parts = [self._read(path, *ranges[0])]
        except (OSError, ValueError, RuntimeError):
            return None
        wanted = [size for _, size in ranges]
        return parts if [len(part) for part in parts] == wanted else None

    def _read(self, path: str, offset: int, size: int) -> bytes:
        part: bytes = self._session.read_range(path, offset, size)
        with self._lock:
            self.requests += 1
            self.byte_count += len(part)
        return part


class RowMedia:
    """One row's blob of a media column. Safe to use from several threads."""

    def __init__(
        self,
        uri: str,
        column: str,
        row: int,
        dataset: Callable[[], lance.LanceDataset],
        by_place: Callable[[MediaPlace, Sequence[tuple[int, int]]], list[bytes] | None],
        place: MediaPlace | None,
    ) -> None:
        self._uri = uri
        self._column = column
        self._row = row
        self._dataset = dataset
        self._by_place = by_place
        self._place = place
        self._is_read_again = False
        self._blob: lance.blob.BlobFile | None = None

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Byte ranges ``(offset, size)``, in order; from the second read on by Lance's handle.

        Raises ``DataError`` where a range lies outside the media or comes back short.
        """
        with lance_errors(self._uri, f"reading media of {self._column}"):
            if self._place is not None and not self._is_read_again:
                self._is_read_again = True
                self._check(ranges, self._place.size)
                if 0 < len(ranges) <= MAXIMUM_REQUESTS:
                    parts = self._by_place(self._place, ranges)
                    if parts is not None:
                        return parts
            blob = self._open()
            self._check(ranges, blob.size())
            parts = blob.read_ranges(list(ranges))
        for (offset, size), data in zip(ranges, parts, strict=True):
            if len(data) != size:
                raise DataError(f"{self._where}: {len(data)} bytes at {offset}, expected {size}")
        return list(parts)

    @property
    def _where(self) -> str:
        return f"{self._uri}: {self._column} of row {self._row}"

    def _check(self, ranges: Sequence[tuple[int, int]], length: int) -> None:
        for offset, size in ranges:
            if not 0 <= offset <= offset + size <= length:
                raise DataError(f"{self._where}: {size} bytes at {offset} of {length}")

    def _open(self) -> lance.blob.BlobFile:
        if self._blob is None:
            (blob,) = self._dataset().take_blobs(self._column, indices=[self._row])
            if blob is None:
                raise DataError(f"{self._where}: there is no media")
            self._blob = blob
        return self._blob
