"""Puts what the benchmarks of reading measured into one report and into the README.

    python tools/bench/report.py [--results tools/bench/results]

Writes reading.md beside the results, from whichever of patterns.json, against_torchcodec.json,
store_reads.json, store_faults.json, threads.json are there, and from the results that are kept in the
repository a short form of it between two markers of README.md. Nothing is measured here.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "tools/bench/results"
MARKERS = ("<!-- reading:begin -->", "<!-- reading:end -->")
# Where others took more than this, times say little: of the load before, of a core that was wanted.
QUIET_LOAD, QUIET_SHARE = 2.0, 0.9
SHORT = ("random frame", "10 in a row", "10 random")


def machine(facts: dict[str, str]) -> str:
    return (
        f"{facts['processor']}, {facts['cores']} cores, Python {facts['python']}, PyAV {facts['av']}, "
        f"pylance {facts['pylance']}"
    )


def quality_of(method: Mapping[str, Any]) -> str:
    """A form's PSNR, marked where it is not what was aimed at."""
    if method["psnr"] is None:
        return "source" if "the source" in method["name"] else "–"
    return f"{method['psnr']:.1f}{'' if method['is_matched'] else ', not matched'}"


def short_table(result: dict[str, Any]) -> list[str]:
    """Milliseconds a frame of three patterns, with what is stored."""
    names = [name for name in SHORT if name in result["patterns"]]
    lines = [
        f"| ms a frame, one thread | bytes/frame | luma PSNR, dB | {' | '.join(names)} |",
        "|---" * (3 + len(names)) + "|",
    ]
    for at, method in enumerate(result["methods"]):
        quality = quality_of(method)
        cells = [f"{result['patterns'][name][at]['ms_median']:.2f}" for name in names]
        lines.append(
            f"| {method['name']} | {method['bytes_per_frame']:.0f} | {quality} | {' | '.join(cells)} |"
        )
    return lines


def against(result: dict[str, Any]) -> list[str]:
    """How many times as fast as torchcodec on the source, in one run."""
    names = [method["name"] for method in result["methods"]]
    theirs = next(at for at, name in enumerate(names) if "torchcodec" in name)
    ours = next(at for at, name in enumerate(names) if "fast" in name)
    stored = [result["methods"][at]["bytes_per_frame"] for at in (ours, theirs)]
    lines = [
        "| | torchcodec on AV1 g=2, ms a frame | DDRA `fast`, ms a frame | times as fast |",
        "|---|---|---|---|",
    ]
    for pattern, rows in result["patterns"].items():
        pair = rows[theirs]["ms_median"], rows[ours]["ms_median"]
        lines.append(f"| {pattern} | {pair[0]:.2f} | {pair[1]:.2f} | {pair[0] / pair[1]:.2f} |")
    return [
        *lines,
        "",
        f"At {stored[0] / stored[1]:.2f} of its stored bytes; decoders warm, one thread each, in turn.",
    ]


def store(result: dict[str, Any]) -> str:
    """The object store in one paragraph."""
    row = next(item for item in result["batches"] if item["gap_kib"] == 16)
    wait = result["latency"]
    rates = ", ".join(
        f"{item['ddra_indexes_cached_ratio']:.2f} at {item['mib_per_second']}"
        for item in result["bandwidth"]["rates"]
    )
    anew = ", ".join(f"{item['ddra_ratio']:.2f}" for item in result["bandwidth"]["rates"])
    return (
        f"From an S3 server, a batch of 64 random frames takes {row['takes']} take of rows and "
        f"{row['range_reads']} planned range read ({row['cold']['requests']} requests; with cached "
        f"indexes {row['warm']['requests']}, {row['warm']['bytes'] / 1e3:.0f} kB for "
        f"{row['closures'] / 1e3:.0f} kB of closures). With {wait['delay'] * 1e3:.0f} ms added to every "
        f"request it takes {wait['batch_cold']['seconds']:.2f} s in "
        f"{wait['batch_cold']['round_trips']} round trips, its frames one by one "
        f"{wait['one_by_one']['seconds']:.2f} s in {wait['one_by_one']['round_trips']}. Windows of ten over "
        f"a narrow line ({result['bandwidth']['means']}), times as many a second as with whole AV1 g=2 "
        f"files: {rates} MiB/s (with each index fetched anew: {anew})."
    )


def faults(result: dict[str, Any]) -> str:
    growth = result["growth"]
    return (
        f"{result['batches']} random batches of 8 frames from a store that makes {result['faults']} of "
        f"{result['requests']} requests fail (503s, resets, cut bodies): every frame right, "
        f"{result['refused_batches']} batches given up; after the first tenth, memory grew by "
        f"{growth['rss_bytes'] / 2**20:.1f} MiB, threads by {growth['threads']}, descriptors by "
        f"{growth['descriptors']}."
    )


def threads(result: dict[str, Any]) -> str:
    """CPU time is the process's own; two threads are quicker than one where two cores are free."""
    share = (
        f"Of the CPU time of a batch of {result['batch']} random frames, all but decoding and conversion "
        f"is {result['own_share']:.0%}."
    )
    if result["load"] > QUIET_LOAD:
        return (
            f"{share} How much quicker two threads are was not measurable: others used the machine."
        )
    return f"{share} With two decoding threads it is {result['speedup_of_two_threads']:.2f} times as fast."


def load(folder: Path, name: str) -> Any:
    path = folder / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def reports(folder: Path) -> tuple[str, str]:
    """Of the results in a folder, the report, and the short form for the README."""
    full: list[str] = [
        "# Reading, measured",
        "",
        "Made by `tools/bench/run`; each part by one run.",
    ]
    short: list[str] = []
    if patterns := load(folder, "patterns"):
        text = (folder / "patterns.md").read_text().strip()
        full += ["", "## Access patterns", "", text]
        full += ["", "![Storage against throughput](patterns.png)"]
        # Times from a machine that others used are for the report alone, where that is said.
        if patterns["share_of_a_core"] >= QUIET_SHARE:
            short += [*short_table(patterns), ""]
    result = load(folder, "against_torchcodec")
    if result and any("torchcodec" in method["name"] for method in result["methods"]):
        full += ["", "## Against torchcodec", "", *against(result), "", machine(result["machine"])]
        short += [*against(result), ""]
    if result := load(folder, "store_reads"):
        text = (folder / "store_reads.md").read_text().strip()
        full += ["", "## Object store", "", text, "", "![Narrow lines](bandwidth.png)"]
        short += [store(result), ""]
    for name, title, say in (
        ("store_faults", "A store that fails", faults),
        ("threads", "Threads", threads),
    ):
        if result := load(folder, name):
            full += ["", f"## {title}", "", say(result), "", machine(result["machine"])]
            short += [say(result), ""]
    full += ["", "## What counting says", "", "![Pictures a frame](amplification.png)"]
    if patterns:
        short.append(
            f"{machine(patterns['machine'])}. Source: {patterns['source']}. Made by `tools/bench/run`; "
            "more in [reading.md](tools/bench/results/reading.md)."
        )
    return "\n".join(full) + "\n", "\n".join(short)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=COMMITTED)
    folder: Path = parser.parse_args().results
    full, short = reports(folder)
    (folder / "reading.md").write_text(full)
    if folder.resolve() != COMMITTED:
        return
    readme = ROOT / "README.md"
    text = readme.read_text()
    begin, end = (text.find(marker) for marker in MARKERS)
    if 0 <= begin < end:
        readme.write_text(f"{text[: begin + len(MARKERS[0])]}\n{short}\n{text[end:]}")


if __name__ == "__main__":
    main()
