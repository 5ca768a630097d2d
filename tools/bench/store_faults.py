"""Many random batches from a store that keeps failing: every frame right, memory and threads flat.

    python tools/bench/store_faults.py [--batches 10000] [--json OUT]

A small dataset (8 episodes, 2 cameras, 320x240) in a local S3 server, read through a proxy that makes 5 %
of all requests fail: 503s, and connections that are reset before the answer or in the middle of its
body. Each batch is 8 random frames, compared byte by byte with what a local copy of the dataset gives.
Picture indexes are not cached, so that every batch takes rows as well. A batch that is given up after
the store's retries counts as refused. Memory, threads and descriptors are this process's, read from
/proc; server and proxy are others.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from machine import describe, sentence
from make_lerobot import SampleSpec, write_dataset
from stores import ProxiedStore, served

import videoformat as vf
from videoformat.errors import VideoFormatError

SHARES = {"unavailable": 0.03, "reset": 0.01, "truncated": 0.01}
FRAMES = 8
SPEC = SampleSpec(lengths=(40, 33, 52, 41, 38, 60, 35, 44), width=320, height=240, codec="h264")


def resources() -> dict[str, int]:
    """Resident bytes, threads and open descriptors of this process."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {
        "rss_bytes": int(status["VmRSS"].split()[0]) * 1024,
        "threads": int(status["Threads"]),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
    }


def run(store: ProxiedStore, folder: Path, batches: int, seed: int) -> dict[str, Any]:
    """Converts, then reads; samples the process's resources a hundred times."""
    source = write_dataset(folder / "lerobot", SPEC)
    structure = vf.DDRA(interval=8, crf=10)
    vf.convert(source, folder / "local", video=structure)
    vf.convert(source, store.uri("faults"), video=structure, storage_options=store.direct)
    local = vf.open(folder / "local")
    truth = {
        (episode, camera): local.read_frames(episode, camera, range(length))
        for episode, length in enumerate(SPEC.lengths)
        for camera in local.cameras
    }
    options = {**store.proxied, "client_max_retries": "20"}
    dataset = vf.open(store.uri("faults"), options, options=vf.ReadOptions(index_cache_bytes=0))
    rng = random.Random(seed)
    store.traffic()
    store.faults(**SHARES)
    samples: list[dict[str, float]] = []
    requests, faults, refused = 0, 0, 0
    every = max(1, batches // 100)
    begin = time.perf_counter()
    for number in range(batches + 1):
        if number % every == 0:
            traffic = store.traffic()
            requests, faults = requests + len(traffic.requests), faults + traffic.faults
            seconds = time.perf_counter() - begin
            samples.append({"batches": number, "seconds": seconds, **resources()})
            print(samples[-1], flush=True)
        wanted = []
        for _ in range(FRAMES):
            episode = rng.randrange(len(SPEC.lengths))
            frame = rng.randrange(SPEC.lengths[episode])
            wanted.append((episode, rng.choice(dataset.cameras), frame))
        try:
            batch = dataset.read_batch(wanted)
        except VideoFormatError as error:
            refused += 1
            print(f"batch {number}: {error}", flush=True)
            continue
        for frame_read, (episode, camera, frame) in zip(batch, wanted, strict=True):
            if not np.array_equal(frame_read, truth[episode, camera][frame]):
                raise SystemExit(f"batch {number}: {episode} {camera} {frame} is wrong")
    warm = [item for item in samples if item["batches"] >= min(1000, batches // 10)]
    return {
        "batches": batches,
        "frames": FRAMES * batches,
        "fault_shares": SHARES,
        "requests": requests,
        "faults": faults,
        "refused_batches": refused,
        "growth": {
            name: max(item[name] for item in warm) - warm[0][name]
            for name in ("rss_bytes", "threads", "descriptors")
        },
        "samples": samples[:: max(1, len(samples) // 20)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--batches", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with served(options.seed) as store, tempfile.TemporaryDirectory() as folder:
        result = run(store, Path(folder), options.batches, options.seed)
    print(sentence())
    for key, value in result.items():
        if key != "samples":
            print(f"{key:16} {value}")
    if options.json:
        options.json.write_text(json.dumps({"machine": describe(), **result}, indent=2) + "\n")


if __name__ == "__main__":
    main()
