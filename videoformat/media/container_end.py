"""Whether a container file is all there: what its own headers say about its end.

FFmpeg reads what is left of a file that was cut off, and says nothing where the cut happens to lie
between two frames; a recording would silently be shorter than it was. ISO base media (MP4, MOV: ISO
14496-12, 4.2), Matroska (RFC 9559, RFC 8794) and RIFF (AVI) state sizes that reach beyond the cut.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from videoformat.errors import DataError

__all__ = ["check_end"]

_EBML = b"\x1a\x45\xdf\xa3"
_SEGMENT = b"\x18\x53\x80\x67"
_MAXIMUM_BOXES = 1_000_000


def check_end(path: Path) -> None:
    """Raises ``DataError`` where the file ends before what its headers promise.

    A container of another kind, and one that was written without knowing its end, passes.
    """
    with path.open("rb") as file:
        size = path.stat().st_size
        head = file.read(12)
        if head[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"styp"):
            what, end = _last_box(file, size)
        elif head[:4] == _EBML:
            what, end = _segment(file, size)
        elif head[:4] == b"RIFF":
            what, end = "RIFF chunk", 8 + int.from_bytes(head[4:8], "little")
        else:
            return
    if end > size:
        raise DataError(f"{path} is cut off: its {what} ends at byte {end}, the file has {size}")


def _last_box(file: BinaryIO, size: int) -> tuple[str, int]:
    """The name and end of the last box at the file's top level."""
    name, end = b"", 0
    for _ in range(_MAXIMUM_BOXES):
        file.seek(end)
        header = file.read(16)
        if len(header) < 8:
            break
        length, name = struct.unpack_from(">I4s", header)
        if length == 1 and len(header) == 16:
            (length,) = struct.unpack_from(">Q", header, 8)
        if length < 8:  # 0: to the end of the file
            break
        end += length
        if end >= size:
            break
    return f"{name.decode('latin-1')!r} box", end


def _element_size(file: BinaryIO) -> int | None:
    """The size of an EBML element, a number of 1 to 8 bytes (RFC 8794, 4); None where unknown."""
    first = file.read(1)
    if not first or not first[0]:
        return None
    length = 9 - first[0].bit_length()
    rest = file.read(length - 1)
    value = int.from_bytes(bytes([first[0] & (1 << (8 - length)) - 1]) + rest, "big")
    return None if value == (1 << 7 * length) - 1 or len(rest) < length - 1 else value


def _segment(file: BinaryIO, size: int) -> tuple[str, int]:
    """The end of the segment that follows the EBML header; 0 where it is not known."""
    file.seek(len(_EBML))
    header = _element_size(file)
    if header is None or file.tell() + header > size:
        return "EBML header", 0
    file.seek(header, 1)
    if file.read(len(_SEGMENT)) != _SEGMENT:
        return "segment", 0
    length = _element_size(file)
    return "segment", 0 if length is None else file.tell() + length
