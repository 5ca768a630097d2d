"""Finding a version that opens, and rows that can be read, where files are damaged or gone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

__all__ = ["manifests", "readable_rows", "set_aside"]

SUFFIX = ".manifest"
# A version n has the manifest 2^64 - 1 - n, in 20 digits, so that the newest is listed first; tables
# that were made long ago have n itself.
_LARGEST = 2**64 - 1
_DIGITS = 20


def manifests(root: Path) -> dict[int, Path]:
    """The manifests of a local table by version, newest first."""
    found = {}
    for path in (root / "_versions").glob(f"*{SUFFIX}"):
        name = path.name.removesuffix(SUFFIX)
        if name.isascii() and name.isdigit():
            found[_LARGEST - int(name) if len(name) == _DIGITS else int(name)] = path
    return dict(sorted(found.items(), reverse=True))


def set_aside(path: Path) -> Path:
    """Renames a manifest so that no reader takes it for one; it is not removed."""
    return path.rename(path.with_name(f"{path.name}.damaged"))


def readable_rows(
    dataset: lance.LanceDataset, columns: tuple[str, ...]
) -> tuple[list[tuple[int, pa.Table]], Mapping[int, tuple[int, str]]]:
    """Some columns fragment by fragment, each with the number of its first row.

    Also the fragments that cannot be read: how many rows each has, and why.
    """
    parts: list[tuple[int, pa.Table]] = []
    lost: dict[int, tuple[int, str]] = {}
    start = 0
    for fragment in dataset.get_fragments():
        facts = fragment.metadata
        deleted = facts.deletion_file.num_deleted_rows if facts.deletion_file else 0
        rows = facts.physical_rows - deleted
        try:
            parts.append((start, fragment.to_table(columns=list(columns))))
        except (OSError, ValueError, RuntimeError) as error:
            lost[fragment.fragment_id] = (rows, _reason(error))
        start += rows
    return parts, lost


def _reason(error: Exception) -> str:
    return str(error).split(", /home/", maxsplit=1)[0].split(", /rustc/", maxsplit=1)[0]


def without_fragments(numbers: list[int]) -> Any:
    """The operation that drops whole fragments, whose files need not be there."""
    return lance.LanceOperation.Delete([], numbers, "damaged fragments")
