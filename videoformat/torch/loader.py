"""Items of many frames, read as one plan: windows of each camera, and tabular values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from videoformat.loading import DatasetHandle, FrameColumns, FramePlace, Window, window
from videoformat.torch.images import frames_to_tensor, value_to_tensor

__all__ = ["ImageForm", "ItemReader", "RawItem"]

UInt8Array = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(frozen=True, slots=True)
class RawItem:
    """One item before it is named and ordered: cameras, values and windows by feature key."""

    place: FramePlace
    images: dict[str, torch.Tensor]
    values: dict[str, Any]
    windows: dict[str, Window]

    def is_pad(self, key: str) -> torch.Tensor:
        """Which frames of a key's window lie outside the episode: bool (T,)."""
        return torch.tensor(self.windows[key].is_pad, dtype=torch.bool)


@dataclass(frozen=True, slots=True)
class ImageForm:
    """How images come: float32 in [0, 1] or uint8, channels first or last, scaled or not.

    ``size`` is (height, width) to scale to; None is the camera's own.
    """

    as_float: bool
    channels_first: bool
    size: tuple[int, int] | None = None


class ItemReader:
    """Reads items of a dataset, a batch as one plan, so that what two items share is read once.

    ``deltas`` are the windows by feature key, in frames; keys without one have the frame alone and
    no time axis. A window keeps its time axis, whatever its length.
    """

    def __init__(
        self,
        handle: DatasetHandle,
        *,
        cameras: Sequence[str],
        columns: Sequence[str],
        deltas: Mapping[str, tuple[int, ...]],
        form: ImageForm,
        column_cache_bytes: int,
    ) -> None:
        self.handle = handle
        self.cameras = tuple(cameras)
        self.columns = tuple(columns)
        self.deltas = dict(deltas)
        self.form = form
        self._values = FrameColumns(handle, columns, column_cache_bytes)

    def read(self, places: Sequence[FramePlace]) -> list[RawItem]:
        """Items in the order asked."""
        return list(self.iterate(places))

    def iterate(self, places: Sequence[FramePlace]) -> Iterator[RawItem]:
        """The same; tensors are made one item at a time."""
        windows = [self._windows(place) for place in places]
        requests = [
            (place.episode, camera, frame)
            for place, own in zip(places, windows, strict=True)
            for camera in self.cameras
            for frame in (own[camera].frames if camera in own else (place.frame,))
        ]
        read = iter(self._read_frames(requests))
        for place, own in zip(places, windows, strict=True):
            images = {}
            for camera in self.cameras:
                count = len(own[camera].frames) if camera in own else 1
                stacked = frames_to_tensor(
                    [next(read) for _ in range(count)],
                    as_float=self.form.as_float,
                    channels_first=self.form.channels_first,
                )
                images[camera] = stacked if camera in own else stacked[0]
            yield RawItem(place, images, self._tabular(place, own), own)

    def _windows(self, place: FramePlace) -> dict[str, Window]:
        length = int(self.handle.facts.lengths[place.episode])
        return {key: window(place.frame, deltas, length) for key, deltas in self.deltas.items()}

    def _read_frames(self, requests: list[tuple[int, str, int]]) -> Sequence[UInt8Array]:
        if not requests:
            return []
        return self.handle.dataset.read_batch(requests, size=self.form.size)

    def _tabular(self, place: FramePlace, own: Mapping[str, Window]) -> dict[str, Any]:
        if not self.columns:
            return {}
        values = self._values.episode(place.episode)
        return {
            key: value_to_tensor(values[key], list(own[key].frames) if key in own else place.frame)
            for key in self.columns
        }
