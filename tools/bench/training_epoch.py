"""Frames per second of a training epoch: the interval-aware orders, a uniform shuffle, torchcodec.

One camera's frames at 224x224 as uint8, batches of 32, 2 workers that persist. Each loader runs one
epoch to warm up; then the loaders take turns, an epoch each, and each round begins with another of
them, so that the machine's noise hits all. torchcodec reads the same frames out of the LeRobot v3.0
source, a decoder a file kept open in each worker, and scales with torch (quicker here than its own
transforms). Nothing is trained: the loader's speed is what is measured, and the processor time of all
its processes, which says the same on a machine that others use too.

    python tools/bench/training_epoch.py SOURCE [--dataset DATASET] [--json OUT] [--plot OUT]

SOURCE is a LeRobot v3.0 dataset of one camera; DATASET is made from it (DDRA, H.264) where missing.
A round takes about 40 seconds on two cores; none begins after ``--seconds``. ``--json`` with a file
that is there and ``--plot`` without SOURCE draw what was measured before.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from machine import describe, sentence
from shuffle_quality import ORDERS, measure
from torch.nn.functional import interpolate
from torch.utils.data import DataLoader, Dataset, RandomSampler

import videoformat as vf
from videoformat.torch import FrameDataset, FrameStream, IntervalSampler

SIZE = (224, 224)
Speeds = dict[str, list[float]]
BATCH = 32
WORKERS = 2
UNIFORM = ORDERS[0].name
TORCHCODEC = "torchcodec over AV1 g=2, uniform shuffle"
HEADINGS = (
    "order",
    "frames/s",
    "uniform = 1",
    "torchcodec = 1",
    "by processor time: uniform = 1",
    "by processor time: torchcodec = 1",
    "distance of successive frames, uniform = 1",
    "largest share of a batch from one episode",
    "from one interval",
    "intervals in a batch",
    "pictures a frame",
)
# Randomness is told of many equal episodes; the dataset that is read may have few.
QUALITY = {"episodes": 200, "episode_frames": 300, "interval": 16, "batch": BATCH}


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


def processor_seconds() -> float:
    """What this process and its workers have used so far; those of other loaders are idle."""
    ticks = 0
    for child in multiprocessing.active_children():
        fields = Path(f"/proc/{child.pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])  # proc(5): utime and stime
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Side:
    """A loader, and what has its epoch: a sampler or a stream, or None."""

    loader: Any
    ordered: Any

    def epoch(self, number: int, frames: int) -> tuple[float, float]:
        """Frames a second, and a processor-second, of one epoch, in which each frame came once."""
        if self.ordered is not None:
            self.ordered.set_epoch(number)
        used, begin = processor_seconds(), time.perf_counter()
        seen = [index for batch in self.loader for index in batch["index"].tolist()]
        seconds, used = time.perf_counter() - begin, processor_seconds() - used
        if sorted(seen) != list(range(frames)):
            raise SystemExit("an epoch did not have each frame once")
        return len(seen) / seconds, len(seen) / used


def sides(source: Path, frames: FrameDataset, *, with_torchcodec: bool) -> dict[str, Side]:
    """What is measured, by name."""
    common: dict[str, Any] = {
        "num_workers": WORKERS,
        "multiprocessing_context": "forkserver",
        "persistent_workers": True,
        "prefetch_factor": 4,
    }
    made: dict[str, Side] = {}
    for order in ORDERS:
        buffer = order.batches * BATCH
        if order.batches == 1:
            sampler = IntervalSampler(frames, group=order.group, buffer=buffer)
            loader = DataLoader(frames, batch_size=BATCH, sampler=sampler, **common)
            made[order.name] = Side(loader, sampler)
        else:
            stream = FrameStream(frames, batch_size=BATCH, group=order.group, buffer=buffer)
            made[order.name] = Side(DataLoader(stream, batch_size=None, **common), stream)
    if with_torchcodec:
        (camera,) = frames.cameras
        theirs = TorchcodecDataset(source, camera)
        loader = DataLoader(theirs, batch_size=BATCH, sampler=RandomSampler(theirs), **common)
        made[TORCHCODEC] = Side(loader, None)
    return made


def take_turns(
    made: dict[str, Side], frames: int, rounds: int, seconds: float, say: Callable[[str], None]
) -> tuple[Speeds, Speeds]:
    """Frames a second and a processor-second by side, a figure a round, after an epoch to warm up."""
    wall: Speeds = {name: [] for name in made}
    processor: Speeds = {name: [] for name in made}
    names = list(made)
    begin = time.perf_counter()
    for number in range(rounds + 1):
        if number > 1 and time.perf_counter() - begin > seconds:
            break
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            speed, by_processor = made[name].epoch(number, frames)
            say(f"  round {number}: {name}: {speed:.0f}, {by_processor:.0f}")
            if number:
                wall[name].append(speed)
                processor[name].append(by_processor)
    return wall, processor


def ratio(speeds: Speeds, name: str, base: str) -> float:
    """How many times faster a side is: the median of the rounds' ratios."""
    return float(statistics.median(np.divide(speeds[name], speeds[base])))


def table(record: dict[str, Any]) -> str:
    """The speeds as Markdown, with the randomness that they are paid with."""
    speeds = {name: statistics.median(found) for name, found in record["frames_per_second"].items()}
    random = {order.name: measure(order, **QUALITY) for order in ORDERS}
    lines = [
        f"| {' | '.join(HEADINGS)} |",
        "|---" * len(HEADINGS) + "|",
    ]
    wall, processor = record["frames_per_second"], record["frames_per_processor_second"]
    for name, speed in speeds.items():
        cells = [f"{speed:.0f}"]
        for measured in (wall, processor):
            cells.append(f"{ratio(measured, name, UNIFORM):.2f}")
            cells.append(
                f"{ratio(measured, name, TORCHCODEC):.2f}" if TORCHCODEC in measured else "–"
            )
        line = f"| {name} | {' | '.join(cells)} |"
        if name in random:
            found = random[name]
            line += (
                f" {found.distance:.2f} | {found.episode_share:.3f} | {found.interval_share:.3f} "
                f"| {found.intervals:.1f} | {found.pictures_per_frame:.2f} |"
            )
        else:
            line += " 1 | – | – | – | – |"
        lines.append(line)
    rounds = len(record["frames_per_second"][UNIFORM])
    lines += [
        "",
        f"{record['sentence']}; torch {record['torch']}; medians of {rounds} epochs each.",
    ]
    return "\n".join(lines)


def plot(record: dict[str, Any], path: Path) -> None:
    """Speed against randomness, a mark an order."""
    import matplotlib as mpl  # noqa: PLC0415 - only where a plot is asked for

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    speeds = {name: statistics.median(found) for name, found in record["frames_per_second"].items()}
    figure, axes = plt.subplots(figsize=(7.5, 4.2))
    for order in ORDERS:
        found = measure(order, **QUALITY)
        marker, color = ("o", "tab:blue") if order.batches == 1 else ("s", "tab:green")
        axes.scatter(found.intervals, speeds[order.name], marker=marker, color=color, zorder=3)
        axes.annotate(
            order.name.replace("`", "").replace(", buffer of", ",\n"),
            (found.intervals, speeds[order.name]),
            xytext=(-6, -8) if order.group == 1 else (6, 2),
            textcoords="offset points",
            fontsize=8,
            ha="right" if order.group == 1 else "left",
        )
    for name, factor, style in ((UNIFORM, 2.0, "--"), (TORCHCODEC, 2.5, ":")):
        if name in speeds:
            label = f"{factor:g} times {name.split(' (')[0]}"
            axes.axhline(factor * speeds[name], color="grey", linestyle=style, label=label)
    if TORCHCODEC in speeds:
        axes.axhline(speeds[TORCHCODEC], color="tab:red", linestyle=":", label=TORCHCODEC)
    axes.set(
        xlabel=f"different intervals in a batch of {BATCH}: more is closer to a uniform shuffle",
        ylabel="frames a second, 2 workers",
        xlim=(0, 40),
        ylim=(0, 1.15 * max(speeds.values())),
    )
    axes.legend(fontsize=8, loc="lower left")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("source", type=Path, nargs="?")
    parser.add_argument("--dataset", type=Path, default=Path("training_epoch.vf"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=190.0)
    parser.add_argument("--no-torchcodec", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    if options.source is None:
        if options.json is None:
            parser.error("give a SOURCE to measure, or --json with what was measured")
        record = json.loads(options.json.read_text())
    else:
        if not options.dataset.exists():
            vf.convert(options.source, options.dataset, video=vf.DDRA())
        multiprocessing.set_forkserver_preload(["torch", "videoformat.torch"])
        frames = FrameDataset(options.dataset, columns=[], size=SIZE)
        made = sides(options.source, frames, with_torchcodec=not options.no_torchcodec)
        wall, processor = take_turns(made, len(frames), options.rounds, options.seconds, print)
        record = {
            "machine": describe(),
            "sentence": sentence(),
            "torch": torch.__version__,
            "frames_per_second": wall,
            "frames_per_processor_second": processor,
        }
        if options.json:
            options.json.write_text(json.dumps(record, indent=2) + "\n")
    print(table(record))
    if options.plot:
        plot(record, options.plot)


if __name__ == "__main__":
    main()
