#!/usr/bin/env python3
"""Reads a converted dataset back beside its LeRobot source: sizes, times, identity, a picture.

``tools/demo_report.py SOURCE DATASET SHEET``, where SOURCE is what ``tools/make_lerobot.py`` wrote
as v3.0, DATASET what ``videoformat convert`` made of it, and SHEET the PNG to write.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow.parquet as pq
from make_lerobot import read_burnt_in
from numpy.typing import NDArray
from PIL import Image, ImageDraw

import videoformat as vf

Frames = NDArray[Any]  # uint8 [frames, height, width, 3]
Request = tuple[int, str, list[int]]  # episode, camera, frames
Read = Callable[[int, str, list[int]], Frames]

_REPEATS = 15


class SourceVideos:
    """Frames of a LeRobot v3.0 dataset, read with PyAV: open, seek to a key frame, decode on."""

    def __init__(self, root: Path) -> None:
        self._root = root
        tables = sorted((root / "meta/episodes").rglob("*.parquet"))
        self._episodes = [row for path in tables for row in pq.read_table(path).to_pylist()]

    def files(self) -> list[Path]:
        return sorted((self._root / "videos").rglob("*.mp4"))

    def read(self, episode: int, camera: str, indices: list[int]) -> Frames:
        row = self._episodes[episode]
        chunk, file = (row[f"videos/{camera}/{name}_index"] for name in ("chunk", "file"))
        path = self._root / f"videos/{camera}/chunk-{chunk:03d}/file-{file:03d}.mp4"
        found: dict[int, Frames] = {}
        with av.open(path) as container:
            stream = container.streams.video[0]
            assert stream.time_base is not None
            assert stream.average_rate is not None
            ticks = round(1 / (stream.time_base * stream.average_rate))
            first = round(row[f"videos/{camera}/from_timestamp"] * stream.average_rate)
            wanted = {(first + index) * ticks: index for index in indices}
            for pts in sorted(wanted):
                if wanted[pts] in found:
                    continue
                container.seek(pts, stream=stream)
                for frame in container.decode(stream):
                    if frame.pts in wanted:
                        found[wanted[frame.pts]] = frame.to_ndarray(format="rgb24")
                    if frame.pts is None or frame.pts >= pts:
                        break
        return np.stack([found[index] for index in indices])


def _patterns(dataset: vf.Dataset) -> dict[str, list[Request]]:
    """The ways that training asks for frames, each at the same drawn places for every reader."""
    draw = random.Random("patterns")
    lengths: list[int] = dataset.episodes["length"].to_pylist()

    def requests(count: int, stride: int | None) -> list[Request]:
        drawn = []
        for _ in range(_REPEATS):
            episode, camera = draw.randrange(len(lengths)), draw.choice(dataset.cameras)
            if stride is None:
                indices = sorted(draw.sample(range(lengths[episode]), count))
            else:
                start = draw.randrange(lengths[episode] - stride * (count - 1))
                indices = [start + stride * step for step in range(count)]
            drawn.append((episode, camera, indices))
        return drawn

    return {
        "one frame, anywhere": requests(1, 1),
        "a window of 10": requests(10, 1),
        "10 frames, 5 apart": requests(10, 5),
        "10 frames, anywhere": requests(10, None),
    }


def _milliseconds_a_frame(read: Read, requests: Sequence[Request]) -> float:
    read(*requests[0])
    times = []
    for request in requests:
        start = time.perf_counter()
        frames = read(*request)
        times.append((time.perf_counter() - start) / len(frames))
    return 1000 * statistics.median(times)


def report_sizes(source: SourceVideos, dataset: vf.Dataset) -> None:
    frames = dataset.num_frames * len(dataset.cameras)
    before = sum(path.stat().st_size for path in source.files())
    after = 0
    for episode in range(dataset.num_episodes):
        for camera in dataset.cameras:
            after += sum(dataset.pictures(episode, camera)["size"].to_pylist())
    print(f"{'video of ' + str(frames) + ' frames':24}{'bytes':>14}{'a frame':>10}")
    print(f"{'  source':24}{before:14,}{before / frames:10,.0f}")
    print(f"{'  converted':24}{after:14,}{after / frames:10,.0f}   {after / before:.2f} of it")


def report_times(source: SourceVideos, dataset: vf.Dataset) -> None:
    print(f"\n{'':24}{'pictures':>9}{'kB':>8}{'ms':>8}   {'ms, source with PyAV':>20}")
    for name, requests in _patterns(dataset).items():
        plans = [
            dataset.plan([(episode, camera, index) for index in indices])
            for episode, camera, indices in requests
        ]
        frames = sum(len(indices) for _, _, indices in requests)
        pictures = sum(plan.picture_count for plan in plans) / frames
        kilobytes = sum(plan.byte_count for plan in plans) / frames / 1000
        ours = _milliseconds_a_frame(dataset.read_frames, requests)
        theirs = _milliseconds_a_frame(source.read, requests)
        print(f"{name:24}{pictures:9.2f}{kilobytes:8.1f}{ours:8.2f}   {theirs:20.2f}")
    print("a frame each: pictures decoded, bytes fetched, median time to RGB")


def report_identity(source: SourceVideos, dataset: vf.Dataset) -> None:
    """Compares every frame that is read back with the source's by its burnt-in number and pixels."""
    same, total, worst = 0, 0, float("inf")
    for episode, length in enumerate(dataset.episodes["length"].to_pylist()):
        indices = list(range(length))
        for camera in dataset.cameras:
            pairs = zip(
                source.read(episode, camera, indices),
                dataset.read_frames(episode, camera, indices),
                strict=True,
            )
            for one, other in pairs:
                same += read_burnt_in(one) == read_burnt_in(other)
                error = np.mean((one.astype(np.float32) - other) ** 2)
                worst = min(worst, 10 * np.log10(255**2 / max(error, 1e-9)))
            total += length
    print(f"\n{same} of {total} frames carry the number that the same frame of the source carries;")
    print(f"the one that differs most from the source's is at {worst:.1f} dB (PSNR, RGB)")


def write_sheet(path: Path, source: SourceVideos, dataset: vf.Dataset) -> None:
    """A row for each camera of the first two episodes as read back, below it one as in the source."""
    columns, margin, caption, width = 5, 6, 18, 256
    rows = []
    for episode, length in enumerate(dataset.episodes["length"].to_pylist()[:2]):
        for camera in dataset.cameras:
            indices = [round(step * (length - 1) / (columns - 1)) for step in range(columns)]
            for name, read in (("read back", dataset.read_frames), ("source", source.read)):
                images = [Image.fromarray(frame) for frame in read(episode, camera, indices)]
                height = round(images[0].height * width / images[0].width)
                images = [image.resize((width, height)) for image in images]
                texts = [f"{camera.rpartition('.')[2]}, episode {episode}, {name}"]
                texts += [f"frame {index}" for index in indices]
                rows.append((texts, images))
    cell = (width + margin, rows[0][1][0].height + caption + margin)
    sheet = Image.new("RGB", (columns * cell[0] + margin, len(rows) * cell[1] + margin), "white")
    draw = ImageDraw.Draw(sheet)
    for down, (texts, images) in enumerate(rows):
        y = margin + down * cell[1]
        for across, image in enumerate(images):
            x = margin + across * cell[0]
            text = texts[across + 1] if across else f"{texts[0]}: {texts[1]}"
            draw.text((x, y), text, fill="black")
            sheet.paste(image, (x, y + caption))
    sheet.save(path)
    print(f"\n{path}: {sheet.width}x{sheet.height}, a picture to look at")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("source", type=Path)
    parser.add_argument("dataset")
    parser.add_argument("sheet", type=Path)
    args = parser.parse_args(arguments)
    source, dataset = SourceVideos(args.source), vf.open(args.dataset)
    report_sizes(source, dataset)
    report_times(source, dataset)
    report_identity(source, dataset)
    write_sheet(args.sheet, source, dataset)
    return 0


if __name__ == "__main__":
    sys.exit(main())
