"""Writes the specification's vectors: ``spec/vectors/``.

    python tools/make_vectors.py --out FOLDER [NAME …]

Another build of FFmpeg's encoders makes other bytes from the same pictures, and Lance names its files
at random. So vectors are committed, and those that have been released are never written again:
without ``--out``, only vectors that are not there yet are written. ``checksum.json`` is written by
hand.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from spec_vectors.answers import answers
from spec_vectors.case import Case, make_info, make_rows
from spec_vectors.cases import CASES, LANCE_CASE
from spec_vectors.damage import DAMAGES, damaged, from_later_version

from videoformat.media.gop import DDRA
from videoformat.table import Table

__all__ = ["main", "write_vectors"]

VECTORS = Path(__file__).resolve().parents[1] / "spec/vectors"
LATER = "h264-later-minor-version"
BAD = "bad"
_BASE = Case("bad", "", (6,), DDRA(interval=2), frames_per_chunk=3)
NAMES = (*(case.name for case in CASES), LATER, LANCE_CASE.name, BAD)


def write_vectors(out: Path, names: list[str]) -> Iterator[Path]:
    """Writes the vectors of these names; yields each folder once it is written."""
    for case in CASES:
        if case.name in names:
            yield _write_rows(out / case.name, make_rows(case), case.about)
    if LATER in names:
        rows = from_later_version(make_rows(_BASE))
        about = "unknown metadata, columns and fields are ignored; some pts are null"
        yield _write_rows(out / LATER, rows, about)
    if LANCE_CASE.name in names:
        yield _write_lance(out / LANCE_CASE.name)
    if BAD in names:
        yield _write_bad(out / BAD)


def _write_rows(folder: Path, rows: pa.Table, about: str) -> Path:
    folder.mkdir(parents=True)
    _write_arrow(folder / "rows.arrow", rows)
    _write_json(folder / "expected.json", answers(rows, about))
    return folder


def _write_lance(folder: Path) -> Path:
    folder.mkdir(parents=True)
    rows = make_rows(LANCE_CASE)
    table = Table.create(folder / "dataset.lance", make_info(LANCE_CASE))
    table.commit(table.write_rows(rows))
    _write_json(folder / "expected.json", answers(rows, LANCE_CASE.about))
    return folder


def _write_bad(folder: Path) -> Path:
    folder.mkdir(parents=True)
    rows = make_rows(_BASE)
    camera = "observation.images.top"
    files = {}
    for damage in DAMAGES:
        _write_arrow(folder / f"{damage.name}.arrow", damaged(rows, damage))
        request = {"episode": 0, "camera": camera, "frames": [damage.frame]}
        files[damage.name] = {
            "refuse": damage.refuse, "request": request, "library_error": damage.error,
        }  # fmt: skip
    about = "each file is wrong in one way; a reader must refuse the request"
    _write_json(folder / "expected.json", {"about": about, "files": files})
    return folder


def _write_arrow(path: Path, rows: pa.Table) -> None:
    with pa.ipc.new_file(str(path), rows.schema) as writer:
        writer.write_table(rows.combine_chunks())


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(_lines(value, 0) + "\n", encoding="utf-8")


def _lines(value: Any, depth: int) -> str:
    """JSON with one line for whatever fits into one: short to store, and a diff can be read."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or len(flat) + depth <= 100:
        return flat
    pad = " " * (depth + 1)
    if isinstance(value, dict):
        parts = [f"{pad}{json.dumps(k)}: {_lines(v, depth + 1)}" for k, v in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{' ' * depth}}}"
    if all(not isinstance(item, dict) for item in value) and len(flat) <= 4000:
        return flat
    parts = [f"{pad}{_lines(item, depth + 1)}" for item in value]
    return "[\n" + ",\n".join(parts) + f"\n{' ' * depth}]"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Writes the specification's vectors.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--out", type=Path, help="write all of them, anew, into an empty folder")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(NAMES))
    if unknown:
        parser.error(f"unknown names: {', '.join(unknown)}")
    out = arguments.out or VECTORS
    names = arguments.names or list(NAMES)
    there = [name for name in names if (out / name).exists()]
    for folder in write_vectors(out, [name for name in names if name not in there]):
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        print(f"{folder.name}: {size} bytes")
    if there:
        print(f"there already, and left alone: {', '.join(there)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
