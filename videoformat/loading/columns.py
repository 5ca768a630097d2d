"""Tabular values of frames, kept as arrays episode by episode within a bound of bytes."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from videoformat.dataset import Dataset
from videoformat.loading.handle import DatasetHandle

__all__ = ["EpisodeValues", "FrameColumns", "column_values"]

# What a value without a fixed size (text, lists of structs) is taken for.
_VARIABLE_BYTES = 256

EpisodeValues = Mapping[str, Any]


def column_values(column: pa.ChunkedArray | pa.Array) -> np.ndarray[Any, Any] | list[Any]:
    """A column's values, one per frame: an array where all are of one shape, a list otherwise."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    shape: tuple[int, ...] = ()
    if isinstance(array.type, pa.BaseExtensionType):
        shape, array = tuple(array.type.shape), array.storage
    if pa.types.is_fixed_size_list(array.type):
        shape = shape or (array.type.list_size,)
        inner = array.flatten()
    else:
        inner = array
    kind = inner.type
    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if not plain or array.null_count or inner.null_count:
        values: list[Any] = array.to_pylist()
        return values
    flat: np.ndarray[Any, Any] = inner.to_numpy(zero_copy_only=False)
    return flat.reshape(len(array), *shape)


class FrameColumns:
    """Tabular values of a dataset's frames, by episode.

    Everything is read at once where it fits into ``cache_bytes``; otherwise episode by episode, and
    those that were not used for longest are dropped. Belongs to one process.
    """

    def __init__(self, handle: DatasetHandle, keys: Sequence[str], cache_bytes: int) -> None:
        self._handle = handle
        self._keys = list(keys)
        self._capacity = cache_bytes
        self._episodes: OrderedDict[int, EpisodeValues] = OrderedDict()
        self._held = 0
        self._is_whole: bool | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "_episodes": OrderedDict(),
            "_held": 0,
            "_is_whole": None,
        }

    def episode(self, episode: int) -> EpisodeValues:
        """The values of an episode by key: arrays whose first axis is the frame, or lists."""
        found = self._episodes.get(episode)
        if found is not None:
            self._episodes.move_to_end(episode)
            return found
        dataset = self._handle.dataset
        if self._is_whole is None:
            self._is_whole = frame_bytes(dataset, self._keys) * len(dataset) <= self._capacity
            if self._is_whole:
                self._load_all(dataset)
                return self._episodes[episode]
        table = dataset.rows(episode, columns=self._keys)
        values = {key: column_values(table.column(key)) for key in self._keys}
        size = frame_bytes(dataset, self._keys)
        self._episodes[episode] = values
        self._held += size * int(dataset.directory.lengths[episode])
        while self._held > self._capacity and len(self._episodes) > 1:
            dropped, _ = self._episodes.popitem(last=False)
            self._held -= size * int(dataset.directory.lengths[dropped])
        return values

    def _load_all(self, dataset: Dataset) -> None:
        table = dataset.frames_table(self._keys)
        whole = {key: column_values(table.column(key)) for key in self._keys}
        start = 0
        for episode, length in enumerate(dataset.directory.lengths.tolist()):
            end = start + length
            self._episodes[episode] = {key: values[start:end] for key, values in whole.items()}
            start = end


def frame_bytes(dataset: Dataset, keys: Sequence[str]) -> int:
    """What one frame's values take in memory, nearly."""
    total = 0
    for key in keys:
        feature = dataset.features[key]
        try:
            item = np.dtype(feature["dtype"]).itemsize
        except TypeError:
            item = _VARIABLE_BYTES
        total += math.prod(feature["shape"]) * (item or _VARIABLE_BYTES)
    return total
