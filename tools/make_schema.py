"""Writes the Arrow schema of the specification as JSON: ``spec/v1/schema/table.json``.

    python tools/make_schema.py            writes the file
    python tools/make_schema.py --check    exits with 1 where the file is not what the code says

The schema depends on the features of a dataset; the file shows it for one set that has every kind.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

from videoformat.index.features import parse_features
from videoformat.index.schema import MEDIA_TYPE, METADATA_KEY, DatasetInfo, table_schema

SCHEMA_FILE = Path(__file__).resolve().parents[1] / "spec/v1/schema/table.json"

EXAMPLE_FEATURES: dict[str, Any] = {
    "observation.images.top": {
        "dtype": "video",
        "shape": [480, 640, 3],
        "names": ["height", "width", "channels"],
    },
    "action": {"dtype": "float32", "shape": [14], "names": None},
    "observation.grid": {"dtype": "uint8", "shape": [2, 3, 4], "names": None},
    "is_done": {"dtype": "bool", "shape": [1], "names": None},
    "labels": {"dtype": "string", "shape": [2], "names": None},
    "timestamp": {"dtype": "float32", "shape": [1], "names": None},
    "task": {"dtype": "string", "shape": [1], "names": None},
}


def describe_type(kind: pa.DataType) -> Any:
    """An Arrow type as JSON: its name, or an object for a type that has parts."""
    if kind == MEDIA_TYPE:
        return {"type": "blob", "lance_extension": "lance.blob.v2", "in_arrow_files": str(kind)}
    if pa.types.is_struct(kind):
        return {"type": "struct", "fields": [describe_field(item) for item in kind]}
    if pa.types.is_fixed_size_list(kind):
        item = describe_type(kind.value_type)
        return {"type": "fixed_size_list", "size": kind.list_size, "item": item}
    if pa.types.is_list(kind):
        return {"type": "list", "item": describe_type(kind.value_type)}
    return str(kind)


def describe_field(item: pa.Field) -> dict[str, Any]:
    """An Arrow field as JSON."""
    described = {"name": item.name, "type": describe_type(item.type), "nullable": item.nullable}
    if item.metadata:
        described["metadata"] = {k.decode(): v.decode() for k, v in item.metadata.items()}
    return described


def describe_schema() -> dict[str, Any]:
    """The schema of a dataset with the example's features, as JSON."""
    schema = table_schema(DatasetInfo(fps=30, features=parse_features(EXAMPLE_FEATURES)))
    metadata = {METADATA_KEY.decode(): json.loads(schema.metadata[METADATA_KEY])}
    return {"fields": [describe_field(item) for item in schema], "metadata": metadata}


def render(described: dict[str, Any]) -> str:
    """The file's text: one line a field, so that a change is one line of a diff."""
    lines = ['{"metadata": ' + json.dumps(described["metadata"]) + ",", ' "fields": [']
    for number, item in enumerate(described["fields"]):
        comma = "," if number + 1 < len(described["fields"]) else ""
        lines += [f"  {line}" for line in _field_lines(item)]
        lines[-1] += comma
    return "\n".join([*lines, " ]}"]) + "\n"


def _field_lines(item: dict[str, Any]) -> list[str]:
    kind = item["type"]
    struct = kind["item"] if isinstance(kind, dict) and kind["type"] == "list" else kind
    if not isinstance(struct, dict) or struct["type"] != "struct":
        return [json.dumps(item)]
    before, after = json.dumps(item).split(json.dumps(struct["fields"]))
    lines = [f"  {json.dumps(part)}," for part in struct["fields"]]
    return [f"{before}[", *lines[:-1], lines[-1][:-1], f"]{after}"]


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Writes spec/v1/schema/table.json.")
    parser.add_argument("--check", action="store_true", help="compare only; 1 where it differs")
    check = parser.parse_args().check
    text = render(describe_schema())
    if check:
        same = SCHEMA_FILE.exists() and SCHEMA_FILE.read_text(encoding="utf-8") == text
        print(f"{SCHEMA_FILE} {'is' if same else 'is not'} what the code says")
        return 0 if same else 1
    SCHEMA_FILE.parent.mkdir(parents=True, exist_ok=True)
    SCHEMA_FILE.write_text(text, encoding="utf-8")
    print(f"wrote {SCHEMA_FILE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
