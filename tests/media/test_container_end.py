"""The end of a container: boxes and elements by hand, and any bytes."""

from __future__ import annotations

import contextlib
import re
import struct
from pathlib import Path

import av
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from media.made_videos import write_video

from videoformat.errors import DataError
from videoformat.media.container_end import check_end

FTYP = struct.pack(">I4s8x", 16, b"ftyp")


def box(name: bytes, length: int, body: int | None = None) -> bytes:
    return struct.pack(">I4s", length, name) + bytes(length - 8 if body is None else body)


WHOLE = {
    "boxes": FTYP + box(b"moov", 100) + box(b"mdat", 50),
    "a box to the end": FTYP + box(b"moov", 100) + box(b"mdat", 0, 10),
    "a box with 64 bits": FTYP + struct.pack(">I4sQ", 1, b"mdat", 20) + bytes(4),
    "a box that is none": FTYP + box(b"moov", 16) + bytes([0, 0, 0, 5]) + bytes(10),
    "something behind": FTYP + box(b"mdat", 50) + b"rest",
    "Matroska": b"\x1a\x45\xdf\xa3\x82ab\x18\x53\x80\x67\x83abc",
    "Matroska of unknown size": b"\x1a\x45\xdf\xa3\x82ab\x18\x53\x80\x67\x01" + b"\xff" * 7,
    "Matroska with a cluster where the segment would be": b"\x1a\x45\xdf\xa3\x81a\x1f\x43\xb6\x75\x84",
    "RIFF": b"RIFF\x0e\0\0\0AVI \0\0\0\0\0\0\0\0\0\0",
    "words": b"any text at all",
    "nothing": b"",
}
CUT = {
    "the last box": (FTYP + box(b"moov", 100) + box(b"mdat", 50, 41), "'mdat' box", 166, 165),
    "a box with 64 bits": (
        FTYP + struct.pack(">I4sQ", 1, b"mdat", 2**33) + bytes(4), "'mdat' box", 16 + 2**33, 36
    ),
    "the index": (FTYP + box(b"moov", 100, 0), "'moov' box", 116, 24),
    "Matroska": (b"\x1a\x45\xdf\xa3\x82ab\x18\x53\x80\x67\x83ab", "segment", 15, 14),
    "Matroska, eight bytes of size": (
        b"\x1a\x45\xdf\xa3\x40\x01a\x18\x53\x80\x67\x01\0\0\0\0\0\1\0ab", "segment", 275, 21
    ),
    "RIFF": (b"RIFF\x0f\0\0\0AVI \0\0\0\0\0\0\0\0\0\0", "RIFF chunk", 23, 22),
}  # fmt: skip


@pytest.mark.parametrize("data", WHOLE.values(), ids=WHOLE)
def test_what_is_whole_passes(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    check_end(path)


@pytest.mark.parametrize(("data", "what", "end", "size"), CUT.values(), ids=CUT)
def test_what_was_cut_is_named(tmp_path: Path, data: bytes, what: str, end: int, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    said = f"file is cut off: its {what} ends at byte {end}, the file has {size}"
    with pytest.raises(DataError, match=re.escape(said)):
        check_end(path)


@settings(max_examples=200)
@given(
    st.sampled_from(
        [b"", FTYP, b"\x1a\x45\xdf\xa3", b"\x1a\x45\xdf\xa3\x81a\x18\x53\x80\x67", b"RIFF"]
    ),
    st.binary(max_size=60),
)
def test_any_bytes_pass_or_are_called_cut(
    tmp_path_factory: pytest.TempPathFactory, head: bytes, rest: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(head + rest)
    with contextlib.suppress(DataError):
        check_end(path)


def test_a_recording_that_was_never_ended_passes(tmp_path: Path) -> None:
    """A live Matroska stream does not know its size."""
    path = write_video(tmp_path / "a.mkv", 6, options={"live": "1"})
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    check_end(path)
    with av.open(str(path)) as file:
        assert file.streams.video
