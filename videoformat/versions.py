"""The versions of a dataset: which there are, their names, and removing those not needed."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Mapping
from dataclasses import dataclass

from videoformat.editing import check_writable
from videoformat.errors import ConflictError, InvalidArgumentError
from videoformat.table import CleanUp, CompactionCost, Table, VersionFacts

__all__ = ["GRACE", "VacuumReport", "log", "tag", "untag", "vacuum"]

# A reader or a writer that opened a version before it was replaced has this long to be done.
GRACE = dt.timedelta(days=7)
TARGET_BYTES = 256 * 2**20
_COMPACTION_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class VacuumReport:
    """What a vacuum did: what compaction copied, what clean-up removed."""

    uri: str
    version: int
    compaction: CompactionCost
    removed: CleanUp


def log(
    uri: str | os.PathLike[str],
    *,
    limit: int | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> list[VersionFacts]:
    """The newest versions of a dataset (``limit`` None: all), newest first."""
    if limit is not None and limit < 1:
        raise InvalidArgumentError(f"limit is {limit}, expected at least 1")
    return Table.open(uri, storage_options=storage_options).versions(limit)


def tag(
    uri: str | os.PathLike[str],
    name: str,
    version: int | str | dt.datetime | None = None,
    *,
    move: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> int:
    """Names a version (None: the newest), which ``vacuum`` then keeps; returns its number.

    Names have letters, digits and ``.-_``. ``move``: a name that is taken names this version from
    now on. Raises ``InvalidArgumentError`` where it is taken otherwise.
    """
    if not name or name.isdigit():
        raise InvalidArgumentError(f"a tag is {name!r}, expected a name that is not a number")
    table = Table.open(uri, storage_options=storage_options, version=version)
    check_writable(table)
    table.set_tag(name, move=move)
    return table.version


def untag(
    uri: str | os.PathLike[str],
    name: str,
    *,
    storage_options: Mapping[str, str] | None = None,
) -> None:
    """Forgets a name; the version stays until a ``vacuum`` finds it old. Raises where it is unknown."""
    table = Table.open(uri, storage_options=storage_options)
    check_writable(table)
    table.remove_tag(name)


def vacuum(
    uri: str | os.PathLike[str],
    *,
    older_than: dt.timedelta = GRACE,
    compact: bool = True,
    target_bytes: int = TARGET_BYTES,
    unfinished: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> VacuumReport:
    """Joins small fragments, and removes versions that are older than a time and have no tag.

    The newest version, tagged versions and whatever they need always stay. ``older_than`` is the
    grace that readers and writers get: one that opened a version longer ago may miss files.
    Compaction copies the media of small fragments at the end of the table, and from where much is
    deleted on (fragments of ``target_bytes`` are left alone otherwise), so episodes keep their order;
    only one that is appended meanwhile may come before them. The report says how much. Files of writers that died are removed once they are 7 days old, or at
    once with ``unfinished``: only where nobody writes. Raises ``ConflictError`` where others keep
    changing the rows that are being compacted.
    """
    if older_than < dt.timedelta(0) or target_bytes < 1:
        raise InvalidArgumentError(
            f"older_than is {older_than}, target_bytes {target_bytes}: expected 0 and 1 or more"
        )
    table = Table.open(uri, storage_options=storage_options)
    check_writable(table)
    cost = CompactionCost(0, 0, 0)
    if compact:
        for attempt in range(1, _COMPACTION_ATTEMPTS + 1):
            try:
                cost = table.compact(target_bytes)
            except ConflictError:
                if attempt == _COMPACTION_ATTEMPTS:
                    raise
            else:
                break
    removed = table.clean_up(older_than, unfinished=unfinished)
    return VacuumReport(table.uri, table.latest().version, cost, removed)
