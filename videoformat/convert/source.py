"""What a conversion reads from: episodes with their rows and their pictures."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from videoformat.index.schema import DatasetInfo
from videoformat.media.episode import TimedPicture
from videoformat.media.images import DecodedImage

__all__ = [
    "CodedSlice",
    "ConversionSource",
    "SourceEpisode",
    "episode_uid",
    "fingerprint_files",
]

_NAMESPACE = uuid.UUID("6f2b7a5e-0d5b-5f0a-9b1e-8d2f6a1c4e37")


@dataclass(frozen=True, slots=True)
class SourceEpisode:
    """One episode to convert. ``number`` is its identity in the source."""

    number: int
    length: int
    tasks: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    statistics: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class CodedSlice:
    """Frames of one camera of one episode inside a video file, counted in presentation order.

    ``file_frame_count`` is how many frames the file must hold in all.
    """

    path: Path
    first_frame: int
    file_frame_count: int


class ConversionSource(Protocol):
    """A dataset of another format, or video files, as the converter sees them.

    Used from several threads at once: every call opens what it reads.
    """

    kind: str
    info: DatasetInfo
    fingerprint: str
    video_bytes: int

    @property
    def notes(self) -> Sequence[str]:
        """What was unusual and what was done about it."""
        ...

    @property
    def numbers(self) -> Sequence[int]:
        """The number of every episode, in order, without reading the episodes."""
        ...

    @property
    def lengths(self) -> Sequence[int]:
        """The frames of every episode, in the same order."""
        ...

    def episode(self, number: int) -> SourceEpisode:
        """One episode."""
        ...

    def values(self, episode: SourceEpisode) -> dict[str, pa.Array]:
        """The tabular features of an episode, one value per frame, by feature key."""
        ...

    def coded(self, episode: SourceEpisode) -> dict[str, CodedSlice]:
        """Where the coded pictures of each camera that is video are, by key."""
        ...

    def images(self, episode: SourceEpisode) -> dict[str, Iterator[DecodedImage]]:
        """The decoded images of each camera that was recorded as images, by key."""
        ...

    def pictures(self, episode: SourceEpisode) -> Iterator[dict[str, TimedPicture]]:
        """The frames of an episode, all cameras in step; exactly as many as its length.

        Raises ``CountMismatchError`` naming episode, camera and both counts otherwise.
        """
        ...


def episode_uid(origin: ConversionSource, number: int) -> str:
    """The stable identity of a converted episode: the same for every run over the same source."""
    return uuid.uuid5(_NAMESPACE, f"{origin.fingerprint}/{number}").hex


def fingerprint_files(root: Path, files: Sequence[Path], read: Sequence[Path] = ()) -> str:
    """A hash by which a continued conversion knows its source.

    It covers the names and sizes of ``files``, and the content of those in ``read``.
    """
    digest = hashlib.sha256()
    for path in sorted(files):
        name = os.fsencode(path.relative_to(root))
        digest.update(len(name).to_bytes(8, "little") + name)
        digest.update(path.stat().st_size.to_bytes(8, "little"))
    for path in sorted(read):
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
