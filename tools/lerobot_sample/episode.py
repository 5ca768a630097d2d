"""One episode of a sample dataset before any layout: its table, its videos, its statistics."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lerobot_sample.scene import Camera, actions, trajectory
from lerobot_sample.spec import SampleSpec
from lerobot_sample.stats import ImageSampler, Stats, tabular_stats
from lerobot_sample.video import encode


@dataclass(frozen=True, slots=True)
class Episode:
    """An episode as recorded: ``videos`` are files of this episode alone, which layouts move."""

    index: int
    first_index: int
    length: int
    task_index: int
    table: pa.Table
    videos: dict[str, Path]
    stats: dict[str, Stats]


def record(spec: SampleSpec, episode: int, cameras: list[Camera], folder: Path) -> Episode:
    """Renders and encodes an episode into ``folder``."""
    first_index = sum(spec.lengths[:episode])
    length = spec.lengths[episode]
    states = trajectory(spec, episode)
    frame_index = np.arange(length, dtype=np.int64)
    columns: dict[str, NDArray[Any]] = {
        "observation.state": states,
        "action": actions(states),
        "timestamp": (frame_index / spec.fps).astype(np.float32),
        "frame_index": frame_index,
        "episode_index": np.full(length, episode, dtype=np.int64),
        "index": frame_index + first_index,
        "task_index": np.full(length, spec.task_of(episode), dtype=np.int64),
    }
    stats = {key: tabular_stats(values) for key, values in columns.items()}
    videos = {}
    for key, camera in zip(spec.video_keys, cameras, strict=True):
        videos[key] = folder / f"{key}-{episode:06d}.mp4"
        sampler = ImageSampler(length)
        encode(videos[key], sampler.watch(camera.frames(states, first_index)), spec)
        stats[key] = sampler.stats()
    return Episode(
        index=episode,
        first_index=first_index,
        length=length,
        task_index=spec.task_of(episode),
        table=pa.table([_column(v) for v in columns.values()], schema=data_schema(spec)),
        videos=videos,
        stats={key: stats[key] for key in spec.features()},
    )


def data_schema(spec: SampleSpec) -> pa.Schema:
    """The schema of the data files, with the metadata that Hugging Face datasets write."""
    fields, declared = [], {}
    for key, feature in spec.features().items():
        if feature["dtype"] == "video":
            continue
        scalar = {"dtype": feature["dtype"], "_type": "Value"}
        kind = pa.float32() if feature["dtype"] == "float32" else pa.int64()
        if feature["shape"] == [1]:
            fields.append(pa.field(key, kind))
            declared[key] = scalar
        else:
            (size,) = feature["shape"]
            fields.append(pa.field(key, pa.list_(kind, size)))
            name = "List" if spec.version == "v3.0" else "Sequence"
            declared[key] = {"feature": scalar, "length": size, "_type": name}
    return pa.schema(fields, {"huggingface": json.dumps({"info": {"features": declared}})})


def _column(values: NDArray[Any]) -> pa.Array:
    if values.ndim == 1:
        return pa.array(values)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])
