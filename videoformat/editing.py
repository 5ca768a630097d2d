"""Deleting episodes, and bringing them back while an older version still has them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from videoformat.dataset import Dataset
from videoformat.directory import Directory
from videoformat.errors import (
    DataError,
    EpisodeNotFoundError,
    InvalidArgumentError,
    UnsupportedFormatError,
)
from videoformat.index.schema import KNOWN_WRITER_FLAGS
from videoformat.table import Table

__all__ = [
    "EditReport",
    "check_writable",
    "chosen_episodes",
    "delete_episodes",
    "open_table",
    "undelete",
]


@dataclass(frozen=True, slots=True)
class EditReport:
    """What an edit did. ``episodes`` are stable identities, ``version`` is the one that it made."""

    uri: str
    version: int
    episodes: tuple[str, ...]
    frames: int


def check_writable(table: Table) -> None:
    """Raises ``UnsupportedFormatError`` where writing needs what this version does not know."""
    unknown = sorted(set(table.info.writer_flags) - KNOWN_WRITER_FLAGS)
    if unknown:
        raise UnsupportedFormatError(
            f"{table.uri}: writing requires flags {', '.join(unknown)}, which this version lacks"
        )


def open_table(
    dataset: str | os.PathLike[str] | Dataset,
    storage_options: Mapping[str, str] | None = None,
    version: int | str | None = None,
) -> Table:
    """The table of a dataset: at an address, or of one that is open, in the version that is."""
    if not isinstance(dataset, Dataset):
        return Table.open(dataset, storage_options=storage_options, version=version)
    if version is not None:
        raise InvalidArgumentError(f"version is {version!r}, but an open dataset has its own")
    options = storage_options or dataset.storage_options
    return Table.open(dataset.uri, storage_options=options, version=dataset.version)


def chosen_episodes(directory: Directory, episodes: Iterable[int | str]) -> list[int]:
    """Ordinals of episodes that are named by ordinal (negative: from the end) or by identity.

    In the order given, each once. Raises ``EpisodeNotFoundError``.
    """
    if isinstance(episodes, int | str):
        raise InvalidArgumentError(f"episodes are an iterable of episodes, got {episodes!r}")
    places: dict[str, int] | None = None
    chosen: dict[int, None] = {}
    for episode in episodes:
        if isinstance(episode, str):
            if places is None:
                places = {uid: at for at, uid in enumerate(directory.uids())}
            if episode not in places:
                raise EpisodeNotFoundError(f"there is no episode with episode_uid {episode!r}")
            chosen[places[episode]] = None
        else:
            chosen[directory.resolve(episode)] = None
    return list(chosen)


def delete_episodes(
    dataset: str | os.PathLike[str] | Dataset,
    episodes: Iterable[int | str],
    *,
    storage_options: Mapping[str, str] | None = None,
) -> EditReport:
    """Deletes episodes: a new version without them. Nothing is moved or re-encoded.

    ``episodes`` are ordinals, which count in the version of an open ``Dataset``, in the newest
    otherwise; or stable identities (``episode_uid``). Older versions keep them, so ``undelete`` brings
    them back until ``vacuum`` has removed those versions. Others may append at the same time.
    Raises ``EpisodeNotFoundError``, ``ConflictError`` where others keep rewriting the same rows.
    """
    table = open_table(dataset, storage_options)
    check_writable(table)
    directory = Directory(table.directory())
    chosen = chosen_episodes(directory, episodes)
    uids = directory.uids()
    named = tuple(uids[at] for at in chosen)
    frames = int(sum(int(directory.lengths[at]) for at in chosen))
    if not chosen:
        return EditReport(table.uri, table.version, (), 0)
    return EditReport(table.uri, table.delete_episodes(named).version, named, frames)


def undelete(
    uri: str | os.PathLike[str],
    version: int | str,
    *,
    storage_options: Mapping[str, str] | None = None,
) -> EditReport:
    """Brings back every episode that a version had and the newest has not; appends are kept.

    An episode comes back with its identity. Its ordinal may be another than before: what was
    stored apart from all that was kept comes back at the end. Raises ``DatasetNotFoundError`` where
    the version is gone, ``DataError`` where nothing can come back: a column was added since, or an
    episode's rows would part (``subset`` of the old version copies them then), ``ConflictError``
    where another writer got in between.
    """
    older = Table.open(uri, storage_options=storage_options, version=version)
    table = Table.open(uri, storage_options=storage_options)
    check_writable(table)
    before = Directory(older.directory())
    lengths = dict(zip(before.uids(), before.lengths.tolist(), strict=True))
    gone = frozenset(lengths) - frozenset(Directory(table.directory()).uids())
    if not gone:
        return EditReport(table.uri, table.version, (), 0)
    newest, lost = table.bring_back(older.version, gone)
    if lost == gone:
        raise DataError(
            f"{table.uri}: {len(gone)} episodes of version {older.version} lie in files that no "
            "longer fit, since columns were added or some of their rows were moved; subset copies "
            "them from that version"
        )
    back = tuple(uid for uid in lengths if uid in gone - lost)
    return EditReport(table.uri, newest.version, back, sum(lengths[uid] for uid in back))
