"""Media on a local disk, read from its file without going through Lance.

Why: a range read through Lance hands work to threads of its own and waits for them. On an idle
machine that takes a quarter of a millisecond; where all cores are busy, as they are in training, each
hand-over waits for a turn, and one closure takes several. A read of the file in the calling thread
takes some tens of microseconds either way.

Where a blob lies is what Lance itself answers when a blob column is taken (kind, position, size,
number); only the name of the file that holds it follows from Lance's layout: ``data/<data file>/<number
of the blob as 32 bits, lowest first>.blob``. That is no contract, so nothing depends on it: a file that
is not there or is too short is read through Lance, and so is a chunk whose bytes do not have their
checksums.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from videoformat.table import MediaPlace, blob_file

__all__ = ["LocalMedia"]

OPEN_FILES = 64


class _OpenFile:
    """A descriptor that closes with its last user."""

    __slots__ = ("descriptor", "size")

    def __init__(self, path: str) -> None:
        self.descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.size = os.fstat(self.descriptor).st_size

    def __del__(self) -> None:
        descriptor = getattr(self, "descriptor", None)
        if descriptor is not None:
            os.close(descriptor)


class LocalMedia:
    """Reads ranges of blobs of a local table. Safe to use from several threads, and after a fork."""

    def __init__(self, root: Path) -> None:
        self._data = str(root / "data")
        self._files: OrderedDict[str, _OpenFile] = OrderedDict()
        self._lock = threading.Lock()

    def read(
        self, data_files: Sequence[str], place: MediaPlace, ranges: Sequence[tuple[int, int]]
    ) -> list[bytes] | None:
        """The bytes of ranges ``(offset, size)`` of a blob, or None where they are not found so.

        ``data_files`` are the names of the data files of the blob's fragment.
        """
        for data_file in data_files:
            opened = self._open(f"{self._data}/{blob_file(data_file, place.blob_id)}")
            if opened is None or opened.size < place.position + place.size:
                continue
            parts = []
            for offset, size in ranges:
                if offset + size > place.size:
                    return None
                part = os.pread(opened.descriptor, size, place.position + offset)
                if len(part) != size:
                    return None
                parts.append(part)
            return parts
        return None

    def _open(self, path: str) -> _OpenFile | None:
        with self._lock:
            opened = self._files.get(path)
            if opened is not None:
                self._files.move_to_end(path)
                return opened
        try:
            opened = _OpenFile(path)
        except OSError:
            return None
        with self._lock:
            self._files[path] = opened
            while len(self._files) > OPEN_FILES:
                self._files.popitem(last=False)
        return opened
