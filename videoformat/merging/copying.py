"""Merge, subset and split: rows are copied with their media, no picture is decoded.

Strategy: an episode keeps its identity, which its checksums cover; so a copy that was interrupted
goes on after the episodes that are there, and merging a dataset twice adds nothing. Episodes are
appended in batches of one commit, bounded by number and bytes, each episode whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from videoformat.appending import EpisodeRowsBuffer, FinishedEpisode, append_episodes
from videoformat.dataset import Dataset
from videoformat.directory import Directory
from videoformat.editing import check_writable, chosen_episodes, open_table
from videoformat.errors import ConflictError, DataError, InvalidArgumentError
from videoformat.index.schema import DatasetInfo
from videoformat.merging.derived import rewritten_places
from videoformat.merging.differences import check_same_kind
from videoformat.merging.statistics import dataset_statistics
from videoformat.merging.whole_rows import whole_row
from videoformat.table import Table

__all__ = ["CopyReport", "merge", "split", "subset"]

BATCH_EPISODES = 256
BATCH_BYTES = 64 * 2**20
_TASK_ATTEMPTS = 100

Address = str | os.PathLike[str]
# Called with the episodes that are done and all of them.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What was copied. ``skipped`` episodes were there already, by their identity."""

    uri: str
    version: int
    episodes: int
    frames: int
    skipped: int


def merge(
    sources: Sequence[Address | Dataset],
    uri: Address,
    *,
    storage_options: Mapping[str, str] | None = None,
    source_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> CopyReport:
    """Appends all episodes of some datasets to one, which is made where there is none.

    Media is copied byte for byte. ``task_index`` is renumbered over the joint list of tasks,
    ``episode_index`` and ``index`` over the episodes, where the dataset has such columns. Statistics
    of the whole dataset are aggregated from those of the episodes. ``source_options`` are for the
    sources' object store, ``storage_options`` for the target's.

    Raises ``InvalidArgumentError`` that says what differs, before anything is written.
    """
    if isinstance(sources, str | os.PathLike | Dataset) or not sources:
        raise InvalidArgumentError(f"sources are a list of datasets, got {sources!r}")
    tables = [open_table(source, source_options) for source in sources]
    for table in tables[1:]:
        check_same_kind(table, tables[0])
    target = _open_or_create(uri, tables[0], storage_options, tables)
    parts = [(table, range(len(Directory(table.directory())))) for table in tables]
    return _copy(parts, target, progress)


def subset(
    source: Address | Dataset,
    uri: Address,
    episodes: Iterable[int | str],
    *,
    version: int | str | None = None,
    storage_options: Mapping[str, str] | None = None,
    source_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> CopyReport:
    """Copies some episodes into a dataset, in the order given, which may be another than theirs.

    ``episodes`` are ordinals or identities in ``version`` of the source. Otherwise as ``merge``.
    """
    table = open_table(source, source_options, version)
    chosen = chosen_episodes(Directory(table.directory()), episodes)
    target = _open_or_create(uri, table, storage_options, [table])
    return _copy([(table, chosen)], target, progress)


def split(
    source: Address | Dataset,
    parts: Mapping[Address, Iterable[int | str]],
    *,
    storage_options: Mapping[str, str] | None = None,
    source_options: Mapping[str, str] | None = None,
) -> list[CopyReport]:
    """Copies the episodes of a dataset into several, each into one at most, as ``subset`` does."""
    table = open_table(source, source_options)
    directory = Directory(table.directory())
    chosen = {uri: chosen_episodes(directory, episodes) for uri, episodes in parts.items()}
    seen: dict[int, Address] = {}
    for uri, episodes in chosen.items():
        for episode in episodes:
            if seen.setdefault(episode, uri) is not uri:
                raise InvalidArgumentError(
                    f"episode {episode} goes to {os.fspath(seen[episode])} and to {os.fspath(uri)}"
                )
    targets = [_open_or_create(uri, table, storage_options, [table]) for uri in chosen]
    return [
        _copy([(table, episodes)], target, None)
        for target, episodes in zip(targets, chosen.values(), strict=True)
    ]


def _open_or_create(
    uri: Address,
    like: Table,
    storage_options: Mapping[str, str] | None,
    sources: Sequence[Table],
) -> Table:
    """The target, made like a source where there is none; it takes what all sources hold."""
    if Table.exists(uri, storage_options=storage_options):
        target = Table.open(uri, storage_options=storage_options)
        check_writable(target)
        for source in sources:
            if source.uri == target.uri:
                raise InvalidArgumentError(f"{source.uri} is both a source and the target")
            check_same_kind(source, target)
        return target
    check_writable(like)
    info = replace(like.info, tasks=(), statistics=None, source=None)
    return Table.create(uri, info, storage_options=storage_options, like=like.schema)


def _with_tasks(table: Table, tasks: Iterable[str]) -> Table:
    """Writes texts that are new into the dataset's facts, after whatever others have added."""
    wanted = list(tasks)
    for attempt in range(1, _TASK_ATTEMPTS + 1):
        known = table.info.tasks
        new = tuple(dict.fromkeys(text for text in wanted if text not in known))
        if not new:
            return table
        try:
            return table.with_info(table.info.with_tasks((*known, *new)))
        except ConflictError:
            if attempt == _TASK_ATTEMPTS:
                raise
            table = table.latest()
    raise AssertionError("the loop above returns or raises")


def _used_tasks(table: Table, episodes: Sequence[int], directory: Directory) -> list[str]:
    """The texts that a ``task_index`` of these episodes needs: all where it cannot be told."""
    feature = table.info.tabular.get("task_index")
    if feature is None or len(episodes) == len(directory):
        return list(table.info.tasks)
    used: set[int] = set()
    for episode in episodes:
        for row in directory.episode(episode).rows:
            for values in table.take([row], [feature.column]).column(0).to_pylist():
                used.update(int(value) for value in values or () if value is not None)
    return [text for at, text in enumerate(table.info.tasks) if at in used]


def _copy(
    parts: Sequence[tuple[Table, Sequence[int]]], target: Table, progress: Progress | None
) -> CopyReport:
    present = Directory(target.directory())
    there = set(present.uids())
    run = _Run(target, len(present), present.frame_count)
    total = sum(len(episodes) for _, episodes in parts)
    skipped = done = 0
    for table, episodes in parts:
        directory = Directory(table.directory())
        uids = directory.uids()
        todo = [episode for episode in episodes if uids[episode] not in there]
        skipped += len(episodes) - len(todo)
        done += len(episodes) - len(todo)
        run.use_tasks(table, _used_tasks(table, todo, directory) if todo else [])
        for episode in todo:
            try:
                run.add(table, directory, episode)
            except DataError as error:
                raise type(error)(f"{table.uri}, episode {episode}: {error}") from error
            there.add(uids[episode])
            done += 1
            if progress is not None:
                progress(done, total)
    run.flush()
    run.aggregate()
    return CopyReport(target.uri, run.table.version, run.episodes, run.frames, skipped)


class _Run:
    """Appends to one target: what is gathered and not yet appended, and how far it is."""

    def __init__(self, table: Table, episode: int, frame: int) -> None:
        self.table = table
        self.episodes = self.frames = 0
        self._next_episode, self._next_frame = episode, frame
        self._tasks: tuple[str, ...] = ()
        self._batch: list[FinishedEpisode] = []

    def use_tasks(self, source: Table, texts: Sequence[str]) -> None:
        """Prepares for the episodes of a source: its tasks have numbers in the target."""
        self.table = _with_tasks(self.table, texts)
        # A text that no frame needs has no number; that it gets one here is never looked at.
        self._tasks = (*self.table.info.tasks, *source.info.tasks)

    def add(self, source: Table, directory: Directory, episode: int) -> None:
        """Takes one whole episode."""
        rows = directory.episode(episode)
        buffer = EpisodeRowsBuffer(self.table)
        first = None
        for row, start in zip(rows.rows, rows.first_frames, strict=False):
            cells = rewritten_places(
                whole_row(source, row),
                source.info,
                self._tasks,
                self._next_episode,
                self._next_frame + start,
            )
            if first is None:
                first = cells
            else:
                buffer.add(cells)
        if first is None:
            raise AssertionError(f"episode {episode} has no rows")
        if self._batch and self._batch[-1].rows[0].schema != first.schema:
            # Media in the dataset and outside it are not written by one call.
            self.flush()
        finished = buffer.finish(rows.uid, rows.length, first)
        self._batch.append(finished)
        self._next_episode += 1
        self._next_frame += rows.length
        self.episodes += 1
        self.frames += rows.length
        size = sum(item.byte_count for item in self._batch)
        if len(self._batch) >= BATCH_EPISODES or size >= BATCH_BYTES or finished.fragments:
            self.flush()

    def flush(self) -> None:
        """Makes visible what was gathered."""
        if self._batch:
            self.table = append_episodes(self.table, self._batch)
            self._batch = []

    def aggregate(self) -> None:
        """Writes the statistics of the whole dataset anew, where its episodes have some."""
        if not self.episodes:
            return
        newest = self.table.latest()
        statistics = dataset_statistics(newest)
        if statistics == newest.info.statistics:
            self.table = newest
            return
        info: DatasetInfo = replace(newest.info, statistics=statistics)
        try:
            self.table = newest.with_info(info)
        except ConflictError:
            # Another writer changed the facts; statistics of both are the next merge's to make.
            self.table = newest.latest()
