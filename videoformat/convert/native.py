"""Episodes of native video: coded pictures taken as they are, cut into chunks.

Images have no pictures that a stream could hold; they are coded without loss, in a temporary file for
each camera of an episode, and go on as video.
"""

from __future__ import annotations

import itertools
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from videoformat.convert.source import CodedSlice, ConversionSource, SourceEpisode
from videoformat.errors import (
    BitstreamError,
    CountMismatchError,
    DataError,
    UnsupportedStreamError,
)
from videoformat.index.features import Feature
from videoformat.index.frame_rate import frame_rate
from videoformat.index.native_chunk import native_chunk, reference_chunk
from videoformat.index.pictures import ChunkKey
from videoformat.index.rows import ChunkMedia, ExternalRange
from videoformat.media.coded import index_file
from videoformat.media.coded_file import CodedFile
from videoformat.media.episode import ChunkBounds, EncodedFrames
from videoformat.media.lossless import encode_lossless

__all__ = ["IndexedFiles", "native_chunks"]

# Indexed files that are kept: episodes that share a file follow each other.
CAPACITY = 4
# A chunk may grow past its bound while no camera offers a frame to cut at, so many times.
_STRETCH = 4


class IndexedFiles:
    """Video files, each indexed once, whoever asks first. Safe to use from several threads."""

    def __init__(self) -> None:
        self._files: OrderedDict[Path, CodedFile] = OrderedDict()
        self._busy: dict[Path, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, path: Path) -> CodedFile:
        """The indexed file; a second thread that asks waits for the first."""
        with self._lock:
            busy = self._busy.setdefault(path, threading.Lock())
        with busy:
            with self._lock:
                found = self._files.get(path)
                if found is not None:
                    self._files.move_to_end(path)
                    return found
            found = index_file(path)
            with self._lock:
                self._files[path] = found
                while len(self._files) > CAPACITY:
                    self._files.popitem(last=False)
                self._busy = {key: lock for key, lock in self._busy.items() if lock.locked()}
            return found


def open_slice(
    files: IndexedFiles, episode: SourceEpisode, camera: Feature, part: CodedSlice
) -> CodedFile:
    """The indexed file of a camera, checked against the tables and the feature's shape."""
    where = f"episode {episode.number}, camera {camera.key!r}"
    try:
        coded = files.get(part.path)
    except UnsupportedStreamError as error:
        raise UnsupportedStreamError(error.kind, f"{where}: {error.detail}") from error
    except (BitstreamError, DataError) as error:
        raise type(error)(f"{where}: {error}") from error
    if coded.stream.frame_count != part.file_frame_count:
        raise CountMismatchError(
            f"{where}: the tables have {part.file_frame_count} rows for {part.path.name}, the video "
            f"has {coded.stream.frame_count} frames"
        )
    if (coded.facts.width, coded.facts.height) != (camera.width, camera.height):
        raise DataError(
            f"{where}: {part.path.name} is {coded.facts.width}x{coded.facts.height}, the feature's "
            f"shape is {camera.width}x{camera.height}"
        )
    return coded


def cut_points(
    length: int, cameras: Mapping[str, tuple[CodedFile, CodedSlice]], bounds: ChunkBounds
) -> list[int]:
    """Where chunks begin, in frames of the episode, and its length.

    A chunk ends at a frame at which every camera has a random access point, so that no picture is
    needed by two chunks; where none comes for long, it ends anyway and the pictures that both need
    are kept twice.
    """
    points = [0]
    size = 0
    for frame in range(1, length):
        size += sum(
            _frame_size(coded, part.first_frame + frame - 1) for coded, part in cameras.values()
        )
        count = frame - points[-1]
        full = count >= bounds.frames or size >= bounds.bytes
        stretched = count >= _STRETCH * bounds.frames or size >= _STRETCH * bounds.bytes
        clean = full and all(
            _begins_here(coded, part.first_frame + frame) for coded, part in cameras.values()
        )
        if clean or stretched:
            points.append(frame)
            size = 0
    return [*points, length]


def _frame_size(coded: CodedFile, frame: int) -> int:
    picture = coded.stream.pictures[coded.stream.frame_positions[frame]]
    return picture.end - picture.start


def _begins_here(coded: CodedFile, frame: int) -> bool:
    return coded.stream.pictures[coded.stream.frame_positions[frame]].is_random_access


def native_chunks(
    files: IndexedFiles,
    source: ConversionSource,
    episode: SourceEpisode,
    uid: str,
    bounds: ChunkBounds,
    *,
    in_place: bool = False,
) -> Iterator[EncodedFrames]:
    """The chunks of an episode, cameras cut at the same frames.

    ``in_place``: the media stays in the source's files, and the chunks say where.
    """
    with tempfile.TemporaryDirectory(prefix="videoformat-") as folder:
        slices = {
            **source.coded(episode),
            **_images(source, episode, Path(folder), in_place=in_place),
        }
        cameras = {
            key: (open_slice(files, episode, camera, slices[key]), slices[key])
            for key, camera in source.info.cameras.items()
        }
        points = cut_points(episode.length, cameras, bounds)
        for number, (begin, end) in enumerate(itertools.pairwise(points)):
            key = ChunkKey(uid, number, begin, end - begin)
            media = {
                name: (_chunk_in_place if in_place else _chunk)(
                    key, coded, part.first_frame + begin
                )
                for name, (coded, part) in cameras.items()
            }
            yield EncodedFrames(key, media)


def _images(
    source: ConversionSource, episode: SourceEpisode, folder: Path, *, in_place: bool
) -> dict[str, CodedSlice]:
    """The cameras that were recorded as images, coded without loss into files of the folder."""
    slices = {}
    for number, (key, frames) in enumerate(source.images(episode).items()):
        where = f"episode {episode.number}, camera {key!r}"
        if in_place:
            raise UnsupportedStreamError(
                "images", f"{where} is kept as images, which cannot stay where they are"
            )
        camera = source.info.cameras[key]
        path = folder / f"{number}.mp4"
        try:
            encode_lossless(frames, path, frame_rate(source.info.fps), camera.width, camera.height)
        except UnsupportedStreamError as error:
            raise UnsupportedStreamError(error.kind, f"{where}: {error.detail}") from error
        except DataError as error:
            raise type(error)(f"{where}: {error}") from error
        slices[key] = CodedSlice(path, 0, episode.length)
    return slices


def _chunk(key: ChunkKey, coded: CodedFile, first_frame: int) -> ChunkMedia:
    span = coded.stream.span(first_frame, key.frame_count)
    first = coded.stream.pictures[span.start].unit
    last = coded.stream.pictures[span.stop - 1].unit
    units = coded.units(range(first, last + 1))
    current: list[tuple[int, bytes]] = []

    def unit_data(number: int) -> bytes:
        while not current or current[-1][0] != number:
            current[:] = [next(units)]
        return current[-1][1]

    return native_chunk(key, replace(coded.facts), coded.stream, first_frame, unit_data)


def _chunk_in_place(key: ChunkKey, coded: CodedFile, first_frame: int) -> ChunkMedia:
    path = coded.path.resolve()
    facts = replace(coded.facts, source_uri=path.as_uri(), source_size=path.stat().st_size)
    index, start, end = reference_chunk(key, facts, coded.stream, first_frame, coded.positions)
    return ChunkMedia(ExternalRange(path.as_uri(), start, end - start), index)
