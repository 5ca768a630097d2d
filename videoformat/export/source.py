"""What is exported: a version of a dataset, its chosen episodes, what is said about each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pyarrow as pa

from videoformat.dataset import Dataset
from videoformat.export.samples import CameraEpisode, camera_episode
from videoformat.index.frame_rate import frame_rate
from videoformat.sources import AllowedSources
from videoformat.table import Table

__all__ = ["ExportSource"]


@dataclass(slots=True)
class ExportSource:
    """``chosen`` are ordinals in the dataset, in the order of the export. ``notes`` are for people."""

    table: Table
    dataset: Dataset
    chosen: list[int]
    notes: list[str] = field(default_factory=list)
    allowed: AllowedSources = field(init=False)
    rate: Fraction = field(init=False)
    _facts: pa.Table = field(init=False)

    def __post_init__(self) -> None:
        self.allowed = AllowedSources(self.dataset.allowed_sources)
        self.rate = frame_rate(self.dataset.fps)
        self._facts = self.dataset.episodes

    def length(self, episode: int) -> int:
        """Frames of an episode."""
        return self.dataset.directory.episode(episode).length

    def tasks(self, episode: int) -> list[str]:
        """The texts of an episode's tasks."""
        return self._facts.column("tasks")[episode].as_py() or []

    def statistics(self, episode: int) -> Mapping[str, Any]:
        """The statistics that an episode keeps; empty where it has none that can be read."""
        return _json_object(self._facts.column("statistics")[episode].as_py())

    def metadata(self, episode: int) -> Mapping[str, Any]:
        """What else belongs to an episode."""
        return _json_object(self._facts.column("metadata")[episode].as_py())

    def video(self, episode: int, camera: str) -> CameraEpisode:
        """A camera's samples, planned."""
        rows = self.dataset.directory.episode(episode)
        where = f"{self.table.uri}: episode {episode}, camera {camera!r}"
        return camera_episode(self.table, rows.rows, self.table.info.cameras[camera], where)


def _json_object(text: str | None) -> Mapping[str, Any]:
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
