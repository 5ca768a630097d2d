"""HEVC streams of moving content, made by x265 in the test, and decoding of parts of them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from fractions import Fraction

import av
from bitstream.h264_streams import HEIGHT, WIDTH, EncodedStream, content, digest

from videoformat.bitstream.picture import Picture

DDRA = (
    "keyint={0}:min-keyint={0}:scenecut=0:open-gop=1:bframes={1}:b-adapt=0:b-pyramid=0:ref=1:"
    "rc-lookahead={2}:log2-max-poc-lsb=16:cutree=0"
)


def ddra(interval: int) -> str:
    """x265 parameters under which every frame between two anchors is predicted from those two.

    With its cutree, x265 makes a P picture of a B picture now and then, at fades and flashes.
    """
    return DDRA.format(interval, interval - 1, interval + 5)


@functools.cache
def encode(
    params: str = "",
    count: int = 60,
    *,
    preset: str = "medium",
    pixel_format: str = "yuv420p",
    global_header: bool = False,
    **options: str,
) -> EncodedStream:
    """Encodes the test content with ``x265-params``; with ``global_header`` as an MP4 would hold it."""
    encoder = av.CodecContext.create("libx265", "w")
    encoder.width, encoder.height, encoder.pix_fmt = WIDTH, HEIGHT, pixel_format
    encoder.time_base, encoder.framerate = Fraction(1, 30), Fraction(30, 1)
    encoder.options = {
        "preset": preset,
        "crf": "28",
        "x265-params": ":".join(
            filter(None, ["log-level=none:pools=1:frame-threads=1:ctu=16", params])
        ),
        **options,
    }
    if global_header:
        encoder.flags |= av.codec.context.Flags.global_header
    packets = []
    for index, frame in enumerate(content(count, pixel_format)):
        frame.pts, frame.time_base = index, Fraction(1, 30)
        frame.pict_type = av.video.frame.PictureType.NONE
        packets += encoder.encode(frame)
    packets += encoder.encode(None)
    assert len(packets) == count
    return EncodedStream(
        tuple(bytes(packet) for packet in packets),
        tuple(packet.pts for packet in packets),
        bytes(encoder.extradata or b"") if global_header else b"",
    )


def decode(
    groups: Iterable[Sequence[tuple[int, bytes]]],
    configuration: bytes = b"",
    *,
    flush: bool = True,
    **options: str,
) -> dict[int, bytes]:
    """Digests of the decoded frames, by the tag that each access unit was given.

    The decoder is drained and flushed after each group and used again, or with ``flush`` off is
    given all groups in one go.
    """
    decoder = av.CodecContext.create("hevc", "r")
    decoder.thread_count = 1
    decoder.options = options
    if configuration:
        decoder.extradata = configuration
    decoded: dict[int, bytes] = {}
    parts = [list(group) for group in groups]
    if not flush:
        parts = [[unit for part in parts for unit in part]]
    for group in parts:
        frames = []
        for tag, access_unit in group:
            packet = av.Packet(access_unit)
            packet.pts = packet.dts = tag
            frames += decoder.decode(packet)
        frames += decoder.decode(None)
        decoder.flush_buffers()
        tags = [frame.pts for frame in frames]
        assert len(set(tags)) == len(tags)
        assert set(tags) <= {tag for tag, _ in group}
        decoded |= {frame.pts: digest(frame) for frame in frames}
    return decoded


def decode_all(stream: EncodedStream) -> dict[int, bytes]:
    """Digests of all frames, by position in decode order."""
    return decode([list(enumerate(stream.access_units))], stream.configuration)


def closure(pictures: Sequence[Picture], targets: Iterable[int]) -> list[int]:
    """The positions that the targets need, in decode order."""
    needed: set[int] = set()
    waiting = list(targets)
    while waiting:
        position = waiting.pop()
        if position not in needed:
            needed.add(position)
            waiting += pictures[position].references
    return sorted(needed)
