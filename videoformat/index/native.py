"""Indexing coded video as it is: which pictures a stream holds and what each needs.

Strategy: access units are parsed one after the other; what the parser cannot be right about is
decoded in sequence (``native_sequences``). The stream is then cut into chunks at frames of the
caller's choice (``native_chunk``). A chunk takes every picture that the closures of its frames need
and everything between them in decode order; a picture whose frame belongs to another chunk, or that
is never shown, has no frame index there.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from videoformat.bitstream.av1 import Av1Indexer
from videoformat.bitstream.picture import Picture, PictureType
from videoformat.errors import DataError, UnsupportedStreamError
from videoformat.index.native_order import CodedTime, presentation_ranks
from videoformat.index.native_sequences import FIELD_PICTURES, NalSequences, chain_reason

__all__ = ["CodedPicture", "CodedUnit", "IndexedStream", "StreamIndexer", "index_stream"]


@dataclass(frozen=True, slots=True)
class CodedUnit:
    """One access unit as a container gives it, in decode order.

    ``pts`` may be None where the container has none. ``is_shown`` is False where an edit list keeps
    it out of the presentation.
    """

    data: bytes
    pts: int | None
    is_shown: bool = True


class CodedPicture(NamedTuple):
    """One picture of an indexed stream.

    ``start`` and ``end`` (exclusive) are its bytes within access unit number ``unit``. ``frame`` is
    its ordinal in presentation order, or None. ``fallback`` says why it is decoded in sequence: then
    ``references`` stand for that, and ``poc`` and ``reference_lists`` are None.
    """

    unit: int
    start: int
    end: int
    frame: int | None
    pts: int | None
    poc: int | None
    picture_type: PictureType
    is_random_access: bool
    is_reference: bool
    references: tuple[int, ...]
    reference_lists: tuple[tuple[int, ...], ...] | None
    crc32: int
    fallback: str | None = None


@dataclass(frozen=True, slots=True)
class IndexedStream:
    """Every picture of a stream in decode order; ``frame_positions[k]`` is that of frame ``k``."""

    pictures: tuple[CodedPicture, ...]
    frame_positions: tuple[int, ...]

    @property
    def fallbacks(self) -> dict[str, int]:
        """How many pictures are decoded in sequence, by reason."""
        reasons = (picture.fallback for picture in self.pictures)
        return dict(Counter(reason for reason in reasons if reason is not None))

    @property
    def frame_count(self) -> int:
        """Frames that are presented."""
        return len(self.frame_positions)

    def span(self, first: int, count: int) -> range:
        """The pictures, contiguous in decode order, that frames ``first`` to ``first + count`` need.

        They begin at a random access point that all their closures can start from and that none of
        the frames is presented before (``plan``): decoders would not return it.
        """
        positions = self.frame_positions[first : first + count]
        low = high = positions[0]
        seen: set[int] = set()
        stack = list(positions)
        while stack:
            at = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            low, high = min(low, at), max(high, at)
            stack.extend(self.pictures[at].references)
        points = [at for at in range(low + 1) if self.pictures[at].is_random_access]
        if not points:
            raise UnsupportedStreamError(
                "no random access point", f"before picture {positions[0]} of frame {first}"
            )
        while len(points) > 1 and self._is_led_by_any(points[-1], positions):
            points.pop()
        return range(points[-1], high + 1)

    def _is_led_by_any(self, start: int, positions: Sequence[int]) -> bool:
        """Whether any of the pictures is presented before the random access point at ``start``."""
        pictures = self.pictures
        poc, frame = pictures[start].poc, pictures[start].frame
        if not poc or frame is None:
            return False  # an IDR picture, the start of a chain, or one that is not shown
        return any((pictures[at].frame or 0) < frame for at in positions)


class _TemporalUnits:
    """The pictures of an AV1 stream, any number in a temporal unit."""

    def __init__(self, configuration: bytes) -> None:
        self._indexer = Av1Indexer(configuration, keep_headers=False)
        self.pictures: list[Picture] = []

    @property
    def configuration(self) -> bytes:
        return self._indexer.sequence_header_obu

    def push(self, data: bytes) -> None:
        # Without its headers, not even which frames a unit shows is known: no falling back.
        self.pictures += self._indexer.push(data)


class StreamIndexer:
    """Takes access units in decode order and gives the indexed stream.

    ``configuration`` and ``framing`` are those of ``Stream``.
    """

    def __init__(self, codec: str, configuration: bytes, framing: str = "annexb") -> None:
        self._codec = codec
        self._sequences = (
            _TemporalUnits(configuration)
            if codec == "av1"
            else NalSequences(codec, configuration, framing)
        )
        self._units: list[CodedTime] = []
        self._numbers: list[int] = []  # of each picture's access unit
        self._crcs: list[int] = []

    def push(self, unit: CodedUnit) -> int:
        """Takes the next access unit, and returns the CRC-32 of its bytes.

        Raises ``BitstreamError`` where its bytes break the syntax, and ``UnsupportedStreamError``
        where it cannot even be decoded in sequence.
        """
        data = unit.data
        pictures = self._sequences.pictures
        known = len(pictures)
        self._sequences.push(data)
        number = len(self._units)
        self._units.append(CodedTime(unit.pts, unit.is_shown))
        crc32 = zlib.crc32(data)
        for picture in pictures[known:]:
            start, end = picture.start, picture.end
            is_whole = end - start == len(data)
            self._crcs.append(crc32 if is_whole else zlib.crc32(data[start:end]))
            self._numbers.append(number)
        return crc32

    @property
    def configuration(self) -> bytes:
        """What a decoder must be given before any picture, wherever the stream carried it."""
        return self._sequences.configuration

    @property
    def must_be_decoded(self) -> bool:
        """Whether which pictures are shown, and when, is known only once they are decoded."""
        return any(chain_reason(picture) is not None for picture in self._sequences.pictures)

    def finish(self, decoded: Sequence[int] | None = None) -> IndexedStream:
        """The indexed stream.

        ``decoded`` are the numbers of the access units whose pictures a decoder returned, in that
        order, where ``must_be_decoded``. Raises ``DataError`` where the stream holds no frames,
        ``UnsupportedStreamError`` where timestamps and the bitstream's own order contradict each
        other.
        """
        sequences = self._sequences
        if decoded is not None:
            _check_fields(sequences.pictures, decoded)
        restarts = sequences.restarts if isinstance(sequences, NalSequences) else None
        times = [self._units[number] for number in self._numbers]
        ranks = presentation_ranks(sequences.pictures, times, restarts, decoded)
        pictures = []
        for picture, number, time, rank, crc32 in zip(
            sequences.pictures, self._numbers, times, ranks, self._crcs, strict=True
        ):
            fallback = chain_reason(picture)
            pictures.append(
                CodedPicture(
                    number,
                    picture.start,
                    picture.end,
                    rank,
                    time.pts,
                    picture.order_count if fallback is None else None,
                    picture.picture_type,
                    picture.is_random_access,
                    picture.is_reference,
                    picture.references,
                    picture.reference_lists if fallback is None else None,
                    crc32,
                    fallback,
                )
            )
        frames = sorted((rank, at) for at, rank in enumerate(ranks) if rank is not None)
        if not frames:
            raise DataError("the stream holds no frames")
        positions = tuple([at for _, at in frames])
        return IndexedStream(tuple(pictures), positions)


def _check_fields(pictures: Sequence[Picture], decoded: Sequence[int]) -> None:
    """Refuses frames whose two fields lie in two access units: neither decodes to the frame."""
    first = min(decoded, default=len(pictures))
    returned = set(decoded)
    for picture in pictures[first:]:
        if picture.position not in returned and chain_reason(picture) == FIELD_PICTURES:
            raise UnsupportedStreamError(
                FIELD_PICTURES, f"access unit {picture.position} holds one field of a frame"
            )


def index_stream(
    codec: str, configuration: bytes, units: Iterable[CodedUnit], framing: str = "annexb"
) -> IndexedStream:
    """Indexes a whole stream."""
    indexer = StreamIndexer(codec, configuration, framing)
    for unit in units:
        indexer.push(unit)
    return indexer.finish()
