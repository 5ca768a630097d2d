"""Draws what the benchmarks measured, and what counting says.

    python tools/bench/figures.py [--results tools/bench/results]

amplification.png: expected pictures a frame against the interval, by structure (nothing is measured).
patterns.png: bytes a frame against frames a second, from patterns.json.
bandwidth.png: windows of ten a second over a narrow line, from store_reads.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator, NullFormatter

from videoformat.index.amplification import STRUCTURES, expected_pictures

ROOT = Path(__file__).resolve().parents[2]
mpl.rcParams.update({"font.size": 8, "axes.grid": True, "grid.alpha": 0.3, "savefig.dpi": 150})
COLORS = {"sequential": "#888888", "sparse": "#c98a2b", "ddra": "#1f5a99", "star": "#2a8a57"}
MARKERS = ("s", "^", "v", "D")  # of others; dots are this format's
FRAMES, STRIDE = 10, 30


def save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, metadata={"Software": None})
    plt.close(figure)
    print(path)


def amplification(path: Path) -> None:
    """One frame, and ten at a stride of 30 frames."""
    figure, panels = plt.subplots(1, 2, figsize=(7.5, 2.8), sharey=True)
    intervals = list(range(2, 65))
    for axes, (frames, stride, title) in zip(
        panels, [(1, 1, "one frame"), (FRAMES, STRIDE, "ten frames, every 30th")], strict=True
    ):
        for name in STRUCTURES:
            values = [
                float(expected_pictures(name, at, frames, stride) / frames) for at in intervals
            ]
            axes.plot(intervals, values, label=name, color=COLORS[name])
        axes.set_yscale("log", base=2)
        axes.set_yticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "32"])
        axes.set_xlabel(f"interval, frames ({title})")
    panels[0].set_ylabel("expected pictures a frame")
    panels[0].legend(frameon=False)
    save(figure, path)


def patterns(path: Path, result: dict[str, Any]) -> None:
    """Lower right is better: few bytes, many frames a second."""
    names = [name for name in ("random frame", "10 in a row") if name in result["patterns"]]
    figure, panels = plt.subplots(1, len(names), figsize=(8.5, 3.6), sharey=True, squeeze=False)
    for axes, name in zip(panels[0], names, strict=True):
        rows = zip(result["methods"], result["patterns"][name], strict=True)
        for at, (method, row) in enumerate(rows):
            ours = method["name"].startswith(("DDRA", "`")) or method["name"].endswith("native")
            axes.scatter(
                1e3 / row["ms_median"], method["bytes_per_frame"] / 1e3, s=30, zorder=3,
                color=mpl.colormaps["tab10"](at % 10), marker="o" if ours else MARKERS[at % 4],
                label=method["name"].replace("`", ""),
            )  # fmt: skip
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.margins(x=0.1, y=0.1)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter(NullFormatter())
        axes.set_xlabel(f"frames a second, {name}")
    panels[0][0].set_ylabel("kB a frame stored")
    panels[0][-1].legend(frameon=False, fontsize=6.5, loc="center left", bbox_to_anchor=(1.02, 0.5))
    save(figure, path)


def bandwidth(path: Path, result: dict[str, Any]) -> None:
    """Bars by rate."""
    figure, axes = plt.subplots(figsize=(5, 2.6))
    kinds = {
        "whole_file": ("whole file, AV1 g=2", "#888888"),
        "ddra": ("DDRA, index fetched", "#8fb8de"),
        "ddra_indexes_cached": ("DDRA, indexes cached", "#1f5a99"),
    }
    rows = result["bandwidth"]["rates"]
    for at, (name, (title, color)) in enumerate(kinds.items()):
        places = [number + (at - 1) * 0.27 for number in range(len(rows))]
        heights = [row[name]["windows_per_second"] for row in rows]
        axes.bar(places, heights, 0.25, label=title, color=color, zorder=3)
    axes.set_xticks(range(len(rows)), [f"{row['mib_per_second']} MiB/s" for row in rows])
    axes.set_ylabel("windows of ten a second")
    axes.legend(frameon=False, fontsize=7)
    save(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=ROOT / "tools/bench/results")
    folder: Path = parser.parse_args().results
    amplification(folder / "amplification.png")
    for name, draw in (("patterns", patterns), ("bandwidth", bandwidth)):
        source = folder / {"bandwidth": "store_reads.json"}.get(name, f"{name}.json")
        if source.exists():
            draw(folder / f"{name}.png", json.loads(source.read_text()))


if __name__ == "__main__":
    main()
