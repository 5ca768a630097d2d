"""What the read engine costs: two decoding threads against one, and one against bare decoding.

    python tools/bench/threads.py DATASET [--rounds 15] [--json OUT]

A batch of 64 random frames over all episodes of one camera, into one array that is given, indexes cached,
from a local disk. In turn: with one thread, with two, and the same groups of access units from memory
through a PyAV decoder and FFmpeg's conversion, one thread. The own share is what of one thread's CPU
time is not in the bare side. Every round takes other frames.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cold_reads import BareDecoder
from machine import describe, sentence
from profiles import decode_groups, in_memory

import videoformat as vf

BATCH = 64


def batch_of(dataset: vf.Dataset, seed: int) -> list[tuple[int, str, int]]:
    rng = random.Random(seed)
    lengths = dataset.episodes.column("length").to_pylist()
    episodes = [rng.randrange(len(lengths)) for _ in range(BATCH)]
    return [(number, dataset.cameras[0], rng.randrange(lengths[number])) for number in episodes]


def timed(function: Callable[[], Any]) -> tuple[float, float]:
    """Milliseconds of wall and of CPU time, all threads."""
    cpu, wall = time.process_time(), time.perf_counter()
    function()
    return (time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3


def measure(uri: str, rounds: int) -> dict[str, Any]:
    readers = {
        count: vf.open(uri, options=vf.ReadOptions(decode_threads=count)) for count in (1, 2)
    }
    dataset = readers[1]
    height, width = dataset.features[dataset.cameras[0]]["shape"][:2]
    out = np.zeros((BATCH, height, width, 3), np.uint8)
    bare = BareDecoder()
    samples: dict[str, list[tuple[float, float]]] = {"one": [], "two": [], "bare": []}
    stages: dict[str, float] = {}
    for turn in range(rounds + 2):
        requests = batch_of(dataset, turn)
        by_episode: dict[int, list[int]] = {}
        for episode, _, frame in requests:
            by_episode.setdefault(episode, []).append(frame)
        groups = [
            group
            for episode, frames in by_episode.items()
            for group in in_memory(dataset, episode, sorted(set(frames)))
        ]
        sides: dict[str, Callable[[], Any]] = {
            "one": partial(readers[1].read_batch, requests, out=out),
            "two": partial(readers[2].read_batch, requests, out=out),
            "bare": partial(decode_groups, bare, groups),
        }
        names = list(sides)
        for name in names[turn % 3 :] + names[: turn % 3]:
            cost = timed(sides[name])
            if turn >= 2:  # the first ones warm indexes, decoders and memory
                samples[name].append(cost)
                report = dataset.last_read
                if name == "one" and report is not None:
                    for stage, seconds in report.seconds.items():
                        stages[stage] = stages.get(stage, 0.0) + seconds * 1e3 / rounds
    wall = {name: statistics.median(item[0] for item in values) for name, values in samples.items()}
    cpu = {name: statistics.median(item[1] for item in values) for name, values in samples.items()}
    return {
        "batch": BATCH,
        "rounds": rounds,
        "wall_ms": wall,
        "cpu_ms": cpu,
        "speedup_of_two_threads": wall["one"] / wall["two"],
        "own_share": 1 - cpu["bare"] / cpu["one"],
        "stages_ms": stages,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("dataset")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    print(sentence())
    result = {"load": load, **measure(options.dataset, options.rounds)}
    for key, value in result.items():
        print(f"{key:24} {value}")
    if options.json:
        options.json.write_text(json.dumps({"machine": describe(), **result}, indent=2) + "\n")


if __name__ == "__main__":
    main()
