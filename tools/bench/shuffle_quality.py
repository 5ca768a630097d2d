"""How random the orders of training are: measured against a uniform shuffle.

For each order of the frames of a dataset: the mean distance between successive positions (a uniform
shuffle of n has n/3), the largest share of a batch that comes from one episode and from one
interval, the number of different intervals in a batch, and the pictures that a batch decodes for
each of its frames where a frame is decoded from two anchors.

    python tools/bench/shuffle_quality.py --episodes 200 --frames 300 [--json OUT]
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from videoformat.sampling import EpochOrder, OrderSettings, intervals_of

Int64Array = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Quality:
    """Figures of one order, means over its batches."""

    name: str
    distance: float
    episode_share: float
    interval_share: float
    intervals: float
    pictures_per_frame: float


def largest_share(labels: Int64Array) -> float:
    """The share of the label that is there most often."""
    return float(np.bincount(labels - labels.min()).max() / len(labels))


def pictures(frames: Int64Array, starts: Int64Array, read: int) -> float:
    """Pictures decoded a frame where ``read`` consecutive frames of the order are one plan."""
    decoded = 0
    for begin in range(0, len(frames), read):
        part = np.unique(frames[begin : begin + read])
        at = np.searchsorted(starts, part, side="right") - 1
        is_anchor = starts[at] == part
        anchors = np.unique(np.concatenate([starts[at], starts[at[~is_anchor] + 1]]))
        decoded += len(anchors) + int((~is_anchor).sum())
    return decoded / len(frames)


def measure(
    name: str, order: EpochOrder, starts: Int64Array, episode_frames: int, batch: int, read: int
) -> Quality:
    """Figures of an order whose batches are cut from it, and read ``read`` frames at a time."""
    frames = order.frames(0, len(order))
    whole = len(frames) // batch * batch
    batches = frames[:whole].reshape(-1, batch)
    interval = np.searchsorted(starts, batches, side="right") - 1
    return Quality(
        name=name,
        distance=float(np.abs(np.diff(frames)).mean() / (len(frames) / 3)),
        episode_share=float(np.mean([largest_share(row // episode_frames) for row in batches])),
        interval_share=float(np.mean([largest_share(row) for row in interval])),
        intervals=float(np.mean([len(np.unique(row)) for row in interval])),
        pictures_per_frame=pictures(frames, starts, read),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--frames", type=int, default=300, help="of each episode")
    parser.add_argument("--interval", type=int, default=16)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    starts = intervals_of(np.full(options.episodes, options.frames), options.interval)
    batch = options.batch
    kinds = [
        ("uniform shuffle", 1, batch),
        ("IntervalSampler(group=4)", 4, batch),
        ("IntervalSampler(group=8)", 8, batch),
        ("IntervalSampler(group=16)", 16, batch),
        ("FrameStream(group=8, 8 batches)", 8, 8 * batch),
        ("FrameStream(group=16, 8 batches)", 16, 8 * batch),
        ("FrameStream(group=16, 32 batches)", 16, 32 * batch),
    ]
    results = []
    for name, group, buffer in kinds:
        order = EpochOrder(starts, OrderSettings(group, buffer))
        results.append(measure(name, order, starts, options.frames, batch, buffer))
    print(f"{options.episodes} episodes of {options.frames} frames, batch {batch}")
    print(
        "| order | distance, uniform = 1 | episode's share | interval's share | intervals | pictures a frame |"
    )
    print("|---|---|---|---|---|---|")
    for found in results:
        print(
            f"| {found.name} | {found.distance:.2f} | {found.episode_share:.3f} "
            f"| {found.interval_share:.3f} | {found.intervals:.1f} | {found.pictures_per_frame:.2f} |"
        )
    if options.json:
        record = {**vars(options), "json": None, "orders": [asdict(found) for found in results]}
        options.json.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
