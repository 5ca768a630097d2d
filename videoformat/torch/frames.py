"""A map-style dataset: one item a frame, with windows of cameras and of any tabular columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

from videoformat.dataset import Dataset
from videoformat.errors import ColumnNotFoundError, InvalidArgumentError
from videoformat.loading import DatasetHandle, FramePlace, Selection, frame_deltas
from videoformat.torch.loader import ImageForm, ItemReader, RawItem

__all__ = ["COLUMN_CACHE_BYTES", "FrameDataset", "Item"]

COLUMN_CACHE_BYTES = 256 * 2**20
TOLERANCE_S = 1e-4
POSITION_KEYS = ("episode_index", "frame_index", "index")
Item = dict[str, Any]


class FrameDataset(torch.utils.data.Dataset):  # type: ignore[misc]  # torch comes without types here
    """Items of a dataset by position.

    ``dataset`` is an address or an open ``Dataset``; ``storage_options``, ``version`` and
    ``allowed_sources`` are those of ``videoformat.open``. ``cameras`` and ``columns`` are feature
    keys, None for all. ``delta_timestamps`` are windows by feature key, in seconds, multiples of
    1/fps. ``size`` is (height, width) to scale to. Images are uint8, or float32 in [0, 1] where
    ``as_float``; (C, H, W), or (H, W, C) where not ``channels_first``; with a window, a first axis
    of time. ``episodes`` are those to take, in ascending order. ``transform`` is applied to each
    item, in the process that reads it.

    An item is a dict: cameras, columns in the dataset's types, ``<key>_is_pad`` for each window,
    and ``episode_index``, ``frame_index`` and ``index``, which are positions in the dataset.

    Given by its address, a dataset is opened by the worker that reads; see ``videoformat.forks``.
    """

    def __init__(
        self,
        dataset: Dataset | str | os.PathLike[str],
        *,
        cameras: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        delta_timestamps: Mapping[str, Sequence[float]] | None = None,
        tolerance_s: float = TOLERANCE_S,
        size: tuple[int, int] | None = None,
        as_float: bool = False,
        channels_first: bool = True,
        episodes: Iterable[int] | None = None,
        transform: Callable[[Item], Any] | None = None,
        storage_options: Mapping[str, str] | None = None,
        version: int | str | None = None,
        allowed_sources: Sequence[str | os.PathLike[str]] = (),
        column_cache_bytes: int = COLUMN_CACHE_BYTES,
    ) -> None:
        self._handle = DatasetHandle(
            dataset,
            storage_options=storage_options,
            version=version,
            allowed_sources=allowed_sources,
        )
        facts = self._handle.facts
        tabular = [key for key in facts.features if key not in facts.cameras]
        self.cameras = _chosen("cameras", cameras, facts.cameras)
        self.columns = _chosen("columns", columns, tabular)
        deltas = frame_deltas(delta_timestamps or {}, facts.fps, tolerance_s)
        _chosen("delta_timestamps", list(deltas), [*self.cameras, *self.columns])
        if transform is not None and not callable(transform):
            raise InvalidArgumentError(f"transform is {transform!r}, expected a callable or None")
        self.transform = transform
        self._selection = Selection(facts, episodes)
        self._reader = ItemReader(
            self._handle,
            cameras=self.cameras,
            columns=[key for key in self.columns if key not in POSITION_KEYS],
            deltas=deltas,
            form=ImageForm(as_float=as_float, channels_first=channels_first, size=size),
            column_cache_bytes=column_cache_bytes,
        )

    def __len__(self) -> int:
        return len(self._selection)

    def __getitem__(self, index: int) -> Any:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """Items in the order asked, read as one plan; a ``DataLoader`` asks for a batch so."""
        return list(self.iterate(indices))

    def iterate(self, indices: Sequence[int]) -> Iterator[Any]:
        """The same; tensors are made one item at a time."""
        for raw in self._reader.iterate(self._selection.places(indices)):
            item = self._item(raw)
            yield item if self.transform is None else self.transform(item)

    def _item(self, raw: RawItem) -> Item:
        item: Item = {**raw.images, **raw.values}
        item |= {f"{key}_is_pad": raw.is_pad(key) for key in raw.windows}
        item["episode_index"] = torch.tensor(raw.place.episode)
        item["frame_index"] = torch.tensor(raw.place.frame)
        item["index"] = torch.tensor(raw.place.index)
        return item

    @property
    def fps(self) -> float:
        """Frames a second."""
        return self._handle.facts.fps

    def place(self, index: int) -> FramePlace:
        """Where an item lies: its episode, its frame there, its ordinal in the dataset."""
        return self._selection.place(index)

    def interval_starts(self, interval: int | None = None) -> Any:
        """Where the intervals begin, counted in items; what ``IntervalSampler`` asks for."""
        return self._selection.interval_starts(interval)


def _chosen(what: str, wanted: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    if wanted is None:
        return list(known)
    if isinstance(wanted, str):
        raise InvalidArgumentError(f"{what} is a list of feature keys, got {wanted!r}")
    for key in wanted:
        if key not in known:
            raise ColumnNotFoundError(
                f"{what}: there is no {key!r}; there are {', '.join(known) or 'none'}"
            )
    return list(wanted)
