"""Decoding the groups of one chunk, and comparing what goes in and what comes out."""

from __future__ import annotations

import threading
import time
import zlib
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence

from videoformat.bitstream.closure import ClosurePicture, ClosureRewriter
from videoformat.bitstream.codecs import byte_stream, make_rewriter
from videoformat.errors import (
    BitstreamError,
    ChecksumError,
    CountMismatchError,
    DataError,
    UnsupportedStreamError,
)
from videoformat.index.pictures import PictureIndex
from videoformat.index.plan import ChunkPlan, Group
from videoformat.media.decoder import ClosureDecoder, DecodedPicture
from videoformat.reading.plan import ChunkRead
from videoformat.reading.report import ReadReport

__all__ = ["StepDecoder"]

MAXIMUM_DECODERS = 8


class _DecoderPool:
    """Idle decoders by codec and configuration; a decoder is used by one thread at a time."""

    def __init__(self) -> None:
        self._idle: list[ClosureDecoder] = []
        self._lock = threading.Lock()

    def take(self, codec: str, configuration: bytes, framing: str) -> ClosureDecoder:
        key = (codec, configuration, framing)
        with self._lock:
            for at in range(len(self._idle) - 1, -1, -1):
                if self._idle[at].key == key:
                    return self._idle.pop(at)
        return ClosureDecoder(codec, configuration, framing)

    def give_back(self, decoder: ClosureDecoder) -> None:
        with self._lock:
            self._idle.append(decoder)
            del self._idle[:-MAXIMUM_DECODERS]


class _Rewriters:
    """One rewriter a configuration: parsing parameter sets anew for every closure would cost more."""

    def __init__(self) -> None:
        self._rewriters: OrderedDict[tuple[str, bytes], ClosureRewriter] = OrderedDict()
        self._lock = threading.Lock()

    def rewrite(
        self, index: PictureIndex, pictures: Sequence[int], units: Sequence[bytes]
    ) -> tuple[bytes, list[bytes]]:
        """A closure with headers that an ordinary decoder decodes, and its configuration."""
        key = (index.stream.codec, index.stream.configuration)
        with self._lock:
            rewriter = self._rewriters.pop(key, None) or make_rewriter(*key)
            self._rewriters[key] = rewriter
            while len(self._rewriters) > MAXIMUM_DECODERS:
                self._rewriters.popitem(last=False)
        convert = byte_stream(index.stream.framing)
        closure = [
            ClosurePicture(at, index.poc[at] or 0, index.reference_lists[at] or (), convert(unit))
            for at, unit in zip(pictures, units, strict=True)
        ]
        return rewriter.configuration, rewriter.rewrite(closure)


class StepDecoder:
    """Decodes groups of pictures with decoders that are reused. Safe to use from several threads."""

    def __init__(self) -> None:
        self._decoders = _DecoderPool()
        self._rewriters = _Rewriters()

    def decode(
        self, chunk: ChunkRead, step: Group, parts: Sequence[bytes], report: ReadReport
    ) -> Iterator[tuple[int, DecodedPicture]]:
        """One group of a chunk's plan; yields the wanted frames as (frame, decoded picture).

        ``parts`` are the bytes of the plan's ranges. Raises ``ChecksumError``, ``DecodeError`` or
        what else is wrong with the data, with episode, camera and frames in the message.
        """
        try:
            yield from self._decode(chunk, step, parts, report)
        except (DataError, BitstreamError) as error:
            raise type(error)(f"{_where(chunk)}: {error}") from error
        except UnsupportedStreamError as error:
            raise UnsupportedStreamError(error.kind, f"{_where(chunk)}: {error.detail}") from error

    def _decode(
        self, chunk: ChunkRead, step: Group, parts: Sequence[bytes], report: ReadReport
    ) -> Iterator[tuple[int, DecodedPicture]]:
        index = chunk.index
        stream = index.stream
        targets = dict(zip(chunk.plan.targets, chunk.plan.frames, strict=True))
        begin = time.perf_counter()
        units = access_units(index, chunk.plan, parts, step.pictures)
        configuration, framing = stream.configuration, stream.framing
        if step.is_rewritten:
            configuration, units = self._rewriters.rewrite(index, step.pictures, units)
            framing = "annexb"
        # Pictures without an order count were not understood, and may bring parameter sets that a
        # decoder would keep beyond them.
        keeps_nothing = all(index.poc[at] is not None for at in step.pictures)
        decoder = (
            self._decoders.take(stream.codec, configuration, framing)
            if keeps_nothing
            else ClosureDecoder(stream.codec, configuration, framing)
        )
        report.pictures += len(units)
        packets = zip(step.pictures, units, strict=True)
        for at, picture in decoder.decode_group(packets, step.targets):
            report.seconds["decode"] += time.perf_counter() - begin
            _check_picture(picture, index)
            yield targets[at], picture
            begin = time.perf_counter()
        report.seconds["decode"] += time.perf_counter() - begin
        if keeps_nothing:
            self._decoders.give_back(decoder)


def _where(chunk: ChunkRead) -> str:
    place = chunk.index.stream.source_uri
    return (
        f"episode {chunk.episode} ({chunk.index.key.episode_uid!r}), camera {chunk.camera!r}, "
        f"frames {_some(chunk.plan.frames)}{f', media in {place}' if place else ''}"
    )


def _some(frames: Sequence[int]) -> str:
    shown = ", ".join(map(str, frames[:8]))
    return shown if len(frames) <= 8 else f"{shown}, … ({len(frames)} frames)"


def access_units(
    index: PictureIndex, plan: ChunkPlan, parts: Sequence[bytes], pictures: Sequence[int]
) -> list[bytes]:
    """Some pictures' bytes out of the fetched ranges, each compared with its checksum."""
    starts = [item.start for item in plan.ranges]
    units = []
    for at in pictures:
        offset, size = index.offset[at], index.size[at]
        place = bisect_right(starts, offset) - 1
        if place < 0 or offset >= plan.ranges[place].end:
            raise CountMismatchError(f"picture {at} at byte {offset} was not fetched")
        begin = offset - starts[place]
        unit = parts[place][begin : begin + size]
        found = zlib.crc32(unit)
        if len(unit) != size or found != index.crc32[at]:
            raise ChecksumError(
                f"picture {at} ({size} bytes at {offset}) has crc32 {found:#010x}, the index says "
                f"{index.crc32[at]:#010x}"
            )
        units.append(unit)
    return units


def _check_picture(picture: DecodedPicture, index: PictureIndex) -> None:
    stream = index.stream
    if (picture.width, picture.height) != (stream.decoded_width, stream.decoded_height):
        raise DataError(
            f"the decoder returned {picture.width}x{picture.height}, the stream says "
            f"{stream.decoded_width}x{stream.decoded_height}"
        )
    # Range is a colour fact of its own here: FFmpeg's yuvj formats are the others at full range.
    if picture.format.name.replace("yuvj", "yuv") != stream.pixel_format.replace("yuvj", "yuv"):
        raise DataError(
            f"the decoder returned pixel format {picture.format.name}, the stream says "
            f"{stream.pixel_format}"
        )
