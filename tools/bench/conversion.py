"""Conversion against the bare encoder: frames a second on the same frames, in one run.

    python tools/bench/conversion.py SOURCE [--profile fast] [--episodes 0,1,…] [--rounds 2]

The bare side encodes the same decoded frames, already in memory, with the same encoder settings: one
encoder a core, side by side, an episode each, and nothing else. Ours is `vf.convert`, from files to
the dataset on disk: demuxing, decoding, encoding, parsing, checking, appending. The acceptance bar is
0.8 of the bare encoder's frames a second.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from machine import describe, sentence

import videoformat as vf
from videoformat.convert.engine import open_source
from videoformat.index.frame_rate import frame_rate
from videoformat.media.encoder import ChunkEncoder


def bare(episodes: list[list[Any]], structure: vf.DDRA, rate: Any, workers: int) -> float:
    """Seconds to encode frames that are in memory."""

    def encode(pictures: list[Any]) -> None:
        first = pictures[0]
        encoder = ChunkEncoder(
            structure, first.picture.width, first.picture.height, first.color, rate
        )
        for timed in pictures:
            encoder.push(timed.picture)
        encoder.finish()

    begin = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(encode, episodes))
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("--profile", default="fast")
    parser.add_argument("--episodes", default="")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    structure = vf.DDRA(profile=options.profile)
    workers = os.cpu_count() or 1
    origin = open_source(options.source)
    numbers = [int(part) for part in options.episodes.split(",") if part]
    chosen = [
        origin.episode(number) for number in origin.numbers if not numbers or number in numbers
    ]
    camera = next(iter(origin.info.cameras))
    if len(origin.info.cameras) > 1:
        raise SystemExit("this benchmark takes datasets of one camera")
    print(f"decoding {sum(item.length for item in chosen)} frames into memory")
    episodes = [[pictures[camera] for pictures in origin.pictures(item)] for item in chosen]
    frames = sum(map(len, episodes))
    rate = frame_rate(origin.info.fps)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(options.rounds):
        theirs.append(bare(episodes, structure, rate, workers))
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            vf.convert(
                options.source, Path(folder) / "out", video=structure,
                episodes=[item.number for item in chosen],
            )  # fmt: skip
            ours.append(time.perf_counter() - begin)
    result = {
        "profile": options.profile,
        "frames": frames,
        "workers": workers,
        "bare_frames_per_second": frames / min(theirs),
        "convert_frames_per_second": frames / min(ours),
        "ratio": min(theirs) / min(ours),
        "rounds": {"bare_seconds": theirs, "convert_seconds": ours},
    }
    print(sentence())
    for key, value in result.items():
        print(f"{key:26} {value}")
    if options.json:
        options.json.write_text(json.dumps({"machine": describe(), **result}, indent=2) + "\n")


if __name__ == "__main__":
    main()
