"""The read path: chunks wanted, their indexes, one planned range read a camera, sparse decode.

Strategy: everything that is asked for in one call goes down the path together. The indexes that
are not cached come in one take; frames are grouped by chunk, so that what two frames share is
fetched and decoded once; all ranges of a camera go out in one planned read; every access unit is
compared with its checksum before it is fed; every wanted picture must come back with the tag that
it was fed with. Anything else raises and names episode, camera and frame.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from videoformat.bitstream.closure import ClosurePicture, ClosureRewriter
from videoformat.bitstream.codecs import byte_stream, make_rewriter
from videoformat.errors import ChecksumError, CountMismatchError, DataError
from videoformat.index.features import Feature
from videoformat.index.pictures import ChunkKey, PictureIndex
from videoformat.index.plan import ChunkPlan, plan_chunk
from videoformat.index.schema import media_columns
from videoformat.media.color import Color, to_rgb
from videoformat.media.decoder import ClosureDecoder, DecodedPicture
from videoformat.sources import AllowedSources
from videoformat.table import Table

__all__ = ["ChunkRead", "ReadPlan", "ReadReport", "Reader"]

INDEX_CACHE_BYTES = 64 * 2**20
MAXIMUM_DECODERS = 8
# What a cached index takes, measured with 600 pictures: about 700 bytes a picture.
_BYTES_PER_PICTURE = 700
_KEY_COLUMNS = ("episode_uid", "chunk_index", "first_frame", "frame_count")
UInt8Array = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(frozen=True, slots=True)
class ChunkRead:
    """What one chunk of one camera contributes to a read."""

    episode: int
    camera: str
    row: int
    index: PictureIndex
    plan: ChunkPlan


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """What a read would fetch and decode."""

    chunks: tuple[ChunkRead, ...]

    @property
    def frame_count(self) -> int:
        """Distinct frames."""
        return sum(len(chunk.plan.frames) for chunk in self.chunks)

    @property
    def picture_count(self) -> int:
        """Pictures to decode."""
        return sum(chunk.plan.picture_count for chunk in self.chunks)

    @property
    def range_count(self) -> int:
        """Byte ranges, before the store coalesces any."""
        return sum(len(chunk.plan.ranges) for chunk in self.chunks)

    @property
    def byte_count(self) -> int:
        """Bytes of media to fetch: the sum of the closures' sizes."""
        return sum(chunk.plan.byte_count for chunk in self.chunks)


@dataclass(slots=True)
class ReadReport:
    """What a read cost. Times are seconds of wall time, summed over the stages."""

    takes: int = 0
    range_reads: int = 0
    ranges: int = 0
    media_bytes: int = 0
    pictures: int = 0
    frames: int = 0
    index_hits: int = 0
    index_misses: int = 0
    seconds: dict[str, float] = field(
        default_factory=lambda: {"index": 0.0, "plan": 0.0, "fetch": 0.0, "decode": 0.0, "rgb": 0.0}
    )


class _IndexCache:
    """Picture indexes by (row, camera), bounded in bytes, least recently used out first."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._items: OrderedDict[tuple[int, str], PictureIndex] = OrderedDict()
        self._pictures = 0
        self._lock = threading.Lock()

    def get(self, key: tuple[int, str]) -> PictureIndex | None:
        with self._lock:
            index = self._items.get(key)
            if index is not None:
                self._items.move_to_end(key)
            return index

    def put(self, key: tuple[int, str], index: PictureIndex) -> None:
        with self._lock:
            old = self._items.pop(key, None)
            self._pictures += len(index) - (len(old) if old else 0)
            self._items[key] = index
            while self._pictures * _BYTES_PER_PICTURE > self.capacity and self._items:
                _, dropped = self._items.popitem(last=False)
                self._pictures -= len(dropped)


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


class Reader:
    """Reads frames of one version of a dataset."""

    def __init__(
        self,
        table: Table,
        *,
        index_cache_bytes: int = INDEX_CACHE_BYTES,
        allowed_sources: Sequence[str] = (),
    ) -> None:
        self.table = table
        self._sources = AllowedSources(allowed_sources)
        self.cameras: Mapping[str, Feature] = table.info.cameras
        self._indexes = _IndexCache(index_cache_bytes)
        self._decoders = _DecoderPool()
        self._rewriters = _Rewriters()

    def indexes(
        self, wanted: Sequence[tuple[int, str]], report: ReadReport | None = None
    ) -> dict[tuple[int, str], PictureIndex]:
        """The picture indexes of some (row, camera) pairs: those not cached come in one take."""
        report = report or ReadReport()
        begin = time.perf_counter()
        found: dict[tuple[int, str], PictureIndex] = {}
        missing = []
        for key in dict.fromkeys(wanted):
            index = self._indexes.get(key)
            if index is None:
                missing.append(key)
            else:
                found[key] = index
        report.index_hits += len(found)
        report.index_misses += len(missing)
        if missing:
            report.takes += 1
            found.update(self._load(missing))
        report.seconds["index"] += time.perf_counter() - begin
        return found

    def _load(self, missing: list[tuple[int, str]]) -> Iterator[tuple[Any, PictureIndex]]:
        rows = sorted({row for row, _ in missing})
        columns = list(_KEY_COLUMNS)
        for camera in sorted({camera for _, camera in missing}):
            columns += media_columns(self.cameras[camera])
        taken = self.table.take(rows, columns).combine_chunks()
        at_row = {row: at for at, row in enumerate(rows)}
        for row, camera in missing:
            feature = self.cameras[camera]
            index = parse_index(taken, at_row[row], feature)
            # Taken, a blob column says where each blob lies.
            place = taken.column(media_columns(feature)[0])[at_row[row]].as_py()
            self._sources.check(place, index.stream)
            self._indexes.put((row, camera), index)
            yield (row, camera), index

    def plan(
        self, wanted: Mapping[tuple[int, str], tuple[int, set[int]]], report: ReadReport
    ) -> ReadPlan:
        """Plans a read of frames by (row, camera); values are the episode and its frames."""
        indexes = self.indexes(list(wanted), report)
        begin = time.perf_counter()
        chunks = []
        for (row, camera), (episode, frames) in wanted.items():
            index = indexes[row, camera]
            chunks.append(ChunkRead(episode, camera, row, index, plan_chunk(index, frames)))
        report.seconds["plan"] += time.perf_counter() - begin
        return ReadPlan(tuple(chunks))

    def read(
        self,
        plan: ReadPlan,
        place: Callable[[int, str, int, UInt8Array], None],
        report: ReadReport,
    ) -> None:
        """Fetches and decodes a plan; ``place`` takes (episode, camera, frame, RGB) as they come."""
        fetched = self._fetch(plan, report)
        for chunk, parts in zip(plan.chunks, fetched, strict=True):
            color = Color(
                chunk.index.stream.color_matrix,
                chunk.index.stream.color_range,
                chunk.index.stream.color_primaries,
                chunk.index.stream.color_transfer,
            )
            height, width = chunk.index.stream.height, chunk.index.stream.width
            for frame, picture in self.decode(chunk, parts, report):
                begin = time.perf_counter()
                place(chunk.episode, chunk.camera, frame, to_rgb(picture, color, height, width))
                report.seconds["rgb"] += time.perf_counter() - begin
                report.frames += 1

    def _fetch(self, plan: ReadPlan, report: ReadReport) -> list[list[bytes]]:
        """The bytes of every range of every chunk: one planned read a camera."""
        begin = time.perf_counter()
        parts: list[list[bytes]] = [[] for _ in plan.chunks]
        for camera in dict.fromkeys(chunk.camera for chunk in plan.chunks):
            owners = []
            requests = []
            for at, chunk in enumerate(plan.chunks):
                if chunk.camera == camera:
                    for item in chunk.plan.ranges:
                        owners.append(at)
                        requests.append((chunk.row, item.start, item.size))
            column = media_columns(self.cameras[camera])[0]
            for at, data in zip(owners, self.table.read_ranges(column, requests), strict=True):
                parts[at].append(data)
            report.range_reads += 1
            report.ranges += len(requests)
            report.media_bytes += sum(size for _, _, size in requests)
        report.seconds["fetch"] += time.perf_counter() - begin
        return parts

    def decode(
        self, chunk: ChunkRead, parts: list[bytes], report: ReadReport
    ) -> Iterator[tuple[int, DecodedPicture]]:
        """Decodes one chunk's closure; yields the wanted frames as (frame, decoded picture).

        Raises ``ChecksumError`` or ``DecodeError`` with episode, camera and frames in the message.
        """
        index = chunk.index
        stream = index.stream
        targets = dict(zip(chunk.plan.targets, chunk.plan.frames, strict=True))
        try:
            for step in chunk.plan.steps:
                units = [access_unit(index, chunk.plan, parts, at) for at in step.pictures]
                configuration, framing = stream.configuration, stream.framing
                if step.is_rewritten:
                    configuration, units = self._rewriters.rewrite(index, step.pictures, units)
                    framing = "annexb"
                decoder = self._decoders.take(stream.codec, configuration, framing)
                packets = zip(step.pictures, units, strict=True)
                wanted = [at for at in step.pictures if at in targets]
                report.pictures += len(units)
                begin = time.perf_counter()
                for at, picture in decoder.decode_group(packets, wanted):
                    report.seconds["decode"] += time.perf_counter() - begin
                    _check_picture(picture, index)
                    yield targets[at], picture
                    begin = time.perf_counter()
                report.seconds["decode"] += time.perf_counter() - begin
                self._decoders.give_back(decoder)
        except DataError as error:
            raise type(error)(
                f"episode {chunk.episode} ({index.key.episode_uid!r}), camera {chunk.camera!r}, "
                f"frames {_some(chunk.plan.frames)}: {error}"
            ) from error


def _some(frames: Sequence[int]) -> str:
    shown = ", ".join(map(str, frames[:8]))
    return shown if len(frames) <= 8 else f"{shown}, … ({len(frames)} frames)"


def parse_index(taken: Any, at: int, camera: Feature) -> PictureIndex:
    """The picture index of one row of a table that has the key's and the camera's columns."""
    _, pictures, stream = media_columns(camera)
    values = [taken.column(name)[at].as_py() for name in _KEY_COLUMNS]
    if any(value is None for value in values):
        raise DataError(f"camera {camera.key!r}: a chunk's key is null: {values}")
    cells = taken.column(pictures)[at].values
    try:
        return PictureIndex.from_arrow(ChunkKey(*values), cells, taken.column(stream)[at].as_py())
    except DataError as error:
        raise type(error)(f"camera {camera.key!r}: {error}") from error


def access_unit(index: PictureIndex, plan: ChunkPlan, parts: Sequence[bytes], at: int) -> bytes:
    """One picture's bytes out of the fetched ranges, compared with its checksum."""
    offset, size = index.offset[at], index.size[at]
    for item, data in zip(plan.ranges, parts, strict=True):
        if item.start <= offset < item.end:
            unit = data[offset - item.start : offset - item.start + size]
            found = zlib.crc32(unit)
            if len(unit) != size or found != index.crc32[at]:
                raise ChecksumError(
                    f"picture {at} ({size} bytes at {offset}) has crc32 {found:#010x}, the index "
                    f"says {index.crc32[at]:#010x}"
                )
            return unit
    raise CountMismatchError(f"picture {at} at byte {offset} was not fetched")


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
