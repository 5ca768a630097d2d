"""Access patterns over forms of the same frames, side by side, from one run.

    python tools/bench/patterns.py SOURCE --folder FOLDER [--requests 20] [--only NAME;…] [--json OUT]

SOURCE is a LeRobot dataset of one camera, AV1 with a key frame every second frame (LeRobot's default).
Where FOLDER has no forms yet, they are made, of the longest ``--episodes`` whole episodes: native, DDRA
`fast`, and at its luma PSNR (a search over the rate factor) DDRA of the other profiles, stars, AV1 g=2,
H.264 with x264's defaults (a key frame every 250 frames) and JPEG files. ``--forms`` leaves some out,
``--prepare`` stops there.

Then each pattern's requests are read from all of them in turn, one thread, decoders and files warm, to
uint8 RGB. Patterns, one request each: a random frame; ten in a row, ten random ones of an episode in
order, every 2nd, every 4th, every 30th. Bytes, ranges and pictures are those of the plan; for players
that seek, of decoding from the key frame before each frame on, as they do.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cold_reads import BareDecoder, Closure
from forms import NAMES, TOLERANCE, VIDEO, Form, load, prepare, reader_of
from machine import describe, sentence
from peers import PEERS, EpisodeVideo, JpegFiles, Read
from profiles import in_memory
from recoding import Source
from report import quality_of

import videoformat as vf
from videoformat.index.plan import plan_in_sequence
from videoformat.media.star import STAR_NAMES

PATTERNS = ("random frame", "10 in a row", "10 random", "every 2nd", "every 4th", "every 30th")
STRIDES = {"10 in a row": 1, "every 2nd": 2, "every 4th": 4, "every 30th": 30}
FRAMES = 10
WARM_UP = 3
# What opens which files; decord's FFmpeg has no AV1.
OPENS = {"torchcodec": ("source", "av1", "h264"), "PyAV": ("source", "h264"), "decord": ("h264",)}
TITLES = {
    "source": "AV1 g=2, the source",
    "av1": "AV1 g=2",
    "h264": "H.264 g=250",
    "jpeg": "JPEG files, PIL",
}

Request = tuple[int, list[int]]
Cost = tuple[int, int, int]  # pictures, bytes, requests


@dataclass
class Method:
    """One line of the tables: a form, who reads it, and each request's milliseconds."""

    name: str
    form: Form
    read: Read
    cost: Callable[[int, list[int]], Cost]
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)

    def time(self, request: Request) -> None:
        """Reads once."""
        cpu, wall = time.process_time(), time.perf_counter()
        self.read(*request)
        self.wall.append((time.perf_counter() - wall) * 1e3 / len(request[1]))
        self.cpu.append((time.process_time() - cpu) * 1e3 / len(request[1]))


def requests_of(pattern: str, lengths: Mapping[int, int], count: int) -> list[Request]:
    """Random requests of a pattern, of episodes that are long enough for it."""
    rng = random.Random(pattern)
    reach = 1 if pattern == "random frame" else FRAMES
    if pattern in STRIDES:
        reach = (FRAMES - 1) * STRIDES[pattern] + 1
    long_enough = [number for number, length in lengths.items() if length >= reach]
    found = []
    for _ in range(count):
        episode = rng.choice(long_enough)
        if pattern == "10 random":
            frames = sorted(rng.sample(range(lengths[episode]), FRAMES))
        else:
            start = rng.randrange(lengths[episode] - reach + 1)
            frames = list(range(start, start + reach, STRIDES.get(pattern, 1)))
        found.append((episode, frames))
    return found


class Bare:
    """The closures of native AV1 straight to dav1d, from memory: what decoding alone takes."""

    def __init__(self, dataset: vf.Dataset) -> None:
        self._dataset = dataset
        self._decoder = BareDecoder()
        self._groups: dict[tuple[int, tuple[int, ...]], list[tuple[Closure, Any]]] = {}

    def cost(self, episode: int, frames: list[int]) -> Cost:
        """Fetches what will be read."""
        self._groups[episode, tuple(frames)] = in_memory(self._dataset, episode, frames)
        return planned(self._dataset, episode, frames)

    def read(self, episode: int, frames: list[int]) -> None:
        for closure, targets in self._groups[episode, tuple(frames)]:
            self._decoder.read_all(closure, targets)


def planned(dataset: vf.Dataset, episode: int, frames: list[int]) -> Cost:
    plan = dataset.plan([(episode, dataset.cameras[0], frame) for frame in frames])
    return plan.picture_count, plan.byte_count, plan.range_count


def played(dataset: vf.Dataset, episode: int, frames: list[int]) -> Cost:
    """What a player that seeks takes."""
    chunks = dataset.plan([(episode, dataset.cameras[0], frame) for frame in frames]).chunks
    plans = [plan_in_sequence(chunk.index, chunk.plan.frames) for chunk in chunks]
    return (
        sum(plan.picture_count for plan in plans),
        sum(plan.byte_count for plan in plans),
        sum(len(plan.ranges) for plan in plans),
    )


def files(images: JpegFiles, episode: int, frames: list[int]) -> Cost:
    sizes = [images.path(episode, frame).stat().st_size for frame in frames]
    return len(frames), sum(sizes), len(frames)


def methods_of(root: Path, folder: Path) -> list[Method]:
    """Everything that can be read here, opened."""
    prepared = load(folder)
    source = Source(root, prepared.episodes)
    found = []
    for form in prepared.forms:
        if form.name == "jpeg":
            images = JpegFiles(folder / "jpeg")
            found.append(Method(TITLES["jpeg"], form, images.read, partial(files, images)))
            continue
        at = folder / {"source": "native", **{name: f"{name}-index" for name in VIDEO}}.get(
            form.name, form.name
        )
        dataset = vf.open(at)
        if form.name not in ("source", *VIDEO):
            name = f"`{form.name}`" if form.name in STAR_NAMES else f"DDRA `{form.name}`"
            found.append(Method(name, form, reader_of(dataset), partial(planned, dataset)))
            continue
        videos = source.videos() if form.name == "source" else episode_files(folder / form.name)
        for peer, kind in PEERS.items():
            if form.name in OPENS[peer]:
                name = f"{TITLES[form.name]}, {peer}"
                found.append(Method(name, form, kind(videos).read, partial(played, dataset)))
        if form.name == "source":
            bare = Bare(dataset)
            title = f"{TITLES['source']}, dav1d from memory"
            found.append(Method(title, form, bare.read, bare.cost))
            title = f"{TITLES['source']}, native"
            found.append(Method(title, form, reader_of(dataset), partial(planned, dataset)))
    return found


def episode_files(folder: Path) -> dict[int, EpisodeVideo]:
    paths = enumerate(sorted(folder.glob("*.mp4")))
    return {number: EpisodeVideo(path, 0, 0) for number, path in paths}


def measure(
    methods: list[Method], requests: list[Request], rounds: int, block: int
) -> list[dict[str, Any]]:
    """Reads all requests with all methods in turn, a block at a time, a few of them before it counts."""
    for method in methods:
        method.wall, method.cpu = [], []
        method.costs = [method.cost(*request) for request in requests]
    for turn in range(rounds + 1):
        wanted = requests if turn else requests[:WARM_UP]
        for number, at in enumerate(range(0, len(wanted), block)):
            # Who comes first changes, lest one always finds the caches that another left.
            shift = (number + turn) % len(methods)
            for method in methods[shift:] + methods[:shift]:
                for request in wanted[at : at + block]:
                    if turn:
                        method.time(request)
                    else:
                        method.read(*request)
    count = sum(len(frames) for _, frames in requests)
    return [
        {
            "method": method.name,
            "ms_median": statistics.median(method.wall),
            "ms_p95": statistics.quantiles(method.wall, n=20)[-1],
            "cpu_ms_mean": statistics.mean(method.cpu),
            "pictures": sum(cost[0] for cost in method.costs) / count,
            "kilobytes": sum(cost[1] for cost in method.costs) / count / 1e3,
            "requests": sum(cost[2] for cost in method.costs) / len(requests),
        }
        for method in methods
    ]


def tables(result: dict[str, Any]) -> str:
    """Markdown: milliseconds of wall and CPU time, and what is fetched and decoded."""
    patterns = list(result["patterns"])
    head = f"| | bytes/frame | luma PSNR, dB | {' | '.join(patterns)} |"
    rule = "|---" * (3 + len(patterns)) + "|"
    times, processor, costs = [head, rule], [head, rule], [head, rule]
    for at, method in enumerate(result["methods"]):
        begin = f"| {method['name']} | {method['bytes_per_frame']:.0f} | {quality_of(method)} |"
        rows = [result["patterns"][pattern][at] for pattern in patterns]
        cells = [f"{row['ms_median']:.2f} ({row['ms_p95']:.2f})" for row in rows]
        times.append(f"{begin} {' | '.join(cells)} |")
        cells = [f"{row['cpu_ms_mean']:.2f}" for row in rows]
        processor.append(f"{begin} {' | '.join(cells)} |")
        cells = [
            f"{row['pictures']:.2f}, {row['kilobytes']:.1f}, {row['requests']:.1f}" for row in rows
        ]
        costs.append(f"{begin} {' | '.join(cells)} |")
    return "\n".join(
        [
            "Milliseconds a frame, median (95th percentile):\n", *times,
            "\nCPU milliseconds a frame, mean:\n", *processor,
            "\nPictures decoded a frame, kilobytes a frame, byte ranges a request:\n", *costs,
        ]
    )  # fmt: skip


def caption(result: dict[str, Any]) -> str:
    """What the tables are of, and how undisturbed the run was."""
    return (
        f"{sentence()}; one thread, one run, all in turn, {result['requests']} requests a pattern "
        f"({result['requests_of_one_frame']} of one frame, in tens); the process had a core for "
        f"{result['share_of_a_core']:.0%} of the time. Source: {result['source']}, episodes "
        f"{', '.join(map(str, result['episodes']))} ({result['frames']} frames); all but the source "
        f"within {TOLERANCE} dB of DDRA `fast` or marked. decord's FFmpeg has no AV1, so it reads "
        "H.264 alone. Made by `tools/bench/patterns.py`."
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument(
        "--episodes", type=int, default=2,
        help="how many of the source's episodes, the longest ones; 0: all",
    )  # fmt: skip
    parser.add_argument("--forms", default=",".join(NAMES), help="what is made beside DDRA `fast`")
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--single", type=int, default=80, help="requests of one frame, at least")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--patterns", default=",".join(PATTERNS))
    parser.add_argument(
        "--only", default="", help="names of methods, or parts of them, joined by ;"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not (options.folder / "forms.json").exists():
        made = [name for name in options.forms.split(",") if name]
        prepare(options.source, options.folder, options.episodes, made)
    if options.prepare:
        return
    methods = methods_of(options.source, options.folder)
    parts = [part for part in options.only.split(";") if part]
    methods = [item for item in methods if not parts or any(part in item.name for part in parts)]
    prepared = load(options.folder)
    lengths = Source(options.source, prepared.episodes).lengths
    frames = prepared.frames
    result: dict[str, Any] = {
        "machine": describe(),
        "source": options.source.name,
        "episodes": prepared.episodes,
        "frames": frames,
        "requests": options.requests,
        "requests_of_one_frame": max(options.requests, options.single),
        "rounds": options.rounds,
        "methods": [
            {
                "name": method.name,
                "psnr": method.form.psnr,
                "factor": method.form.factor,
                "is_matched": prepared.is_matched(method.form),
                "bytes_per_frame": method.form.media_bytes / frames,
            }
            for method in methods
        ],
        "patterns": {},
    }
    processor = wall = 0.0
    for pattern in options.patterns.split(","):
        # Requests of one frame come in tens, as many frames as the others have: one alone would be timed
        # with the processor's caches as all the other methods left them.
        block = FRAMES if pattern == "random frame" else 1
        count = max(options.requests, options.single) if block > 1 else options.requests
        wanted = requests_of(pattern, lengths, count)
        begin = time.perf_counter()
        result["patterns"][pattern] = measure(methods, wanted, options.rounds, block)
        processor += sum(sum(method.cpu) for method in methods)
        wall += sum(sum(method.wall) for method in methods)
        print(f"{pattern}: {time.perf_counter() - begin:.0f} s", flush=True)
    # All that is timed here computes: less than a whole core means that others had it meanwhile. Some
    # decoders have a thread that works beside the caller's, and take a little more.
    result["share_of_a_core"] = min(1.0, processor / wall)
    text = f"{tables(result)}\n\n{caption(result)}"
    print(text)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")
        options.json.with_suffix(".md").write_text(text + "\n")


if __name__ == "__main__":
    main()
