"""The real and synthetic LeRobot datasets of the shared folder, read without the project's code."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

# name: episodes, frames, cameras
DATASETS = {
    "g1_v21": (7, 1976, ("observation.images.cam_high",)),
    "g1_v30": (7, 1976, ("observation.images.cam_high",)),
    "gr00t_v20": (5, 2096, ("observation.images.ego_view",)),
    "syn_v30_h264": (5, 123, ("observation.images.front", "observation.images.wrist")),
    "syn_v30_h264_g30_bframes_drift": (
        25,
        351,
        ("observation.images.front", "observation.images.wrist"),
    ),
    "syn_v30_image": (5, 123, ("observation.images.front", "observation.images.wrist")),
}
SYNTHETIC = tuple(name for name in DATASETS if name.startswith("syn"))


def rows(root: Path) -> pa.Table:
    """Every row of a dataset, straight from its parquet files, in order of ``index``."""
    files = sorted((root / "data").rglob("*.parquet"))
    tables = [pq.read_table(file).replace_schema_metadata(None) for file in files]
    everything = pa.concat_tables(tables)
    return everything.sort_by([("episode_index", "ascending"), ("index", "ascending")])


def lengths(table: pa.Table) -> list[int]:
    """Rows of each episode."""
    counts = np.bincount(table.column("episode_index").to_numpy())
    return [int(count) for count in counts]


@dataclass(frozen=True)
class EpisodeVideo:
    """One episode's frames of one camera, by counting frames of the files in their order."""

    path: Path
    first: int
    count: int


def episode_videos(root: Path, camera: str) -> list[EpisodeVideo]:
    """Where each episode's frames are: files hold episodes in order, one after the other."""
    remaining = lengths(rows(root))
    version = json.loads((root / "meta/info.json").read_text())["codebase_version"]
    found = []
    if version == "v3.0":
        files = sorted((root / "videos" / camera).rglob("*.mp4"))
        episodes = iter(remaining)
        for file in files:
            with av.open(str(file)) as container:
                total = container.streams.video[0].frames
            first = 0
            while first < total:
                count = next(episodes)
                found.append(EpisodeVideo(file, first, count))
                first += count
            assert first == total
        return found
    files = sorted((root / "videos").rglob(f"{camera}/*.mp4"))
    return [EpisodeVideo(file, 0, count) for file, count in zip(files, remaining, strict=True)]


def frames(video: EpisodeVideo) -> Iterator[Any]:
    """The decoded frames of an episode, by decoding the whole file from its beginning."""
    with av.open(str(video.path)) as container:
        for at, frame in enumerate(container.decode(video=0)):
            if video.first <= at < video.first + video.count:
                yield frame


def burnt_in(frame: np.ndarray[Any, Any]) -> int:
    """The number that the synthetic sets burn into each frame: 16 bits as blocks."""
    number = 0
    for bit in range(16):
        block = frame[12:36, 8 * bit + 2 : 8 * bit + 6]
        if block.mean() > 127.5:
            number |= 1 << bit
    return number
