"""An indexed video file: what it holds, and where its coded pictures are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
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

# Bytes of a Matroska block group's header, or of a Flash tag's.
_MAXIMUM_LEAD = 32


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

    @property
    def frame_times(self) -> tuple[int, ...] | None:
        """The pts of each frame, ascending; None where the container does not have them so."""
        pictures = self.stream.pictures
        times = [pictures[at].pts for at in self.stream.frame_positions]
        known = tuple([pts for pts in times if pts is not None])
        is_usable = len(known) == len(times) and all(a < b for a, b in pairwise(known))
        return known if is_usable else None

    @cached_property
    def positions(self) -> dict[int, int]:
        """Each access unit's first byte in the file, by number.

        Raises ``UnsupportedStreamError`` where the container does not keep access units in one
        piece (transport streams) or does not say where they are.
        """
        found: dict[int, int] = {}
        with self.path.open("rb") as file:
            reader = _UnitReader(file.fileno())
            for number, place in enumerate(self.places):
                at = reader.find(place)
                if at is None:
                    raise UnsupportedStreamError(
                        "container",
                        f"{self.path}: access unit {number} does not lie in the file as it is",
                    )
                found[number] = at[0]
        return found

    def units(self, numbers: range) -> Iterator[tuple[int, bytes]]:
        """The bytes of access units, by number, ascending.

        They are read where the container says that they are; a container that does not keep them in
        one piece is read from its beginning. Raises ``ChecksumError`` where the file has changed.
        """
        if not numbers:
            return
        with self.path.open("rb") as file:
            reader = _UnitReader(file.fileno())
            next_number = numbers.start
            for number in numbers:
                found = reader.find(self.places[number])
                if found is None:
                    break
                yield number, found[1]
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
            next_number = number + 1
        if next_number < numbers.stop:
            raise ChecksumError(f"{self.path} ends before access unit {next_number} since indexing")


class _UnitReader:
    """Finds access units in a file, where the container says or a little behind.

    Matroska and Flash name the block that holds an access unit; its header comes first and is of
    the same size most of the time.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lead = 0

    def find(self, place: Place) -> tuple[int, bytes] | None:
        """The position of an access unit and its bytes; None where it is not in one piece there."""
        if place.position is None or place.position < 0:
            return None
        at = place.position + self._lead
        data = os.pread(self._descriptor, place.size, at)
        if len(data) == place.size and crc32_of(data) == place.crc32:
            return at, data
        around = os.pread(self._descriptor, place.size + _MAXIMUM_LEAD, place.position)
        for lead in range(len(around) - place.size + 1):
            data = around[lead : lead + place.size]
            if crc32_of(data) == place.crc32:
                self._lead = lead
                return place.position + lead, data
        return None


def coded_packets(path: Path) -> Iterator[av.Packet[VideoStream]]:
    """The packets of the first video stream, in decode order."""
    try:
        with av.open(str(path), metadata_errors="replace") as container:
            for packet in container.demux(container.streams.video[0]):
                if packet.size:
                    yield packet
    except av.error.FFmpegError as error:
        raise DataError(f"{path} cannot be read to its end: {error.strerror}") from None
