"""Reading from an object store: requests, bytes, round trips, and what a narrow line leaves.

    python tools/bench/store_reads.py --forms FOLDER [--json OUT]

FOLDER is what `tools/bench/patterns.py --prepare` makes. DDRA `fast` and the source's episodes (AV1 g=2,
a file each) lie in a local S3 server. Three parts:

1. A batch of 64 random frames over all episodes, indexes not cached and cached, by how close ranges are
   that one request joins (`ReadOptions.gap_bytes`): what the server saw, against the closures' bytes.
2. The same batch with 20 ms added to every request, against its frames one by one; `round trips` is the
   longest chain of requests of which each was sent after the one before was answered.
3. Ten frames in a row of random episodes over a line of 50, 100 and 200 MiB a second: DDRA by ranges, with
   each episode's index fetched anew and with indexes cached, and the whole AV1 file fetched and its frames
   decoded from memory. One request at a time, one thread.

Parts 1 and 2 go through a proxy that counts and waits, in a process of its own. In part 3 the server is in
a network namespace of its own where that can be set up (as root, on Linux): only the line is narrow then.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.fs
from machine import describe, sentence
from peers import PEERS, OpenFile
from stores import NarrowStore, ProxiedStore, file_system, narrowed, served

import videoformat as vf

MIB = 2**20
BATCH, WINDOW = 64, 10
DELAY = 0.02
GAPS = (4, 16, 64)
RATES = (50, 100, 200)
LARGE = 32 * MIB

Request = tuple[int, str, int]


def upload(files: Any, bucket: str, folder: Path, name: str) -> None:
    """Puts a folder into a bucket."""
    pyarrow.fs.copy_files(
        str(folder),
        f"{bucket}/{name}",
        source_filesystem=pyarrow.fs.LocalFileSystem(),
        destination_filesystem=files,
    )


def upload_episodes(files: Any, bucket: str, forms: Path) -> dict[int, str]:
    """Puts the source's episodes into a bucket, a file each; their keys."""
    keys = {}
    if not (forms / "episodes").exists():
        vf.export(forms / "native", forms / "episodes", to="mp4")
    for number, path in enumerate(sorted((forms / "episodes").rglob("*.mp4"))):
        keys[number] = f"{bucket}/episodes/{path.name}"
        with files.open_output_stream(keys[number]) as stream:
            stream.write(path.read_bytes())
    return keys


def batch_of(dataset: vf.Dataset, seed: int) -> list[Request]:
    rng = random.Random(seed)
    lengths = dataset.episodes.column("length").to_pylist()
    episodes = [number % len(lengths) for number in range(BATCH)]
    return [(number, dataset.cameras[0], rng.randrange(lengths[number])) for number in episodes]


def seen(store: ProxiedStore, read: Callable[[], Any]) -> dict[str, float]:
    """What the server saw of a read, and how long it took."""
    store.traffic()
    begin = time.perf_counter()
    read()
    seconds = time.perf_counter() - begin
    traffic = store.traffic()
    return {
        "requests": len(traffic.requests),
        "bytes": traffic.body_bytes,
        "round_trips": traffic.rounds(),
        "seconds": seconds,
    }


def batches(store: ProxiedStore) -> list[dict[str, Any]]:
    """A batch by gap, with what Lance was asked for."""
    rows = []
    for gap in GAPS:
        options = vf.ReadOptions(gap_bytes=gap * 1024)
        dataset = vf.open(store.uri("fast"), store.proxied, options=options)
        requests = batch_of(dataset, 1)
        cold = seen(store, partial(dataset.read_batch, requests))
        report = dataset.last_read
        assert report is not None
        calls = (report.takes, report.range_reads)
        warm = seen(store, partial(dataset.read_batch, requests))
        closures = dataset.plan(requests).byte_count
        row = {"gap_kib": gap, "takes": calls[0], "range_reads": calls[1], "closures": closures}
        rows.append({**row, "cold": cold, "warm": warm, "warm_ratio": warm["bytes"] / closures})
        print(rows[-1], flush=True)
    return rows


def latency(store: ProxiedStore) -> dict[str, Any]:
    """A batch against its closures one by one, every request delayed."""
    dataset = vf.open(store.uri("fast"), store.proxied)
    requests = batch_of(dataset, 2)
    store.faults(delay=DELAY)
    cold = seen(store, partial(dataset.read_batch, requests))
    warm = seen(store, partial(dataset.read_batch, requests))

    def singly() -> None:
        for request in requests:
            dataset.read_batch([request])

    single = seen(store, singly)
    store.faults(delay=0.0)
    result = {"delay": DELAY, "batch_cold": cold, "batch_cached": warm, "one_by_one": single}
    print(result, flush=True)
    return {**result, "cold_share": cold["seconds"] / single["seconds"]}


class WholeFiles:
    """Fetches an episode's file and decodes some frames of it, from memory."""

    def __init__(self, files: Any, keys: dict[int, str]) -> None:
        self._files, self._keys = files, keys
        self.seconds: dict[str, float] = {}  # of the last read, by stage
        self.decoder = "torchcodec" if "torchcodec" in PEERS else "PyAV"

    def fetch(self, episode: int) -> bytes:
        with self._files.open_input_file(self._keys[episode]) as stream:
            data: bytes = stream.read()
        return data

    def read(self, episode: int, frames: list[int]) -> Any:
        begin = time.perf_counter()
        data = self.fetch(episode)
        middle = time.perf_counter()
        found = self._decode(data, frames)
        self.seconds = {"fetch": middle - begin, "decode": time.perf_counter() - middle}
        return found

    def _decode(self, data: bytes, frames: list[int]) -> Any:
        if self.decoder == "PyAV":
            return np.stack(OpenFile(io.BytesIO(data)).read(frames))
        from torchcodec.decoders import VideoDecoder  # noqa: PLC0415 - measured where installed

        # Approximate seeking needs no pass over the file first, and is exact at a constant rate.
        decoder = VideoDecoder(
            data, dimension_order="NHWC", num_ffmpeg_threads=1, seek_mode="approximate"
        )
        return decoder.get_frames_at(frames).data.numpy()


def windows_of(lengths: list[int], count: int) -> list[tuple[int, list[int]]]:
    rng = random.Random(3)
    found = []
    for number in range(count):
        episode = number % len(lengths)
        start = rng.randrange(lengths[episode] - WINDOW + 1)
        found.append((episode, list(range(start, start + WINDOW))))
    return found


def line_rate(store: NarrowStore) -> float:
    """MiB a second of one large object."""
    seconds, _ = store.cost(
        lambda: store.files.open_input_file(f"{store.store.bucket}/large").read()
    )
    return LARGE / MIB / seconds


def bandwidth(store: NarrowStore, forms: Path, count: int) -> dict[str, Any]:
    """Windows of ten a second, all readers in turn for every window, at each rate."""
    bucket = store.store.bucket
    upload(store.uploads, bucket, forms / "fast", "fast")
    whole = WholeFiles(store.files, upload_episodes(store.uploads, bucket, forms))
    with store.uploads.open_output_stream(f"{bucket}/large") as stream:
        stream.write(random.Random(0).randbytes(LARGE))
    uri = store.store.uri("fast")
    cold = vf.open(uri, store.storage_options, options=vf.ReadOptions(index_cache_bytes=0))
    warm = vf.open(uri, store.storage_options)
    lengths = warm.episodes.column("length").to_pylist()
    windows = windows_of(lengths, count)
    camera = warm.cameras[0]
    readers: dict[str, Callable[[int, list[int]], Any]] = {
        "ddra": lambda episode, frames: cold.read_frames(episode, camera, frames),
        "ddra_indexes_cached": lambda episode, frames: warm.read_frames(episode, camera, frames),
        "whole_file": whole.read,
    }
    stages: dict[str, Callable[[], dict[str, float]]] = {
        "ddra": lambda: cold.last_read.seconds if cold.last_read else {},
        "ddra_indexes_cached": lambda: warm.last_read.seconds if warm.last_read else {},
        "whole_file": lambda: whole.seconds,
    }
    rows = []
    for rate in RATES:
        store.limit(rate * MIB)
        # Decoders, indexes and connections are there, and where an episode's media lies, which is looked
        # up when it is read again; whole files know the same from the start.
        for window in windows[: 2 * len(lengths)]:
            for read in readers.values():
                read(*window)
        costs: dict[str, list[tuple[float, int]]] = {name: [] for name in readers}
        spent: dict[str, Counter[str]] = {name: Counter() for name in readers}
        for number, window in enumerate(windows):
            names = list(readers)
            shift = number % len(names)
            for name in names[shift:] + names[:shift]:
                costs[name].append(store.cost(partial(readers[name], *window)))
                spent[name].update(
                    {stage: value * 1e3 / count for stage, value in stages[name]().items()}
                )
        row: dict[str, Any] = {"mib_per_second": rate, "measured": line_rate(store)}
        for name, items in costs.items():
            row[name] = {
                "windows_per_second": 1 / statistics.mean(seconds for seconds, _ in items),
                "ms_median": statistics.median(seconds for seconds, _ in items) * 1e3,
                "bytes": statistics.mean(size for _, size in items),
                "stages_ms": dict(spent[name]),
            }
        for name in ("ddra", "ddra_indexes_cached"):
            row[f"{name}_ratio"] = (
                row[name]["windows_per_second"] / row["whole_file"]["windows_per_second"]
            )
        rows.append(row)
        print(row, flush=True)
    store.limit(0)
    return {"means": store.means, "decoder_of_whole_files": whole.decoder, "rates": rows}


def markdown(result: dict[str, Any]) -> str:
    """The three parts as tables."""
    lines = [
        (
            "| ranges joined within | Lance's calls: takes, range reads | closures, kB "
            "| cold: requests, kB | indexes cached: requests, kB | kB / closures |"
        ),
        "|---|---|---|---|---|---|",
    ]
    for row in result["batches"]:
        cold, warm = row["cold"], row["warm"]
        lines.append(
            f"| {row['gap_kib']} KiB | {row['takes']}, {row['range_reads']} "
            f"| {row['closures'] / 1e3:.0f} | {cold['requests']}, {cold['bytes'] / 1e3:.0f} "
            f"| {warm['requests']}, {warm['bytes'] / 1e3:.0f} | {row['warm_ratio']:.2f} |"
        )
    lines += [
        "",
        "| 20 ms added to every request | requests | round trips | seconds |",
        "|---|---|---|---|",
    ]
    for key, title in (
        ("batch_cold", "the batch"),
        ("batch_cached", "the batch, indexes cached"),
        ("one_by_one", "its frames one by one, indexes cached"),
    ):
        cost = result["latency"][key]
        lines.append(
            f"| {title} | {cost['requests']} | {cost['round_trips']} | {cost['seconds']:.2f} |"
        )
    lines += [
        "",
        (
            "| MiB/s (one large object) | whole AV1 file: windows/s, kB | DDRA: windows/s, kB "
            "| DDRA, indexes cached: windows/s, kB | ratio | ratio, cached |"
        ),
        "|---|---|---|---|---|---|",
    ]
    for row in result["bandwidth"]["rates"]:
        cells = [
            f"{row[name]['windows_per_second']:.1f}, {row[name]['bytes'] / 1e3:.0f}"
            for name in ("whole_file", "ddra", "ddra_indexes_cached")
        ]
        lines.append(
            f"| {row['mib_per_second']} ({row['measured']:.0f}) | {' | '.join(cells)} | {row['ddra_ratio']:.1f} "
            f"| {row['ddra_indexes_cached_ratio']:.1f} |"
        )
    lines += ["", stages_of(result["bandwidth"]["rates"][-1])]
    return "\n".join(lines)


def stages_of(row: dict[str, Any]) -> str:
    """Where a window's time goes on the widest line, in a sentence."""
    titles = {
        "whole_file": "whole file",
        "ddra": "DDRA",
        "ddra_indexes_cached": "DDRA, indexes cached",
    }
    said = [
        f"{title}: "
        + ", ".join(f"{stage} {ms:.1f}" for stage, ms in row[name]["stages_ms"].items())
        for name, title in titles.items()
    ]
    return (
        f"Of a window at {row['mib_per_second']} MiB/s, milliseconds by stage: {'; '.join(said)}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--forms", type=Path, required=True)
    parser.add_argument("--windows", type=int, default=70)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result: dict[str, Any] = {"machine": describe()}
    with served() as store:
        files = file_system(store.store, f"127.0.0.1:{store.store.port}")
        upload(files, store.store.bucket, options.forms / "fast", "fast")
        result |= {"batches": batches(store), "latency": latency(store)}
    with narrowed() as line:
        result["bandwidth"] = bandwidth(line, options.forms, options.windows)
    text = f"{markdown(result)}\n\nThe line: {result['bandwidth']['means']}. {sentence()}. "
    text += "Made by `tools/bench/store_reads.py`."
    print(text)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")
        options.json.with_suffix(".md").write_text(text + "\n")


if __name__ == "__main__":
    main()
