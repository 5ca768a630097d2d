"""Bringing a damaged dataset back to what of it is intact.

Strategy: nothing is removed. A manifest that cannot be read is renamed, so that the newest version
that can be is the newest; then a new version leaves out the episodes that are damaged. Older versions
keep them, and their files stay until a vacuum.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from videoformat.editing import check_writable
from videoformat.errors import (
    DataError,
    DatasetNotFoundError,
    StoreError,
    UnsupportedFormatError,
    VideoFormatError,
)
from videoformat.index.rows import frame_values
from videoformat.reading import Reader
from videoformat.table import Table, address_of, recovery
from videoformat.verify.camera import verify_camera
from videoformat.verify.findings import Findings

__all__ = ["LostEpisode", "RecoverReport", "recover"]


@dataclass(frozen=True, slots=True)
class LostEpisode:
    """What is not intact.

    ``episode_uid`` is None where not even that can be read: ``chunks`` rows, of one episode or of
    several, are lost then.
    """

    episode_uid: str | None
    chunks: int
    reason: str


@dataclass(frozen=True, slots=True)
class RecoverReport:
    """What was found, and done unless it was asked for a report only.

    ``set_aside`` are versions whose manifests cannot be read; ``base`` is the newest that can be,
    ``version`` the one that holds what is intact.
    """

    uri: str
    base: int
    version: int
    set_aside: tuple[int, ...]
    intact: int
    lost: tuple[LostEpisode, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is damaged."""
        return not self.set_aside and not self.lost


def recover(
    uri: str | os.PathLike[str],
    *,
    report_only: bool = False,
    decode: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> RecoverReport:
    """Makes a version that holds every intact episode, and says what is lost.

    An episode is intact where all that ``verify`` looks at is; with ``decode``, where it decodes
    too. ``report_only`` changes nothing. In an object store the newest version must open. Raises
    ``DatasetNotFoundError`` where there is nothing, ``DataError`` where no version opens.
    """
    address = address_of(uri)
    table, broken = _newest_that_opens(address, storage_options)
    check_writable(table)
    parts, unreadable = table.readable_directory()
    lost = [
        LostEpisode(None, rows, f"fragment {number} cannot be read: {reason}")
        for number, (rows, reason) in unreadable.items()
    ]
    reader = Reader(table)
    intact = 0
    damaged: list[str] = []
    for uid, rows in _episodes(parts):
        reason = _damage(table, reader, uid, rows, decode=decode)
        if reason is None:
            intact += 1
        else:
            damaged.append(uid)
            lost.append(LostEpisode(uid, len(rows), reason))
    version = table.version
    if not report_only:
        for path in broken.values():
            recovery.set_aside(path)
        if unreadable:
            version = table.drop_fragments(list(unreadable)).version
        if damaged:
            version = table.delete_episodes(damaged).version
    return RecoverReport(address, table.version, version, tuple(broken), intact, tuple(lost))


def _newest_that_opens(
    address: str, options: Mapping[str, str] | None
) -> tuple[Table, dict[int, Path]]:
    try:
        return Table.open(address, storage_options=options), {}
    except (DatasetNotFoundError, UnsupportedFormatError):
        raise
    except (DataError, StoreError) as error:
        if "://" in address:
            raise
        first = error
    broken: dict[int, Path] = {}
    for version, path in recovery.manifests(Path(address)).items():
        try:
            return Table.open(address, version=version), broken
        except UnsupportedFormatError:
            raise
        except VideoFormatError:
            broken[version] = path
    raise DataError(f"{address}: none of its {len(broken)} versions opens: {first}") from first


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of the directory: its number in the table, and what it says."""

    number: int
    chunk: int
    first_frame: int
    frame_count: int
    length: int | None


def _episodes(parts: Sequence[tuple[int, pa.Table]]) -> Iterator[tuple[str, list[_Row]]]:
    """Rows by identity, in order; an episode's rows may lie in several fragments."""
    episodes: dict[str, list[_Row]] = {}
    for start, part in parts:
        columns = [part.column(name).to_pylist() for name in part.column_names]
        for at, (uid, chunk, first, count, length) in enumerate(zip(*columns, strict=True)):
            row = _Row(start + at, _known(chunk), _known(first), _known(count), length)
            episodes.setdefault(uid or "", []).append(row)
    yield from episodes.items()


def _known(value: int | None) -> int:
    return -1 if value is None else value


def _damage(
    table: Table, reader: Reader, uid: str, rows: Sequence[_Row], *, decode: bool
) -> str | None:
    """What is wrong with an episode; None where nothing is."""
    expected = 0
    for at, row in enumerate(rows):
        if (row.chunk, row.first_frame) != (at, expected) or row.number != rows[0].number + at:
            return f"its rows are not whole: chunk {row.chunk} where {at} was expected"
        expected += row.frame_count
    if not uid or rows[0].length != expected:
        return f"its rows hold {expected} of {rows[0].length} frames"
    for row in rows:
        findings = Findings(None, uid, chunk=row.chunk)
        with findings.noting("column"):
            features = list(table.info.tabular.values())
            taken = table.take([row.number], [item.column for item in features])
            for feature in features:
                frame_values(feature, taken.column(feature.column), [row.frame_count])
        for key, camera in table.info.cameras.items():
            findings.camera = key
            verify_camera(reader, row.number, camera, findings, decode=decode)
        if findings.problems:
            return str(findings.problems[0])
    return None
