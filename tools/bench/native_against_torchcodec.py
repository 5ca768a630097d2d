"""Native reading against torchcodec on the same files: random single frames, and windows of ten.

Both sides in one process and one run, request by request in turn, one thread each, decoders warm,
RGB in uint8: torchcodec seeks in the dataset's video files (exact mode, a decoder a file, kept),
`read_frames` reads the dataset that `convert(video="native")` made of them.

    python tools/bench/native_against_torchcodec.py LEROBOT [--requests 200] [--rounds 3] [--json OUT]

Needs torch, torchcodec and FFmpeg's libraries.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from machine import describe, sentence
from torchcodec.decoders import VideoDecoder

import videoformat as vf
from videoformat.convert.engine import open_source

WINDOW = 10


@dataclass
class Side:
    """One of the two, with the CPU and wall seconds of each request."""

    read: Callable[[int, str, list[int]], Any]
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def time(self, request: tuple[int, str, list[int]]) -> None:
        """Reads once."""
        cpu, wall = time.process_time(), time.perf_counter()
        self.read(*request)
        self.wall.append(time.perf_counter() - wall)
        self.cpu.append(time.process_time() - cpu)


class Torchcodec:
    """Frames of a LeRobot dataset by way of its video files."""

    def __init__(self, root: Path) -> None:
        self._origin = open_source(root)
        self._decoders: dict[Path, VideoDecoder] = {}
        self._parts: dict[int, Any] = {}

    def read(self, episode: int, camera: str, frames: list[int]) -> torch.Tensor:
        """uint8 [N, H, W, 3]."""
        if episode not in self._parts:
            self._parts[episode] = self._origin.coded(self._origin.episode(episode))
        part = self._parts[episode][camera]
        decoder = self._decoders.get(part.path)
        if decoder is None:
            decoder = self._decoders[part.path] = VideoDecoder(
                str(part.path), dimension_order="NHWC", num_ffmpeg_threads=1, seek_mode="exact"
            )
        return decoder.get_frames_at([part.first_frame + frame for frame in frames]).data


def requests_of(dataset: vf.Dataset, count: int, length: int) -> list[tuple[int, str, list[int]]]:
    """Random windows of random episodes and cameras."""
    rng = random.Random(length)
    lengths = dataset.episodes.column("length").to_pylist()
    found = []
    for _ in range(count):
        episode = rng.randrange(len(lengths))
        start = rng.randrange(lengths[episode] - length + 1)
        frames = list(range(start, start + length))
        found.append((episode, rng.choice(dataset.cameras), frames))
    return found


def measure(dataset: vf.Dataset, root: Path, options: argparse.Namespace, length: int) -> Any:
    """The two sides' milliseconds a request, and where ours go."""
    requests = requests_of(dataset, options.requests, length)
    ours, theirs = Side(dataset.read_frames), Side(Torchcodec(root).read)
    # Warm: every file and every index has been opened, and the code has run.
    for episode in range(dataset.num_episodes):
        for camera in dataset.cameras:
            for side in (ours, theirs):
                side.read(episode, camera, [0])
    stages: dict[str, float] = {}
    for number in range(options.rounds):
        for request in requests:
            # Who comes first alternates, lest one always finds the caches the other left.
            for side in (ours, theirs) if number % 2 else (theirs, ours):
                side.time(request)
            if dataset.last_read is not None:
                for stage, seconds in dataset.last_read.seconds.items():
                    stages[stage] = stages.get(stage, 0.0) + seconds
    total = options.rounds * len(requests)
    return {
        "requests": len(requests),
        "ours_cpu_ms": 1000 * statistics.fmean(ours.cpu),
        "torchcodec_cpu_ms": 1000 * statistics.fmean(theirs.cpu),
        "ours_wall_ms": 1000 * statistics.fmean(ours.wall),
        "torchcodec_wall_ms": 1000 * statistics.fmean(theirs.wall),
        "times_faster_cpu": sum(theirs.cpu) / sum(ours.cpu),
        "times_faster_wall": sum(theirs.wall) / sum(ours.wall),
        "ours_by_stage_ms": {name: 1000 * value / total for name, value in stages.items()},
        "pictures": sum(
            dataset.plan([(episode, camera, frame) for frame in frames]).picture_count
            for episode, camera, frames in requests
        )
        / len(requests),
    }


def main() -> None:
    """Measures one dataset and prints what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("lerobot", type=Path)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        vf.convert(options.lerobot, Path(folder) / "native", video="native")
        dataset = vf.open(Path(folder) / "native")
        found = {
            name: measure(dataset, options.lerobot, options, length)
            for name, length in (("single frames", 1), (f"windows of {WINDOW}", WINDOW))
        }
    versions = f"torchcodec {version('torchcodec')}, torch {torch.__version__}"
    print(f"{options.lerobot.name}: {sentence()}, {versions}")
    for name, result in found.items():
        stages = ", ".join(
            f"{stage} {value:.2f}" for stage, value in result["ours_by_stage_ms"].items()
        )
        print(
            f"{name}: ours {result['ours_cpu_ms']:.2f} ms CPU, torchcodec "
            f"{result['torchcodec_cpu_ms']:.2f}: {result['times_faster_cpu']:.2f} times as fast "
            f"(wall {result['times_faster_wall']:.2f}); {result['pictures']:.1f} pictures a request; "
            f"ours by stage (wall ms): {stages}"
        )
    if options.json is not None:
        facts = {"dataset": options.lerobot.name, "machine": describe(), "versions": versions}
        options.json.write_text(json.dumps({**facts, "results": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
