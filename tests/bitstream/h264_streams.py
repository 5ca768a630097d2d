"""H.264 streams of moving content, made by x264 in the test."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import av
import numpy as np

WIDTH, HEIGHT = 96, 64

# x264-params and what else ``encode`` takes, by what is special about the stream.
SETTINGS: dict[str, tuple[str, dict[str, str]]] = {
    "default": ("", {}),
    "ultrafast": ("", {"preset": "ultrafast"}),
    "superfast": ("", {"preset": "superfast"}),
    "veryslow": ("", {"preset": "veryslow"}),
    "strict pyramid": ("b-pyramid=strict:bframes=5", {"preset": "slow"}),
    "no pyramid": ("b-pyramid=none:bframes=4", {}),
    "many B": ("bframes=16:b-adapt=0:ref=4", {"preset": "fast"}),
    "one reference": ("ref=1:weightp=2", {}),
    "duplicates": ("ref=8:weightp=2", {"preset": "slow"}),
    "no weights": ("weightp=0:weightb=0", {}),
    "temporal direct": ("direct=temporal:bframes=5:b-pyramid=strict", {"preset": "slow"}),
    "slices": ("slices=3:ref=4", {"preset": "fast"}),
    "CAVLC": ("cabac=0:slices=2", {}),
    "open GOP": ("open-gop=1:keyint=12:min-keyint=6:bframes=4", {}),
    "intra refresh": ("intra-refresh=1:keyint=20", {}),
    "MBAFF": ("tff=1:bframes=4", {"preset": "slow"}),
    "MBAFF CAVLC temporal": ("bff=1:cabac=0:direct=temporal:ref=2", {}),
    "10 bit": ("bframes=5", {"pixel_format": "yuv420p10le"}),
    "4:4:4": ("cabac=0", {"pixel_format": "yuv444p"}),
    "monochrome": ("", {"pixel_format": "gray"}),
    "no B": ("bframes=0:ref=3:scenecut=0", {}),  # order count type 2
    "HRD": ("aud=1:nal-hrd=vbr:vbv-maxrate=3000:vbv-bufsize=3000:pic-struct=1", {}),
    "lossless": ("qp=0", {"pixel_format": "yuv444p"}),
}


@dataclass(frozen=True)
class EncodedStream:
    """Access units in decode order, and for each its place in presentation order."""

    access_units: tuple[bytes, ...]
    pts: tuple[int, ...]
    configuration: bytes


@functools.cache
def content(count: int, pixel_format: str = "yuv420p") -> tuple[av.VideoFrame, ...]:
    """A panned texture under moving discs, with noise, a fade, a flash and a cut to the negative."""
    rng = np.random.default_rng(3)
    texture = np.kron(rng.normal(size=(40, 50, 3)), np.ones((6, 6, 1))) * 14 + 110
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH]
    frames = []
    for index in range(count):
        left, top = int(60 + 50 * np.sin(index / 17)), int(50 + 40 * np.cos(index / 13))
        image = texture[top : top + HEIGHT, left : left + WIDTH].copy()
        for disc in range(3):
            x = WIDTH / 2 + (30 + 5 * disc) * np.sin(index / (5 + 2 * disc) + 2 * disc)
            y = HEIGHT / 2 + 20 * np.cos(index / (6 + 3 * disc) + disc)
            inside = (columns - x) ** 2 + (rows - y) ** 2 < (6 + 3 * disc) ** 2
            image[inside] = (200 - 60 * disc, 80 + 50 * disc, 60 + 70 * disc)
        if 20 <= index % 60 < 32:
            image *= 0.4 + 0.1 * abs(index % 60 - 26)
        if index % 60 == 45:
            image += 60
        if index % 100 >= 50:
            image = 255 - image
        image += rng.normal(0, 2, image.shape)
        frame = av.VideoFrame.from_ndarray(image.clip(0, 255).astype(np.uint8), format="rgb24")
        frames.append(frame.reformat(format=pixel_format))
    return tuple(frames)


@functools.cache
def encode(
    params: str = "",
    count: int = 60,
    *,
    preset: str = "medium",
    pixel_format: str = "yuv420p",
    global_header: bool = False,
    last_frame_intra: bool = False,
    **options: str,
) -> EncodedStream:
    """Encodes ``content`` with ``x264-params``; with ``global_header`` as an MP4 would hold it."""
    encoder = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt = WIDTH, HEIGHT, pixel_format
    encoder.time_base, encoder.framerate = Fraction(1, 30), Fraction(30, 1)
    encoder.thread_count = 1
    encoder.options = {
        "preset": preset,
        "crf": "26",
        "x264-params": ":".join(filter(None, ["log-level=none", params])),
        **options,
    }
    if global_header:
        encoder.flags |= av.codec.context.Flags.global_header
    packets = []
    for index, frame in enumerate(content(count, pixel_format)):
        frame.pts, frame.time_base = index, Fraction(1, 30)
        last = last_frame_intra and index == count - 1
        frame.pict_type = av.video.frame.PictureType.I if last else av.video.frame.PictureType.NONE
        packets += encoder.encode(frame)
    packets += encoder.encode(None)
    assert len(packets) == count
    return EncodedStream(
        tuple(bytes(packet) for packet in packets),
        tuple(packet.pts for packet in packets),
        bytes(encoder.extradata or b"") if global_header else b"",
    )


def stream(name: str, count: int = 60) -> EncodedStream:
    """One of ``SETTINGS``."""
    params, options = SETTINGS[name]
    return encode(params, count, **options)


def decode(
    groups: Iterable[Sequence[tuple[int, bytes]]], configuration: bytes = b""
) -> dict[int, bytes]:
    """Digests of the decoded frames of all groups, by the tag that each access unit was given."""
    return {
        tag: frame for group in decode_groups(groups, configuration) for tag, frame in group.items()
    }


def decode_groups(
    groups: Iterable[Sequence[tuple[int, bytes]]], configuration: bytes = b""
) -> list[dict[int, bytes]]:
    """Digests of the decoded frames of each group, by tag.

    The decoder is drained and flushed after each group and used again. Two frames with one tag, or
    a tag that was not given, are errors of the test.
    """
    decoder = av.CodecContext.create("h264", "r")
    decoder.thread_count = 1
    if configuration:
        decoder.extradata = configuration
    decoded = []
    for group in groups:
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
        decoded.append({frame.pts: digest(frame) for frame in frames})
    return decoded


def digest(frame: av.VideoFrame) -> bytes:
    """A hash of a frame's format and samples."""
    sha = hashlib.sha1(f"{frame.format.name} {frame.width}x{frame.height}".encode())
    for plane in frame.planes:
        bytes_per_sample = (frame.format.components[0].bits + 7) // 8
        samples = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)
        sha.update(samples[:, : plane.width * bytes_per_sample].tobytes())
    return sha.digest()
