"""The three profiles and both stars side by side, at one quality, against what they were made from.

    python tools/bench/profiles.py SOURCE [--step make|time|all] [--work FOLDER] [--episodes 0,1,…]
                                   [--out FOLDER]

SOURCE is a LeRobot dataset whose camera is AV1 with a key frame every second frame (LeRobot's
default). `make` converts it with `fast` at its default rate factor, then with every other profile and
star at the rate factor that gives the same luma PSNR against the decoded source, and keeps the datasets
in the work folder. `time` reads them: milliseconds a frame, one thread, to RGB: a cold random frame and a
window of ten, once through `read_frames` from disk, once only decoding and converting from memory; the
source's own closures are fed straight to dav1d from memory; all in turn for every request. It then
converts one episode with each again for the encoding speed, on all cores, proof of stars included.

Writes FOLDER/profiles.json, profiles.md and, between two markers, the table of the README.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cold_reads import BareDecoder, Closure
from machine import describe, sentence
from matching import match

import videoformat as vf
from videoformat.bitstream.codecs import decoder_setup
from videoformat.index.schema import media_columns
from videoformat.media.color import luma
from videoformat.media.gop import DDRA, PROFILES
from videoformat.media.star import Star
from videoformat.media.structures import Structure

ROOT = Path(__file__).resolve().parents[2]
MARKERS = ("<!-- profiles:begin -->", "<!-- profiles:end -->")
WINDOW = 10
BOUNDS = 1.0, 51.0  # of rate factors
WITHIN_DB = 0.1  # of each other, where the rate factor has steps that small
CONTENDERS: dict[str, tuple[float, float, Callable[[float], Structure]]] = {
    # By name: the rate factor to begin with, its smallest step, and how it is encoded.
    "`fast`": (PROFILES["fast"].crf, 1.0, lambda crf: DDRA(profile="fast", crf=crf)),
    "`balanced`": (24.0, 0.5, lambda crf: DDRA(profile="balanced", crf=crf)),
    "`small`": (24.0, 0.5, lambda crf: DDRA(profile="small", crf=crf)),
    "AV1 star": (34.0, 1.0, lambda crf: Star(crf=round(crf))),
    "AV1 star, smaller": (32.0, 1.0, lambda crf: Star(preset="smaller", crf=round(crf))),
    "H.264 star": (26.0, 1.0, lambda crf: Star(codec="h264", crf=round(crf))),
}
SOURCE = "AV1 g=2, fed straight to dav1d"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    name: str
    codec: str
    bytes_per_frame: float
    psnr: float | None
    random_ms: float | None
    window_ms: float | None
    random_decode_ms: float
    window_decode_ms: float
    random_kb: float
    frames_per_second: float | None


def requests(dataset: vf.Dataset, count: int, size: int, seed: int) -> list[tuple[int, list[int]]]:
    """Random windows of consecutive frames, as (episode, frames)."""
    rng = random.Random(seed)
    lengths = dataset.episodes.column("length").to_pylist()
    found = []
    for _ in range(count):
        episode = rng.randrange(len(lengths))
        first = rng.randrange(lengths[episode] - size + 1)
        found.append((episode, list(range(first, first + size))))
    return found


def in_memory(dataset: vf.Dataset, episode: int, frames: list[int]) -> list[tuple[Closure, Any]]:
    """The groups of a request with their bytes, and each group's targets."""
    camera = dataset.cameras[0]
    column = media_columns(dataset._table.info.cameras[camera])[0]  # noqa: SLF001
    plan = dataset.plan([(episode, camera, frame) for frame in frames])
    found = []
    for chunk in plan.chunks:
        index = chunk.index
        stream = index.stream
        _, prefix = decoder_setup(stream.codec, stream.configuration, stream.framing)
        for group in chunk.plan.groups:
            ranges = [(chunk.row, index.offset[at], index.size[at]) for at in group]
            units = dataset._table.read_ranges(column, ranges)  # noqa: SLF001
            units[0] = prefix + units[0]
            targets = [at for at in group if at in set(chunk.plan.targets)]
            configuration = stream.configuration if stream.codec != "av1" else b""
            found.append(
                (Closure(episode, camera, frames[0], stream.codec, configuration, group,
                         tuple(units), targets[0]), targets)
            )  # fmt: skip
    return found


def psnr(source: vf.Dataset, coded: vf.Dataset) -> float:
    """Luma PSNR over all frames, from the mean of the squared differences."""
    squared, samples = 0.0, 0
    for episode, length in enumerate(source.episodes.column("length").to_pylist()):
        pair = [pictures(dataset, episode, length) for dataset in (source, coded)]
        for frame in range(length):
            difference = pair[0][frame].astype(np.float64) - pair[1][frame]
            squared += float((difference**2).sum())
            samples += difference.size
    return float(10 * np.log10(255**2 / (squared / samples)))


def pictures(dataset: vf.Dataset, episode: int, length: int) -> dict[int, Any]:
    """The luma of every frame of an episode."""
    camera = dataset.cameras[0]
    reader = dataset._reader  # noqa: SLF001
    plan = dataset.plan([(episode, camera, frame) for frame in range(length)])
    report = vf.ReadReport()
    found = {}
    for chunk, parts in zip(plan.chunks, reader.fetch(plan, report), strict=True):
        for frame, picture in reader.decode(chunk, parts, report):
            found[frame] = luma(picture).copy()
    return found


def decode_groups(bare: BareDecoder, groups: list[tuple[Closure, Any]]) -> None:
    for closure, targets in groups:
        bare.read_all(closure, targets)


def timed(function: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    function()
    return (time.perf_counter() - begin) * 1e3


def measure(
    datasets: dict[str, vf.Dataset], count: int, rounds: int
) -> dict[str, dict[str, float]]:
    """Medians of milliseconds a frame, all datasets in turn for every request."""
    samples: dict[str, dict[str, list[float]]] = {name: {} for name in datasets}
    kilobytes: dict[str, list[float]] = {name: [] for name in datasets}
    bare = BareDecoder()
    for kind, size in (("random", 1), ("window", WINDOW)):
        wanted = requests(next(iter(datasets.values())), count, size, seed=size)
        memory = {
            name: [in_memory(dataset, *request) for request in wanted]
            for name, dataset in datasets.items()
        }
        for turn in range(rounds + 1):
            for number, (episode, frames) in enumerate(wanted):
                for name, dataset in datasets.items():
                    groups = memory[name][number]
                    decode = timed(partial(decode_groups, bare, groups))
                    camera = dataset.cameras[0]
                    read = timed(partial(dataset.read_frames, episode, camera, frames))
                    if turn:
                        samples[name].setdefault(f"{kind}_decode", []).append(decode / size)
                        samples[name].setdefault(kind, []).append(read / size)
                    elif size == 1:
                        coded = sum(len(u) for closure, _ in groups for u in closure.units)
                        kilobytes[name].append(coded / 1e3)
    return {
        name: {
            **{kind: statistics.median(values) for kind, values in kinds.items()},
            "kb": statistics.mean(kilobytes[name]),
        }
        for name, kinds in samples.items()
    }


def media_bytes(dataset: vf.Dataset) -> int:
    return sum(
        stream["media_size"]
        for episode in range(dataset.num_episodes)
        for stream in dataset.streams(episode, dataset.cameras[0])
    )


def table(rows: list[Row]) -> str:
    """The rows as Markdown."""
    lines = [
        (
            "| | codec | bytes/frame | luma PSNR, dB | random frame, kB | random frame, ms "
            "| window of ten, ms/frame | decode only: random, window, ms/frame "
            "| encoded frames/s |"
        ),
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        quality = "source" if row.psnr is None else f"{row.psnr:.1f}"
        reads = [
            "–" if value is None else f"{value:.2f}" for value in (row.random_ms, row.window_ms)
        ]
        speed = "–" if row.frames_per_second is None else f"{row.frames_per_second:.0f}"
        lines.append(
            f"| {row.name} | {row.codec} | {row.bytes_per_frame:.0f} | {quality} | "
            f"{row.random_kb:.1f} | {reads[0]} | {reads[1]} | "
            f"{row.random_decode_ms:.2f}, {row.window_decode_ms:.2f} | {speed} |"
        )
    return "\n".join(lines)


def update_readme(text: str) -> None:
    """Puts the table between its markers, where the README has them."""
    path = ROOT / "README.md"
    readme = path.read_text() if path.exists() else ""
    begin, end = (readme.find(marker) for marker in MARKERS)
    if begin < 0 or end < begin:
        return
    path.write_text(readme[: begin + len(MARKERS[0])] + "\n" + text + "\n" + readme[end:])


def make(source: Path, work: Path, episodes: list[int]) -> None:
    """Converts; writes what was found to ``facts.json``."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    vf.convert(source, work / "native", video="native", episodes=episodes)
    native = vf.open(work / "native")
    facts: dict[str, Any] = {"episodes": episodes, "rows": {}}
    tried: dict[str, dict[float, float]] = {name: {} for name in CONTENDERS}

    def quality(name: str, crf: float) -> float:
        at = work / f"{name} {crf:g}"
        vf.convert(source, at, video=CONTENDERS[name][2](crf), episodes=episodes)
        tried[name][crf] = psnr(native, vf.open(at))
        print(f"{name} {crf:g}: {tried[name][crf]:.2f} dB", flush=True)
        return tried[name][crf]

    target = None
    for name, (first, step, _) in CONTENDERS.items():
        if target is None:  # `fast` comes first
            crf, target = first, quality(name, first)
        else:
            crf = match(
                partial(quality, name), target, first, BOUNDS, step=step, tolerance=WITHIN_DB
            )
        facts["rows"][name] = {"crf": crf, "psnr": tried[name][crf]}
    (work / "facts.json").write_text(json.dumps(facts))


def encoded_per_second(source: Path, structure: Structure, episode: int) -> float:
    """Frames a second of converting one episode."""
    with tempfile.TemporaryDirectory() as folder:
        report = vf.convert(source, Path(folder) / "once", video=structure, episodes=[episode])
    return report.frames / report.seconds


def rows_of(source: Path, work: Path, count: int, rounds: int) -> list[Row]:
    """Every line of the table."""
    facts = json.loads((work / "facts.json").read_text())
    datasets = {SOURCE: vf.open(work / "native")}
    for name, found in facts["rows"].items():
        datasets[name] = vf.open(work / f"{name} {found['crf']:g}")
    times = measure(datasets, count, rounds)
    rows = []
    for name, dataset in datasets.items():
        cost, found = times[name], facts["rows"].get(name)
        speed = None
        if found is not None:
            structure = CONTENDERS[name][2](found["crf"])
            speed = encoded_per_second(source, structure, facts["episodes"][0])
        rows.append(
            Row(
                name=name,
                codec=dataset.streams(0, dataset.cameras[0])[0]["codec"],
                bytes_per_frame=media_bytes(dataset) / dataset.num_frames,
                psnr=None if found is None else found["psnr"],
                random_ms=None if found is None else cost["random"],
                window_ms=None if found is None else cost["window"],
                random_decode_ms=cost["random_decode"],
                window_decode_ms=cost["window_decode"],
                random_kb=cost["kb"],
                frames_per_second=speed,
            )
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("--step", choices=["make", "time", "all"], default="all")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--episodes", default="0,3")
    parser.add_argument("--out", type=Path, default=ROOT / "tools/bench/results")
    parser.add_argument("--requests", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.work is None and options.step != "all":
        parser.error(f"--step {options.step} needs --work")
    with tempfile.TemporaryDirectory() as folder:
        work = options.work or Path(folder) / "work"
        if options.step != "time":
            make(options.source, work, [int(number) for number in options.episodes.split(",")])
        if options.step != "make":
            report(
                rows_of(options.source, work, options.requests, options.rounds),
                options.source.name,
                options.out,
            )


def report(rows: list[Row], source: str, out: Path) -> None:
    """Prints and writes the table."""
    text = f"{table(rows)}\n\n{sentence()}; one thread, medians of one run. "
    text += f"Source: {source}. Made by `tools/bench/profiles.py`."
    print(text)
    out.mkdir(parents=True, exist_ok=True)
    (out / "profiles.md").write_text(text + "\n")
    facts = {"machine": describe(), "rows": [asdict(row) for row in rows]}
    (out / "profiles.json").write_text(json.dumps(facts, indent=2) + "\n")
    update_readme(text)


if __name__ == "__main__":
    main()
