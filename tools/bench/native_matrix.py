"""What native reading saves, by encoder settings: pictures, bytes and milliseconds a request.

Every setting of tools/coded_video is encoded, converted as it is, and asked for random frames: one,
one to eight, windows of ten, every 30th. Each request is decoded in sequence from the random access
point before it, as a player does it, and as planned; both are compared with a sequential decode of
the source. One thread, media in memory, rewriting of headers included, conversion to RGB not.

    python tools/bench/native_matrix.py [--frames 150] [--size 320x240] [--requests 40] [--only TEXT]
        [--out tools/bench/results/native_matrix]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("SVT_LOG", "1")

import av
from coded_video.encode import write_video
from coded_video.settings import SETTINGS, Setting
from machine import describe, sentence

import videoformat as vf
from videoformat.index.plan import ChunkPlan, plan_in_sequence
from videoformat.media.digest import picture_digest
from videoformat.reading import ChunkRead, ReadReport

if TYPE_CHECKING:
    from videoformat.media.decoder import DecodedPicture

ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Cost:
    """An average request."""

    pictures: float
    kilobytes: float
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Line:
    """One setting. ``rewritten`` is the share of groups whose headers are rewritten."""

    name: str
    frames: int
    bytes_per_frame: int
    access: str
    sequential: Cost
    planned: Cost
    rewritten: float


class Measured:
    """One stored stream, with its media in memory."""

    def __init__(self, path: Path, folder: Path) -> None:
        vf.convert(path, folder, video="native", workers=1)
        self.dataset = vf.open(folder)
        (self.camera,) = self.dataset.cameras
        with av.open(str(path)) as container:
            self.expected = [picture_digest(frame) for frame in container.decode(video=0)]
        (self.chunk,) = self.dataset.plan([(0, self.camera, 0)]).chunks
        whole = replace(self.dataset.plan([(0, self.camera, 0)]), chunks=(self._everything(),))
        self.parts = self.dataset._reader.fetch(whole, ReadReport())[0]  # noqa: SLF001

    def _everything(self) -> ChunkRead:
        index = self.chunk.index
        return replace(self.chunk, plan=plan_in_sequence(index, index.position_of))

    def media(self, plan: ChunkPlan) -> list[bytes]:
        """The bytes of a plan's ranges, cut from those that hold everything."""
        held = self._everything().plan.ranges
        found = []
        for item in plan.ranges:
            for place, data in zip(held, self.parts, strict=True):
                if place.start <= item.start and item.end <= place.end:
                    found.append(data[item.start - place.start : item.end - place.start])
        return found

    def decode(self, plan: ChunkPlan, parts: list[bytes]) -> list[tuple[int, DecodedPicture]]:
        """The wanted frames."""
        chunk = replace(self.chunk, plan=plan)
        return list(self.dataset._reader.decode(chunk, parts, ReadReport()))  # noqa: SLF001

    def check(self, plan: ChunkPlan, parts: list[bytes]) -> None:
        """Raises where a frame is not that of the source."""
        for frame, picture in self.decode(plan, parts):
            if picture_digest(picture) != self.expected[frame]:
                raise AssertionError(f"frame {frame} differs")


def requests_of(length: int, count: int, rng: random.Random) -> list[list[int]]:
    """As many requests of each kind."""
    found = []
    for _ in range(count // 4):
        found.append([rng.randrange(length)])
        found.append(sorted({rng.randrange(length) for _ in range(rng.randint(1, 8))}))
        start = rng.randrange(max(1, length - 9))
        found.append(list(range(start, min(length, start + 10))))
        found.append(list(range(rng.randrange(min(length, 30)), length, 30)))
    return found


def measure(name: str, setting: Setting, options: argparse.Namespace, folder: Path) -> Line:
    """Encodes, checks and times one setting."""
    path = folder / f"clip{setting.suffix}"
    write_video(path, setting, options.frames, options.size)
    stored = Measured(path, folder / "d")
    index = stored.chunk.index
    wanted = requests_of(len(stored.expected), options.requests, random.Random(name))
    pairs = []
    for frames in wanted:
        planned = stored.dataset.plan([(0, stored.camera, at) for at in frames]).chunks[0].plan
        pair = [(plan, stored.media(plan)) for plan in (plan_in_sequence(index, frames), planned)]
        for plan, parts in pair:
            stored.check(plan, parts)
        pairs.append(pair)
    groups = [group for pair in pairs for group in pair[1][0].steps]
    return Line(
        name=name,
        frames=len(stored.expected),
        bytes_per_frame=sum(index.size) // len(stored.expected),
        access=index.stream.access,
        sequential=_cost(stored, [pair[0] for pair in pairs]),
        planned=_cost(stored, [pair[1] for pair in pairs]),
        rewritten=sum(group.is_rewritten for group in groups) / len(groups),
    )


def _cost(stored: Measured, plans: Sequence[tuple[ChunkPlan, list[bytes]]]) -> Cost:
    total = 0.0
    for plan, parts in plans:
        best = float("inf")
        for _ in range(ROUNDS):
            begin = time.process_time()
            stored.decode(plan, parts)
            best = min(best, time.process_time() - begin)
        total += best
    count = len(plans)
    return Cost(
        sum(plan.picture_count for plan, _ in plans) / count,
        sum(plan.byte_count for plan, _ in plans) / count / 1000,
        1000 * total / count,
    )


def table(lines: Sequence[Line]) -> str:
    """Markdown: an average request in sequence, as planned, and how much of it is left."""
    rows = [
        (
            "| setting | bytes a frame | access | in sequence: pictures, kB, ms | planned: pictures, kB, ms "
            "| left of the time | rewritten |"
        ),
        "|---|--:|---|--:|--:|--:|--:|",
    ]
    for line in lines:
        a, b = line.sequential, line.planned
        rows.append(
            f"| {line.name} | {line.bytes_per_frame} | {line.access} "
            f"| {a.pictures:.1f}, {a.kilobytes:.1f}, {a.milliseconds:.2f} "
            f"| {b.pictures:.1f}, {b.kilobytes:.1f}, {b.milliseconds:.2f} "
            f"| {b.milliseconds / a.milliseconds:.2f} | {line.rewritten:.0%} |"
        )
    return "\n".join(rows)


def _size(text: str) -> tuple[int, int]:
    width, height = text.split("x")
    return int(width), int(height)


def main() -> None:
    """Measures every setting and writes the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--frames", type=int, default=150)
    parser.add_argument("--size", type=_size, default=(320, 240))
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = []
    for name, setting in SETTINGS.items():
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            lines.append(measure(name, setting, options, Path(folder)))
        print(table(lines[-1:]).rsplit("\n", maxsplit=1)[-1], flush=True)
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        width, height = options.size
        text = (
            "# Native reading by encoder settings\n\n"
            f"{len(lines)} settings, {options.frames} frames of {width}x{height}, "
            f"{options.requests} requests each (one frame, one to eight, windows of ten, every "
            "30th, in equal parts); every frame of every request equals the source's sequential "
            "decode. CPU milliseconds of one thread, the best of three.\n\n"
            f"{sentence()}. Made by `tools/bench/native_matrix.py`.\n\n{table(lines)}\n"
        )
        options.out.with_suffix(".md").write_text(text)
        facts = {"machine": describe(), "lines": [asdict(line) for line in lines]}
        options.out.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
