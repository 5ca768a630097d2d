"""Chunks encoded in tests, and what a plain decoder makes of all their pictures in order."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import av
import numpy as np

from videoformat.index.build import build_chunk
from videoformat.index.pictures import ChunkKey, PictureIndex, Stream
from videoformat.index.plan import plan_chunk
from videoformat.media.color import RGB_COLOR, rgb_to_picture
from videoformat.media.decoder import ClosureDecoder
from videoformat.media.encoder import EncodedChunk
from videoformat.media.structures import Structure, make_encoder, name_of, promised_bound

UInt8Array = np.ndarray[Any, np.dtype[np.uint8]]


def moving(count: int, height: int = 16, width: int = 32, seed: int = 0) -> list[UInt8Array]:
    """A panned texture with a disc, a fade, a flash, a cut to the negative, a still stretch."""
    random = np.random.default_rng(seed)
    texture = np.kron(random.normal(size=(40, 60, 3)), np.ones((4, 4, 1))) * 25 + 120
    rows, columns = np.mgrid[:height, :width]
    frames = []
    for number in range(count):
        shift = 3 * number if number % 12 < 8 else 24
        image = np.roll(texture, (-shift, -shift), (0, 1))[:height, :width]
        inside = (columns - number % width) ** 2 + (rows - height / 2) ** 2 < (height / 4) ** 2
        image[inside] = (230, 40, 60)
        if number % 20 in range(5, 12):
            image *= 1.2 - 0.1 * (number % 20)
        if number % 20 == 15:
            image += 100
        if number % 26 > 17:
            image = 255 - image
        frames.append((image + random.normal(0, 2, image.shape)).clip(0, 255).astype(np.uint8))
    return frames


def encode(
    structure: Structure,
    frames: Sequence[UInt8Array],
    *,
    threads: int = 1,
    rate: Fraction = Fraction(30),
) -> EncodedChunk:
    pictures = [rgb_to_picture(frame) for frame in frames]
    encoder = make_encoder(
        structure, pictures[0].width, pictures[0].height, RGB_COLOR, rate, threads
    )
    for picture in pictures:
        encoder.push(picture)
    return encoder.finish()


def index_of(encoded: EncodedChunk, structure: Structure, first_frame: int = 0) -> PictureIndex:
    count = len(encoded.access_units)
    stream = Stream(
        codec=encoded.codec,
        width=encoded.width,
        height=encoded.height,
        decoded_width=encoded.width,
        decoded_height=encoded.height,
        pixel_format="yuv420p",
        color_matrix=encoded.color.matrix,
        color_range=encoded.color.range,
        color_primaries=encoded.color.primaries,
        color_transfer=encoded.color.transfer,
        time_base_numerator=1,
        time_base_denominator=30,
        framing=encoded.framing,
        configuration=encoded.configuration,
        structure=name_of(structure),
        interval=structure.interval,
        closure_bound=promised_bound(structure),
        access="direct",
        access_reason=None,
        encoder=None,
        source_uri=None,
        source_size=None,
        media_size=0,
    )
    key = ChunkKey("episode", 0, first_frame, count)
    return build_chunk(key, replace(stream), encoded.access_units, range(count)).index


def digest(frame: av.VideoFrame) -> bytes:
    sha = hashlib.sha1(f"{frame.format.name} {frame.width}x{frame.height}".encode())
    for plane in frame.planes:
        lines = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
        sha.update(lines[: plane.height, : plane.width].tobytes())
    return sha.digest()


def decoded_in_sequence(encoded: EncodedChunk) -> list[bytes]:
    """Digests of all frames in the order in which a plain decoder, given everything, shows them."""
    return [digest(frame) for frame in shown_in_sequence(encoded)]


def shown_in_sequence(encoded: EncodedChunk) -> list[av.VideoFrame]:
    """All pictures as a plain decoder, given everything, shows them."""
    is_av1 = encoded.codec == "av1"
    decoder: Any = av.CodecContext.create("libdav1d" if is_av1 else encoded.codec, "r")
    decoder.thread_count = 1
    if not is_av1:
        decoder.extradata = encoded.configuration
    lead = encoded.configuration if is_av1 else b""
    frames: list[av.VideoFrame] = []
    for _, unit in encoded.access_units:
        frames += decoder.decode(av.Packet(lead + unit))
        lead = b""
    return frames + decoder.decode(None)


def decoded_closure(
    encoded: EncodedChunk, index: PictureIndex, decoder: ClosureDecoder, frames: Sequence[int]
) -> dict[int, bytes]:
    """Digests of some frames, each group of their closure fed to a decoder that is used again."""
    plan = plan_chunk(index, frames)
    found: dict[int, bytes] = {}
    for group in plan.groups:
        packets = [(at, encoded.access_units[at][1]) for at in group]
        wanted = [at for at in group if at in plan.targets]
        for at, picture in decoder.decode_group(packets, wanted):
            frame = index.frame_index[at]
            assert frame is not None
            found[frame] = digest(picture)
    return found
