"""JSON that strangers wrote: every read checks the type and names the file and the key.

``json`` accepts more than JSON: ``NaN``, ``Infinity``, any depth, any number of digits, halves of
surrogate pairs. What could not be stored or compared later is refused here.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from videoformat.errors import DataError

__all__ = ["JsonObject", "read_json", "read_json_line", "read_json_lines", "shown"]

# Dataset-wide files grow with the features, not with the episodes; lines hold one episode.
MAX_FILE_BYTES = 1 << 28
MAX_LINE_BYTES = 1 << 26


def shown(value: object) -> str:
    """A value for an error message, at most about a line long."""
    return reprlib.repr(value)


@dataclass(frozen=True, slots=True)
class JsonObject:
    """A JSON object and where it stands, such as ``meta/info.json`` or a line of a file."""

    values: dict[str, Any]
    where: str

    def error(self, key: str, expected: str) -> DataError:
        """An error about the value of ``key``."""
        found = shown(self.values[key]) if key in self.values else "missing"
        return DataError(f"{self.where}: {key} is {found}, expected {expected}")

    def integer(self, key: str, minimum: int, maximum: int) -> int:
        """An integer within both bounds, which are allowed themselves."""
        value = self.values.get(key)
        # pandas writes an integer column that once had a gap as 416.0.
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            raise self.error(key, f"an integer from {minimum} to {maximum}")
        return value

    def number(self, key: str, maximum: float) -> int | float:
        """A finite number above 0, as it came (integer or float)."""
        value = self.values.get(key)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not (0 < value <= maximum)
            or not math.isfinite(value)
        ):
            raise self.error(key, f"a number above 0 and at most {maximum}")
        return value

    def text(self, key: str) -> str:
        """A string."""
        value = self.values.get(key)
        if not isinstance(value, str):
            raise self.error(key, "a string")
        return value

    def optional_text(self, key: str) -> str | None:
        """A string, or ``None`` where the key is missing or null."""
        return None if self.values.get(key) is None else self.text(key)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; a missing key is an empty list."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(key, "a list of strings")
        return tuple(value)

    def object(self, key: str) -> JsonObject:
        """An object."""
        value = self.values.get(key)
        if not isinstance(value, dict):
            raise self.error(key, "an object")
        return JsonObject(value, f"{self.where}: {key}")


def _parse(data: bytes, where: str) -> JsonObject:
    try:
        # Editors on Windows put a byte order mark in front.
        value = json.loads(data.decode("utf-8-sig"))
        if b"\\u" in data:
            # Half a surrogate pair is legal in JSON's grammar and in no encoding.
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise DataError(f"{where}: {shown(value)}, expected an object")
    return JsonObject(value, where)


def read_json(path: Path, where: str) -> JsonObject:
    """The one object that a file holds."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise DataError(f"{where}: cannot be read: {error}") from error
    if len(data) > MAX_FILE_BYTES:
        raise DataError(f"{where}: more than {MAX_FILE_BYTES} bytes")
    return _parse(data, where)


def read_json_lines(
    path: Path, where: str, offset: int = 0
) -> Iterator[tuple[int, int, JsonObject]]:
    """The objects of a JSON Lines file from a byte offset on.

    Each comes with the byte offsets of its line's start and end (exclusive).
    """
    try:
        with path.open("rb") as file:
            file.seek(offset)
            while line := file.readline(MAX_LINE_BYTES + 1):
                if len(line) > MAX_LINE_BYTES:
                    raise DataError(
                        f"{where}: the line at byte {offset} exceeds {MAX_LINE_BYTES} bytes"
                    )
                if line.strip():
                    parsed = _parse(line, f"{where}: line at byte {offset}")
                    yield offset, offset + len(line), parsed
                offset += len(line)
    except OSError as error:
        raise DataError(f"{where}: cannot be read: {error}") from error


def read_json_line(path: Path, where: str, offset: int) -> JsonObject:
    """The object that starts at a byte offset of a JSON Lines file."""
    for _, _, line in read_json_lines(path, where, offset):
        return line
    raise DataError(f"{where}: ends before byte {offset}; it was changed while it was read")
