"""``videoformat bench``: how fast a dataset is read from here, and what that takes."""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from videoformat.commands.arguments import (
    Commands,
    add_command,
    add_dataset,
    add_json,
    open_table,
)
from videoformat.commands.selection import add_cameras
from videoformat.commands.text import aligned, byte_text, print_json
from videoformat.dataset import Dataset
from videoformat.errors import InvalidArgumentError
from videoformat.reading import ReadOptions, ReadReport

__all__ = ["add"]

_DESCRIPTION = """\
Reads random requests of several patterns from a dataset, where it lies, and shows milliseconds a frame,
pictures decoded, bytes and requests. A window is ten frames of one episode in a row or with a step, ten
random ones in order; a batch is 64 random frames of all episodes in one plan. The first request of each
pattern is not counted. How this compares to other formats: tools/bench in the source tree."""
_EXAMPLES = """\
  videoformat bench data.vf
  videoformat bench s3://bucket/data.vf --camera wrist --requests 100 --threads 4 --json"""

WINDOW, BATCH = 10, 64

Request = tuple[int, str, int]


@dataclass(frozen=True, slots=True)
class PatternCost:
    """What the requests of one pattern took; ``ms`` are a frame's."""

    pattern: str
    requests: int
    frames: int
    ms_median: float
    ms_p95: float
    report: ReadReport


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands, "bench", "measure how fast a dataset is read from here", _DESCRIPTION, _EXAMPLES
    )
    add_dataset(parser)
    add_cameras(parser)
    parser.add_argument(
        "--requests", type=int, default=20, metavar="N", help="of each pattern (default: 20)"
    )
    parser.add_argument(
        "--threads", type=int, default=1, metavar="N", help="that decode (default: 1)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the random requests")
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    if args.requests < 1:
        raise InvalidArgumentError(f"--requests is {args.requests}, expected 1 or more")
    options = ReadOptions(decode_threads=args.threads)
    dataset = Dataset(open_table(args), allowed_sources=args.allowed_sources, options=options)
    cameras = args.cameras or dataset.cameras
    if not cameras or not dataset.num_frames:
        raise InvalidArgumentError(f"{dataset.uri} has no frames of a camera")
    rng = random.Random(args.seed)  # noqa: S311 - the same requests for the same seed
    costs = [
        measure(dataset, name, [draw(rng) for _ in range(args.requests + 1)])
        for name, draw in _patterns(dataset, cameras).items()
    ]
    if args.json:
        print_json([_json(cost) for cost in costs])
    else:
        print("\n".join(as_text(costs)))
    return 0


def _patterns(
    dataset: Dataset, cameras: Sequence[str]
) -> dict[str, Callable[[random.Random], list[Request]]]:
    """Ways to draw a request; windows are of episodes that are long enough for them."""
    lengths = dataset.directory.lengths.tolist()

    def window(step: int) -> Callable[[random.Random], list[Request]] | None:
        reach = (WINDOW - 1) * step + 1
        episodes = [number for number, length in enumerate(lengths) if length >= reach]
        if not episodes:
            return None

        def draw(rng: random.Random) -> list[Request]:
            episode, camera = rng.choice(episodes), rng.choice(cameras)
            start = rng.randrange(lengths[episode] - reach + 1)
            return [(episode, camera, start + number * step) for number in range(WINDOW)]

        return draw

    def single(rng: random.Random) -> Request:
        episode = rng.choice(long_enough)
        return episode, rng.choice(cameras), rng.randrange(lengths[episode])

    def scattered(rng: random.Random) -> list[Request]:
        episode, camera, _ = single(rng)
        frames = sorted(rng.randrange(lengths[episode]) for _ in range(WINDOW))
        return [(episode, camera, frame) for frame in frames]

    long_enough = [number for number, length in enumerate(lengths) if length]
    windows = {"window": 1, "every 2nd": 2, "every 4th": 4, "every 30th": 30}
    drawn = {name: window(step) for name, step in windows.items()}
    return {
        "random frame": lambda rng: [single(rng)],
        **{name: draw for name, draw in drawn.items() if draw is not None},
        "10 random": scattered,
        "batch": lambda rng: [single(rng) for _ in range(BATCH)],
    }


def measure(dataset: Dataset, pattern: str, requests: Sequence[list[Request]]) -> PatternCost:
    """Reads requests one after the other; the first warms what the others find warm."""
    milliseconds: list[float] = []
    total = ReadReport()
    frames = 0
    for number, request in enumerate(requests):
        begin = time.perf_counter()
        report = dataset.explain(request)
        seconds = time.perf_counter() - begin
        if number:
            distinct = len(set(request))
            milliseconds.append(seconds * 1e3 / distinct)
            frames += distinct
            total.add(report)
    ranked = sorted(milliseconds)
    p95 = ranked[min(len(ranked) - 1, round(0.95 * len(ranked)))]
    return PatternCost(pattern, len(milliseconds), frames, statistics.median(ranked), p95, total)


def _json(cost: PatternCost) -> dict[str, Any]:
    report = cost.report
    return {
        "pattern": cost.pattern,
        "requests": cost.requests,
        "frames": cost.frames,
        "ms_a_frame_median": cost.ms_median,
        "ms_a_frame_p95": cost.ms_p95,
        "pictures": report.pictures,
        "media_bytes": report.media_bytes,
        "ranges": report.ranges,
        "direct_reads": report.direct_reads,
        "store_requests": report.store_requests,
        "store_bytes": report.store_bytes,
        "index_hits": report.index_hits,
        "index_misses": report.index_misses,
        "seconds": report.seconds,
    }


def as_text(costs: Sequence[PatternCost]) -> list[str]:
    """One line a pattern."""
    lines: list[tuple[object, ...]] = [
        ("pattern", "ms a frame", "p95", "pictures a frame", "media a frame", "ranges a request",
         "store requests a request")
    ]  # fmt: skip
    for cost in costs:
        report = cost.report
        lines.append(
            (
                cost.pattern,
                f"{cost.ms_median:.2f}",
                f"{cost.ms_p95:.2f}",
                f"{report.pictures / cost.frames:.2f}",
                byte_text(report.media_bytes / cost.frames),
                f"{report.ranges / cost.requests:.1f}",
                f"{report.store_requests / cost.requests:.1f}",
            )
        )
    return aligned(lines)
