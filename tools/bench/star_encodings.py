"""Encodings of one clip in several structures at one quality, for `star.py`.

Each is matched to a star's luma PSNR by searching the rate factor; what is kept of it is its size, its
PSNR, and the closure of every frame with its access units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, cast

import av
import numpy as np

from videoformat.bitstream.codecs import byte_stream, make_indexer
from videoformat.media.color import Color, luma, picture_of
from videoformat.media.decoder import ClosureDecoder
from videoformat.media.gop import DDRA
from videoformat.media.star import Star
from videoformat.media.structures import Structure, make_encoder

RATE = Fraction(30)
# LeRobot 0.6: libsvtav1, g=2, preset 12, fast-decode=0.
LEROBOT = {"preset": "12", "svtav1-params": "fast-decode=0"}
WITHIN_DB = 0.2
INTERVALS = 8, 16


@dataclass(frozen=True, slots=True)
class Clip:
    """Frames to encode, as yuv420p pictures in their own colour."""

    name: str
    pictures: list[Any]
    color: Color

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.pictures[0].width, self.pictures[0].height


@dataclass(frozen=True, slots=True)
class Encoding:
    """A clip's access units in decode order, each with its frame, and what each references."""

    name: str
    codec: str
    crf: float
    configuration: bytes
    framing: str
    units: tuple[bytes, ...]
    frames: tuple[int, ...]
    references: tuple[tuple[int, ...], ...]
    psnr: float

    @property
    def bytes_per_frame(self) -> float:
        """Coded bytes a frame."""
        return sum(map(len, self.units)) / len(self.units)

    def closure(self, frame: int) -> list[int]:
        """Positions that a frame needs, ascending."""
        closed = {self.frames.index(frame)}
        for at in range(max(closed), -1, -1):
            if at in closed:
                closed.update(self.references[at])
        return sorted(closed)

    @property
    def cold_bytes(self) -> float:
        """Bytes of a random frame's closure on average."""
        sizes = [len(unit) for unit in self.units]
        return sum(sum(sizes[at] for at in self.closure(f)) for f in self.frames) / len(self.frames)


def read_clip(name: str, path: Path, frames: int) -> Clip:
    """The first frames of a video file."""
    pictures: list[Any] = []
    color: Color | None = None
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            picture, color = picture_of(frame)
            pictures.append(picture)
            if len(pictures) == frames:
                break
    if color is None:
        raise SystemExit(f"{path} holds no frames")
    return Clip(name, pictures, color)


def structured(clip: Clip, name: str, structure: Structure) -> Encoding:
    """The clip as the writer encodes it."""
    encoder = make_encoder(structure, *clip.size, clip.color, RATE, 1)
    for picture in clip.pictures:
        encoder.push(picture)
    made = encoder.finish()
    frames = tuple(rank for rank, _ in made.access_units)
    units = tuple(unit for _, unit in made.access_units)
    crf = float(structure.effective_crf)
    return _encoding(clip, name, made.codec, crf, made.configuration, made.framing, units, frames)


def every_second(clip: Clip, crf: float) -> Encoding:
    """The clip as LeRobot encodes it: AV1 with a key frame every second frame."""
    context: Any = av.CodecContext.create("libsvtav1", "w")
    context.width, context.height = clip.size
    context.pix_fmt, context.time_base, context.framerate = "yuv420p", 1 / RATE, RATE
    context.gop_size = 2
    context.options = {"crf": str(int(crf)), **LEROBOT}
    packets = []
    for number, picture in enumerate(clip.pictures):
        picture.pts, picture.time_base = number, 1 / RATE
        picture.pict_type = cast(Any, 0)
        packets += context.encode(picture)
    packets += context.encode(None)
    units = tuple(bytes(packet) for packet in packets)
    frames = tuple(range(len(units)))
    return _encoding(clip, "AV1 g=2", "av1", crf, b"", "obu", units, frames)


def _encoding(
    clip: Clip,
    name: str,
    codec: str,
    crf: float,
    configuration: bytes,
    framing: str,
    units: tuple[bytes, ...],
    frames: tuple[int, ...],
) -> Encoding:
    indexer = make_indexer(codec, configuration)
    convert = byte_stream(framing)
    references = []
    for unit in units:
        (picture,) = indexer.push(convert(unit))
        references.append(picture.references)
    decoder = ClosureDecoder(codec, configuration, framing)
    squared, samples, count = 0.0, 0, 0
    for at, shown in decoder.decode_all(enumerate(units)):
        difference = luma(shown).astype(np.float32) - luma(clip.pictures[frames[at]])
        squared += float(np.square(difference, out=difference).sum(dtype=np.float64))
        samples += difference.size
        count += 1
    if count != len(clip.pictures):
        raise SystemExit(f"{clip.name}, {name}: {count} of {len(clip.pictures)} frames came out")
    psnr = float(10 * np.log10(255**2 * samples / squared))
    return Encoding(
        name, codec, crf, configuration, framing, units, frames, tuple(references), psnr
    )


def matched(
    encode: Callable[[float], Encoding], target: float, start: float, step: float, highest: float
) -> Encoding:
    """The encoding whose PSNR is nearest to the target; rate factors are multiples of ``step``."""
    made: dict[float, Encoding] = {}

    def at(crf: float) -> Encoding:
        rounded = min(highest, max(step, round(crf / step) * step))
        if rounded not in made:
            made[rounded] = encode(rounded)
        return made[rounded]

    slope = 0.5  # decibels a step of the rate factor, to begin with
    crf = start
    for _ in range(6):
        found = at(crf)
        error = found.psnr - target
        if abs(error) <= WITHIN_DB / 2:
            break
        if len(made) > 1:
            low, high = min(made), max(made)
            slope = max(0.1, (made[low].psnr - made[high].psnr) / (high - low))
        move = round(error / slope / step) * step
        following = found.crf + (move or step * np.sign(error))
        if min(highest, max(step, following)) in made:
            break
        crf = following
    return min(made.values(), key=lambda item: abs(item.psnr - target))


def all_encodings(clip: Clip, say: Callable[[Encoding], None]) -> list[Encoding]:
    """AV1 and H.264 stars at their defaults, and the others at the quality of each."""
    found: list[Encoding] = []

    def keep(encoding: Encoding) -> Encoding:
        found.append(encoding)
        say(encoding)
        return encoding

    star, ddra = _matched_pair(clip)
    keep(star)
    for each in ddra:
        keep(each)
    better = min(ddra, key=lambda each: each.bytes_per_frame)
    small = keep(
        matched(
            lambda crf: structured(clip, "AV1 star, smaller", Star(preset="smaller", crf=int(crf))),
            better.psnr, star.crf, 1.0, 63.0,
        )
    )  # fmt: skip
    if abs(small.psnr - better.psnr) > WITHIN_DB:
        keep(again_at(clip, better, small.psnr))
    short: dict[float, Encoding] = {}

    def lerobot(crf: float) -> Encoding:
        if crf not in short:
            short[crf] = every_second(clip, crf)
        return short[crf]

    second = keep(matched(lerobot, star.psnr, 35.0, 1.0, 63.0))
    quick = keep(structured(clip, "H.264 star", Star(codec="h264")))
    again = matched(lerobot, quick.psnr, second.crf, 1.0, 63.0)
    if again.crf != second.crf:
        keep(again)
    return found


def again_at(clip: Clip, better: Encoding, psnr: float) -> Encoding:
    """HEVC DDRA with the interval of ``better``, at another quality: AV1's steps can be too large."""
    interval = int(better.name.rpartition("-")[2])
    return matched(
        lambda crf: structured(clip, better.name, DDRA(profile="small", interval=interval, crf=crf)),
        psnr, better.crf, 0.25, 51.0,
    )  # fmt: skip


def _matched_pair(clip: Clip) -> tuple[Encoding, list[Encoding]]:
    """A star at its default quality, or near it, and HEVC DDRA of both intervals at the same.

    A step of x265's rate factor can change its quality by more than is allowed; a star of another
    step then has a quality that both can have.
    """
    made: dict[tuple[int, float], Encoding] = {}

    def ddra(interval: int, crf: float) -> Encoding:
        if (interval, crf) not in made:
            structure = DDRA(profile="small", interval=interval, crf=crf)
            made[interval, crf] = structured(clip, f"HEVC DDRA-{interval}", structure)
        return made[interval, crf]

    default = Star().effective_crf
    start = 24.0
    pairs = []
    for move in (0, 1, -1, 2, -2):
        star = structured(clip, "AV1 star", Star(crf=default + move))
        found = []
        for interval in INTERVALS:
            found.append(matched(partial(ddra, interval), star.psnr, start, 0.25, 51.0))
            start = found[-1].crf
        better = min(found, key=lambda each: each.bytes_per_frame)
        pairs.append((abs(better.psnr - star.psnr), star, found))
        if pairs[-1][0] <= WITHIN_DB:
            break
    _, star, found = min(pairs, key=lambda pair: pair[0])
    return star, found
