#!/usr/bin/env python3
"""Draws the figures of the README and the specification.

    python tools/make_figures.py [--out spec/figures]

closure.png: what a loader decodes for one frame, with a long group of pictures and with DDRA.
profiles.png: bytes a frame against milliseconds, from tools/bench/results/profiles.json if it is
there.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[1]
INTRA, INTER, FAINT, TARGET = "#1f5a99", "#8fb8de", "#e6e6e6", "#d9480f"


def draw_row(
    axes: Any, y: float, title: str, anchors: set[int], decoded: set[int], target: int
) -> None:
    """One row of 17 pictures; those that are decoded are filled."""
    for picture in range(17):
        color = (INTRA if picture in anchors else INTER) if picture in decoded else FAINT
        axes.add_patch(
            plt.Rectangle(
                (picture, y), 0.82, 0.82, facecolor=color,
                edgecolor=TARGET if picture == target else "white",
                linewidth=2.5 if picture == target else 0.5,
            )
        )  # fmt: skip
        label = "I" if picture in anchors else ("P" if "P" in title else "B")
        ink = "white" if picture in decoded and picture in anchors else "#444444"
        axes.text(picture + 0.41, y + 0.41, label, ha="center", va="center", fontsize=9, color=ink)
    axes.text(-0.4, y + 0.41, title, ha="right", va="center", fontsize=9)
    axes.text(
        17.3,
        y + 0.41,
        f"{len(decoded)} pictures",
        ha="left",
        va="center",
        fontsize=9,
        weight="bold",
    )


def arrow(axes: Any, start: int, end: int, y: float) -> None:
    axes.annotate(
        "", xy=(start + 0.41, y), xytext=(end + 0.41, y),
        arrowprops={"arrowstyle": "<-", "color": TARGET,
                    "connectionstyle": f"arc3,rad={0.25 if end > start else -0.25}"},
    )  # fmt: skip


def closure_figure(path: Path) -> None:
    """What is decoded for frame 11: everything before it, or its two anchors and itself."""
    figure, axes = plt.subplots(figsize=(9.5, 2.9), dpi=150)
    target = 11
    draw_row(axes, 2.4, "long GOP (I P P P …)", {0}, set(range(target + 1)), target)
    draw_row(axes, 0, "DDRA, interval 16", {0, 16}, {0, target, 16}, target)
    arrow(axes, target, 0, 0.9)
    arrow(axes, target, 16, 0.9)
    axes.set_xlim(-5.2, 20)
    axes.set_ylim(-0.3, 3.8)
    axes.axis("off")
    axes.set_title("Decoded to get one frame (outlined); arrows: what it references", fontsize=10)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def profiles_figure(path: Path, results: Path) -> None:
    """Storage against time: lower left is better."""
    rows = json.loads(results.read_text())["rows"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.4), dpi=150, sharey=True)
    for axes, key, title in (
        (left, "random_decode_ms", "cold random frame, ms"),
        (right, "window_decode_ms", "window of ten, ms a frame"),
    ):
        for row in rows:
            is_source = row["psnr"] is None
            name = "AV1 g=2 (source)" if is_source else row["name"].strip("`")
            axes.scatter(row[key], row["bytes_per_frame"] / 1e3, s=60,
                         color="#888888" if is_source else INTRA, zorder=3)  # fmt: skip
            axes.annotate(
                name, (row[key], row["bytes_per_frame"] / 1e3), textcoords="offset points",
                xytext=(6, -10) if "smaller" in name else (6, 3), fontsize=7.5,
            )  # fmt: skip
        axes.set_xlim(0, max(row[key] for row in rows) * 1.35)
        axes.set_yscale("log")
        axes.set_yticks([1, 2, 4, 8], ["1", "2", "4", "8"])
        axes.set_ylim(0.8, max(row["bytes_per_frame"] for row in rows) / 1e3 * 1.3)
        axes.set_xlabel(f"{title} (decoding and RGB, one thread)", fontsize=8)
        axes.grid(visible=True, alpha=0.3)
    left.set_ylabel("kB a frame stored", fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / "spec/figures")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    closure_figure(options.out / "closure.png")
    print(options.out / "closure.png")
    results = ROOT / "tools/bench/results/profiles.json"
    if results.exists():
        profiles_figure(options.out / "profiles.png", results)
        print(options.out / "profiles.png")


if __name__ == "__main__":
    main()
