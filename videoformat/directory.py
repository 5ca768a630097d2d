"""Which rows of the table hold which frames of which episode."""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from videoformat.errors import (
    CountMismatchError,
    EpisodeNotFoundError,
    FrameNotFoundError,
    InvalidArgumentError,
)

__all__ = ["Directory", "EpisodeRows"]

Int64Array = np.ndarray[Any, np.dtype[np.int64]]

# Episodes whose rows are kept once they have been compared; a hundred bytes or two each.
_CHECKED_EPISODES = 4096


@dataclass(frozen=True, slots=True)
class EpisodeRows:
    """The rows of one episode, and the frames that each holds.

    ``first_frames`` has one more entry than there are rows: the last is the episode's length.
    """

    episode: int
    uid: str
    first_row: int
    first_frames: tuple[int, ...]

    @property
    def length(self) -> int:
        """Frames of the episode."""
        return self.first_frames[-1]

    @property
    def rows(self) -> range:
        """Positions of its rows in the table."""
        return range(self.first_row, self.first_row + len(self.first_frames) - 1)

    def row_of(self, frame: int) -> int:
        """The row that holds a frame."""
        return self.first_row + bisect_right(self.first_frames, frame) - 1

    def resolve(self, indices: Iterable[Any]) -> list[int]:
        """Frame indices as a caller gives them: integers, negative ones from the end.

        Raises ``FrameNotFoundError`` naming the valid range, ``InvalidArgumentError`` for what is
        not an integer.
        """
        try:
            wanted = [indices] if isinstance(indices, int | np.integer) else list(indices)
        except TypeError:
            raise InvalidArgumentError(
                f"frame indices are an iterable of integers, got {indices!r}"
            ) from None
        return [self._frame(index) for index in wanted]

    def _frame(self, index: Any) -> int:
        frame = as_index(index, "a frame index")
        if not -self.length <= frame < self.length:
            raise FrameNotFoundError(
                f"episode {self.episode} has no frame {frame}; valid are 0 to {self.length - 1}, or "
                f"{-self.length} to -1 from the end"
            )
        return frame + self.length if frame < 0 else frame


def as_index(value: Any, what: str) -> int:
    """An integer as Python takes one for an index; booleans and floats are refused."""
    if isinstance(value, bool | np.bool_):
        raise InvalidArgumentError(f"{what} is an integer, got {value!r}")
    try:
        return operator.index(value)
    except TypeError:
        raise InvalidArgumentError(f"{what} is an integer, got {value!r}") from None


class Directory:
    """All episodes of one version, in the order in which they were appended.

    An episode's rows follow each other, since it was appended in one step. Built from a few bytes a
    row; an inconsistency is kept with its episode and raised only where that episode is used, so
    that one damaged episode does not hide the others.
    """

    def __init__(self, table: pa.Table) -> None:
        self._uids = table.column("episode_uid")
        chunk_index = _integers(table, "chunk_index")
        self._first_frame = _integers(table, "first_frame")
        self._frame_count = _integers(table, "frame_count")
        self._declared = _integers(table, "episode_length")
        self._chunk_index = chunk_index
        starts = np.flatnonzero(chunk_index == 0)
        if len(chunk_index) and (not len(starts) or starts[0] != 0):
            raise CountMismatchError(
                f"the table's first row is chunk {int(chunk_index[0])} of episode "
                f"{self._uids[0].as_py()!r}, expected a chunk 0"
            )
        self._starts = np.append(starts, len(chunk_index))
        ends = self._first_frame + self._frame_count
        self.lengths: Int64Array = ends[self._starts[1:] - 1] if len(starts) else starts
        self.row_count = len(chunk_index)
        self._checked = lru_cache(maxsize=_CHECKED_EPISODES)(self._check)

    def __len__(self) -> int:
        return len(self._starts) - 1

    @property
    def frame_count(self) -> int:
        """Frames of all episodes."""
        return int(self.lengths.sum())

    @property
    def frame_counts(self) -> list[int]:
        """Frames of each row."""
        counts: list[int] = self._frame_count.tolist()
        return counts

    @property
    def chunk_counts(self) -> Int64Array:
        """Rows of each episode."""
        counts: Int64Array = np.diff(self._starts)
        return counts

    @property
    def first_rows(self) -> Int64Array:
        """The first row of each episode."""
        rows: Int64Array = self._starts[:-1]
        return rows

    def uids(self) -> list[str]:
        """The stable identities, by episode."""
        uids: list[str] = self._uids.take(pa.array(self.first_rows)).to_pylist()
        return uids

    def resolve(self, episode: Any) -> int:
        """An episode as a caller gives it: an ordinal, negative from the end."""
        index = as_index(episode, "an episode")
        if not -len(self) <= index < len(self):
            valid = f"valid are 0 to {len(self) - 1}" if len(self) else "the dataset has none"
            raise EpisodeNotFoundError(f"there is no episode {index}; {valid}")
        return index + len(self) if index < 0 else index

    def episode(self, episode: Any) -> EpisodeRows:
        """The rows of an episode. Raises ``CountMismatchError`` where they contradict each other."""
        return self._checked(self.resolve(episode))

    def _check(self, index: int) -> EpisodeRows:
        start, end = int(self._starts[index]), int(self._starts[index + 1])
        uid = self._uids[start].as_py()
        where = f"episode {index} ({uid!r})"
        expected = 0
        firsts = []
        for row in range(start, end):
            if (
                int(self._chunk_index[row]) != row - start
                or int(self._first_frame[row]) != expected
                or int(self._frame_count[row]) < 1
                or self._uids[row].as_py() != uid
            ):
                raise CountMismatchError(
                    f"{where}: row {row} is chunk {self._chunk_index[row]} of "
                    f"{self._uids[row].as_py()!r} with {self._frame_count[row]} frames from "
                    f"{self._first_frame[row]}, expected chunk {row - start} from frame {expected}"
                )
            firsts.append(expected)
            expected += int(self._frame_count[row])
        if int(self._declared[start]) != expected:
            raise CountMismatchError(
                f"{where}: its rows hold {expected} frames, its length is {self._declared[start]}"
            )
        return EpisodeRows(index, uid, start, (*firsts, expected))


def _integers(table: pa.Table, name: str) -> Int64Array:
    column = table.column(name)
    values: Int64Array = (
        column.cast(pa.int64()).fill_null(-1).combine_chunks().to_numpy(zero_copy_only=False)
    )
    return values
