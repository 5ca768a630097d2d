"""Versions of a table: which there are, tags, bringing rows back, compaction, clean-up.

Strategy: functions on Lance's own object, without an error of this package in them; ``Table`` turns
what they raise into those.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import lance
import lance.optimize

__all__ = [
    "CleanUp",
    "CompactionCost",
    "FragmentSize",
    "VersionFacts",
    "clean_up",
    "compact",
    "uid_filter",
    "version_at",
    "version_facts",
]

# What Lance calls an operation, and what people do.
_OPERATIONS = {
    "Append": "append",
    "Delete": "delete",
    "Rewrite": "compact",
    "UpdateConfig": "metadata",
    "Restore": "restore",
    "Merge": "change",
    "Overwrite": "create",
}
# Rows that a compaction holds in memory at once, each with its media.
COMPACTION_ROWS = 8
# A fragment is joined with what follows it where it is at most so many times as large.
_TIER = 4


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """One version. ``operation`` is None where the store no longer says what made it."""

    version: int
    time: dt.datetime
    operation: str | None
    chunks: int
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FragmentSize:
    """A fragment: its rows, and whether the first of them is the first of an episode."""

    fragment: int
    rows: int
    deleted_rows: int
    media_bytes: int
    begins_episode: bool


@dataclass(frozen=True, slots=True)
class CompactionCost:
    """What a compaction copied: rows, and the bytes of their media."""

    fragments: int
    rows: int
    media_bytes: int


@dataclass(frozen=True, slots=True)
class CleanUp:
    """What a clean-up removed, or would remove."""

    versions: int
    files: int
    byte_count: int


def _time(version: Mapping[str, Any]) -> dt.datetime:
    """When a version was made. Lance gives local time without a zone."""
    stamp: dt.datetime = version["timestamp"]
    return stamp.astimezone()


def _chunks(version: Mapping[str, Any]) -> int:
    facts = version["metadata"]
    return int(facts["total_rows"])


def version_facts(dataset: lance.LanceDataset, limit: int | None) -> list[VersionFacts]:
    """The newest ``limit`` versions (None: all), newest first."""
    tags: dict[int, list[str]] = {}
    for name, facts in dataset.tags.list().items():
        tags.setdefault(int(facts["version"]), []).append(name)
    found = []
    for item in sorted(dataset.versions(), key=lambda item: -int(item["version"]))[:limit]:
        number = int(item["version"])
        names = tuple(sorted(tags.get(number, ())))
        found.append(
            VersionFacts(number, _time(item), _operation(dataset, number), _chunks(item), names)
        )
    return found


def _operation(dataset: lance.LanceDataset, version: int) -> str | None:
    try:
        name = type(dataset.read_transaction(version).operation).__name__
    except (AttributeError, OSError, ValueError):
        return None
    return _OPERATIONS.get(name, name.lower())


def version_at(dataset: lance.LanceDataset, time: dt.datetime) -> int | None:
    """The newest version that was made at a time or before it, None where there is none.

    Numbers decide which is newest: a clock that went backwards makes no older version newer.
    """
    times = {int(item["version"]): _time(item) for item in dataset.versions()}
    return max((number for number, made in times.items() if made <= time), default=None)


def uid_filter(uids: Sequence[str]) -> str:
    """What selects the rows of some episodes; any text is only ever a value."""
    return f"episode_uid IN ({', '.join(_quoted(uid) for uid in uids)})"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def compact(
    dataset: lance.LanceDataset, parts: Sequence[FragmentSize], target_bytes: int
) -> CompactionCost:
    """Joins small fragments at the end of the table into one, and drops deleted rows.

    What is compacted is copied, and Lance puts it behind all that was not; so it is always the end of
    the table, from where an episode begins: episodes keep their order, and their rows stay together
    also where others append meanwhile. A fragment that has reached ``target_bytes`` is left alone for
    good, unless a tenth of what lies from it on is deleted; a smaller one is copied again when what
    came after it is a quarter of it. So a byte is copied a bounded number of times.
    """
    start = _first_to_compact(parts, target_bytes)
    if start == len(parts):
        return CompactionCost(0, 0, 0)
    metrics = dataset.optimize.compact_files(
        excluded_fragment_ids=[part.fragment for part in parts[:start]],
        batch_size=COMPACTION_ROWS,
        materialize_deletions_threshold=0.0,
    )
    copied = parts[start:]
    return CompactionCost(
        int(metrics.fragments_removed),
        sum(part.rows for part in copied),
        sum(part.media_bytes for part in copied),
    )


def _first_to_compact(parts: Sequence[FragmentSize], target_bytes: int) -> int:
    """The position of the first fragment that is compacted, and with it all that follow."""
    start = len(parts)
    media = 0
    for at in range(len(parts) - 1, -1, -1):
        size = parts[at].media_bytes
        if size >= target_bytes or (at + 1 < len(parts) and size > _TIER * media):
            break
        start, media = at, media + size
    if len(parts) - start == 1 and not parts[start].deleted_rows:
        start = len(parts)  # alone it would be copied for nothing
    rows = deleted = 0
    for at in range(len(parts) - 1, -1, -1):
        deleted += parts[at].deleted_rows
        rows += parts[at].rows + parts[at].deleted_rows
        if parts[at].deleted_rows and deleted * 10 > rows:
            start = min(start, at)
    while 0 < start < len(parts) and not parts[start].begins_episode:
        start -= 1
    return start


def clean_up(dataset: lance.LanceDataset, older_than: dt.timedelta, *, unfinished: bool) -> CleanUp:
    """Removes versions older than a time that have no tag, and files that none of the rest needs."""
    stats = dataset.cleanup_old_versions(
        older_than=older_than,
        delete_unverified=unfinished,
        error_if_tagged_old_versions=False,
    )
    files = stats.data_files_removed + stats.deletion_files_removed
    return CleanUp(int(stats.old_versions), int(files), int(stats.bytes_removed))
