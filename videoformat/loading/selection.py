"""Which episodes a dataset shows, and where each of its positions lies."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from videoformat.errors import FrameNotFoundError, InvalidArgumentError
from videoformat.loading.facts import DatasetFacts
from videoformat.sampling import intervals_of

__all__ = ["FramePlace", "Selection"]

Int64Array = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class FramePlace:
    """A frame by its episode, its ordinal there, and its ordinal in the whole dataset."""

    episode: int
    frame: int
    index: int


class Selection:
    """The frames of some episodes, in ascending order of episode, whatever order they came in."""

    def __init__(self, facts: DatasetFacts, episodes: Iterable[int] | None) -> None:
        lengths = facts.lengths
        self._facts = facts
        firsts = np.cumsum(lengths) - lengths
        self.episodes: list[int] | None = None
        chosen = np.arange(len(lengths), dtype=np.int64)
        if episodes is not None:
            self.episodes = _known(episodes, len(lengths))
            chosen = np.asarray(self.episodes, np.int64)
        self._episodes = chosen
        self._firsts = firsts[chosen]
        self._lengths = lengths[chosen]
        self._ends = np.cumsum(self._lengths)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    @property
    def episode_count(self) -> int:
        """Episodes."""
        return len(self._episodes)

    def place(self, position: Any) -> FramePlace:
        """Where a position lies; negative ones count from the end. Raises ``IndexError``."""
        try:
            at = operator.index(position)
        except TypeError:
            raise InvalidArgumentError(f"an index is an integer, got {position!r}") from None
        if not -len(self) <= at < len(self):
            raise FrameNotFoundError(
                f"there is no item {at}; valid are {-len(self)} to {len(self) - 1}"
            )
        at = at % len(self)
        slot = int(np.searchsorted(self._ends, at, side="right"))
        frame = at - int(self._ends[slot] - self._lengths[slot])
        return FramePlace(int(self._episodes[slot]), frame, int(self._firsts[slot]) + frame)

    def places(self, positions: Sequence[Any]) -> list[FramePlace]:
        """Where some positions lie."""
        return [self.place(position) for position in positions]

    def interval_starts(self, interval: int | None = None) -> Int64Array:
        """Where each interval begins, and where the last one ends, counted in positions.

        ``interval`` is in frames; None is the dataset's own.
        """
        chunks = self._facts.chunk_frames
        owners = np.repeat(np.arange(len(self._facts.chunk_counts)), self._facts.chunk_counts)
        chosen = chunks[np.isin(owners, self._episodes)]
        return intervals_of(chosen, self._facts.interval if interval is None else interval)

    def indices(self) -> Int64Array:
        """The ordinal in the whole dataset of every position."""
        shift = np.repeat(self._firsts - (self._ends - self._lengths), self._lengths)
        indices: Int64Array = np.arange(len(self), dtype=np.int64) + shift
        return indices


def _known(episodes: Iterable[int], count: int) -> list[int]:
    wanted = {operator.index(episode) for episode in episodes}
    unknown = sorted(episode for episode in wanted if not 0 <= episode < count)
    if unknown:
        warnings.warn(f"there are no episodes {unknown}; valid are 0 to {count - 1}", stacklevel=4)
    return sorted(wanted - set(unknown))
