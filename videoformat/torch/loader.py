"""Items of many frames, read as one plan: windows of each camera, and tabular values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from videoformat.loading import DatasetHandle, FrameColumns, Window, window
from videoformat.torch.images import frames_to_tensor, value_to_tensor

__all__ = ["FramePlace", "ImageForm", "ItemReader", "RawItem"]


@dataclass(frozen=True, slots=True)
class FramePlace:
    """A frame by its episode, its ordinal there, and its ordinal in the whole dataset."""

    episode: int
    frame: int
    index: int


@dataclass(frozen=True, slots=True)
class RawItem:
    """One item before it is named and ordered: cameras, values and padding by feature key."""

    place: FramePlace
    images: dict[str, torch.Tensor]
    values: dict[str, Any]
    is_pad: dict[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class ImageForm:
    """How images come: float32 in [0, 1] or uint8, channels first or last, and their size."""

    as_float: bool
    channels_first: bool
    size: tuple[int, int] | None = None


class ItemReader:
    """Reads items of a dataset, a batch as one plan, so that what two items share is read once.

    ``deltas`` are the windows by feature key, in frames; keys without one have the frame alone and
    no time axis. A camera's window keeps its time axis, whatever its length.
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
        lengths = self.handle.facts.lengths
        windows: list[dict[str, Window]] = []
        requests: list[tuple[int, str, int]] = []
        for place in places:
            own = {
                key: window(place.frame, deltas, int(lengths[place.episode]))
                for key, deltas in self.deltas.items()
            }
            windows.append(own)
            for camera in self.cameras:
                frames = own[camera].frames if camera in own else (place.frame,)
                requests += [(place.episode, camera, frame) for frame in frames]
        read = iter(self._read_frames(requests))
        items = []
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
            is_pad = {key: torch.tensor(found.is_pad) for key, found in own.items()}
            items.append(RawItem(place, images, self._tabular(place, own), is_pad))
        return items

    def _read_frames(
        self, requests: list[tuple[int, str, int]]
    ) -> list[np.ndarray[Any, np.dtype[np.uint8]]]:
        return self.handle.dataset.read_batch(requests) if requests else []

    def _tabular(self, place: FramePlace, own: Mapping[str, Window]) -> dict[str, Any]:
        if not self.columns:
            return {}
        values = self._values.episode(place.episode)
        return {
            key: value_to_tensor(values[key], list(own[key].frames) if key in own else place.frame)
            for key in self.columns
        }
