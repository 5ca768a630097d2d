"""A vector's dataset: what is asked of the writer, and the rows that it makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from spec_vectors.scene import FULL_RANGE, full_range_picture, rgb_frame
from videoformat.index.features import Feature, parse_features
from videoformat.index.rows import EpisodeFacts, chunk_row
from videoformat.index.schema import DatasetInfo
from videoformat.index.values import FrameValues, check_value
from videoformat.media.episode import ChunkBounds, EncodedFrames, EpisodeEncoder, TimedPicture
from videoformat.media.gop import DDRA
from videoformat.media.structures import Structure

__all__ = ["Case", "make_info", "make_rows"]

FPS = 30
TABULAR: dict[str, dict[str, Any]] = {
    "action": {"dtype": "float32", "shape": [3], "names": ["x", "y", "z"]},
    "observation.grid": {"dtype": "int16", "shape": [2, 3], "names": None},
    "is_done": {"dtype": "bool", "shape": [1], "names": None},
    "labels": {"dtype": "string", "shape": [2], "names": None},
    "task": {"dtype": "string", "shape": [1], "names": None},
}


@dataclass(frozen=True, slots=True)
class Case:
    """One vector. ``cameras`` gives each camera's width and height; ``lengths`` each episode's."""

    name: str
    about: str
    lengths: tuple[int, ...]
    video: Structure = field(default_factory=DDRA)
    cameras: Mapping[str, tuple[int, int]] = field(
        default_factory=lambda: {"observation.images.top": (64, 48)}
    )
    color: Literal["rgb", "full"] = "rgb"
    frames_per_chunk: int = 4096
    tabular: bool = False


def make_info(case: Case) -> DatasetInfo:
    """The dataset-wide facts of a case."""
    features: dict[str, Any] = {
        key: {"dtype": "video", "shape": [height, width, 3], "names": None}
        for key, (width, height) in case.cameras.items()
    }
    features |= TABULAR if case.tabular else {}
    return DatasetInfo(
        fps=FPS,
        features=parse_features(features),
        robot_type="example arm" if case.tabular else None,
        info={"note": "kept as it came"} if case.tabular else {},
    )


def make_rows(case: Case) -> pa.Table:
    """The rows of a case, encoded anew."""
    info = make_info(case)
    rows = [row for n, _ in enumerate(case.lengths) for row in _episode(case, info, n)]
    return pa.concat_tables(rows)


def _episode(case: Case, info: DatasetInfo, episode: int) -> Iterator[pa.Table]:
    length = case.lengths[episode]
    encoder = EpisodeEncoder(
        f"{case.name}-{episode}",
        info.cameras,
        case.video,
        Fraction(FPS),
        bounds=ChunkBounds(frames=case.frames_per_chunk),
    )
    pushed = [encoder.push(_pictures(case, episode, number)) for number in range(length)]
    for chunk in [*pushed, encoder.finish()]:
        if chunk is not None:
            yield _row(info, chunk, length)


def _row(info: DatasetInfo, chunk: EncodedFrames, length: int) -> pa.Table:
    values = {
        key: _values(feature, chunk.key.first_frame, chunk.key.end_frame)
        for key, feature in info.tabular.items()
    }
    tasks = ("move the square",) if "task" in info.features else ()
    facts = EpisodeFacts(length, tasks, {"operator": "example"} if tasks else {})
    first = facts if chunk.key.chunk_index == 0 else None
    return chunk_row(info, chunk.key, values, chunk.cameras, first)


def _pictures(case: Case, episode: int, number: int) -> dict[str, TimedPicture]:
    pictures = {}
    for at, (key, (width, height)) in enumerate(case.cameras.items()):
        shift = number + 50 * at + 100 * episode
        time_base = Fraction(1, FPS)
        if case.color == "full":
            picture = full_range_picture(width, height, shift)
            timed = TimedPicture(picture, FULL_RANGE, width, height, number, time_base)
        else:
            timed = TimedPicture.of_rgb(rgb_frame(width, height, shift), number, time_base)
        pictures[key] = timed
    return pictures


def _values(feature: Feature, first: int, end: int) -> pa.Array:
    collected = FrameValues(feature)
    for number in range(first, end):
        value: Any = {
            "action": np.array([number, number / 2, -number], np.float32),
            "observation.grid": np.arange(6, dtype=np.int16).reshape(2, 3) * number,
            "is_done": number % 2 == 1,
            "labels": [f"frame {number}", "ü"],
            "task": "move the square",
        }[feature.key]
        collected.append(check_value(feature, value))
    return collected.take()
