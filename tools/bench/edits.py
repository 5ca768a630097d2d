"""What deleting one of a hundred episodes costs: seconds, bytes written, media moved; and its undoing.

    python tools/bench/edits.py [--episodes 100] [--frames 60] [--rounds 5] [--json FILE]

The dataset is made for it, with one append an episode. Bytes are those of files that are new after
an edit; media is moved where a data file is new or has changed.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from machine import describe, sentence

import videoformat as vf

SIDE = 128


def make(uri: Path, episodes: int, frames: int) -> None:
    features = {
        "camera": {"dtype": "video", "shape": (SIDE, SIDE, 3)},
        "action": {"dtype": "float32", "shape": (7,)},
    }
    random = np.random.default_rng(0)
    with vf.create(uri, fps=30, features=features) as writer:
        for _ in range(episodes):
            noise = random.integers(0, 64, (SIDE, SIDE, 3))
            for frame in range(frames):
                image = (noise + np.arange(SIDE)[:, None, None] + 2 * frame) % 256
                values = random.standard_normal(7).astype(np.float32)
                writer.add_frame({"camera": image.astype(np.uint8), "action": values, "task": "t"})
            writer.save_episode()


def files(uri: Path) -> dict[Path, tuple[int, int]]:
    """Size and time of change of each file."""
    found = ((path, path.stat()) for path in uri.rglob("*") if path.is_file())
    return {path: (facts.st_size, facts.st_mtime_ns) for path, facts in found}


def measured(uri: Path, edit: Callable[[], object]) -> dict[str, Any]:
    before = files(uri)
    begin = time.perf_counter()
    edit()
    seconds = time.perf_counter() - begin
    new = {path: facts for path, facts in files(uri).items() if before.get(path) != facts}
    data = sum(size for path, (size, _) in new.items() if "data" in path.relative_to(uri).parts)
    return {"seconds": seconds, "bytes": sum(size for size, _ in new.values()), "data_bytes": data}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rounds: dict[str, list[dict[str, Any]]] = {"delete": [], "undelete": []}
    with tempfile.TemporaryDirectory() as folder:
        uri = Path(folder) / "d.vf"
        make(uri, options.episodes, options.frames)
        size = sum(facts[0] for facts in files(uri).values())
        for number in range(options.rounds):
            version = vf.open(uri).version
            gone = number * options.episodes // options.rounds
            rounds["delete"].append(measured(uri, partial(vf.delete_episodes, uri, [gone])))
            rounds["undelete"].append(measured(uri, partial(vf.undelete, uri, version)))
        vf.delete_episodes(uri, [0])
        vacuum = measured(uri, lambda: vf.vacuum(uri, older_than=dt.timedelta(0)))
    result = {
        "machine": describe(),
        "episodes": options.episodes,
        "frames": options.frames,
        "dataset_bytes": size,
        **{
            name: {
                "median_seconds": statistics.median(item["seconds"] for item in found),
                "worst_seconds": max(item["seconds"] for item in found),
                "bytes": max(item["bytes"] for item in found),
                "data_bytes": max(item["data_bytes"] for item in found),
            }
            for name, found in rounds.items()
        },
        "vacuum": vacuum,
    }
    print(json.dumps(result, indent=2))
    print(sentence())
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
