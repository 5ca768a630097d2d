"""How random the orders of training are: measured against a uniform shuffle.

For each order of the frames of a dataset: the mean distance between successive positions (a uniform
shuffle of n has n/3), the largest share of a batch that comes from one episode and from one
interval, the number of different intervals in a batch, and the pictures that a batch decodes for
each of its frames where a frame is decoded from two anchors.

    python tools/bench/shuffle_quality.py --episodes 200 --frames 300 [--json OUT]

``training_epoch.py`` measures the same orders' speed, and plots it against these figures.
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
class Order:
    """An order that is measured: groups of so many frames, mixed over so many batches.

    Over one batch it is a sampler's, over more a stream's.
    """

    name: str
    group: int
    batches: int = 1


ORDERS = (
    Order("uniform shuffle (`group=1`)", 1),
    Order("`IntervalSampler(group=4)`", 4),
    Order("`IntervalSampler(group=8)`", 8),
    Order("`IntervalSampler(group=16)`", 16),
    Order("`FrameStream(group=8)`, buffer of 8 batches", 8, 8),
    Order("`FrameStream(group=16)`, buffer of 8 batches", 16, 8),
    Order("`FrameStream(group=16)`, buffer of 32 batches", 16, 32),
)


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


def measure(order: Order, episodes: int, episode_frames: int, interval: int, batch: int) -> Quality:
    """Figures of an order over equal episodes; its batches are cut from it."""
    starts = intervals_of(np.full(episodes, episode_frames), interval)
    read = order.batches * batch
    made = EpochOrder(starts, OrderSettings(order.group, read))
    frames = made.frames(0, len(made))
    whole = len(frames) // batch * batch
    batches = frames[:whole].reshape(-1, batch)
    labels = np.searchsorted(starts, batches, side="right") - 1
    return Quality(
        name=order.name,
        distance=float(np.abs(np.diff(frames)).mean() / (len(frames) / 3)),
        episode_share=float(np.mean([largest_share(row // episode_frames) for row in batches])),
        interval_share=float(np.mean([largest_share(row) for row in labels])),
        intervals=float(np.mean([len(np.unique(row)) for row in labels])),
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
    results = [
        measure(order, options.episodes, options.frames, options.interval, options.batch)
        for order in ORDERS
    ]
    print(f"{options.episodes} episodes of {options.frames} frames, batch {options.batch}")
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
