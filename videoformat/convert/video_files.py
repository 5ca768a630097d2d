"""Plain video files as a source of conversions: one episode each."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from videoformat.convert.native import IndexedFiles
from videoformat.convert.scans import ScanCache
from videoformat.convert.source import CodedSlice, SourceEpisode, fingerprint_files
from videoformat.errors import (
    BitstreamError,
    DataError,
    InvalidArgumentError,
    UnsupportedStreamError,
)
from videoformat.index.features import parse_features
from videoformat.index.schema import DatasetInfo
from videoformat.media.coded_file import CodedFile
from videoformat.media.demux import VideoFile
from videoformat.media.episode import TimedPicture
from videoformat.media.images import DecodedImage

__all__ = ["VIDEO_SUFFIXES", "VideoFilesConversion", "find_video_files"]

CAMERA = "observation.images.main"
VIDEO_SUFFIXES = frozenset(
    [
        ".mp4",
        ".m4v",
        ".mov",
        ".mkv",
        ".webm",
        ".avi",
        ".ts",
        ".m2ts",
        ".mpg",
        ".mpeg",
        ".h264",
        ".264",
        ".hevc",
        ".h265",
        ".265",
        ".ivf",
        ".obu",
    ]
)


def find_video_files(path: Path) -> list[Path]:
    """The file itself, or the video files of a folder in order of their names."""
    if path.is_file():
        return [path]
    return sorted(
        item for item in path.iterdir() if item.is_file() and item.suffix.lower() in VIDEO_SUFFIXES
    )


def _nominal_rate(video: VideoFile) -> float:
    """Frames a second as the file states them; 30 where it says nothing."""
    fps = float(video.rate) if video.rate else 30.0
    return int(fps) if fps.is_integer() else fps


def _text(name: str) -> str:
    """A file's name as text that can be stored, whatever bytes it is made of."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


class VideoFilesConversion:
    """One episode a file, with the camera ``observation.images.main``.

    Rows have ``timestamp`` (float64 seconds, the frame's own pts) and ``frame_index``. All files
    have one frame size and one nominal frame rate. With ``indexed``, an episode has the frames that
    the file's index shows: coded pictures may be hidden, or of no use where a file begins in the
    middle of a recording.
    """

    kind = "video files"

    def __init__(self, path: Path, indexed: IndexedFiles | None = None) -> None:
        self._indexed = indexed
        self._files = find_video_files(path)
        if not self._files:
            raise InvalidArgumentError(f"there are no video files in {path}")
        self._scans = ScanCache()
        root = path if path.is_dir() else path.parent
        self.fingerprint = fingerprint_files(root, self._files)
        self._lengths: list[int] = []
        self.video_bytes = 0
        with self._scans.open(self._files[0]) as video:
            width, height, fps = video.width, video.height, _nominal_rate(video)
        for file in self._files:
            self._survey(file, (width, height, fps))
        features = {
            CAMERA: {
                "dtype": "video",
                "shape": [height, width, 3],
                "names": ["height", "width", "channels"],
            },
            "timestamp": {"dtype": "float64", "shape": [1], "names": None},
            "frame_index": {"dtype": "int64", "shape": [1], "names": None},
        }
        self.info = DatasetInfo(fps=fps, features=parse_features(features))

    def _survey(self, file: Path, first: tuple[int, int, float]) -> None:
        """Checks a file against the first one and counts its frames."""
        width, height, nominal = first
        with self._scans.open(file) as video:
            scan = video.scan()
            fps = _nominal_rate(video)
            if (video.width, video.height) != (width, height):
                raise DataError(
                    f"{file} is {video.width}x{video.height}, {self._files[0]} is "
                    f"{width}x{height}; the frames of a camera have one size"
                )
            if abs(fps - nominal) > 0.01 * nominal:
                raise DataError(f"{file} has {fps} frames a second, {self._files[0]} has {nominal}")
            if not scan.frame_count:
                raise DataError(f"{file} holds no frames")
            self._lengths.append(scan.frame_count)
            self.video_bytes += scan.byte_count

    @property
    def notes(self) -> Sequence[str]:
        """Nothing is unusual about a video file that was accepted."""
        return []

    @property
    def numbers(self) -> Sequence[int]:
        """One a file, in order of their names."""
        return range(len(self._files))

    @property
    def lengths(self) -> Sequence[int]:
        """The frames of every file."""
        return self._lengths

    def episode(self, number: int) -> SourceEpisode:
        """One episode: a file."""
        coded = self._index(number)
        return SourceEpisode(
            number,
            self._lengths[number] if coded is None else coded.stream.frame_count,
            metadata={"source_file": _text(self._files[number].name)},
        )

    def _index(self, number: int) -> CodedFile | None:
        """The file's index; None where none is used, or where it will fail by name later on."""
        if self._indexed is None:
            return None
        try:
            return self._indexed.get(self._files[number])
        except (BitstreamError, DataError, UnsupportedStreamError):
            return None

    def values(self, episode: SourceEpisode) -> dict[str, pa.Array]:
        """Timestamps and frame indices."""
        with self._scans.open(self._files[episode.number]) as video:
            scan = video.scan()
        coded = self._index(episode.number)
        pts = scan.pts if coded is None else coded.frame_times
        if pts is None:
            seconds = np.arange(episode.length) / float(self.info.fps)
        else:
            seconds = np.array([float(tick * scan.time_base) for tick in pts])
        return {
            "timestamp": pa.array(seconds, pa.float64()),
            "frame_index": pa.array(np.arange(episode.length), pa.int64()),
        }

    def coded(self, episode: SourceEpisode) -> dict[str, CodedSlice]:
        """The file itself."""
        return {CAMERA: CodedSlice(self._files[episode.number], 0, episode.length)}

    def images(self, episode: SourceEpisode) -> dict[str, Iterator[DecodedImage]]:  # noqa: ARG002
        """None: a file is video."""
        return {}

    def pictures(self, episode: SourceEpisode) -> Iterator[dict[str, TimedPicture]]:
        """The frames of a file."""
        where = f"episode {episode.number}, camera {CAMERA!r}"
        try:
            with self._scans.open(self._files[episode.number]) as video:
                time_base = video.scan().time_base
                for pts, frame in video.frames():
                    yield {CAMERA: TimedPicture.of_frame(frame, pts, time_base)}
        except UnsupportedStreamError as error:
            raise UnsupportedStreamError(error.kind, f"{where}: {error.detail}") from error
        except DataError as error:
            raise type(error)(f"{where}: {error}") from error
