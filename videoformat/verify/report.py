"""What a verification found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Problem", "VerifyProgress", "VerifyReport", "What"]

What = Literal[
    "directory",  # the rows of an episode contradict each other
    "identity",  # an episode_uid is missing, or another episode has it too
    "column",  # a tabular column cannot be read, or holds another number of values than frames
    "index",  # a picture index or its stream's facts are damaged
    "stream",  # the stream's facts contradict the feature or what the decoder returns
    "layout",  # the pictures' byte ranges are not the documented ones
    "structure",  # the reference structure does not keep its promise
    "media",  # the media cannot be read or have another size
    "checksum",  # an access unit is not the bytes that were written
    "bitstream",  # the index derived from the bytes is not the stored one
    "decode",  # a closure does not decode, or not to what a sequential decode gives
]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and where.

    ``episode`` is the ordinal in the version that was verified; it is None, as are ``episode_uid``
    and ``chunk`` (the chunk index in the episode), where the problem is not one episode's;
    ``camera`` is None where it is not one camera's. ``what`` is a short stable name; ``detail``
    is for people.
    """

    episode: int | None
    episode_uid: str | None
    camera: str | None
    chunk: int | None
    what: What
    detail: str

    def __str__(self) -> str:
        where = []
        if self.episode is not None:
            where.append(f"episode {self.episode} ({self.episode_uid!r})")
        if self.chunk is not None:
            where.append(f"chunk {self.chunk}")
        if self.camera is not None:
            where.append(f"camera {self.camera!r}")
        return f"{', '.join(where) or 'dataset'}: {self.what}: {self.detail}"


@dataclass(frozen=True, slots=True)
class VerifyProgress:
    """How far a verification is. Frames are time steps, counted once for all cameras."""

    chunks_done: int
    chunks_total: int
    frames_done: int
    frames_total: int
    problems: int
    seconds: float


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was looked at, and everything that is wrong with it.

    ``frames`` are time steps, ``pictures`` and ``byte_count`` the coded pictures and bytes of media
    that were compared with their checksums; ``derived`` the pictures among them whose references
    and types were derived from the bytes once more (of native streams not all can be); ``closures``
    the frames that were each decoded on their own and compared with a sequential decode (0 unless
    that was asked for).
    """

    uri: str
    version: int
    episodes: int
    chunks: int
    frames: int
    pictures: int
    byte_count: int
    derived: int
    closures: int
    seconds: float
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems
