"""Would a second level of prediction make stars smaller? An experiment, which builds no format.

    python tools/bench/star_two_levels.py --shared FOLDER [--clips g1,top,…] [--frames 64] [--out FOLDER]

One level: intervals that follow the content, each with an intra anchor, frames from it alone. Two levels:
an intra *root* in the middle of every so many frames, an anchor predicted from it in the middle of each
interval, frames from both; where the root is the nearest anchor, frames are predicted from it alone. A
closure then has three pictures, one of them intra.

The stock encoder (SVT-AV1) makes both of groups with a key frame each: (anchor, frame), and (root, frame,
anchor), which it codes in the order root, anchor, frame. Every repeated root and anchor would have to come
out the same; how many did not is counted. Each counts once. Both levels have the same preset and settings. Per clip, at one luma PSNR (the
middle of what one level gives at two rate factors; the rest by interpolation): bytes a frame, bytes and
CPU time of the closure of a random frame at the finer rate factor; beside them HEVC DDRA. Writes
FOLDER/star_two_levels.md.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import av
import numpy as np
from machine import sentence
from star import CLIPS, ROOT
from star_encodings import RATE, Clip, Encoding, read_clip, structured

from videoformat.bitstream.av1_obu import ObuType, iterate_obus
from videoformat.bitstream.codecs import make_indexer
from videoformat.media.color import luma
from videoformat.media.decoder import ClosureDecoder
from videoformat.media.gop import DDRA
from videoformat.media.intervals import IntervalPlanner, distances
from videoformat.media.pairs import GroupEncoder
from videoformat.media.probe import PredictionProbe
from videoformat.media.star import Star

PRESET = "8"
CRFS = (24, 36)
# Frames around a root, and frames of an interval.
LEVELS = ((16, 4), (32, 4), (32, 8))
# How much finer than frames: a key frame, an anchor that is predicted.
_ONE, _TWO = (-28, 0), (-48, -20)
_PARAMETERS = (
    "enable-tf=0:scd=0:aq-mode=0:enable-tpl-la=0:lp=1:scm=0:use-fixed-qindex-offsets=1:"
    "key-frame-qindex-offset={}:qindex-offsets=[{},0,0,0,0,0]"
)


@dataclass(frozen=True, slots=True)
class Made:
    """What a structure takes: bytes and PSNR of all pictures, and closures to be decoded.

    Of ``repeated`` copies of roots and anchors, so many were ``differing`` from the first.
    """

    bytes_per_frame: float
    psnr: float
    closures: tuple[tuple[bytes, ...], ...]
    repeated: int = 0
    differing: int = 0

    @property
    def cold_bytes(self) -> float:
        """Bytes of a random frame's closure on average."""
        return float(np.mean([sum(map(len, closure)) for closure in self.closures]))


Group = tuple[int, ...]


def one_level(clip: Clip, crf: int) -> list[Group]:
    """Groups (anchor, frame) with the intervals that stars have."""
    structure = Star(crf=crf)
    bound = structure.interval
    probe = PredictionProbe(
        clip.size, clip.color, RATE, structure.probe_quantiser, distances(bound)
    )
    planner = IntervalPlanner(bound, structure.settings.anchor_cost)
    count, at, given = len(clip.pictures), 0, 0
    groups: list[Group] = []
    while at < count:
        ahead = min(count, at + structure.interval)
        for picture in clip.pictures[given:ahead]:
            planner.add(probe.measure(picture))
        given = ahead
        chosen = planner.choose(leads=False, is_all=given == count)
        anchor = at + chosen.anchor
        others = [frame for frame in range(at, at + chosen.count) if frame != anchor]
        groups += [(anchor, frame) for frame in others or [anchor]]
        at += chosen.count
    return groups


def two_levels(frames: int, around: int, interval: int) -> list[Group]:
    """Groups (root, frame, anchor), and (root, frame) where the root is the nearest anchor."""
    groups: list[Group] = []
    for start in range(0, frames, around):
        end = min(frames, start + around)
        first = range(start, end, interval)
        middles = [min(at + interval // 2, (at + min(end, at + interval)) // 2) for at in first]
        root = middles[len(middles) // 2]
        for frame in range(start, end):
            anchor = middles[(frame - start) // interval]
            if frame == root:
                continue
            if anchor == root:
                groups.append((root, frame))
            elif frame != anchor:
                groups.append((root, frame, anchor))
    return groups


@dataclass(frozen=True, slots=True)
class Shown:
    """One frame of a group: its own bytes, and what a decoder is fed to show it last."""

    frame: int
    size: int
    closure: tuple[bytes, ...]


def encoded(
    clip: Clip, groups: Sequence[Group], crf: int, offsets: tuple[int, int]
) -> list[tuple[tuple[bytes, ...], list[Shown]]]:
    """Groups of one length, coded: their packets, and their frames in presentation order."""
    size = len(groups[0])
    options = {
        "preset": PRESET, "crf": str(crf), "svtav1-params": _PARAMETERS.format(*offsets)
    }  # fmt: skip
    encoder: GroupEncoder[Group] = GroupEncoder(
        "libsvtav1", options, clip.size, clip.color, RATE, size - 1
    )
    found = []
    for group in groups:
        found += encoder.push([clip.pictures[at] for at in group], group)
    found += encoder.finish()
    return [(tuple(packets), shown_by(group, tuple(packets))) for group, packets in found]


def shown_by(group: Group, packets: tuple[bytes, ...]) -> list[Shown]:
    """The frames of one group.

    An anchor that is predicted comes in one packet with the frame that precedes it, not shown; a
    third packet shows it.
    """
    check_references(packets)
    root = Shown(group[0], len(packets[0]), packets[:1])
    if len(group) == 2:
        return [root, Shown(group[1], len(packets[1]), packets)]
    anchor, frame = (
        packets[1][obu.start : obu.end]
        for obu in iterate_obus(packets[1])
        if obu.obu_type == ObuType.FRAME
    )
    return [
        root,
        Shown(group[1], len(frame), packets[:2]),
        Shown(group[2], len(anchor) + len(packets[2]), (packets[0], anchor, packets[2])),
    ]


def make(clip: Clip, groups: list[Group], crf: int, offsets: tuple[int, int]) -> Made:
    """All pictures, each counted once."""
    found: dict[int, tuple[Shown, bytes]] = {}
    total, squared, samples, repeated, differing = 0, 0.0, 0, 0, 0
    decoder = ClosureDecoder("av1", b"", "obu")
    for size in sorted({len(group) for group in groups}):
        of = [group for group in groups if len(group) == size]
        for packets, frames in encoded(clip, of, crf, offsets):
            for place, picture in decoder.decode_all(enumerate(packets)):
                one, plane = frames[place], luma(picture)
                if place and one.frame == frames[0].frame:
                    continue  # an anchor without others stands in for them
                known = found.setdefault(one.frame, (one, plane.tobytes()))
                if known[0] is not one:
                    differing += known[1] != plane.tobytes()
                    repeated += 1
                    continue
                total += one.size
                difference = plane.astype(np.float32) - luma(clip.pictures[one.frame])
                squared += float(np.square(difference).sum(dtype=np.float64))
                samples += difference.size
    if sorted(found) != list(range(len(clip.pictures))):
        raise SystemExit(f"{clip.name}: {len(found)} of {len(clip.pictures)} frames came out")
    psnr = float(10 * np.log10(255**2 * samples / squared))
    closures = tuple(found[at][0].closure for at in sorted(found))
    return Made(total / len(clip.pictures), psnr, closures, repeated, differing)


def check_references(packets: Sequence[bytes]) -> None:
    """Each picture references all that are before it in its group, and the first is intra."""
    indexer = make_indexer("av1", b"")
    pictures = [picture for packet in packets for picture in indexer.push(packet)]
    references = [set(picture.references) for picture in pictures if picture.references]
    wanted = [set(range(place)) for place in range(1, len(packets))]
    if references[: len(wanted)] != wanted:
        raise SystemExit(f"the pictures of a group reference {references}, expected {wanted}")


def of_hevc(item: Encoding) -> Made:
    """An encoding of the project's own, with its closures."""
    closures = tuple(
        tuple(item.units[at] for at in item.closure(frame)) for frame in sorted(item.frames)
    )
    return Made(item.bytes_per_frame, item.psnr, closures)


def decode_ms(made: Made, decoder: ClosureDecoder) -> float:
    """CPU milliseconds a closure, the least of three rounds."""
    best = [float("inf")] * len(made.closures)
    for _ in range(3):
        for at, closure in enumerate(made.closures):
            begin = time.process_time()
            for _ in decoder.decode_all(enumerate(closure)):
                pass
            best[at] = min(best[at], time.process_time() - begin)
    return float(np.mean(best)) * 1e3


def at_psnr(pair: Sequence[Made], psnr: float, value: Callable[[Made], float]) -> float:
    """A value at a PSNR, on the line through the logarithms of two."""
    fine, coarse = pair
    low, high = np.log(value(coarse)), np.log(value(fine))
    return float(np.exp(low + (high - low) * (psnr - coarse.psnr) / (fine.psnr - coarse.psnr)))


def copies(pair: Sequence[Made]) -> str:
    """How many repeated pictures differ from their first copy, of how many."""
    repeated = sum(made.repeated for made in pair)
    return f"{sum(made.differing for made in pair)} of {repeated}" if repeated else "–"


def lines_of(name: str, shared: Path, frames: int) -> list[str]:
    """A clip's rows."""
    av.logging.set_level(av.logging.ERROR)
    clip = read_clip(name, shared / CLIPS[name][0], frames)
    av1: Any = ClosureDecoder("av1", b"", "obu")
    rows = {"AV1, one level": [make(clip, one_level(clip, crf), crf, _ONE) for crf in CRFS]}
    for around, interval in LEVELS:
        groups = two_levels(frames, around, interval)
        rows[f"AV1, two levels, {around} and {interval}"] = [
            make(clip, groups, crf, _TWO) for crf in CRFS
        ]
    items = {
        interval: [
            structured(clip, "", DDRA(profile="small", interval=interval, crf=crf))
            for crf in (22, 28)
        ]
        for interval in (8, 16)
    }
    rows |= {
        f"HEVC DDRA-{interval}": [of_hevc(i) for i in pair] for interval, pair in items.items()
    }
    base = rows["AV1, one level"]
    psnr = (base[0].psnr + base[1].psnr) / 2
    least = at_psnr(base, psnr, lambda made: made.bytes_per_frame)
    lines = []
    for label, pair in rows.items():
        decoder = av1
        if label.startswith("HEVC"):
            item = items[int(label.split("-")[1])][0]
            decoder = ClosureDecoder(item.codec, item.configuration, item.framing)
        size = at_psnr(pair, psnr, lambda made: made.bytes_per_frame)
        cold = at_psnr(pair, psnr, lambda made: made.cold_bytes)
        lines.append(
            f"| {name} | {label} | {psnr:.1f} | {size:.0f} | {size / least:.2f} | {cold / 1e3:.1f} | "
            f"{decode_ms(pair[0], decoder):.2f} | {copies(pair)} |"
        )
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--clips", default="left wrist,right wrist,g1,top,gr00t")
    parser.add_argument("--frames", type=int, default=64)
    parser.add_argument("--out", type=Path, default=ROOT / "tools/bench/results")
    options = parser.parse_args()
    lines = [
        (
            "| clip | structure | luma PSNR, dB | bytes/frame | of one level | cold frame, kB "
            "| its decoding, CPU ms | copies that differ |"
        ),
        "|---|---|---|---|---|---|---|---|",
    ]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        tasks = [
            pool.submit(lines_of, name, options.shared, options.frames)
            for name in options.clips.split(",")
        ]
        for task in tasks:
            lines += task.result()
    text = "\n".join(lines) + (
        f"\n\nSVT-AV1 preset {PRESET}, {options.frames} frames a clip. Two levels: frames around a root, and "
        f"frames of an interval. {sentence()}. Made by `tools/bench/star_two_levels.py`."
    )
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "star_two_levels.md").write_text(text + "\n")


if __name__ == "__main__":
    main()
