"""This format behind LeRobot's own ``LeRobotDataset``, where LeRobot has a registry of readers.

LeRobot after 0.6.1 picks a reader by ``storage_format`` in ``meta/info.json`` and imports its module
by name: from the entry points of the group ``lerobot.dataset_readers``, or after
``register_dataset_reader``. The module holds ``DATASET_READER`` and ``localize_root``.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from videoformat.lerobot.dataset import LeRobotDataset
from videoformat.lerobot.meta_files import POINTER, STORAGE_FORMAT, write_meta

__all__ = ["DATASET_READER", "VideoformatReader", "localize_root", "register"]

REGISTRY = "lerobot.datasets.storage"


class VideoformatReader:
    """What LeRobot delegates its items to; ``root`` is a folder that ``write_meta`` filled."""

    def __init__(
        self,
        meta: Any,  # noqa: ARG002 - LeRobot's, whose content this reader takes from the dataset
        root: str | os.PathLike[str],
        episodes: Sequence[int] | None = None,
        tolerance_s: float = 1e-4,
        video_backend: str | None = None,  # noqa: ARG002 - LeRobot's arguments, all by keyword
        delta_timestamps: Mapping[str, Sequence[float]] | None = None,
        image_transforms: Callable[[Any], Any] | None = None,
        revision: str | None = None,  # noqa: ARG002
        return_uint8: bool = False,  # noqa: FBT001, FBT002
        depth_output_unit: str = "mm",  # noqa: ARG002
        token: str | bool | None = None,  # noqa: ARG002, FBT001
    ) -> None:
        pointer = json.loads((Path(root) / POINTER).read_text(encoding="utf-8"))
        self._dataset = LeRobotDataset(
            str(root),
            root=pointer["uri"],
            episodes=episodes,
            image_transforms=image_transforms,
            delta_timestamps=delta_timestamps,
            tolerance_s=tolerance_s,
            revision=pointer["version"],
            return_uint8=return_uint8,
        )
        self.root = Path(root)

    def __len__(self) -> int:
        return len(self._dataset)

    @property
    def episodes(self) -> list[int] | None:
        """The episodes that were chosen, or None."""
        return self._dataset.episodes

    @property
    def num_frames(self) -> int:
        """Frames of the chosen episodes."""
        return len(self._dataset)

    @property
    def num_episodes(self) -> int:
        """The chosen episodes."""
        return self._dataset.num_episodes

    @property
    def absolute_to_relative_idx(self) -> dict[int, int] | None:
        """Positions of the dataset's frames among the chosen, or None where all are."""
        return self._dataset.absolute_to_relative_idx

    @property
    def hf_dataset(self) -> Any:
        """The columns."""
        return self._dataset.hf_dataset

    def get_item(self, idx: int) -> dict[str, Any]:
        """One item."""
        return self._dataset[idx]

    def get_items(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        """Items, read as one plan."""
        return self._dataset.__getitems__(indices)

    def set_image_transforms(self, image_transforms: Callable[[Any], Any] | None) -> None:
        """Replaces what is applied to images."""
        self._dataset.set_image_transforms(image_transforms)

    def clear_image_transforms(self) -> None:
        """Applies nothing to images any more."""
        self._dataset.clear_image_transforms()


DATASET_READER = VideoformatReader


def localize_root(
    repo_id: str | None,  # noqa: ARG001 - LeRobot's signature
    root: str | os.PathLike[str],
    revision: str | None = None,  # noqa: ARG001
    token: str | bool | None = None,  # noqa: ARG001, FBT001
    force_cache_sync: bool = False,  # noqa: ARG001, FBT001, FBT002 - it is always made anew
) -> Path:
    """Writes a dataset's metadata into a local folder and returns that; media stays where it is.

    Raises ``DatasetNotFoundError`` (a ``FileNotFoundError``) where there is no dataset of this
    format, on which LeRobot tries its other formats.
    """
    address = str(root)
    name = hashlib.sha256(address.encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "videoformat" / name
    return write_meta(address.removeprefix("file://"), folder)


def register() -> bool:
    """Tells LeRobot about this format; whether the LeRobot that is installed can be told.

    Needed only where LeRobot does not read entry points yet.
    """
    try:
        if importlib.util.find_spec(REGISTRY) is None:
            return False
        storage = importlib.import_module(REGISTRY)
    except ImportError:
        return False
    if not hasattr(storage, "register_dataset_reader"):
        return False
    storage.register_dataset_reader(STORAGE_FORMAT, __name__)
    return True
