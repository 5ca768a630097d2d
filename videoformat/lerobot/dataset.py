"""``LeRobotDataset`` for reading: LeRobot 0.6.1's arguments and items over this format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import torch

from videoformat.dataset import Dataset
from videoformat.errors import ColumnNotFoundError, InvalidArgumentError
from videoformat.lerobot.columns import item_columns
from videoformat.lerobot.metadata import LeRobotDatasetMetadata
from videoformat.lerobot.rows import RowReader
from videoformat.lerobot.table import FrameTable
from videoformat.loading import DatasetHandle, FramePlace, Selection, frame_deltas, window
from videoformat.torch import ImageForm, ItemReader, RawItem

__all__ = ["LeRobotDataset"]

COLUMN_CACHE_BYTES = 256 * 2**20
Transform = Callable[[torch.Tensor], torch.Tensor]


class LeRobotDataset(torch.utils.data.Dataset):  # type: ignore[misc]  # torch comes without types here
    """A dataset of this format as LeRobot's code expects one.

    Arguments are LeRobot's. ``root`` is the dataset's address (a path or URI); without one,
    ``repo_id`` is. ``revision`` is a version number or a tag. Items of ``episodes`` come in ascending
    order of episode, whatever the order of the list.
    ``delta_timestamps`` are seconds from the frame by feature key, multiples of 1/fps within
    ``tolerance_s``. ``storage_options`` and ``allowed_sources`` are those of ``videoformat.open``;
    instead of an address, ``root`` may be an open ``videoformat.Dataset``. What concerns only
    LeRobot's own storage (``force_cache_sync``, ``download_videos``, ``video_backend``,
    ``depth_output_unit``, ``token``) is taken and has no effect.

    Raises ``InvalidArgumentError`` (a ``ValueError``) for deltas off the grid,
    ``ColumnNotFoundError`` (a ``KeyError``) for one of a feature that is not there.
    """

    def __init__(
        self,
        repo_id: str,
        root: str | os.PathLike[str] | Dataset | None = None,
        episodes: Iterable[int] | None = None,
        episode_filter: Callable[[dict[str, Any]], bool] | None = None,
        image_transforms: Transform | None = None,
        delta_timestamps: Mapping[str, Sequence[float]] | None = None,
        tolerance_s: float = 1e-4,
        revision: int | str | None = None,
        force_cache_sync: bool = False,  # noqa: ARG002, FBT001, FBT002 - LeRobot's signature
        download_videos: bool = True,  # noqa: ARG002, FBT001, FBT002
        video_backend: str | None = None,  # noqa: ARG002
        return_uint8: bool = False,  # noqa: FBT001, FBT002
        depth_output_unit: str = "mm",  # noqa: ARG002
        *,
        token: str | bool | None = None,  # noqa: ARG002
        storage_options: Mapping[str, str] | None = None,
        allowed_sources: Sequence[str | os.PathLike[str]] = (),
        column_cache_bytes: int = COLUMN_CACHE_BYTES,
    ) -> None:
        self.repo_id = repo_id
        self.revision = revision
        self.tolerance_s = tolerance_s
        self._handle = DatasetHandle(
            repo_id if root is None else root,
            storage_options=storage_options,
            version=revision,
            allowed_sources=allowed_sources,
        )
        self.meta = LeRobotDatasetMetadata(repo_id, revision=revision, handle=self._handle)
        self.delta_timestamps = None if delta_timestamps is None else dict(delta_timestamps)
        self._deltas = frame_deltas(delta_timestamps or {}, self.meta.fps, tolerance_s)
        self._check_keys()
        self.episodes = None if episodes is None else list(episodes)
        if episode_filter is not None:
            self.episodes = self.meta.filter_episodes(episode_filter, self.episodes)
            if not self.episodes:
                raise InvalidArgumentError(
                    f"episode_filter is true of none of the {self.meta.total_episodes} episodes, "
                    f"or of none of episodes={episodes}"
                )
        self._selection = Selection(self._handle.facts, self.episodes)
        self._rows = RowReader(self._handle, column_cache_bytes)
        self._columns = item_columns(self.meta.features)
        self._reader = ItemReader(
            self._handle,
            cameras=self.meta.camera_keys,
            columns=(),
            deltas={
                key: deltas for key, deltas in self._deltas.items() if key in self.meta.camera_keys
            },
            form=ImageForm(as_float=not return_uint8, channels_first=True),
            column_cache_bytes=0,
        )
        self.image_transforms: Transform | None = None
        self.set_image_transforms(image_transforms)

    def _check_keys(self) -> None:
        for key in self._deltas:
            if key not in self.meta.features:
                raise ColumnNotFoundError(
                    f"delta_timestamps: there is no feature {key!r}; there are "
                    f"{', '.join(self.meta.features)}"
                )

    def __len__(self) -> int:
        return len(self._selection)

    def __repr__(self) -> str:
        return (
            f"LeRobotDataset({self.repo_id!r}, root={str(self.root)!r}, "
            f"episodes={self.num_episodes}, frames={self.num_frames}, "
            f"features={list(self.features)})"
        )

    @overload
    def __getitem__(self, idx: slice) -> list[dict[str, Any]]: ...
    @overload
    def __getitem__(self, idx: int) -> dict[str, Any]: ...
    def __getitem__(self, idx: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(idx, slice):
            return self.__getitems__(range(len(self))[idx])
        return self.__getitems__([idx])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        """Items in the order asked, read as one plan; a ``DataLoader`` asks for a batch so."""
        places = self._selection.places(indices)
        return [self._item(raw) for raw in self._reader.read(places)]

    def _item(self, raw: RawItem) -> dict[str, Any]:
        """LeRobot's order: video, columns, padding, task."""
        place = raw.place
        item: dict[str, Any] = {}
        for key in self.meta.video_keys:
            frames = raw.images[key]
            # LeRobot squeezes a video's window of one frame, and no other window.
            item[key] = frames[0] if frames.ndim == 4 and len(frames) == 1 else frames
        length = int(self._handle.facts.lengths[place.episode])
        is_pad: dict[str, torch.Tensor] = {}
        windows = {key: window(place.frame, deltas, length) for key, deltas in self._deltas.items()}
        for key in self._columns:
            if key in raw.images:
                # LeRobot's return_uint8 is about video; its images are always floats.
                image = raw.images[key]
                item[key] = image / 255 if image.dtype == torch.uint8 else image
            elif key in windows:
                item[key] = self._rows.window(place, key, windows[key].frames)
            else:
                item[key] = self._rows.value(place, key)
        for key, found in windows.items():
            is_pad[f"{key}_is_pad"] = torch.tensor(found.is_pad, dtype=torch.bool)
        item |= is_pad
        if self.image_transforms is not None:
            for key in self.meta.camera_keys:
                item[key] = self.image_transforms(item[key])
        item["task"] = self._rows.task(place)
        return item

    def get_raw_item(self, idx: int) -> dict[str, Any]:
        """A frame's columns alone: no video, no windows, no transforms."""
        return self.hf_dataset[idx]

    @property
    def hf_dataset(self) -> FrameTable:
        """The columns, by row or by key."""
        features = {key: self.features[key] for key in self._columns}
        return FrameTable(self._rows, self._selection, features)

    def select_columns(self, column_names: str | Sequence[str]) -> FrameTable:
        """The rows with some columns."""
        return self.hf_dataset.select_columns(column_names)

    def set_image_transforms(self, image_transforms: Transform | None) -> None:
        """Replaces what is applied to each camera's tensor (C, H, W) or (T, C, H, W)."""
        if image_transforms is not None and not callable(image_transforms):
            raise InvalidArgumentError(
                f"image_transforms is {image_transforms!r}, expected a callable or None"
            )
        self.image_transforms = image_transforms

    def clear_image_transforms(self) -> None:
        """Applies nothing to images any more."""
        self.image_transforms = None

    @property
    def root(self) -> Path | str:
        """Where the dataset is."""
        return self.meta.root

    @property
    def delta_indices(self) -> dict[str, tuple[int, ...]] | None:
        """The windows in frames by feature key, or None where no ``delta_timestamps`` were given."""
        return None if self.delta_timestamps is None else self._deltas

    @property
    def num_frames(self) -> int:
        """Frames of the chosen episodes."""
        return len(self)

    @property
    def num_episodes(self) -> int:
        """The chosen episodes."""
        return self._selection.episode_count

    @property
    def fps(self) -> int | float:
        """Frames a second."""
        return self.meta.fps

    @property
    def features(self) -> dict[str, dict[str, Any]]:
        """Every feature, LeRobot's own among them."""
        return self.meta.features

    @property
    def absolute_to_relative_idx(self) -> dict[int, int] | None:
        """The position of each ordinal of the whole dataset, or None where all are chosen."""
        if self.episodes is None:
            return None
        return {index: at for at, index in enumerate(self._selection.indices().tolist())}

    def interval_starts(self, interval: int | None = None) -> Any:
        """Where the intervals begin, counted in items; what ``IntervalSampler`` asks for."""
        return self._selection.interval_starts(interval)

    def place(self, idx: int) -> FramePlace:
        """Where an item lies: its episode, its frame there, its ordinal in the dataset."""
        return self._selection.place(idx)
