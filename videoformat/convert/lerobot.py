"""LeRobot datasets as a source of conversions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

from videoformat.convert.lerobot_source import LeRobotEpisode, LeRobotSource, VideoSlice
from videoformat.convert.scans import ScanCache
from videoformat.convert.source import CodedSlice, SourceEpisode, fingerprint_files
from videoformat.errors import CountMismatchError, DataError, UnsupportedStreamError
from videoformat.index.features import parse_features
from videoformat.index.frame_rate import frame_rate
from videoformat.index.schema import DatasetInfo
from videoformat.media.episode import TimedPicture
from videoformat.media.images import DecodedImage, decode_image

__all__ = ["LeRobotConversion"]


class LeRobotConversion:
    """Episodes of a LeRobot dataset v2.0, v2.1 or v3.0; rows meet frames by ordinal alone."""

    def __init__(self, root: Path) -> None:
        self._source = source = LeRobotSource(root)
        self.kind = f"lerobot {source.version}"
        self.info = DatasetInfo(
            fps=source.fps,
            features=parse_features(source.features, source.arrow_types),
            robot_type=source.robot_type,
            tasks=tuple(source.tasks),
            statistics=source.stats,
            info={**source.info_extra, "codebase_version": source.version},
        )
        files = [
            path
            for path in root.rglob("*")
            if path.is_file()
            and not any(part.startswith(".") for part in path.relative_to(root).parts)
        ]
        meta = [path for path in files if path.relative_to(root).parts[0] == "meta"]
        self.fingerprint = fingerprint_files(root, files, meta)
        suffixes = (".mp4", ".png", ".jpg", ".jpeg")
        self.video_bytes = sum(p.stat().st_size for p in files if p.suffix.lower() in suffixes)
        self._positions = {number: at for at, number in enumerate(source.episode_indices)}
        self._scans = ScanCache()

    @property
    def notes(self) -> Sequence[str]:
        """What was unusual about the dataset and what was done about it."""
        return self._source.notes

    @property
    def numbers(self) -> Sequence[int]:
        """Every episode's ``episode_index``."""
        return self._source.episode_indices

    @property
    def lengths(self) -> Sequence[int]:
        """The rows of every episode."""
        return self._source.episode_lengths

    def episode(self, number: int) -> SourceEpisode:
        """One episode, by its ``episode_index``."""
        own = self._source.episodes[self._positions[number]]
        return SourceEpisode(
            number=number,
            length=own.length,
            tasks=own.tasks,
            metadata=own.metadata,
            statistics=own.stats,
        )

    def _episode(self, episode: SourceEpisode) -> LeRobotEpisode:
        return self._source.episodes[self._positions[episode.number]]

    def values(self, episode: SourceEpisode) -> dict[str, pa.Array]:
        """The tabular features of an episode, by key."""
        table = self._source.table(self._episode(episode))
        if table.num_rows != episode.length:
            raise CountMismatchError(
                f"episode {episode.number}: {table.num_rows} rows, its length is {episode.length}"
            )
        return {key: table.column(key).combine_chunks() for key in table.column_names}

    def coded(self, episode: SourceEpisode) -> dict[str, CodedSlice]:
        """Where the coded pictures of each camera that is video are."""
        own = self._episode(episode)
        slices = {}
        for key, feature in self.info.cameras.items():
            if feature.dtype != "image":
                part = own.videos[key]
                slices[key] = CodedSlice(part.path, part.first_frame, part.file_frame_count)
        return slices

    def images(self, episode: SourceEpisode) -> dict[str, Iterator[DecodedImage]]:
        """The images of each camera that was recorded as images."""
        own = self._episode(episode)
        return {
            key: self._decoded_images(own, key)
            for key, feature in self.info.cameras.items()
            if feature.dtype == "image"
        }

    def pictures(self, episode: SourceEpisode) -> Iterator[dict[str, TimedPicture]]:
        """The frames of an episode, all cameras in step."""
        own = self._episode(episode)
        streams = {}
        for key, feature in self.info.cameras.items():
            frames = (
                self._images(own, key) if feature.dtype == "image"
                else self._video(own, key, own.videos[key])
            )  # fmt: skip
            streams[key] = frames
        for index in range(own.length):
            found: dict[str, TimedPicture] = {}
            for key, frames in streams.items():
                timed = next(frames, None)
                if timed is None:
                    raise CountMismatchError(
                        f"episode {own.episode_index}, camera {key!r}: the table has {own.length} "
                        f"rows, there are {index} frames"
                    )
                found[key] = timed
            yield found

    def _video(self, episode: LeRobotEpisode, key: str, part: VideoSlice) -> Iterator[TimedPicture]:
        where = f"episode {episode.episode_index}, camera {key!r}"
        try:
            with self._scans.open(part.path) as video:
                scan = video.scan()
                if scan.frame_count != part.file_frame_count:
                    raise CountMismatchError(
                        f"the tables have {part.file_frame_count} rows for {part.path.name}, the "
                        f"video has {scan.frame_count} frames"
                    )
                for pts, frame in video.frames(part.first_frame, part.frame_count):
                    yield TimedPicture.of_frame(frame, pts, scan.time_base)
        except UnsupportedStreamError as error:
            raise UnsupportedStreamError(error.kind, f"{where}: {error.detail}") from error
        except DataError as error:
            raise type(error)(f"{where}: {error}") from error

    def _images(self, episode: LeRobotEpisode, key: str) -> Iterator[TimedPicture]:
        period: Fraction = 1 / frame_rate(self.info.fps)
        for index, image in enumerate(self._decoded_images(episode, key)):
            yield TimedPicture.of_frame(image, index, period)

    def _decoded_images(self, episode: LeRobotEpisode, key: str) -> Iterator[DecodedImage]:
        for index, data in enumerate(self._source.images(episode, key)):
            where = f"episode {episode.episode_index}, camera {key!r}, row {index}"
            yield decode_image(data, where)

    def describe(self) -> dict[str, Any]:
        """What is stored about the source."""
        return {"kind": self.kind, "fingerprint": self.fingerprint}
