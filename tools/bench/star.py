"""Stars against HEVC DDRA and against AV1 with a key frame every second frame, at one quality.

    python tools/bench/star.py encode WORK --shared FOLDER [--clips g1,top,…] [--frames 120]
    python tools/bench/star.py time WORK [--clips g1,top,…] [--requests 40] [--rounds 5]
    python tools/bench/star.py speed WORK --shared FOLDER [--clips g1,top]
    python tools/bench/star.py table WORK [--out FOLDER]

FOLDER holds ``data/lerobot`` and ``data/sim``. `encode` makes every encoding, matched to the star's
luma PSNR within 0.2 dB, a clip a process, and keeps them in WORK. `time` measures cold random frames in CPU time
(which other work on the machine changes least), one thread, all encodings of a clip in turn for every
request: decoding a closure with a decoder that is reused; the
same to RGB; and torchcodec, where it is installed, on the AV1 g=2 encoding in an MP4, its decoder
warm. `speed` encodes 120 frames of each clip with every preset, on all cores, choosing of intervals
and proof included. `table` writes FOLDER/star.md and star.json and, between two markers, the ratios in
the README.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from machine import describe, sentence
from star_encodings import RATE, WITHIN_DB, Encoding, all_encodings, read_clip

from videoformat.media.color import RGB_COLOR, to_rgb
from videoformat.media.decoder import ClosureDecoder
from videoformat.media.mux import Mp4Muxer
from videoformat.media.star import STARS, Star
from videoformat.media.structures import make_encoder

ROOT = Path(__file__).resolve().parents[2]
FRAMES = 120
ROUNDS = 5
MARKERS = ("<!-- star:begin -->", "<!-- star:end -->")
_SIM = "data/sim/aloha_transfer_s0_{}.mkv"
_LEROBOT = "data/lerobot/{}/videos/chunk-000/{}/episode_000000.mp4"
CLIPS = {
    "g1": (_LEROBOT.format("g1_v21", "observation.images.cam_high"), "moving head"),
    "top": (_SIM.format("top"), "fixed"),
    "angle": (_SIM.format("angle"), "fixed"),
    "left wrist": (_SIM.format("left_wrist"), "wrist"),
    "right wrist": (_SIM.format("right_wrist"), "wrist"),
    "gr00t": (_LEROBOT.format("gr00t_v20", "observation.images.ego_view"), "moving head"),
}


@dataclass(slots=True)
class Row:
    """One encoding of one clip."""

    clip: str
    name: str
    crf: float
    psnr: float
    bytes_per_frame: float
    cold_bytes: float
    pictures: float
    decode_ms: float = 0.0
    rgb_ms: float = 0.0
    torchcodec_ms: float | None = None
    samples: dict[str, list[float]] = field(default_factory=dict)


def kept(work: Path, clip: str) -> Path:
    return work / f"{clip.replace(' ', '_')}.pickle"


def encode(work: Path, shared: Path, clips: list[str], frames: int) -> None:
    """Makes what is not there yet, as many clips at once as there are cores."""
    work.mkdir(parents=True, exist_ok=True)
    missing = [name for name in clips if not kept(work, name).exists()]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        tasks = [pool.submit(encode_clip, work, shared, name, frames) for name in missing]
        for task in tasks:
            task.result()


def encode_clip(work: Path, shared: Path, name: str, frames: int) -> None:
    """Makes all encodings of a clip."""
    clip = read_clip(name, shared / CLIPS[name][0], frames)
    begin = time.monotonic()

    def say(item: Encoding) -> None:
        print(
            f"{name}: {item.name} crf {item.crf:g}: {item.bytes_per_frame:.0f} bytes a frame, "
            f"{item.psnr:.2f} dB ({time.monotonic() - begin:.0f} s)",
            flush=True,
        )

    made = all_encodings(clip, say)
    # Written whole or not at all.
    part = kept(work, name).with_suffix(".part")
    part.write_bytes(pickle.dumps([asdict(item) for item in made]))
    part.rename(kept(work, name))


def load(work: Path, clip: str) -> list[Encoding]:
    return [Encoding(**item) for item in pickle.loads(kept(work, clip).read_bytes())]


def row_of(clip: str, item: Encoding) -> Row:
    closures = [len(item.closure(frame)) for frame in item.frames]
    return Row(
        clip, item.name, item.crf, item.psnr, item.bytes_per_frame, item.cold_bytes,
        statistics.mean(closures),
    )  # fmt: skip


class _TorchCodec:
    """The AV1 g=2 encoding in an MP4, read by torchcodec as LeRobot reads it."""

    def __init__(self, item: Encoding, folder: Path) -> None:
        from torchcodec.decoders import VideoDecoder  # noqa: PLC0415

        path = folder / f"{item.crf:g}.mp4"
        with Mp4Muxer(path, "av1", b"", item.units[0], Fraction(1, 15360)) as muxer:
            for at, unit in enumerate(item.units):
                muxer.add(unit, pts=at * 512, dts=at * 512, duration=512, is_sync=at % 2 == 0)
        self._decoder = VideoDecoder(str(path), seek_mode="exact", num_ffmpeg_threads=1)

    def read(self, frame: int) -> Any:
        """One frame, uint8."""
        return self._decoder.get_frames_at([frame]).data


def measure(clip: str, items: list[Encoding], count: int, rounds: int) -> list[Row]:
    """The least of ``rounds`` for every request, then the mean over requests."""
    rows = [row_of(clip, item) for item in items]
    decoders = [ClosureDecoder(item.codec, item.configuration, item.framing) for item in items]
    rng = random.Random(7)
    wanted = [rng.randrange(len(items[0].frames)) for _ in range(count)]
    best: dict[tuple[int, str, int], float] = {}

    def note(at: int, kind: str, number: int, begin: float) -> None:
        taken = (time.process_time() - begin) * 1e3
        key = (at, kind, number)
        best[key] = min(best.get(key, taken), taken)

    with tempfile.TemporaryDirectory() as folder:
        peers: dict[int, _TorchCodec] = {}
        for at, item in enumerate(items):
            if item.name == "AV1 g=2":
                try:
                    peers[at] = _TorchCodec(item, Path(folder))
                except ImportError:
                    print("torchcodec is not installed: its column stays empty")
        for _ in range(rounds):
            for number, frame in enumerate(wanted):
                for at, item in enumerate(items):
                    closed = item.closure(frame)
                    target = item.frames.index(frame)
                    packets = [(position, item.units[position]) for position in closed]
                    begin = time.process_time()
                    ((_, picture),) = decoders[at].decode_group(packets, {target})
                    note(at, "decode", number, begin)
                    to_rgb(picture, RGB_COLOR, picture.height, picture.width).copy()
                    note(at, "rgb", number, begin)
                    if at in peers:
                        begin = time.process_time()
                        peers[at].read(frame)
                        note(at, "torchcodec", number, begin)
    for at, row in enumerate(rows):
        for kind in ("decode", "rgb", "torchcodec"):
            row.samples[kind] = [v for (a, k, _), v in best.items() if (a, k) == (at, kind)]
        row.decode_ms = statistics.mean(row.samples["decode"])
        row.rgb_ms = statistics.mean(row.samples["rgb"])
        if row.samples["torchcodec"]:
            row.torchcodec_ms = statistics.mean(row.samples["torchcodec"])
    return rows


def speeds(shared: Path, clips: list[str]) -> list[tuple[str, str, str, float, float]]:
    """Of every codec and preset: clip, codec, preset, frames a second, CPU ms a frame."""
    found = []
    for name in clips:
        clip = read_clip(name, shared / CLIPS[name][0], FRAMES)
        for codec, settings in STARS.items():
            for preset in settings.presets:
                star = Star(codec=codec, preset=preset)  # type: ignore[arg-type]
                begin, used = time.perf_counter(), time.process_time()
                encoder = make_encoder(star, *clip.size, clip.color, RATE, os.cpu_count() or 1)
                for picture in clip.pictures:
                    encoder.push(picture)
                encoder.finish()
                cost = (time.process_time() - used) / len(clip.pictures) * 1e3
                rate = len(clip.pictures) / (time.perf_counter() - begin)
                print(f"{name}: {codec} {preset}: {rate:.1f} a second, {cost:.1f} ms", flush=True)
                found.append((name, codec, preset, rate, cost))
    return found


def speed_table(found: list[tuple[str, str, str, float, float]]) -> str:
    """Frames a second and CPU milliseconds a frame, a line a codec and preset."""
    clips = list(dict.fromkeys(clip for clip, *_ in found))
    lines = [
        f"| encoded frames a second, CPU ms a frame | {' | '.join(clips)} |",
        "|---" * (len(clips) + 1) + "|",
    ]
    cells_of = {
        (clip, codec, preset): f"{rate:.0f}, {cost:.0f}"
        for clip, codec, preset, rate, cost in found
    }
    for codec, settings in STARS.items():
        for preset in settings.presets:
            cells = " | ".join(cells_of[clip, codec, preset] for clip in clips)
            lines.append(f"| {codec}, {preset} | {cells} |")
    return "\n".join(lines)


def table(rows: list[Row]) -> str:
    """All rows as Markdown, with ratios to the star that each is matched to."""
    lines = [
        (
            "| clip | encoding | crf | luma PSNR, dB | bytes/frame | cold frame, kB "
            "| decode, CPU ms | to RGB, CPU ms | torchcodec to RGB, CPU ms |"
        ),
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        peer = "" if row.torchcodec_ms is None else f"{row.torchcodec_ms:.2f}"
        lines.append(
            f"| {row.clip} | {row.name} | {row.crf:g} | {row.psnr:.2f} | {row.bytes_per_frame:.0f} | "
            f"{row.cold_bytes / 1e3:.1f} | {row.decode_ms:.2f} | {row.rgb_ms:.2f} | {peer} |"
        )
    return "\n".join(lines)


def ratio_table(rows: list[Row]) -> str:
    """Each star as a part of what it is matched to."""
    lines = [
        (
            "| clip | star | against the better HEVC DDRA: bytes, cold bytes, decode "
            "| against AV1 g=2: bytes, decode | torchcodec on AV1 g=2 / star, to RGB |"
        ),
        "|---|---|---|---|---|",
    ]
    for clip in dict.fromkeys(row.clip for row in rows):
        of = [row for row in rows if row.clip == clip]
        peers = (
            [row for row in of if "DDRA" in row.name],
            [row for row in of if row.name == "AV1 g=2"],
        )
        lines += [_ratio_line(row, *peers) for row in of if "star" in row.name]
    return "\n".join(lines)


def update_readme(text: str) -> None:
    """Puts the ratios between their markers, where the README has them."""
    path = ROOT / "README.md"
    readme = path.read_text()
    begin, end = (readme.find(marker) for marker in MARKERS)
    if 0 <= begin < end:
        path.write_text(readme[: begin + len(MARKERS[0])] + "\n" + text + "\n" + readme[end:])


def _ratio_line(star: Row, anchored: list[Row], short: list[Row]) -> str:
    near = min(short, key=lambda row: abs(row.psnr - star.psnr))
    # DDRA was matched to the qualities of AV1 stars, not to that of H.264. Which interval is better is
    # a matter of the clip.
    better = min(anchored, key=lambda row: row.bytes_per_frame).name
    alike = [row for row in anchored if row.name == better]
    ddra = min(alike, key=lambda row: abs(row.psnr - star.psnr))
    against = "–"
    if abs(star.psnr - ddra.psnr) <= WITHIN_DB:
        against = (
            f"{star.bytes_per_frame / ddra.bytes_per_frame:.2f}, "
            f"{star.cold_bytes / ddra.cold_bytes:.2f}, {star.decode_ms / ddra.decode_ms:.2f} "
            f"({ddra.name})"
        )
    speed = f"{near.torchcodec_ms / star.rgb_ms:.2f}" if near.torchcodec_ms else "–"
    return (
        f"| {star.clip} ({CLIPS[star.clip][1]}) | {star.name} | {against} | "
        f"{star.bytes_per_frame / near.bytes_per_frame:.2f}, "
        f"{star.decode_ms / near.decode_ms:.2f} | {speed} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("step", choices=["encode", "time", "speed", "table"])
    parser.add_argument("work", type=Path)
    parser.add_argument("--shared", type=Path)
    parser.add_argument("--clips", default=",".join(CLIPS))
    parser.add_argument("--frames", type=int, default=FRAMES)
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path, default=ROOT / "tools/bench/results")
    options = parser.parse_args()
    clips = options.clips.split(",")
    if options.step == "encode":
        if options.shared is None:
            parser.error("encode needs --shared")
        encode(options.work, options.shared, clips, options.frames)
        return
    measured, encoded = options.work / "rows.json", options.work / "speed.json"
    if options.step == "speed":
        if options.shared is None:
            parser.error("speed needs --shared")
        encoded.write_text(json.dumps(speeds(options.shared, clips)))
        return
    if options.step == "time":
        rows = json.loads(measured.read_text()) if measured.exists() else {}
        for name in clips:
            items = load(options.work, name)
            rows[name] = [asdict(r) for r in measure(name, items, options.requests, options.rounds)]
        measured.write_text(json.dumps(rows))
        return
    found = [Row(**row) for rows in json.loads(measured.read_text()).values() for row in rows]
    ratios = ratio_table(found)
    parts = [table(found), ratios]
    if encoded.exists():
        parts.append(speed_table([tuple(line) for line in json.loads(encoded.read_text())]))
    made = (
        f"{sentence()}; {FRAMES} frames a clip, one thread, the least CPU time of {ROUNDS} rounds a request. "
        "Made by `tools/bench/star.py`."
    )
    text = "\n\n".join([*parts, made])
    update_readme(f"{ratios}\n\n{made}")
    print(text)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "star.md").write_text(text + "\n")
    for row in found:
        row.samples.clear()
    facts = {"machine": describe(), "rows": [asdict(row) for row in found]}
    (options.out / "star.json").write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
