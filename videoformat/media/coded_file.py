"""An indexed video file: what it holds, and where its coded pictures are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import av
import av.error

from videoformat.errors import ChecksumError, DataError, UnsupportedStreamError
from videoformat.index.build import crc32_of
from videoformat.index.native import IndexedStream
from videoformat.index.pictures import Stream

if TYPE_CHECKING:
    from av.video.stream import VideoStream

__all__ = ["CodedFile", "Place", "coded_packets"]


class Place(NamedTuple):
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
    places: tuple[Place, ...]
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
    def _read(descriptor: int, place: Place) -> bytes | None:
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
        for number, unit in enumerate(coded_packets(self.path)):
            if number < next_number:
                continue
            if number >= numbers.stop:
                return
            data = bytes(unit)
            if crc32_of(data) != self.places[number].crc32:
                raise ChecksumError(f"{self.path}: access unit {number} has changed since indexing")
            yield number, data


def coded_packets(path: Path) -> Iterator[av.Packet[VideoStream]]:
    """The packets of the first video stream, in decode order."""
    try:
        with av.open(str(path)) as container:
            for packet in container.demux(container.streams.video[0]):
                if packet.size:
                    yield packet
    except av.error.FFmpegError as error:
        raise DataError(f"{path} cannot be read to its end: {error.strerror}") from None
