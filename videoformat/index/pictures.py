"""The picture index: one row per coded picture, next to the bytes that it describes.

Strategy: Arrow is how an index is stored and shown; for a walk over references the columns are
plain Python lists, since a closure touches a handful of rows and a list read costs a tenth of an
Arrow scalar. An index is checked when it is made, so everything after may trust it: positions are
in range, references point backwards in decode order, byte ranges tile the chunk's media, and the
checksum over all of it, the stream's facts included, is right.
"""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pyarrow as pa

from videoformat.errors import ChecksumError, DataError, StructureError
from videoformat.index.schema import PICTURE_TYPE, STREAM_TYPE

__all__ = ["ChunkKey", "PictureIndex", "Stream", "place_pictures"]

ACCESS_KINDS = ("direct", "rewrite", "sequential")


@dataclass(frozen=True, slots=True)
class ChunkKey:
    """Which frames of which episode a chunk holds; part of what the checksum covers."""

    episode_uid: str
    chunk_index: int
    first_frame: int
    frame_count: int

    @property
    def end_frame(self) -> int:
        """One past the last frame."""
        return self.first_frame + self.frame_count


@dataclass(frozen=True, slots=True)
class Stream:
    """What a decoder and a colour conversion need to know about a chunk's pictures.

    ``width`` and ``height`` are a frame's; ``decoded_width`` and ``decoded_height`` are what the
    decoder returns, from which a frame is the top left part. ``framing`` is ``annexb``,
    ``length4`` (or 1 to 3) or ``obu``. ``closure_bound`` is the most pictures that any frame's
    closure has. ``access`` says how a closure is fed: ``direct`` as it is, ``rewrite`` with slice
    headers rewritten, ``sequential`` where only the pictures since a random access point will do.
    ``encoder`` is JSON about how the pictures were made, for people. ``source_uri`` and
    ``source_size`` name the file that holds the media where the dataset does not, and its size.
    """

    codec: str
    width: int
    height: int
    decoded_width: int
    decoded_height: int
    pixel_format: str
    color_matrix: str
    color_range: str
    color_primaries: str
    color_transfer: str
    time_base_numerator: int
    time_base_denominator: int
    framing: str
    configuration: bytes
    structure: str
    interval: int | None
    closure_bound: int
    access: str
    access_reason: str | None
    encoder: str | None
    source_uri: str | None
    source_size: int | None
    media_size: int

    @property
    def encoder_settings(self) -> dict[str, Any]:
        """``encoder`` as a dictionary; empty where it is absent or not JSON."""
        try:
            settings = json.loads(self.encoder or "{}")
        except ValueError:
            return {}
        return settings if isinstance(settings, dict) else {}

    def canonical_bytes(self) -> bytes:
        """The fields in order, as the checksum takes them (spec/v1/table.md, Checksums)."""
        parts = []
        for item in fields(self):
            value = getattr(self, item.name)
            if value is None:
                parts.append(b"\0")
            elif isinstance(value, int):
                parts.append(b"\1" + value.to_bytes(8, "little", signed=True))
            else:
                raw = value if isinstance(value, bytes) else value.encode()
                parts.append(b"\2" + len(raw).to_bytes(8, "little") + raw)
        return b"".join(parts)


_STREAM_FIELDS = tuple(item.name for item in fields(Stream))


def _key_bytes(key: ChunkKey) -> bytes:
    uid = key.episode_uid.encode()
    numbers = (key.chunk_index, key.first_frame, key.frame_count)
    return (
        len(uid).to_bytes(8, "little")
        + uid
        + b"".join(number.to_bytes(8, "little", signed=True) for number in numbers)
    )


@dataclass(frozen=True, slots=True, repr=False)
class PictureIndex:
    """The checked picture index of one camera of one chunk, in decode order.

    ``frame_index`` counts in the episode and is None for a picture that is never shown; ``offset``
    and ``size`` are bytes within the chunk's media; ``references`` are positions in this index.
    ``position_of`` maps a frame to its picture; ``references_before[n]`` counts the reference
    pictures among the first ``n``; ``earliest`` is the first picture of each one's closure;
    ``random_access_points`` are the positions of such pictures, ascending.
    """

    key: ChunkKey
    stream: Stream
    frame_index: tuple[int | None, ...]
    pts: tuple[int | None, ...]
    poc: tuple[int | None, ...]
    picture_type: tuple[str, ...]
    is_random_access: tuple[bool, ...]
    is_reference: tuple[bool, ...]
    offset: tuple[int, ...]
    size: tuple[int, ...]
    references: tuple[tuple[int, ...], ...]
    reference_lists: tuple[tuple[tuple[int, ...], ...] | None, ...]
    crc32: tuple[int, ...]
    position_of: dict[int, int] = field(init=False, repr=False, compare=False)
    references_before: tuple[int, ...] = field(init=False, repr=False, compare=False)
    earliest: tuple[int, ...] = field(init=False, repr=False, compare=False)
    random_access_points: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        columns = [getattr(self, name) for name in _PICTURE_FIELDS]
        if len({len(column) for column in columns}) != 1:
            raise StructureError(f"{self._where}: columns of the picture index differ in length")
        self._check_size()
        self._check_pictures()
        positions = {frame: at for at, frame in enumerate(self.frame_index) if frame is not None}
        shown = sum(frame is not None for frame in self.frame_index)
        wanted = range(self.key.first_frame, self.key.end_frame)
        if shown != len(wanted) or len(positions) != shown or not positions.keys() <= set(wanted):
            raise StructureError(
                f"{self._where}: the picture index shows {shown} pictures with "
                f"{len(positions)} frame indices, the chunk has frames "
                f"{self.key.first_frame} to {self.key.end_frame - 1}"
            )
        object.__setattr__(self, "position_of", positions)
        counts = (0, *itertools.accumulate(map(int, self.is_reference)))
        object.__setattr__(self, "references_before", counts)
        earliest: list[int] = []
        for at, references in enumerate(self.references):
            earliest.append(min(map(earliest.__getitem__, references), default=at))
        object.__setattr__(self, "earliest", tuple(earliest))
        points = tuple([at for at, is_point in enumerate(self.is_random_access) if is_point])
        object.__setattr__(self, "random_access_points", points)

    @property
    def _where(self) -> str:
        return f"episode {self.key.episode_uid!r} chunk {self.key.chunk_index}"

    def _check_size(self) -> None:
        stream = self.stream
        if not (
            1 <= stream.width <= stream.decoded_width
            and 1 <= stream.height <= stream.decoded_height
        ):
            raise StructureError(
                f"{self._where}: frames of {stream.width}x{stream.height} out of pictures of "
                f"{stream.decoded_width}x{stream.decoded_height}"
            )

    def _check_pictures(self) -> None:
        for at, references in enumerate(self.references):
            for reference in references:
                if not 0 <= reference < at:
                    raise StructureError(
                        f"{self._where}: picture {at} references {references}, "
                        "expected earlier positions"
                    )
        for at, (offset, size) in enumerate(zip(self.offset, self.size, strict=True)):
            if offset < 0 or size <= 0 or offset + size > self.stream.media_size:
                raise StructureError(
                    f"{self._where}: picture {at} lies at bytes {offset} to {offset + size} of "
                    f"{self.stream.media_size}"
                )

    def __len__(self) -> int:
        return len(self.offset)

    def __repr__(self) -> str:
        stream = self.stream
        return (
            f"PictureIndex({self._where}: {len(self)} pictures of {stream.codec} "
            f"{stream.structure}, frames {self.key.first_frame} to {self.key.end_frame - 1})"
        )

    def closure(self, positions: Sequence[int]) -> set[int]:
        """The smallest set of pictures that decodes those at ``positions`` (a set of positions)."""
        closed = set(positions)
        stack = list(closed)
        while stack:
            for reference in self.references[stack.pop()]:
                if reference not in closed:
                    closed.add(reference)
                    stack.append(reference)
        return closed

    def checksum(self) -> int:
        """CRC-32 of the chunk's key, the stream's facts and every cell of the index."""
        return self._checksum(
            np.array([-1 if f is None else f for f in self.frame_index], "<i8"),
            np.array([_NULL if t is None else t for t in self.pts], "<i8"),
            np.array([_NULL if c is None else c for c in self.poc], "<i8"),
        )

    def _checksum(self, *leading: np.ndarray[Any, Any]) -> int:
        crc = zlib.crc32(_key_bytes(self.key))
        crc = zlib.crc32(self.stream.canonical_bytes(), crc)
        for column in leading:
            crc = zlib.crc32(column.tobytes(), crc)
        crc = zlib.crc32("\n".join(self.picture_type).encode(), crc)
        crc = zlib.crc32(np.array(self.is_random_access, "u1").tobytes(), crc)
        crc = zlib.crc32(np.array(self.is_reference, "u1").tobytes(), crc)
        crc = zlib.crc32(np.array(self.offset, "<i8").tobytes(), crc)
        crc = zlib.crc32(np.array(self.size, "<i8").tobytes(), crc)
        crc = zlib.crc32(_lists_bytes(self.references), crc)
        crc = zlib.crc32(_nested_bytes(self.reference_lists), crc)
        return zlib.crc32(np.array(self.crc32, "<u4").tobytes(), crc)

    def to_arrow(self) -> pa.Array:
        """The index as one array of ``PICTURE_TYPE``, one row per picture."""
        children = [pa.array(getattr(self, item.name), type=item.type) for item in PICTURE_TYPE]
        return pa.StructArray.from_arrays(children, fields=list(PICTURE_TYPE))

    def stream_value(self) -> dict[str, Any]:
        """The row's ``…/stream`` value: the stream's facts and the checksum."""
        value = {name: getattr(self.stream, name) for name in _STREAM_FIELDS}
        return {**value, "checksum": self.checksum()}

    @staticmethod
    def from_arrow(key: ChunkKey, pictures: pa.StructArray, stream: dict[str, Any]) -> PictureIndex:
        """Reads a row's cells back and checks them.

        Raises ``ChecksumError`` where any cell differs from what was written, and
        ``StructureError`` where the cells contradict each other.
        """
        where = f"episode {key.episode_uid!r} chunk {key.chunk_index}"
        if pictures is None or stream is None:
            raise DataError(f"{where}: the picture index or the stream is null")
        facts = _stream_from_row(stream, where)
        columns: dict[str, Any] = {}
        for item in PICTURE_TYPE:
            child = pictures.field(item.name)
            if child.null_count and item.name not in _NULLABLE:
                raise DataError(f"{where}: {item.name} of a picture is null")
            columns[item.name] = tuple(child.to_pylist())
        try:
            columns["references"] = tuple(map(tuple, columns["references"]))
            columns["reference_lists"] = tuple(
                None if lists is None else tuple(map(tuple, lists))
                for lists in columns["reference_lists"]
            )
            stored = stream.get("checksum")
            # The cells are compared with the checksum before anything is concluded from them.
            _check_stored(key, facts, columns, stored, where)
        except (TypeError, ValueError, OverflowError) as error:
            raise DataError(f"{where}: the picture index cannot be read: {error}") from None
        if facts.access not in ACCESS_KINDS:
            raise DataError(f"{where}: the stream's access is {facts.access!r}")
        return PictureIndex(key=key, stream=facts, **columns)


_NULL = -(2**63)
_NULLABLE = ("frame_index", "pts", "poc", "reference_lists")
_PICTURE_FIELDS = tuple(item.name for item in PICTURE_TYPE)


def _lists_bytes(lists: Sequence[Sequence[int]]) -> bytes:
    """Lengths, then values, of lists of integers."""
    lengths = np.fromiter(map(len, lists), "<i8", len(lists))
    values = np.array([value for items in lists for value in items], "<i8")
    return lengths.tobytes() + values.tobytes()


def _nested_bytes(nested: Sequence[Sequence[Sequence[int]] | None]) -> bytes:
    """The outer lengths (-1 for null), then ``_lists_bytes`` of the inner lists."""
    outer = np.array([-1 if lists is None else len(lists) for lists in nested], "<i8")
    return outer.tobytes() + _lists_bytes([items for lists in nested for items in lists or ()])


def _check_stored(
    key: ChunkKey, stream: Stream, columns: dict[str, Any], stored: object, where: str
) -> None:
    unchecked = object.__new__(PictureIndex)
    object.__setattr__(unchecked, "key", key)
    object.__setattr__(unchecked, "stream", stream)
    for name, column in columns.items():
        object.__setattr__(unchecked, name, column)
    computed = unchecked.checksum()
    if stored != computed:
        raise ChecksumError(
            f"{where}: the picture index has checksum {computed:#010x}, stored is "
            f"{stored if stored is None else format(stored, '#010x')}"
        )


def _stream_from_row(value: dict[str, Any], where: str) -> Stream:
    nullable = {"interval", "access_reason", "encoder", "source_uri", "source_size"}
    for item in STREAM_TYPE:
        if value.get(item.name) is None and item.name not in nullable:
            raise DataError(f"{where}: the stream's {item.name} is null")
    facts: dict[str, Any] = {name: value.get(name) for name in _STREAM_FIELDS}
    return Stream(**facts)


def place_pictures(
    sizes: Sequence[int], is_reference: Sequence[bool], order: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Where each picture goes in the media: references first, then the rest as they are shown.

    ``sizes`` and ``is_reference`` are in decode order; ``order`` gives each picture's rank in
    presentation order. Returns the positions in the order in which their bytes are stored, and
    each picture's offset. References lie in decode order, so that a run of them is one range; the
    rest lie in presentation order, so that a window of frames is one range.
    """
    layout = [at for at, reference in enumerate(is_reference) if reference]
    layout += sorted(
        (at for at, reference in enumerate(is_reference) if not reference), key=lambda at: order[at]
    )
    offsets = [0] * len(sizes)
    end = 0
    for at in layout:
        offsets[at] = end
        end += sizes[at]
    return layout, offsets
