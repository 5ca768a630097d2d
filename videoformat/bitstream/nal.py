"""NAL units: splitting, emulation prevention, and the configuration records of MP4 and Matroska.

Byte stream format: ITU-T H.264 and H.265 annex B. Emulation prevention: H.264 7.4.1, H.265 7.4.2.
Configuration records ``avcC`` and ``hvcC``: ISO/IEC 14496-15 5.3.3.1 and 8.3.3.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from videoformat.errors import BitstreamError

__all__ = [
    "CodecConfiguration",
    "escape",
    "parse_avcc",
    "parse_hvcc",
    "split_annexb",
    "split_length_prefixed",
    "to_annexb",
    "to_length_prefixed",
    "unescape",
    "write_avcc",
    "write_hvcc",
]

_START_CODE = re.compile(rb"\x00\x00\x01")
_NEEDS_PREVENTION = re.compile(rb"\x00\x00(?=[\x00-\x03])")


@dataclass(frozen=True, slots=True)
class CodecConfiguration:
    """Parameter sets that travel outside the access units.

    ``length_size`` is the size in bytes of the length before each NAL unit of an access unit, or 0
    where the access units are in byte stream format (annex B).
    """

    nal_units: tuple[bytes, ...]
    length_size: int


def split_annexb(data: bytes) -> list[bytes]:
    """The NAL units of a byte stream, without start codes and without trailing zero bytes.

    Raises ``BitstreamError`` where bytes other than zeros precede the first start code.
    """
    starts = [match.end() for match in _START_CODE.finditer(data)]
    if not starts:
        if data.strip(b"\0"):
            raise BitstreamError(f"no start code in {len(data)} bytes of a byte stream")
        return []
    if data[: starts[0] - 3].strip(b"\0"):
        raise BitstreamError(f"{starts[0] - 3} bytes precede the first start code")
    ends = [start - 3 for start in starts[1:]] + [len(data)]
    units = (data[start:end].rstrip(b"\0") for start, end in zip(starts, ends, strict=True))
    return [unit for unit in units if unit]


def split_length_prefixed(data: bytes, length_size: int) -> list[bytes]:
    """The NAL units of an access unit in which each follows its big-endian length.

    Raises ``BitstreamError`` where a length points past the end.
    """
    if not 1 <= length_size <= 4:
        raise BitstreamError(f"NAL unit length size is {length_size}, expected 1 to 4")
    units = []
    position = 0
    size = len(data)
    integer = int.from_bytes
    while position < size:
        start = position + length_size
        end = start + integer(data[position:start], "big")
        if end > size:
            raise BitstreamError(
                f"NAL unit length {end - start} at byte {position} exceeds the "
                f"{max(size - start, 0)} bytes that are left"
            )
        if end != start:
            units.append(data[start:end])
        position = end
    return units


def to_annexb(nal_units: Iterable[bytes]) -> bytes:
    """NAL units in byte stream format, each after a four-byte start code."""
    return b"".join(b"\0\0\0\1" + unit for unit in nal_units)


def to_length_prefixed(nal_units: Iterable[bytes], length_size: int) -> bytes:
    """NAL units each after its big-endian length."""
    return b"".join(len(unit).to_bytes(length_size, "big") + unit for unit in nal_units)


def unescape(data: bytes) -> bytes:
    """Removes ``emulation_prevention_three_byte``."""
    return data.replace(b"\0\0\3", b"\0\0")


def escape(rbsp: bytes) -> bytes:
    """Inserts ``emulation_prevention_three_byte`` wherever the standards require it."""
    data = _NEEDS_PREVENTION.sub(b"\0\0\3", rbsp)
    # cabac_zero_word: an RBSP that ends in a zero byte gets a final 0x03 (H.264 7.4.1).
    return data + b"\3" if data[-1:] == b"\0" else data


class _Record:
    """Bounded reads from a configuration record."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name
        self.position = 0

    def take(self, count: int, element: str) -> bytes:
        end = self.position + count
        if end > len(self.data):
            raise BitstreamError(
                f"{self.name}: {element} at byte {self.position} needs {count} bytes, "
                f"{len(self.data) - self.position} are left"
            )
        taken = self.data[self.position : end]
        self.position = end
        return taken

    def integer(self, count: int, element: str) -> int:
        return int.from_bytes(self.take(count, element), "big")


def parse_avcc(data: bytes) -> CodecConfiguration:
    """An ``AVCDecoderConfigurationRecord`` (ISO/IEC 14496-15 5.3.3.1.2)."""
    record = _Record(data, "avcC")
    version = record.integer(1, "configurationVersion")
    if version != 1:
        raise BitstreamError(f"avcC: configurationVersion is {version}, expected 1")
    record.take(3, "profile and level")
    length_size = (record.integer(1, "lengthSizeMinusOne") & 3) + 1
    nal_units = []
    for mask, element in ((0x1F, "sequenceParameterSet"), (0xFF, "pictureParameterSet")):
        for _ in range(record.integer(1, f"numOf{element}s") & mask):
            nal_units.append(record.take(record.integer(2, f"{element}Length"), element))
    return CodecConfiguration(tuple(unit for unit in nal_units if unit), length_size)


def parse_hvcc(data: bytes) -> CodecConfiguration:
    """An ``HEVCDecoderConfigurationRecord`` (ISO/IEC 14496-15 8.3.3.1.2)."""
    record = _Record(data, "hvcC")
    # Version 0 was written by encoders that predate the final text; the layout is the same.
    version = record.integer(1, "configurationVersion")
    if version > 1:
        raise BitstreamError(f"hvcC: configurationVersion is {version}, expected 1")
    record.take(20, "general profile, level and formats")
    length_size = (record.integer(1, "lengthSizeMinusOne") & 3) + 1
    nal_units = []
    for _ in range(record.integer(1, "numOfArrays")):
        record.take(1, "NAL_unit_type")
        for _ in range(record.integer(2, "numNalus")):
            nal_units.append(record.take(record.integer(2, "nalUnitLength"), "nalUnit"))
    return CodecConfiguration(tuple(unit for unit in nal_units if unit), length_size)


def write_avcc(nal_units: Iterable[bytes], length_size: int) -> bytes:
    """An ``AVCDecoderConfigurationRecord`` with the parameter sets among some NAL units.

    Profile and level are those of the first SPS. What the record says of chroma and depth is left
    out, as by writers that predate it; decoders take it from the SPS.
    """
    units = list(nal_units)
    sets = [[unit for unit in units if unit[0] & 31 == kind] for kind in (7, 8)]
    if len(sets[0]) > 31 or len(sets[1]) > 255:
        raise BitstreamError(
            f"avcC: {len(sets[0])} SPS and {len(sets[1])} PPS, expected at most 31 and 255"
        )
    profile = (*(unit[1:4] for unit in sets[0]), bytes(3))[0]
    parts = [b"\1", profile.ljust(3, b"\0"), bytes([0xFC | length_size - 1])]
    for mask, of_kind in zip((0xE0, 0), sets, strict=True):
        parts += [bytes([mask | len(of_kind)]), to_length_prefixed(of_kind, 2)]
    return b"".join(parts)


def write_hvcc(nal_units: Iterable[bytes], length_size: int) -> bytes:
    """An ``HEVCDecoderConfigurationRecord`` with the parameter sets among some NAL units.

    What it says of profile, level and formats is left zero: decoders take it from the SPS.
    """
    units = list(nal_units)
    kinds = (32, 33, 34)
    parts = [b"\1", bytes(20), bytes([0xFC | length_size - 1, len(kinds)])]
    for kind in kinds:
        of_kind = [unit for unit in units if unit[0] >> 1 & 63 == kind]
        parts += [bytes([0x80 | kind]), len(of_kind).to_bytes(2, "big")]
        parts.append(to_length_prefixed(of_kind, 2))
    return b"".join(parts)
