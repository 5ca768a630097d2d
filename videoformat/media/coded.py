"""Video files as coded pictures: access units as they are, without decoding."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import av
import av.error

from videoformat.bitstream.codecs import INDEXERS, byte_stream, stored_configuration
from videoformat.bitstream.nal import split_annexb, to_annexb
from videoformat.errors import ChecksumError, DataError, UnsupportedStreamError
from videoformat.index.build import crc32_of
from videoformat.index.native import CodedUnit, IndexedStream, StreamIndexer
from videoformat.index.pictures import Stream
from videoformat.media.color import color_of
from videoformat.media.demux import VideoFile

__all__ = ["CodedFile", "index_file"]

CHANGING_SETS = "parameter sets that change"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an access unit's bytes are in the file, and what they must be."""

    position: int | None
    size: int
    crc32: int


@dataclass(frozen=True)
class CodedFile:
    """An indexed video file. ``facts`` are those of its stream; times are in its time base."""

    path: Path
    stream: IndexedStream
    facts: Stream
    time_base: Fraction
    fps: float
    places: tuple[_Place, ...]
    byte_count: int

    @cached_property
    def positions(self) -> dict[int, int]:
        """Each access unit's first byte in the file, by number.

        Raises ``UnsupportedStreamError`` where the container does not keep access units in one
        piece (transport streams) or does not say where they are.
        """
        found: dict[int, int] = {}
        with self.path.open("rb") as file:
            for number, place in enumerate(self.places):
                if self._read(file.fileno(), place) is None:
                    raise UnsupportedStreamError(
                        "container",
                        f"{self.path}: access unit {number} does not lie in the file as it is",
                    )
                found[number] = place.position or 0
        return found

    @staticmethod
    def _read(descriptor: int, place: _Place) -> bytes | None:
        if place.position is None or place.position < 0:
            return None
        data = os.pread(descriptor, place.size, place.position)
        return data if len(data) == place.size and crc32_of(data) == place.crc32 else None

    def units(self, numbers: range) -> Iterator[tuple[int, bytes]]:
        """The bytes of access units, by number, ascending.

        They are read where the container says that they are; a container that does not keep them in
        one piece is read from its beginning. Raises ``ChecksumError`` where the file has changed.
        """
        if not numbers:
            return
        with self.path.open("rb") as file:
            next_number = numbers.start
            for number in numbers:
                data = self._read(file.fileno(), self.places[number])
                if data is None:
                    break
                yield number, data
                next_number = number + 1
        if next_number == numbers.stop:
            return
        for number, unit in enumerate(_packets(self.path)):
            if number < next_number:
                continue
            if number >= numbers.stop:
                return
            data = bytes(unit)
            if crc32_of(data) != self.places[number].crc32:
                raise ChecksumError(f"{self.path}: access unit {number} has changed since indexing")
            yield number, data


def _packets(path: Path) -> Iterator[av.Packet[Any]]:
    """The packets of the first video stream, in decode order."""
    try:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            for packet in container.demux(stream):
                if packet.size:
                    yield packet
    except av.error.FFmpegError as error:
        raise DataError(f"{path} cannot be read to its end: {error.strerror}") from None


def _in_band_sets(codec: str, unit: bytes) -> bytes:
    """The parameter sets that an access unit carries, in byte stream format."""
    units = split_annexb(unit)
    if codec == "h264":
        return to_annexb(nal for nal in units if nal[0] & 31 in (7, 8))
    return to_annexb(nal for nal in units if nal[0] >> 1 & 63 in (32, 33, 34))


def index_file(path: str | Path) -> CodedFile:
    """Indexes a video file's H.264, HEVC or AV1 from its bytes.

    Raises ``UnsupportedStreamError`` for another codec, for parameter sets that a container changes
    in mid-stream and for a resolution that changes, ``BitstreamError`` for broken syntax,
    ``DataError`` where the file cannot be read.
    """
    with VideoFile(path) as video:
        if video.codec not in INDEXERS:
            raise UnsupportedStreamError(
                "codec",
                f"{video.path}: {video.codec} is not indexed as it is, only "
                f"{', '.join(INDEXERS)}; it can be re-encoded",
            )
        _, frame = next(video.frames(0, 1))
        color = color_of(frame)
        configuration, framing = stored_configuration(video.codec, video.extradata)
        convert = byte_stream(framing)
        indexer: StreamIndexer | None = None
        places: list[_Place] = []
        for packet in _packets(video.path):
            data = bytes(packet)
            unit = convert(data)
            if indexer is None:
                if not configuration and video.codec != "av1":
                    configuration = _in_band_sets(video.codec, unit)
                indexer = StreamIndexer(video.codec, configuration)
            elif packet.has_sidedata("new_extradata"):
                raise UnsupportedStreamError(
                    CHANGING_SETS, f"{video.path}: at access unit {len(places)}"
                )
            indexer.push(CodedUnit(data, unit, packet.pts, not packet.is_discard))
            places.append(_Place(packet.pos, len(data), crc32_of(data)))
        if indexer is None:
            raise DataError(f"{video.path} holds no frames")
        stream = indexer.finish()
        if CHANGING_SETS in stream.fallbacks:
            # Decoded once from end to end: a size that changes is refused there.
            for _ in video.frames():
                pass
        time_base = video.scan().time_base
        facts = Stream(
            codec=video.codec,
            width=frame.width,
            height=frame.height,
            decoded_width=frame.width,
            decoded_height=frame.height,
            pixel_format=frame.format.name,
            color_matrix=color.matrix,
            color_range=color.range,
            color_primaries=color.primaries,
            color_transfer=color.transfer,
            time_base_numerator=time_base.numerator,
            time_base_denominator=time_base.denominator,
            framing=framing,
            configuration=indexer.configuration,
            structure="native",
            interval=None,
            closure_bound=0,
            access="sequential",
            access_reason=None,
            encoder=None,
            source_uri=None,
            source_size=None,
            media_size=0,
        )
        fps = float(video.rate) if video.rate else 30.0
        byte_count = sum(place.size for place in places)
        return CodedFile(video.path, stream, facts, time_base, fps, tuple(places), byte_count)
