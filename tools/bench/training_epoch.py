"""Frames per second of a training epoch: the interval-aware orders, a uniform shuffle, torchcodec.

One camera's frames at 224x224 as uint8, batches of 32, 2 workers that persist. Each loader runs one
epoch to warm up; then the loaders take turns, an epoch each, so that the machine's noise hits all.
torchcodec reads the same frames out of the LeRobot v3.0 source, a decoder a file kept open in each
worker, and scales with torch. Nothing is trained: the loader's speed is what is measured.

    python tools/bench/training_epoch.py SOURCE [--dataset DATASET] [--rounds 3] [--json OUT]

SOURCE is a LeRobot v3.0 dataset of one camera; DATASET is made from it (DDRA, H.264) where missing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from machine import describe, sentence
from torch.nn.functional import interpolate
from torch.utils.data import DataLoader, Dataset, RandomSampler

import videoformat as vf
from videoformat.torch import FrameDataset, FrameStream, IntervalSampler

SIZE = (224, 224)
BATCH = 32
WORKERS = 2


class TorchcodecDataset(Dataset):  # type: ignore[misc]  # torch comes without types here
    """The frames of a LeRobot v3.0 camera in order, by torchcodec, scaled with torch."""

    def __init__(self, source: Path, camera: str) -> None:
        from torchcodec.decoders import VideoDecoder  # noqa: PLC0415 - measured where installed

        self._files = sorted((source / "videos" / camera).glob("chunk-*/file-*.mp4"))
        counts = [VideoDecoder(path).metadata.num_frames for path in self._files]
        self._ends = np.cumsum(counts)
        self._decoders: dict[int, Any] = {}

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, index: int) -> Any:
        from torchcodec.decoders import VideoDecoder  # noqa: PLC0415

        at = int(np.searchsorted(self._ends, index, side="right"))
        if at not in self._decoders:
            self._decoders[at] = VideoDecoder(
                self._files[at], seek_mode="approximate", num_ffmpeg_threads=1
            )
        first = int(self._ends[at - 1]) if at else 0
        frame = self._decoders[at].get_frame_at(index - first).data
        scaled = interpolate(frame[None], SIZE, mode="bilinear", antialias=True)[0]
        return {"image": scaled, "index": torch.tensor(index)}


def loaders(source: Path, dataset: Path, *, with_torchcodec: bool) -> dict[str, tuple[Any, Any]]:
    """(loader, what has its epoch) by name."""
    common: dict[str, Any] = {
        "num_workers": WORKERS,
        "multiprocessing_context": "forkserver",
        "persistent_workers": True,
        "prefetch_factor": 4,
    }
    frames = FrameDataset(dataset, columns=[], size=SIZE)
    made: dict[str, tuple[Any, Any]] = {}
    for name, group in (("uniform shuffle", 1), ("IntervalSampler, group 8", 8),
                        ("IntervalSampler, group 16", 16)):  # fmt: skip
        sampler = IntervalSampler(frames, group=group, buffer=BATCH)
        made[name] = DataLoader(frames, batch_size=BATCH, sampler=sampler, **common), sampler
    stream = FrameStream(frames, batch_size=BATCH, group=16, buffer=8 * BATCH)
    made["FrameStream, group 16, 8 batches"] = DataLoader(stream, batch_size=None, **common), stream
    if with_torchcodec:
        (camera,) = frames.cameras
        theirs = TorchcodecDataset(source, camera)
        order = RandomSampler(theirs)
        made["torchcodec, uniform shuffle"] = (
            DataLoader(theirs, batch_size=BATCH, sampler=order, **common),
            None,
        )
    return made


def epoch(loader: Any, ordered: Any, number: int) -> float:
    """Frames per second of one epoch, in which each frame came once."""
    if ordered is not None:
        ordered.set_epoch(number)
    begin = time.perf_counter()
    seen = [index for batch in loader for index in batch["index"].tolist()]
    seconds = time.perf_counter() - begin
    if sorted(seen) != list(range(len(seen))):
        raise SystemExit("an epoch did not have each frame once")
    return len(seen) / seconds


def measure(made: dict[str, tuple[Any, Any]], rounds: int, say: Callable[[str], None]) -> Any:
    """Frames per second by loader: one figure a round, after an epoch to warm up."""
    speeds: dict[str, list[float]] = {name: [] for name in made}
    for number in range(rounds + 1):
        for name, (loader, ordered) in made.items():
            speed = epoch(loader, ordered, number)
            say(f"  round {number}: {name}: {speed:.0f}")
            if number:
                speeds[name].append(speed)
    return speeds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("--dataset", type=Path, default=Path("training_epoch.vf"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-torchcodec", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not options.dataset.exists():
        vf.convert(options.source, options.dataset, video=vf.DDRA())
    made = loaders(options.source, options.dataset, with_torchcodec=not options.no_torchcodec)
    speeds = measure(made, options.rounds, print)
    print(sentence())
    uniform = statistics.median(speeds["uniform shuffle"])
    print("| loader | frames a second, median | uniform shuffle = 1 |")
    print("|---|---|---|")
    for name, found in speeds.items():
        median = statistics.median(found)
        print(f"| {name} | {median:.0f} | {median / uniform:.2f} |")
    if options.json:
        record = {"machine": describe(), "torch": torch.__version__, "frames_per_second": speeds}
        options.json.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
