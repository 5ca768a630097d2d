"""One camera of one episode as a run of samples: what a container holds, in decode order.

Strategy: chunks stand alone, so those of one episode follow each other as they are. What is known
without the bytes is planned first, from the indexes; the bytes come chunk by chunk.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from videoformat.bitstream.codecs import byte_stream
from videoformat.errors import ChecksumError, DataError, UnsupportedStreamError
from videoformat.export.star import StarUnits, presented_configuration, star_sample_plan
from videoformat.index.features import Feature
from videoformat.index.pictures import ChunkKey, PictureIndex, Stream
from videoformat.index.schema import media_columns
from videoformat.sources import AllowedSources
from videoformat.table import Table

__all__ = ["CameraEpisode", "Sample", "camera_episode", "read_units"]

_KEY_COLUMNS = ("episode_uid", "chunk_index", "first_frame", "frame_count")


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample: the pictures at ``positions`` of a chunk, of which the last is shown.

    ``frame`` counts in the episode, ``pts`` in the stream's time base. ``is_sync``: decoding may
    start here, and nothing that follows is presented earlier or needs what came before.
    ``shows_hidden``: its picture was part of an earlier sample, and is only shown here.
    """

    chunk: int
    positions: tuple[int, ...]
    frame: int
    pts: int | None
    is_sync: bool
    shows_hidden: bool = False


@dataclass(frozen=True, slots=True)
class CameraEpisode:
    """All samples of one camera of one episode, in decode order, and the facts of its stream."""

    where: str
    rows: tuple[int, ...]
    column: str
    indexes: tuple[PictureIndex, ...]
    samples: tuple[Sample, ...]

    @property
    def stream(self) -> Stream:
        """The facts of the stream, which are the same in all chunks where it matters."""
        return self.indexes[0].stream

    @property
    def byte_count(self) -> int:
        """Bytes of all samples."""
        return sum(
            self.indexes[item.chunk].size[at]
            for item in self.samples
            if not item.shows_hidden
            for at in item.positions
        )

    @property
    def is_star(self) -> bool:
        """Whether its pictures are stored as stars."""
        return self.stream.structure == "star"

    @property
    def configuration(self) -> bytes:
        """The codec configuration of the samples."""
        stream = self.stream
        if self.is_star:
            return presented_configuration(stream.codec, stream.configuration)
        return stream.configuration

    @property
    def delay(self) -> int:
        """Samples that must be decoded before the one that is shown first can be shown in time."""
        return max(at - item.frame for at, item in enumerate(self.samples))

    @property
    def kind(self) -> tuple[object, ...]:
        """What must be equal for two of these to share one track."""
        stream = self.stream
        return (stream.codec, stream.configuration, stream.width, stream.height)


def camera_episode(table: Table, rows: range, feature: Feature, where: str) -> CameraEpisode:
    """Plans the samples of a camera from the indexes of an episode's rows.

    Raises ``UnsupportedStreamError`` where pictures that are not to be shown would be, and where
    one track cannot hold what the chunks hold.
    """
    media, pictures, stream = media_columns(feature)
    taken = table.take(list(rows), [*_KEY_COLUMNS, pictures, stream])
    indexes = []
    for at in range(len(rows)):
        key = ChunkKey(*(taken.column(name)[at].as_py() for name in _KEY_COLUMNS))
        cells = taken.column(pictures)[at].values
        indexes.append(PictureIndex.from_arrow(key, cells, taken.column(stream)[at].as_py()))
    samples: list[Sample] = []
    for chunk, index in enumerate(indexes):
        if _fixed(index.stream) != _fixed(indexes[0].stream):
            raise UnsupportedStreamError(
                "streams that differ within an episode",
                f"{where}: chunk {chunk} and chunk 0 do not fit into one track",
            )
        if chunk and index.stream.structure not in ("ddra", "star"):
            _check_alone(indexes[chunk - 1], index, where)
        if index.stream.structure == "star":
            samples += [
                Sample(chunk, positions, index.frame_index[at] or 0, index.pts[at], is_sync, hidden)
                for positions, at, hidden, is_sync in star_sample_plan(index)
            ]
        else:
            samples += _chunk_samples(chunk, index, where)
    frames = sorted(item.frame for item in samples)
    if frames != list(range(len(frames))) or len(frames) != indexes[-1].key.end_frame:
        raise DataError(f"{where}: its samples show {len(frames)} frames, not each of them once")
    return CameraEpisode(where, tuple(rows), media, tuple(indexes), tuple(samples))


def _fixed(stream: Stream) -> tuple[object, ...]:
    return (
        stream.codec,
        stream.structure == "star",
        stream.width,
        stream.height,
        stream.configuration,
        stream.time_base_numerator,
        stream.time_base_denominator,
    )


def _check_alone(before: PictureIndex, index: PictureIndex, where: str) -> None:
    """Chunks of one episode follow each other as they are only where each shows all that it holds.

    A native chunk that begins at an open GOP, or ends in the middle of one, holds pictures that the
    chunk beside it holds and shows.
    """
    marks = set(zip(before.crc32, before.size, before.pts, strict=True))
    repeated = marks.intersection(zip(index.crc32, index.size, index.pts, strict=True))
    if any(pts is not None for _, _, pts in repeated):
        raise UnsupportedStreamError(
            "chunks that share pictures",
            f"{where}: chunk {index.key.chunk_index} repeats {len(repeated)} pictures of the one "
            "before it",
        )


def _chunk_samples(chunk: int, index: PictureIndex, where: str) -> Iterator[Sample]:
    sync = _sync_positions(index)
    held: list[int] = []
    for at, frame in enumerate(index.frame_index):
        held.append(at)
        if frame is None:
            # An AV1 frame that is not shown is part of the temporal unit of the next that is.
            if index.stream.codec != "av1":
                raise UnsupportedStreamError(
                    "pictures that are not shown",
                    f"{where}: picture {at} of chunk {chunk} is only there for others to reference; "
                    "a player would show it",
                )
            continue
        yield Sample(chunk, tuple(held), frame, index.pts[at], held[0] in sync)
        held = []
    if held:
        raise UnsupportedStreamError(
            "pictures that are not shown", f"{where}: chunk {chunk} ends in {len(held)} of them"
        )


def _sync_positions(index: PictureIndex) -> set[int]:
    """Positions at which decoding can start for good: what follows is later and needs no earlier."""
    found: set[int] = set()
    next_frame: int | None = None
    reach = len(index)
    for at in range(len(index) - 1, -1, -1):
        frame = index.frame_index[at]
        own = next_frame if frame is None else frame
        later = next_frame is None or own is None or frame is None or own < next_frame
        if index.is_random_access[at] and reach >= at and later:
            found.add(at)
        reach = min(reach, index.earliest[at])
        if frame is not None:
            next_frame = frame if next_frame is None else min(next_frame, frame)
    return found


def read_units(
    table: Table, video: CameraEpisode, allowed: AllowedSources
) -> Iterator[tuple[Sample, bytes]]:
    """The samples with their bytes as a byte stream (H.264, HEVC) or as OBUs (AV1).

    Holds one chunk's media at a time. Raises ``ChecksumError`` where bytes are not those that were
    written, ``SourceNotAllowedError`` where they lie in a file that may not be opened.
    """
    media, held = b"", -1
    convert = byte_stream(video.stream.framing)
    stream = video.stream
    star = StarUnits(stream.codec, stream.configuration) if video.is_star else None
    for sample in video.samples:
        index = video.indexes[sample.chunk]
        if sample.chunk != held:
            row, held = video.rows[sample.chunk], sample.chunk
            place = table.take([row], [video.column]).column(video.column).to_pylist()[0]
            allowed.check(place, index.stream)
            (media,) = table.read_ranges(video.column, [(row, 0, index.stream.media_size)])
        parts = []
        for at in sample.positions:
            part = media[index.offset[at] : index.offset[at] + index.size[at]]
            if zlib.crc32(part) != index.crc32[at]:
                raise ChecksumError(
                    f"{video.where}: the bytes of picture {at} of chunk {sample.chunk} (frame "
                    f"{sample.frame}) are not those that were written"
                )
            parts.append(convert(part))
        yield sample, b"".join(parts) if star is None else star.unit(sample, index, parts)
