"""Inputs that are changed at random: bytes, JSON, the cells of a table."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pyarrow as pa

ODD: list[Any] = [
    None, True, -1, 0, 7, 2**31, 2**63, -(2**63), 10**400, 1e308, float("nan"), float("inf"), "", "x",
    "..", "../../etc", "/etc/passwd", "\0", "\ud800", "é" * 100, "{x}", [], [[]], {}, {"a": {}},
    [1] * 1000, "1" * 5000,
]  # fmt: skip
# 2^31 - 1 and its neighbours, as a number of 4 bytes in a file.
EDGES = (0, 1, 2**16, 2**31 - 1, 2**31, 2**32 - 1)


def changed_bytes(randomly: Random, data: bytes, within: tuple[int, int] | None = None) -> bytes:
    """Bytes changed, numbers replaced, parts cut out, doubled or exchanged; mostly in a range."""
    changed = bytearray(data)
    if not changed:
        return bytes([randomly.randrange(256)])
    for _ in range(randomly.randint(1, 4)):
        low, high = within if within and randomly.random() < 0.9 else (0, len(changed))
        at = randomly.randrange(min(low, len(changed) - 1), max(min(high, len(changed)), 1))
        match randomly.randrange(8):
            case 0 | 1 | 2:
                changed[at] = randomly.randrange(256)
            case 3:
                changed[at] ^= 1 << randomly.randrange(8)
            case 4:
                changed[at : at + 4] = randomly.choice(EDGES).to_bytes(4, "big")
            case 5:
                changed[at : at + 4] = randomly.choice(EDGES).to_bytes(4, "little")
            case 6:
                size = randomly.randint(1, 64)
                changed[at:at] = changed[at : at + size]
            case _ if len(changed) > 100:
                del changed[at : at + randomly.randint(1, 64)]
    if randomly.randrange(12) == 0:
        del changed[randomly.randrange(len(changed)) :]
    return bytes(changed)


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _places(item, (*at, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _places(item, (*at, number))


def _put(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    if not at:
        return new
    copy = value.copy()
    copy[at[0]] = _put(value[at[0]], at[1:], new)
    return copy


def changed_value(randomly: Random, value: Any) -> Any:
    """A JSON value with one or two others somewhere in it, or without a key, or with one more."""
    for _ in range(randomly.randint(1, 2)):
        at = randomly.choice(list(_places(value)))
        old = value
        for key in at:
            old = old[key]
        new = randomly.choice(ODD)
        if isinstance(old, dict) and old and randomly.random() < 0.5:
            new = dict(old)
            taken = new.pop(randomly.choice(list(new)))
            if randomly.random() < 0.5:
                new[randomly.choice(["", "..", "a/b", "x" * 300, "\0", "é"])] = taken
        elif isinstance(old, int | float) and randomly.random() < 0.5:
            new = randomly.choice([old + 1, -old, old * 1000, str(old), [old], old + 7])
        value = _put(value, at, new)
    return value


def changed_json(randomly: Random, data: bytes) -> bytes:
    """JSON, or lines of JSON, with other values or other bytes."""
    if randomly.random() < 0.4:
        return changed_bytes(randomly, data)
    lines = data.splitlines() if data.count(b"\n{") else [data]
    at = randomly.randrange(len(lines))
    value = changed_value(randomly, json.loads(lines[at]))
    lines[at] = json.dumps(value, ensure_ascii=randomly.random() < 0.9).encode(
        "utf-8", "surrogatepass"
    )
    if randomly.random() < 0.1:
        lines.append(randomly.choice(lines))
    return b"\n".join(lines)


def changed_table(randomly: Random, table: pa.Table) -> pa.Table:
    """A table with other cells, or with a column of another name, type or place, or none."""
    at = randomly.randrange(table.num_columns)
    field = table.schema.field(at)
    match randomly.randrange(8):
        case 0:
            return table.remove_column(at)
        case 1:
            return table.append_column(field, table.column(at))
        case 2:
            names = list(table.column_names)
            names[at] = randomly.choice(["", "..", "x", "timestamp", *names])
            return table.rename_columns(names)
        case 3:
            kind = randomly.choice([pa.string(), pa.int8(), pa.float64(), pa.list_(pa.int64())])
            return table.set_column(at, field.name, pa.nulls(table.num_rows, kind))
        case 4:
            return table.slice(randomly.randrange(table.num_rows + 1))
        case 5:
            return pa.concat_tables([table, table])
    cells = table.column(at).to_pylist()
    for _ in range(randomly.randint(1, 2)):
        row = randomly.randrange(len(cells))
        cells[row] = _other_cell(randomly, cells[row])
    try:
        return table.set_column(at, field, pa.array(cells, field.type))
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return table.set_column(at, field.name, pa.nulls(table.num_rows, field.type))


def _other_cell(randomly: Random, cell: Any) -> Any:
    if isinstance(cell, list):
        some = [_other_cell(randomly, item) for item in cell]
        return randomly.choice([None, [], some, some, cell * 300, cell[1:]])
    if isinstance(cell, dict) and cell:
        name = randomly.choice(list(cell))
        return {**cell, name: _other_cell(randomly, cell[name])}
    if isinstance(cell, bool | type(None) | bytes):
        return randomly.choice([None, True, False, b"", b"x" * 1000])
    if isinstance(cell, str):
        return randomly.choice([None, "", "..", "\0", "x" * 5000])
    return randomly.choice(
        [None, -1, 0, 1, cell + 1, 2**31, 2**40, 2**62, -(2**63), 1e308, float("nan"), -cell]
    )
