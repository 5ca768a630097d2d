"""Indexing coded video as it is: which pictures a stream holds and what each needs.

Strategy: access units are parsed one after the other. A coded video sequence (from one picture that
resets everything to the next) whose references the parser cannot be right about is not given up: its
pictures are chained, each "referencing" the one before, so that the closure of any of them is all
of the sequence up to it, which is what sequential decoding is.

The stream is then cut into chunks at frames of the caller's choice. A chunk takes every picture that
the closures of its frames need and everything between them in decode order; a picture whose frame
belongs to another chunk, or that is never shown, has no frame index there.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from videoformat.bitstream.av1 import Av1Indexer
from videoformat.bitstream.codecs import make_indexer, resets_decoding
from videoformat.bitstream.h264 import H264Indexer
from videoformat.bitstream.nal import to_annexb
from videoformat.bitstream.picture import Picture, PictureType
from videoformat.errors import DataError, UnsupportedStreamError

__all__ = ["CodedPicture", "CodedUnit", "IndexedStream", "StreamIndexer", "index_stream"]


@dataclass(frozen=True, slots=True)
class CodedUnit:
    """One access unit as a container gives it, in decode order.

    ``data`` are the bytes as they are stored, ``unit`` the same in the form that parsers take
    (``bitstream.codecs.byte_stream``).
    ``pts`` may be None where the container has none. ``is_shown`` is False where an edit list keeps
    it out of the presentation.
    """

    data: bytes
    unit: bytes
    pts: int | None
    is_shown: bool = True


@dataclass(frozen=True, slots=True)
class CodedPicture:
    """One picture of an indexed stream. ``frame`` is its ordinal in presentation order, or None."""

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


@dataclass(frozen=True, slots=True)
class IndexedStream:
    """Every picture of a stream in decode order.

    ``frame_positions[k]`` is the picture of frame ``k``. ``fallbacks`` counts, by reason, the
    pictures that are chained because their references are not known.
    """

    pictures: tuple[CodedPicture, ...]
    frame_positions: tuple[int, ...]
    fallbacks: dict[str, int] = field(default_factory=dict)

    @property
    def frame_count(self) -> int:
        """Frames that are presented."""
        return len(self.frame_positions)

    def span(self, first: int, count: int) -> range:
        """The pictures, contiguous in decode order, that frames ``first`` to ``first + count`` need.

        They begin at the random access point that all their closures can start from.
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
        while low and not self.pictures[low].is_random_access:
            low -= 1
        if not self.pictures[low].is_random_access:
            raise UnsupportedStreamError(
                "no random access point", f"before picture {positions[0]} of frame {first}"
            )
        return range(low, high + 1)


class StreamIndexer:
    """Takes access units in decode order and gives the indexed stream."""

    def __init__(self, codec: str, configuration: bytes) -> None:
        self._codec = codec
        self._configuration = configuration
        self._resets: Callable[[bytes], bool] = resets_decoding(codec)
        self._indexer = make_indexer(codec, configuration)
        self._base = 0
        self._pictures: list[Picture] = []
        self._units: list[tuple[int, int | None, bool]] = []
        self._crcs: list[int] = []
        self._restarts: list[bool] = []
        self._sequence_start = 0
        self._fallback: str | None = None
        self.fallbacks: dict[str, int] = {}

    def push(self, unit: CodedUnit) -> None:
        """Takes the next access unit.

        Raises ``BitstreamError`` where its bytes break the syntax, and for AV1
        ``UnsupportedStreamError`` where its references cannot be known.
        """
        position = len(self._pictures)
        number = self._units[-1][0] + 1 if self._units else 0
        resets = self._resets(unit.unit)
        if resets:
            if self._fallback is not None:
                self._end_fallback()
                self._indexer = make_indexer(self._codec, self._configuration)
                self._base = position
            self._sequence_start = position
        found = None if self._fallback is not None else self._parse(unit.unit)
        if found is None:
            chained = () if position == self._sequence_start else (position - 1,)
            found = [_chained(position, chained, len(unit.data))]
        elif self._codec != "av1":
            # One picture a unit; lengths may take other space than start codes.
            found = [replace(found[0], start=0, end=len(unit.data))]
        for picture in found:
            self._pictures.append(picture)
            self._units.append((number, unit.pts, unit.is_shown))
            self._restarts.append(resets)
            self._crcs.append(zlib.crc32(unit.data[picture.start : picture.end]))

    @property
    def configuration(self) -> bytes:
        """What a decoder must be given before any picture, wherever the stream carried it."""
        if isinstance(self._indexer, H264Indexer):
            return to_annexb(self._indexer.configuration_nal_units) or self._configuration
        if isinstance(self._indexer, Av1Indexer):
            return self._indexer.sequence_header_obu
        return self._configuration

    def _parse(self, data: bytes) -> list[Picture] | None:
        try:
            found = self._indexer.push(data)
        except UnsupportedStreamError as error:
            if self._codec == "av1":
                # Without its headers, not even which frames an AV1 unit shows is known.
                raise
            self._begin_fallback(error.kind)
            return None
        return [_moved(picture, self._base) for picture in found]

    def _begin_fallback(self, kind: str) -> None:
        """Chains the pictures of the sequence so far; the rest follow until it ends."""
        self._fallback = kind
        for at in range(self._sequence_start, len(self._pictures)):
            old = self._pictures[at]
            chained = () if at == self._sequence_start else (at - 1,)
            self._pictures[at] = _chained(at, chained, old.end, old.start)

    def _end_fallback(self) -> None:
        if self._fallback is not None:
            count = len(self._pictures) - self._sequence_start
            self.fallbacks[self._fallback] = self.fallbacks.get(self._fallback, 0) + count
        self._fallback = None

    def finish(self) -> IndexedStream:
        """The indexed stream.

        Raises ``DataError`` where it holds no frames, ``UnsupportedStreamError`` where timestamps
        and the bitstream's own order contradict each other.
        """
        self._end_fallback()
        ranks = self._present()
        pictures = tuple(
            CodedPicture(
                unit=number,
                start=picture.start,
                end=picture.end,
                frame=ranks[at],
                pts=pts,
                poc=None if picture.detail is _CHAIN else picture.order_count,
                picture_type=picture.picture_type,
                is_random_access=picture.is_random_access,
                is_reference=picture.is_reference,
                references=picture.references,
                reference_lists=None if picture.detail is _CHAIN else picture.reference_lists,
                crc32=self._crcs[at],
            )
            for at, (picture, (number, pts, _)) in enumerate(
                zip(self._pictures, self._units, strict=True)
            )
        )
        frames = sorted((rank, at) for at, rank in enumerate(ranks) if rank is not None)
        if not frames:
            raise DataError("the stream holds no frames")
        return IndexedStream(pictures, tuple(at for _, at in frames), dict(self.fallbacks))

    def _present(self) -> list[int | None]:
        """Each picture's ordinal in presentation order; None where it is not shown."""
        shown = [
            at
            for at, (picture, (_, _, is_shown)) in enumerate(
                zip(self._pictures, self._units, strict=True)
            )
            if picture.is_shown and is_shown
        ]
        times = [self._units[at][1] for at in shown]
        bitstream_order = self._bitstream_order(shown)
        if any(pts is None for pts in times) or len(set(times)) != len(times):
            # Raw streams: the order that the bitstream states itself.
            order = bitstream_order
        else:
            order = sorted(shown, key=lambda at: self._units[at][1] or 0)
            if order != bitstream_order:
                first = next(
                    at for at, other in zip(order, bitstream_order, strict=True) if at != other
                )
                raise UnsupportedStreamError(
                    "timestamps out of order",
                    f"picture {first} has pts {self._units[first][1]}, which is not its place in "
                    "the bitstream's own order",
                )
        ranks: list[int | None] = [None] * len(self._pictures)
        for rank, at in enumerate(order):
            ranks[at] = rank
        return ranks

    def _bitstream_order(self, shown: Sequence[int]) -> list[int]:
        """Pictures in output order by their own order counts; chained ones by their timestamps."""
        if self._codec == "av1":
            # Shown frames leave an AV1 decoder in the order of their headers (AV1 7.18).
            return list(shown)
        starts = [at for at, restarts in enumerate(self._restarts) if restarts]
        keys = []
        for at in shown:
            picture = self._pictures[at]
            sequence = bisect_right(starts, at)
            own = self._units[at][1] if picture.detail is _CHAIN else picture.order_count
            keys.append((sequence, at if own is None else own, at))
        return [at for _, _, at in sorted(keys)]


class _Chain:
    """Marks a picture whose references are not known."""


_CHAIN = _Chain()


def _chained(position: int, references: tuple[int, ...], end: int, start: int = 0) -> Picture:
    return Picture(
        position=position,
        order_count=0,
        picture_type="P" if references else "I",
        is_random_access=not references,
        is_reference=True,
        is_shown=True,
        references=references,
        reference_lists=(),
        start=start,
        end=end,
        detail=_CHAIN,
    )


def _moved(picture: Picture, base: int) -> Picture:
    """The same picture with positions counted in the whole stream, and without its headers."""
    return Picture(
        position=picture.position + base,
        order_count=picture.order_count,
        picture_type=picture.picture_type,
        is_random_access=picture.is_random_access,
        is_reference=picture.is_reference,
        is_shown=picture.is_shown,
        references=tuple(at + base for at in picture.references),
        reference_lists=tuple(
            tuple(at + base for at in items) for items in picture.reference_lists
        ),
        start=picture.start,
        end=picture.end,
        detail=None,
    )


def index_stream(codec: str, configuration: bytes, units: Iterable[CodedUnit]) -> IndexedStream:
    """Indexes a whole stream."""
    indexer = StreamIndexer(codec, configuration)
    for unit in units:
        indexer.push(unit)
    return indexer.finish()
