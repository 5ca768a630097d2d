"""How LeRobot 0.6.1 finds a row and its frames in a dataset, by its own rules: by time, in floats."""

import json
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

TOLERANCE_S = 1e-4
UInt8Array = np.ndarray[Any, np.dtype[np.uint8]]


class LeRobotFolder:
    """A v2.1 or v3.0 dataset; nothing of this package is used."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.info = json.loads((root / "meta/info.json").read_text())
        self.cameras = [k for k, f in self.info["features"].items() if f["dtype"] == "video"]
        self.is_v3 = self.info["codebase_version"] == "v3.0"
        files = sorted(root.glob("data/*/*.parquet"))
        self.rows = pa.concat_tables([pq.read_table(file) for file in files]).to_pylist()
        if self.is_v3:
            files = sorted(root.glob("meta/episodes/*/*.parquet"))
            self.episodes = pa.concat_tables([pq.read_table(file) for file in files]).to_pylist()
            table = pq.read_table(root / "meta/tasks.parquet").to_pylist()
            self.tasks = [row["task"] for row in sorted(table, key=lambda row: row["task_index"])]
        else:
            self.episodes = self.lines("episodes")
            self.tasks = [line["task"] for line in self.lines("tasks")]
        self._frames: dict[Path, tuple[list[float], list[UInt8Array]]] = {}

    def lines(self, name: str) -> list[dict[str, Any]]:
        text = (self.root / f"meta/{name}.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def place(self, row: dict[str, Any], camera: str) -> tuple[Path, float]:
        """The file, and the time in it that LeRobot asks for."""
        number, time = row["episode_index"], row["timestamp"]
        episode = self.episodes[number]
        if not self.is_v3:
            name = self.info["video_path"].format(
                episode_chunk=number // self.info["chunks_size"],
                episode_index=number,
                video_key=camera,
            )
            return self.root / name, time
        name = self.info["video_path"].format(
            video_key=camera,
            chunk_index=episode[f"videos/{camera}/chunk_index"],
            file_index=episode[f"videos/{camera}/file_index"],
        )
        return self.root / name, episode[f"videos/{camera}/from_timestamp"] + time

    def frame(self, index: int, camera: str) -> UInt8Array:
        """The frame whose time is nearest, which must be within the tolerance."""
        path, time = self.place(self.rows[index], camera)
        if path not in self._frames:
            with av.open(str(path)) as container:
                stream = container.streams.video[0]
                decoded = [(f.time, f.to_ndarray(format="rgb24")) for f in container.decode(stream)]
            self._frames[path] = [t for t, _ in decoded], [f for _, f in decoded]
        times, frames = self._frames[path]
        at = int(np.argmin(np.abs(np.array(times) - time)))
        assert abs(times[at] - time) < TOLERANCE_S, (index, camera, times[at], time)
        return frames[at]


def packets(path: Path) -> list[tuple[bytes, int | None, int | None]]:
    with av.open(str(path)) as container:
        return [(bytes(p), p.pts, p.dts) for p in container.demux(video=0) if p.size]


def seeks(path: Path, frame: int, step: int) -> UInt8Array:
    """A frame by seeking to its time, as FFmpeg does it."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        container.seek(frame * step, stream=stream)
        for picture in container.decode(stream):
            assert picture.pts is not None
            if picture.pts >= frame * step:
                assert picture.pts == frame * step
                assert not picture.is_corrupt
                return planes(picture)
    raise AssertionError(f"no frame {frame}")


def planes(picture: av.VideoFrame) -> UInt8Array:
    """The samples themselves, before any conversion."""
    return np.concatenate([np.frombuffer(bytes(plane), np.uint8) for plane in picture.planes])
