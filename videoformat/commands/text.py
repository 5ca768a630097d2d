"""Numbers and tables for people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

__all__ = ["aligned", "byte_text", "duration_text", "print_json"]

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def byte_text(count: float) -> str:
    """A number of bytes with three significant digits: ``1.23 MB`` is 1,230,000 bytes."""
    size = float(count)
    for unit in _UNITS:
        if size < 999.5 or unit == _UNITS[-1]:
            digits = 0 if unit == "B" or size >= 99.95 else 1 if size >= 9.995 else 2
            return f"{size:.{digits}f} {unit}"
        size /= 1000
    raise AssertionError(count)


def duration_text(seconds: float) -> str:
    """A duration: ``8.2 s``, ``3:07``, ``2:03:07``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def aligned(rows: Sequence[Sequence[object]], *, left: int = 1) -> list[str]:
    """Lines of a table; the first ``left`` columns are flush left, the others flush right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def print_json(value: Any) -> None:
    """Writes JSON for a script to standard output."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
