"""Everything that a dataset holds, by episode, so that two can be compared to the last byte."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from videoformat.index.schema import media_columns
from videoformat.table import Table

# Counted from the place of an episode in its dataset, so they follow it when it moves.
PLACES = ("episode_index", "index", "task_index")


def _digest(*values: Any) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()


def episodes(
    uri: Path | str,
    version: Any = None,
    options: Mapping[str, str] | None = None,
    *,
    without: Iterable[str] = PLACES,
) -> dict[str, str]:
    """A digest of every cell and of all media of each episode, by identity, in order."""
    return {uid: _digest(parts) for uid, parts in rows(uri, version, options, without).items()}


def media(
    uri: Path | str, version: Any = None, options: Mapping[str, str] | None = None
) -> dict[str, list[str]]:
    """A digest of the media of each chunk and camera, by episode."""
    return {
        uid: [item for part in parts for item in part[1]]
        for uid, parts in rows(uri, version, options, ()).items()
    }


def rows(
    uri: Path | str, version: Any, options: Mapping[str, str] | None, without: Iterable[str]
) -> dict[str, list[tuple[str, list[str]]]]:
    table = Table.open(uri, version=version, storage_options=options)
    numbers = list(range(table.count_rows()))
    if not numbers:
        return {}
    left_out = {*without}
    columns = [media_columns(camera)[0] for camera in table.info.cameras.values()]
    names = [name for name in table.schema.names if name not in left_out and name not in columns]
    cells = table.take(numbers, sorted(names)).to_pylist()
    stored: list[list[str]] = [[] for _ in numbers]
    for column in columns:
        sizes = table.media_sizes(column, numbers)
        ranges = [(number, 0, size or 0) for number, size in zip(numbers, sizes, strict=True)]
        for at, data in enumerate(table.read_ranges(column, ranges)):
            stored[at].append(hashlib.sha256(data).hexdigest())
    found: dict[str, list[tuple[str, list[str]]]] = {}
    for row, digests in zip(cells, stored, strict=True):
        found.setdefault(row["episode_uid"], []).append((_digest(sorted(row.items())), digests))
    return found
