"""What the streams and picture indexes of one camera say, over all its chunks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from videoformat.dataset import Dataset
from videoformat.errors import SourceNotAllowedError
from videoformat.index.features import Feature
from videoformat.index.schema import media_columns
from videoformat.reading import Reader, ReadOptions
from videoformat.table import Table

__all__ = ["CameraFacts", "StreamKind", "camera_facts"]

# The mean closure is taken over the frames of so many chunks, evenly spread over the dataset.
SAMPLED_CHUNKS = 256
_CHUNKS_PER_TAKE = 16


@dataclass(frozen=True, slots=True)
class StreamKind:
    """What chunks that were made alike have in common."""

    codec: str
    structure: str
    interval: int | None
    access: str
    profile: str | None
    crf: float | None
    preset: str | None
    pixel_format: str
    color_matrix: str
    color_range: str
    in_source: bool


@dataclass(frozen=True, slots=True)
class CameraFacts:
    """One camera: what its chunks take, how they were made, how many pictures a frame needs.

    ``mean_closure`` is over ``sampled_frames`` frames, ``worst_closure`` over all.
    """

    width: int
    height: int
    frames: int
    media_bytes: int
    worst_closure: int | None
    mean_closure: float | None
    sampled_frames: int
    streams: Mapping[StreamKind, int]

    @property
    def bytes_per_frame(self) -> float | None:
        """Bytes of media a frame; None where there are no frames."""
        return self.media_bytes / self.frames if self.frames else None


def camera_facts(table: Table, dataset: Dataset, feature: Feature) -> CameraFacts:
    """Scans the camera's stream facts, and samples its picture indexes."""
    streams: Counter[StreamKind] = Counter()
    media_bytes = 0
    worst: int | None = None
    column = media_columns(feature)[2]
    for batch in table.scan([column]):
        for stream in batch.column(column).to_pylist():
            if stream is not None:
                streams[_kind(stream)] += 1
                media_bytes += stream["media_size"] or 0
                worst = max(worst or 0, stream["closure_bound"] or 0)
    try:
        sampled, mean = _mean_closure(table, dataset, feature)
    except SourceNotAllowedError:
        # What there is to know without opening other files is still worth showing.
        sampled, mean = 0, None
    return CameraFacts(
        width=feature.width,
        height=feature.height,
        frames=dataset.num_frames,
        media_bytes=media_bytes,
        worst_closure=worst,
        mean_closure=mean,
        sampled_frames=sampled,
        streams=MappingProxyType(dict(streams.most_common())),
    )


def _kind(stream: Mapping[str, Any]) -> StreamKind:
    settings = _settings(stream["encoder"] or "{}")
    crf = settings.get("crf")
    return StreamKind(
        codec=stream["codec"],
        structure=stream["structure"],
        interval=stream["interval"],
        access=stream["access"],
        profile=_text(settings.get("profile")),
        crf=crf if isinstance(crf, int | float) else None,
        preset=_text(settings.get("preset")),
        pixel_format=stream["pixel_format"],
        color_matrix=stream["color_matrix"],
        color_range=stream["color_range"],
        in_source=stream["source_uri"] is not None,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


@lru_cache(maxsize=64)
def _settings(encoder: str) -> dict[str, Any]:
    """The encoder's settings, which chunk after chunk has the same."""
    try:
        settings = json.loads(encoder)
    except ValueError:
        return {}
    return settings if isinstance(settings, dict) else {}


def _mean_closure(table: Table, dataset: Dataset, feature: Feature) -> tuple[int, float | None]:
    """How many frames were looked at, and the pictures that each needs on average."""
    chunks = dataset.directory.row_count
    picked = sorted(set(np.linspace(0, chunks - 1, min(chunks, SAMPLED_CHUNKS)).astype(int)))
    reader = Reader(
        table, options=ReadOptions(index_cache_bytes=0), allowed_sources=dataset.allowed_sources
    )
    frames = pictures = 0
    for begin in range(0, len(picked), _CHUNKS_PER_TAKE):
        keys = [(int(row), feature.key) for row in picked[begin : begin + _CHUNKS_PER_TAKE]]
        for index in reader.indexes(keys).values():
            frames += len(index.position_of)
            pictures += sum(len(index.closure([at])) for at in index.position_of.values())
    return frames, pictures / frames if frames else None
