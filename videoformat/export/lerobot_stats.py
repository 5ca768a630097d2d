"""Statistics as LeRobot keeps them: those that came with the episodes, computed where none did."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from videoformat.dataset import Dataset
from videoformat.export.lerobot_rows import DERIVED
from videoformat.export.source import ExportSource

__all__ = ["episode_statistics"]

QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
# Frames of a camera that are looked at; LeRobot samples as well.
SAMPLED_FRAMES = 16


def episode_statistics(source: ExportSource, episode: int, rows: pa.Table) -> dict[str, Any]:
    """Statistics by feature of one episode, whose rows are those that are written.

    Stored statistics are kept where a feature's values are what they were; the columns that an
    export derives are computed. Cameras without any are sampled, as values of 0 to 1.
    """
    stored = source.statistics(episode)
    result: dict[str, Any] = {}
    for camera in source.dataset.cameras:
        result[camera] = stored.get(camera) or _of_camera(source.dataset, episode, camera)
    for key in rows.column_names:
        own = stored.get(key)
        computed = own if own and key not in DERIVED else _of_column(rows.column(key))
        if computed:
            result[key] = computed
    return result


def _of_values(values: np.ndarray[Any, Any], count: int) -> dict[str, Any]:
    """Over the first axis."""
    found: dict[str, Any] = {
        "min": values.min(axis=0),
        "max": values.max(axis=0),
        "mean": values.mean(axis=0, dtype=np.float64),
        "std": values.std(axis=0, dtype=np.float64),
    }
    found |= {
        name: np.quantile(values.astype(np.float64), at, axis=0) for name, at in QUANTILES.items()
    }
    return {**{name: np.asarray(value).tolist() for name, value in found.items()}, "count": [count]}


def _of_column(column: pa.ChunkedArray) -> dict[str, Any] | None:
    values = np.asarray(column.to_pylist())
    if values.dtype.kind not in "biuf" or not len(values):
        return None
    shaped = values[:, None] if values.ndim == 1 else values
    return _of_values(
        shaped.astype(np.float64) if shaped.dtype.kind == "b" else shaped, len(values)
    )


def _of_camera(dataset: Dataset, episode: int, camera: str) -> dict[str, Any]:
    length = dataset.directory.episode(episode).length
    chosen = np.unique(np.linspace(0, length - 1, min(length, SAMPLED_FRAMES)).astype(int))
    frames = dataset.read_frames(episode, camera, chosen.tolist())
    found = _of_values(frames.reshape(-1, 3) / 255.0, len(chosen))
    return {
        name: value if name == "count" else [[[item]] for item in value]
        for name, value in found.items()
    }
