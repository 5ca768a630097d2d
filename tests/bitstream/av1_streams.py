"""AV1 streams that SVT-AV1 makes on the spot, and decoding of closures with FFmpeg's libdav1d."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import av
import numpy as np

from videoformat.bitstream.av1 import Av1Indexer
from videoformat.bitstream.av1_frame import Av1FrameHeader
from videoformat.bitstream.picture import Picture

WIDTH, HEIGHT = 96, 64
_GLOBAL_HEADER = 0x400000

# Name: GOP size, frames and SVT-AV1's own parameters.
SETTINGS = {
    "pairs": (2, 12, ""),
    "hierarchy": (30, 36, ""),
    "low delay": (60, 30, "pred-struct=1"),
    "open gop, hidden intra-only": (18, 40, "irefresh-type=1"),
    "open gop, shown intra-only": (9, 24, "irefresh-type=1:hierarchical-levels=3"),
    "film grain": (30, 20, "film-grain=30"),
    "super-resolution": (30, 20, "superres-mode=1:superres-denom=12"),
    "resized": (30, 20, "resize-mode=1:resize-denom=12"),
    "switch frames": (60, 20, "pred-struct=1:sframe-dist=8:sframe-mode=1"),
    "four tiles": (30, 20, "tile-columns=1:tile-rows=1"),
}


@dataclass(frozen=True)
class IndexedStream:
    """Temporal units, the pictures that the indexer finds in them, and the pictures' bytes."""

    configuration: bytes
    units: tuple[bytes, ...]
    indexer: Av1Indexer
    pictures: tuple[Picture, ...]
    data: tuple[bytes, ...]

    def closure(self, target: int) -> list[int]:
        """Positions that the target's references lead to, in decode order."""
        found: set[int] = set()
        open_ = [target]
        while open_:
            position = open_.pop()
            if position not in found:
                found.add(position)
                open_.extend(self.pictures[position].references)
        return sorted(found)

    @property
    def shown(self) -> list[int]:
        return [picture.position for picture in self.pictures if picture.is_shown]


def header_of(picture: Picture) -> Av1FrameHeader:
    assert isinstance(picture.detail, Av1FrameHeader)
    return picture.detail


def indexed(units: Iterable[bytes], configuration: bytes = b"") -> IndexedStream:
    units = tuple(units)
    indexer = Av1Indexer(configuration)
    pictures, data = [], []
    for unit in units:
        for picture in indexer.push(unit):
            pictures.append(picture)
            data.append(unit[picture.start : picture.end])
    return IndexedStream(configuration, units, indexer, tuple(pictures), tuple(data))


@cache
def stream(name: str) -> IndexedStream:
    """The stream of one of the ``SETTINGS``, with the encoder's extradata as configuration."""
    gop, count, parameters = SETTINGS[name]
    context = av.CodecContext.create("libsvtav1", "w")
    assert isinstance(context, av.VideoCodecContext)
    context.width, context.height, context.pix_fmt = WIDTH, HEIGHT, "yuv420p"
    context.time_base, context.framerate = Fraction(1, 30), Fraction(30)
    context.gop_size = gop
    context.flags |= _GLOBAL_HEADER
    context.options = {"preset": "8", "svtav1-params": ":".join(filter(None, ["lp=1", parameters]))}
    packets = [packet for frame in _moving(count) for packet in context.encode(frame)]
    packets += context.encode(None)
    return indexed((bytes(packet) for packet in packets), bytes(context.extradata or b""))


def _moving(count: int) -> Iterable[av.VideoFrame]:
    """A textured background that pans, under a square that moves against it."""
    rng = np.random.default_rng(1)
    texture = rng.integers(0, 255, (HEIGHT // 4 + 16, WIDTH // 4 + 32), np.uint8)
    texture = texture.repeat(4, 0).repeat(4, 1)
    for at in range(count):
        planes = np.full((HEIGHT * 3 // 2, WIDTH), 128, np.uint8)
        x, y = at * 3 % 60, at // 2 % 30
        planes[:HEIGHT] = texture[y : y + HEIGHT, x : x + WIDTH]
        x = at * 2 % (WIDTH - 16)
        planes[10:26, x : x + 16] = 200
        planes[HEIGHT : HEIGHT * 5 // 4] = at * 5 % 255
        frame = av.VideoFrame.from_ndarray(planes, format="yuv420p")
        frame.pts = at
        yield frame


def pixels(frame: av.VideoFrame) -> tuple[object, ...]:
    """Everything that is seen of a frame; odd sizes too."""
    planes = (
        np.frombuffer(plane, np.uint8).reshape(plane.height, -1)[:, : plane.width]
        for plane in frame.planes
    )
    return (frame.width, frame.height, frame.format.name, *(plane.tobytes() for plane in planes))


def decoder(**options: str) -> av.VideoCodecContext:
    context = av.CodecContext.create("libdav1d", "r")
    assert isinstance(context, av.VideoCodecContext)
    context.thread_count = 1
    context.options = options
    return context


def decode(
    context: av.VideoCodecContext, packets: Iterable[tuple[int, bytes]]
) -> list[tuple[int | None, tuple[object, ...]]]:
    """Feeds one group, drains, flushes; each frame comes with the tag of its packet."""
    try:
        frames = []
        for tag, data in packets:
            packet = av.Packet(data)
            packet.pts = tag
            frames += context.decode(packet)
        frames += context.decode(None)
        return [(frame.pts, pixels(frame)) for frame in frames]
    finally:
        context.flush_buffers()


def decode_whole(source: IndexedStream, **options: str) -> dict[int, tuple[object, ...]]:
    """The pixels of every shown picture by position, from the temporal units as they came."""
    frames = decode(decoder(**options), enumerate(source.units))
    assert len(frames) == len(source.shown)
    return {at: seen for at, (_, seen) in zip(source.shown, frames, strict=True)}


def closure_packets(source: IndexedStream, closure: Sequence[int]) -> list[tuple[int, bytes]]:
    """A closure as a reader feeds it: the sequence header, then every picture as it is."""
    packets = [(at, source.data[at]) for at in closure]
    first, data = packets[0]
    packets[0] = (first, source.indexer.sequence_header_obu + data)
    return packets
