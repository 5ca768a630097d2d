"""The media of one row, for reads that touch no other: where it lies is asked of Lance once.

Why: a planned read over many rows first reads where each row's blob lies, and only then the media, so it
waits for the store twice. A single row's handle knows that from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import lance
import lance.blob

from videoformat.errors import DataError
from videoformat.table.errors import lance_errors

__all__ = ["RowMedia"]


class RowMedia:
    """One row's blob of a media column. Safe to use from several threads."""

    def __init__(
        self, dataset: Callable[[], lance.LanceDataset], uri: str, column: str, row: int
    ) -> None:
        self._dataset = dataset
        self._uri, self._column, self._row = uri, column, row
        self._blob: lance.blob.BlobFile | None = None

    def open(self) -> lance.blob.BlobFile:
        """Looks up where the media lies; the media itself is not touched."""
        if self._blob is None:
            with lance_errors(self._uri, f"reading media of {self._column}"):
                (blob,) = self._dataset().take_blobs(self._column, indices=[self._row])
            if blob is None:
                raise DataError(
                    f"{self._uri}: {self._column} of row {self._row}: there is no media"
                )
            self._blob = blob
        return self._blob

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Byte ranges ``(offset, size)`` by one planned read, in order.

        Raises ``DataError`` where a range lies outside the media or comes back short.
        """
        blob = self.open()
        with lance_errors(self._uri, f"reading media of {self._column}"):
            length = blob.size()
            for offset, size in ranges:
                if not 0 <= offset <= offset + size <= length:
                    raise DataError(
                        f"{self._uri}: {self._column} of row {self._row}: {size} bytes at {offset} of "
                        f"{length}"
                    )
            parts: list[bytes] = blob.read_ranges(list(ranges))
        for (offset, size), data in zip(ranges, parts, strict=True):
            if len(data) != size:
                raise DataError(
                    f"{self._uri}: {self._column} of row {self._row}: {len(data)} bytes at {offset}, "
                    f"expected {size}"
                )
        return parts
