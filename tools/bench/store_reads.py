"""Reading from an object store: requests, bytes, round trips, and what a narrow line leaves.

    python tools/bench/store_reads.py --forms FOLDER [--json OUT]

FOLDER is what `tools/bench/patterns.py --prepare` makes. DDRA `fast` and the source's episodes (AV1 g=2,
a file each) lie in a local S3 server, behind a proxy that counts, waits or narrows the line, in a process
of its own. Three parts:

1. A batch of 64 random frames over all episodes, indexes not cached and cached, by how close ranges are
   that one request joins (`ReadOptions.gap_bytes`): what the server saw, against the closures' bytes.
2. The same batch with 20 ms added to every request, against its frames one by one; `round trips` is the
   longest chain of requests of which each was sent after the one before was answered.
3. Ten frames in a row of random episodes at 50, 100 and 200 MiB a second: DDRA by ranges, with each
   episode's index fetched anew and with indexes cached, and the whole AV1 file fetched and its frames
   decoded from memory. One request at a time, one thread.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.fs
from machine import describe, sentence
from peers import PEERS, EpisodeVideo
from stores import ProxiedStore, served

import videoformat as vf

MIB = 2**20
BATCH, WINDOW = 64, 10
DELAY = 0.02
GAPS = (4, 16, 64)
RATES = (50, 100, 200)

Request = tuple[int, str, int]


def upload(store: ProxiedStore, forms: Path) -> dict[int, str]:
    """Puts the dataset and the source's episodes into the bucket; the files' keys."""
    files = file_system(store, store.store.port)
    local = pyarrow.fs.LocalFileSystem()
    bucket = store.store.bucket
    pyarrow.fs.copy_files(
        str(forms / "fast"), f"{bucket}/fast", source_filesystem=local, destination_filesystem=files
    )
    keys = {}
    vf.export(forms / "native", forms / "episodes", to="mp4")
    for number, path in enumerate(sorted((forms / "episodes").rglob("*.mp4"))):
        keys[number] = f"{bucket}/episodes/{path.name}"
        with files.open_output_stream(keys[number]) as stream:
            stream.write(path.read_bytes())
    return keys


def file_system(store: ProxiedStore, port: int) -> Any:
    return pyarrow.fs.S3FileSystem(
        access_key=store.store.access_key,
        secret_key=store.store.secret_key,
        endpoint_override=f"127.0.0.1:{port}",
        scheme="http",
        region="us-east-1",
    )


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


def whole_file(
    files: Any, keys: dict[int, str], folder: Path, episode: int, frames: list[int]
) -> None:
    """Fetches an episode's file and decodes some frames of it."""
    with files.open_input_file(keys[episode]) as stream:
        data = stream.read()
    path = folder / "fetched.mp4"
    path.write_bytes(data)
    name = "torchcodec" if "torchcodec" in PEERS else "PyAV"
    PEERS[name]({0: EpisodeVideo(path, 0, 0)}).read(0, frames)


def bandwidth(
    store: ProxiedStore, keys: dict[int, str], folder: Path, count: int
) -> list[dict[str, Any]]:
    """Windows of ten a second, all readers in turn for every window, at each rate."""
    uri, files = store.uri("fast"), file_system(store, store.proxy_port)
    cold = vf.open(uri, store.proxied, options=vf.ReadOptions(index_cache_bytes=0))
    warm = vf.open(uri, store.proxied)
    lengths = warm.episodes.column("length").to_pylist()
    rng = random.Random(3)
    windows = []
    for number in range(count):
        episode = number % len(lengths)
        start = rng.randrange(lengths[episode] - WINDOW + 1)
        windows.append((episode, list(range(start, start + WINDOW))))
    camera = warm.cameras[0]
    readers: dict[str, Callable[[int, list[int]], Any]] = {
        "ddra": lambda episode, frames: cold.read_frames(episode, camera, frames),
        "ddra_indexes_cached": lambda episode, frames: warm.read_frames(episode, camera, frames),
        "whole_file": partial(whole_file, files, keys, folder),
    }
    for read in readers.values():
        for window in windows[: len(lengths)]:
            read(*window)
    rows = []
    for rate in RATES:
        store.faults(bandwidth=rate * MIB)
        seconds: dict[str, list[float]] = {name: [] for name in readers}
        fetched = dict.fromkeys(readers, 0.0)
        for window in windows:
            for name, read in readers.items():
                cost = seen(store, partial(read, *window))
                seconds[name].append(cost["seconds"])
                fetched[name] += cost["bytes"] / count
        row: dict[str, Any] = {"mib_per_second": rate}
        for name in readers:
            row[name] = {
                "windows_per_second": 1 / statistics.mean(seconds[name]),
                "ms_median": statistics.median(seconds[name]) * 1e3,
                "bytes": fetched[name],
            }
        for name in ("ddra", "ddra_indexes_cached"):
            row[f"{name}_ratio"] = (
                row[name]["windows_per_second"] / row["whole_file"]["windows_per_second"]
            )
        rows.append(row)
        print(row, flush=True)
    store.faults(bandwidth=0.0)
    return rows


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
            "| MiB/s | whole AV1 file: windows/s, kB | DDRA: windows/s, kB "
            "| DDRA, indexes cached: windows/s, kB | ratio | ratio, cached |"
        ),
        "|---|---|---|---|---|---|",
    ]
    for row in result["bandwidth"]:
        cells = [
            f"{row[name]['windows_per_second']:.1f}, {row[name]['bytes'] / 1e3:.0f}"
            for name in ("whole_file", "ddra", "ddra_indexes_cached")
        ]
        lines.append(
            f"| {row['mib_per_second']} | {' | '.join(cells)} | {row['ddra_ratio']:.1f} "
            f"| {row['ddra_indexes_cached_ratio']:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--forms", type=Path, required=True)
    parser.add_argument("--windows", type=int, default=70)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with served() as store:
        keys = upload(store, options.forms)
        result = {
            "machine": describe(),
            "decoder_of_whole_files": "torchcodec" if "torchcodec" in PEERS else "PyAV",
            "batches": batches(store),
            "latency": latency(store),
            "bandwidth": bandwidth(store, keys, options.forms, options.windows),
        }
    text = f"{markdown(result)}\n\n{sentence()}. Made by `tools/bench/store_reads.py`."
    print(text)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")
        options.json.with_suffix(".md").write_text(text + "\n")


if __name__ == "__main__":
    main()
