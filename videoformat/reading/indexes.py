"""Picture indexes as readers keep them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from videoformat.errors import DataError
from videoformat.index.features import Feature
from videoformat.index.pictures import ChunkKey, PictureIndex
from videoformat.index.schema import media_columns
from videoformat.table import MediaPlace, RowMedia

__all__ = ["KEY_COLUMNS", "IndexCache", "LoadedIndex", "parse_index"]

KEY_COLUMNS = ("episode_uid", "chunk_index", "first_frame", "frame_count")
# What a cached index takes, measured with 600 pictures: about 700 bytes a picture.
_BYTES_PER_PICTURE = 700


@dataclass(frozen=True, slots=True)
class LoadedIndex:
    """The index of one camera of one row, and where the row's media lies.

    ``place`` is that within a file of the dataset, ``media`` a handle for it in an object store.
    """

    index: PictureIndex
    place: MediaPlace | None
    media: RowMedia | None = None


class IndexCache:
    """Picture indexes by (row, camera), bounded in bytes, least recently used out first."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._items: OrderedDict[tuple[int, str], LoadedIndex] = OrderedDict()
        self._pictures = 0
        self._lock = threading.Lock()

    def get(self, key: tuple[int, str]) -> LoadedIndex | None:
        """The index, if it is kept."""
        with self._lock:
            loaded = self._items.get(key)
            if loaded is not None:
                self._items.move_to_end(key)
            return loaded

    def put(self, key: tuple[int, str], loaded: LoadedIndex) -> None:
        """Keeps an index, and lets go of those that were used longest ago."""
        with self._lock:
            old = self._items.pop(key, None)
            self._pictures += len(loaded.index) - (len(old.index) if old else 0)
            self._items[key] = loaded
            while self._pictures * _BYTES_PER_PICTURE > self.capacity and self._items:
                _, dropped = self._items.popitem(last=False)
                self._pictures -= len(dropped.index)


def parse_index(taken: Any, at: int, camera: Feature) -> PictureIndex:
    """The picture index of one row of a table that has the key's and the camera's columns."""
    _, pictures, stream = media_columns(camera)
    values = [taken.column(name)[at].as_py() for name in KEY_COLUMNS]
    if any(value is None for value in values):
        raise DataError(f"camera {camera.key!r}: a chunk's key is null: {values}")
    cells = taken.column(pictures)[at].values
    try:
        return PictureIndex.from_arrow(ChunkKey(*values), cells, taken.column(stream)[at].as_py())
    except DataError as error:
        raise type(error)(f"camera {camera.key!r}: {error}") from error
