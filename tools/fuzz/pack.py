"""Several byte strings as one, for fuzzers that mutate a single one."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["pack", "unpack"]

_MAXIMUM = 64


def pack(parts: Sequence[bytes]) -> bytes:
    """Each after its length in two bytes."""
    return b"".join(len(part).to_bytes(2, "big") + part for part in parts)


def unpack(data: bytes) -> list[bytes]:
    """Any bytes as a list of byte strings: a length that is too long takes what is left."""
    parts: list[bytes] = []
    position = 0
    while position + 2 <= len(data) and len(parts) < _MAXIMUM:
        length = int.from_bytes(data[position : position + 2], "big")
        parts.append(data[position + 2 : position + 2 + length])
        position += 2 + length
    return parts
