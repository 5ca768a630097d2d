"""What reading costs over decoding: random single frames against a bare decoder.

Both sides decode the same closures to RGB, one thread, in one run, interleaved: `read_frames` from
the store, and a PyAV decoder that is fed the same access units from memory. Also checks that the
bytes fetched are the sum of the closures' sizes.

    python tools/bench/cold_reads.py DATASET [--frames 200] [--rounds 5] [--json OUT]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import numpy as np
from machine import describe, sentence

import videoformat as vf
from videoformat.index.schema import media_columns
from videoformat.media.decoder import DECODERS


@dataclass(frozen=True, slots=True)
class Closure:
    """One frame to read, and its closure's access units in memory."""

    episode: int
    camera: str
    frame: int
    codec: str
    configuration: bytes
    positions: tuple[int, ...]
    units: tuple[bytes, ...]
    target: int


def closures(dataset: vf.Dataset, count: int, seed: int) -> list[Closure]:
    """Random frames of random episodes and cameras, with their closures fetched beforehand."""
    rng = random.Random(seed)
    lengths = dataset.episodes.column("length").to_pylist()
    found = []
    for _ in range(count):
        episode = rng.randrange(len(lengths))
        camera = rng.choice(dataset.cameras)
        frame = rng.randrange(lengths[episode])
        (chunk,) = dataset.plan([(episode, camera, frame)]).chunks
        (group,) = chunk.plan.groups
        index = chunk.index
        column = media_columns(dataset._table.info.cameras[camera])[0]  # noqa: SLF001
        ranges = [(chunk.row, index.offset[at], index.size[at]) for at in group]
        units = dataset._table.read_ranges(column, ranges)  # noqa: SLF001
        stream = index.stream
        found.append(
            Closure(episode, camera, frame, stream.codec, stream.configuration, group,
                    tuple(units), chunk.plan.targets[0])
        )  # fmt: skip
    return found


class BareDecoder:
    """Nothing but PyAV: packets in, one RGB array out; a decoder a configuration, reused."""

    def __init__(self) -> None:
        self._contexts: dict[tuple[str, bytes], Any] = {}

    def read(self, closure: Closure) -> np.ndarray[Any, Any]:
        """Decodes a closure and converts its target."""
        return self.read_all(closure, [closure.target])[0]

    def read_all(self, closure: Closure, targets: list[int]) -> list[np.ndarray[Any, Any]]:
        """Decodes a closure and converts some of its pictures."""
        key = (closure.codec, closure.configuration)
        context: Any = self._contexts.get(key)
        if context is None:
            context = av.CodecContext.create(DECODERS[closure.codec], "r")
            context.thread_count = 1
            if closure.configuration:
                context.extradata = closure.configuration
            self._contexts[key] = context
        frames = []
        for position, unit in zip(closure.positions, closure.units, strict=True):
            packet = av.Packet(unit)
            packet.pts = packet.dts = position
            frames += context.decode(packet)
        frames += context.decode(None)
        context.flush_buffers()
        wanted = set(targets)
        return [
            frame.to_ndarray(format="rgb24", threads=1) for frame in frames if frame.pts in wanted
        ]


def measure(dataset: vf.Dataset, wanted: list[Closure], rounds: int) -> dict[str, Any]:
    """Times of both sides, interleaved frame by frame, so that the machine's noise hits both."""
    bare = BareDecoder()
    ours_ms: list[float] = []
    bare_ms: list[float] = []
    stages: dict[str, float] = {}
    fetched = 0
    for turn in range(rounds + 1):
        for closure in wanted:
            begin = time.perf_counter()
            frame = dataset.read_frames(closure.episode, closure.camera, [closure.frame])[0]
            middle = time.perf_counter()
            reference = bare.read(closure)
            end = time.perf_counter()
            if not turn:
                # The first round warms indexes and decoders, and shows that both agree.
                if not np.array_equal(frame, reference):
                    raise SystemExit(f"frames differ: {closure.episode} {closure.frame}")
                report = dataset.last_read
                fetched += report.media_bytes if report else 0
                continue
            ours_ms.append((middle - begin) * 1e3)
            bare_ms.append((end - middle) * 1e3)
            for stage, seconds in (dataset.last_read.seconds if dataset.last_read else {}).items():
                stages[stage] = stages.get(stage, 0.0) + seconds * 1e3
    closure_bytes = sum(len(unit) for closure in wanted for unit in closure.units)
    return {
        "frames": len(wanted),
        "rounds": rounds,
        "bare_ms_median": statistics.median(bare_ms),
        "ours_ms_median": statistics.median(ours_ms),
        "ratio_of_medians": statistics.median(ours_ms) / statistics.median(bare_ms),
        "ratio_of_sums": sum(ours_ms) / sum(bare_ms),
        "stages_ms_mean": {key: value / len(ours_ms) for key, value in stages.items()},
        "bytes_fetched": fetched,
        "bytes_of_closures": closure_bytes,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("dataset")
    parser.add_argument("--frames", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    dataset = vf.open(options.dataset)
    result = measure(dataset, closures(dataset, options.frames, options.seed), options.rounds)
    print(sentence())
    for key, value in result.items():
        print(f"{key:18} {value}")
    if options.json:
        options.json.write_text(json.dumps({"machine": describe(), **result}, indent=2) + "\n")


if __name__ == "__main__":
    main()
