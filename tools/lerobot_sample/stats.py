"""The statistics that LeRobot keeps of each feature, per episode and over the dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lerobot_sample.scene import Image

Stats = dict[str, NDArray[Any]]  # statistic → value, of the feature's shape

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
_IMAGES_SAMPLED = 100
_PIXELS_ACROSS = 64


def tabular_stats(values: NDArray[Any]) -> Stats:
    """Statistics over the rows of a feature, [frames] or [frames, n]; scalars count as n = 1."""
    rows = values.reshape(len(values), -1)
    return _reduce(rows, count=len(rows))


class ImageSampler:
    """Lets an episode's frames pass and keeps some pixels of some of them for the statistics."""

    def __init__(self, frame_count: int) -> None:
        self._every = max(1, frame_count // _IMAGES_SAMPLED)
        self._samples: list[NDArray[np.uint8]] = []

    def watch(self, frames: Iterator[Image]) -> Iterator[Image]:
        for position, image in enumerate(frames):
            if position % self._every == 0:
                step = max(1, image.shape[1] // _PIXELS_ACROSS)
                self._samples.append(image[::step, ::step].reshape(-1, 3).copy())
            yield image

    def stats(self) -> Stats:
        """Per channel, scaled to 0..1, in the shape (3, 1, 1); the count is of frames."""
        pixels = np.concatenate(self._samples) / 255.0
        found = _reduce(pixels, count=len(self._samples))
        return {
            name: value if name == "count" else value.reshape(3, 1, 1)
            for name, value in found.items()
        }


def aggregate(parts: Sequence[Stats]) -> Stats:
    """Statistics of several episodes together; quantiles are weighted means, as LeRobot's are."""
    counts = np.array([part["count"][0] for part in parts], dtype=np.float64)
    weights = counts / counts.sum()

    def mean_of(values: list[NDArray[Any]]) -> NDArray[np.float64]:
        return np.tensordot(weights, np.stack(values), axes=1)

    mean = mean_of([part["mean"] for part in parts])
    variance = mean_of([part["std"] ** 2 + (part["mean"] - mean) ** 2 for part in parts])
    return {
        "min": np.min([part["min"] for part in parts], axis=0),
        "max": np.max([part["max"] for part in parts], axis=0),
        "mean": mean,
        "std": np.sqrt(variance),
        "count": np.array([int(counts.sum())]),
    } | {name: mean_of([part[name] for part in parts]) for name in QUANTILES}


def select(stats: dict[str, Stats], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The named statistics of every feature as JSON values."""
    return {key: {name: found[name].tolist() for name in names} for key, found in stats.items()}


def _reduce(rows: NDArray[Any], count: int) -> Stats:
    found: Stats = {
        "min": rows.min(axis=0),
        "max": rows.max(axis=0),
        "mean": rows.mean(axis=0, dtype=np.float64),
        "std": rows.std(axis=0, dtype=np.float64),
        "count": np.array([count]),
    }
    for name, quantile in QUANTILES.items():
        found[name] = np.quantile(rows, quantile, axis=0).astype(np.float64)
    return found
