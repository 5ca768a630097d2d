"""The committed vectors, and their rows in a Lance table for readers that need one."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lance
import lance.blob
import pyarrow as pa

FOLDER = Path(__file__).parents[2] / "spec/vectors"


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector: the address of its data, and what a reader must find in it."""

    name: str
    path: str
    expected: dict[str, Any]

    def __str__(self) -> str:
        return self.name


def _load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def _good() -> list[Vector]:
    vectors = []
    for answers in sorted(FOLDER.glob("*/expected.json")):
        folder = answers.parent
        data = [
            path for name in ("rows.arrow", "dataset.lance") if (path := folder / name).exists()
        ]
        if folder.name != "bad":
            vectors.append(Vector(folder.name, str(data[0]), _load(answers)))
    return vectors


def _bad() -> list[Vector]:
    files = _load(FOLDER / "bad/expected.json")["files"]
    return [
        Vector(name, str(FOLDER / "bad" / f"{name}.arrow"), facts) for name, facts in files.items()
    ]


GOOD = _good()
BAD = _bad()


def as_lance(vector: Vector, folder: Path) -> str:
    """The address of the vector as a Lance dataset: its rows are written to one."""
    if not vector.path.endswith(".arrow"):
        return vector.path
    rows = pa.ipc.open_file(vector.path).read_all()
    fields, columns = [], []
    for field, column in zip(rows.schema, rows.columns, strict=True):
        if field.type == pa.large_binary():
            blob = lance.blob.blob_field(field.name)
            fields.append(blob.with_metadata({**(blob.metadata or {}), **(field.metadata or {})}))
            columns.append(lance.blob.blob_array(column.to_pylist()))
        else:
            fields.append(field)
            columns.append(column)
    schema = pa.schema(fields, metadata=rows.schema.metadata)
    address = str(folder / f"{vector.name}.lance")
    lance.write_dataset(
        pa.Table.from_arrays(columns, schema=schema),
        address,
        schema=schema,
        data_storage_version="2.2",
        enable_stable_row_ids=True,
    )
    return address
