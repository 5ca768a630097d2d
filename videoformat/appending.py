"""Appending finished episodes: rows written as they come, made visible in one step an episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from videoformat.table import Table

__all__ = ["EpisodeRowsBuffer", "FinishedEpisode", "append_episodes", "wait_no_longer"]

# Chunks of one episode beyond this are written to the store before the episode is finished, and
# finished episodes beyond this do not wait for more.
SPILL_BYTES = 128 * 2**20


@dataclass(frozen=True, slots=True)
class FinishedEpisode:
    """A whole episode: its first row, and the others in memory or already in the store.

    ``fragments`` are in the store and not visible yet; they follow ``rows``.
    """

    uid: str
    length: int
    rows: tuple[pa.Table, ...]
    fragments: tuple[Any, ...]
    byte_count: int


@dataclass(slots=True)
class EpisodeRowsBuffer:
    """Collects the rows of an episode after its first, which waits for the episode's facts."""

    table: Table
    rows: list[pa.Table] = field(default_factory=list)
    fragments: list[Any] = field(default_factory=list)
    byte_count: int = 0

    def add(self, row: pa.Table) -> None:
        """Takes the next row; writes what has gathered to the store where it is much."""
        self.rows.append(row)
        self.byte_count += row.nbytes
        if self.byte_count >= SPILL_BYTES:
            self._spill()

    def _spill(self) -> None:
        self.fragments += self.table.write_rows(pa.concat_tables(self.rows))
        self.rows = []
        self.byte_count = 0

    def discard(self) -> None:
        """Forgets the rows; those that are in the store already are removed from it."""
        fragments, self.fragments = self.fragments, []
        self.rows, self.byte_count = [], 0
        self.table.discard(fragments)

    def finish(self, uid: str, length: int, first: pa.Table) -> FinishedEpisode:
        """The whole episode, with its first row in front."""
        if self.fragments and self.rows:
            self._spill()
        return FinishedEpisode(
            uid,
            length,
            (first, *self.rows),
            tuple(self.fragments),
            first.nbytes + self.byte_count,
        )


def wait_no_longer(episodes: Sequence[FinishedEpisode]) -> bool:
    """Whether finished episodes should be appended: some lie in the store already, or they are much."""
    return any(episode.fragments for episode in episodes) or (
        sum(episode.byte_count for episode in episodes) >= SPILL_BYTES
    )


def append_episodes(table: Table, episodes: Sequence[FinishedEpisode]) -> Table:
    """Appends whole episodes, in order, in one commit; returns the version that has them."""
    fragments: list[Any] = []
    gathered: list[pa.Table] = []
    for episode in episodes:
        gathered += episode.rows
        if episode.fragments:
            fragments += table.write_rows(pa.concat_tables(gathered))
            fragments += episode.fragments
            gathered = []
    if gathered:
        fragments += table.write_rows(pa.concat_tables(gathered))
    return table.commit(fragments) if fragments else table
