"""Open bitstream units of AV1: splitting a temporal unit, and the ``av1C`` configuration record.

Low-overhead bitstream format: AV1 5.2 and 5.3. ``av1C``: the AV1 codec ISO media file format
binding, 2.3. Matroska's ``CodecPrivate`` is the same record.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from videoformat.errors import BitstreamError

__all__ = ["Obu", "ObuType", "config_obus", "iterate_obus", "write_obu"]


class ObuType(IntEnum):
    """``obu_type`` (AV1 6.2.2); the values 0 and 9 to 14 are reserved, and decoders skip them."""

    SEQUENCE_HEADER = 1
    TEMPORAL_DELIMITER = 2
    FRAME_HEADER = 3
    TILE_GROUP = 4
    METADATA = 5
    FRAME = 6
    REDUNDANT_FRAME_HEADER = 7
    TILE_LIST = 8
    PADDING = 15


class Obu(NamedTuple):
    """Where one open bitstream unit lies, in bytes; ``end`` is exclusive.

    ``obu_type`` may be a reserved value. Without an extension header, ``temporal_id`` and
    ``spatial_id`` are 0.
    """

    obu_type: int
    obu_extension_flag: bool
    temporal_id: int
    spatial_id: int
    start: int
    payload_start: int
    end: int


def iterate_obus(data: bytes) -> Iterator[Obu]:
    """The units of a temporal unit in low-overhead format, in order (AV1 5.3.1).

    A unit without ``obu_has_size_field`` is the rest of the data, as the ISO binding (2.4) allows
    for the last unit of a sample. Raises ``BitstreamError`` where a size points past the end.
    """
    position = 0
    total = len(data)
    while position < total:
        start = position
        header = data[position]
        position += 1
        if header & 0x80:
            raise BitstreamError(f"OBU at byte {start}: obu_forbidden_bit is 1, expected 0")
        temporal_id = spatial_id = 0
        extension = bool(header & 4)
        if extension:
            if position == total:
                raise BitstreamError(f"OBU at byte {start}: the data ends before its extension")
            temporal_id = data[position] >> 5
            spatial_id = data[position] >> 3 & 3
            position += 1
        if header & 2:
            obu_size, position = _obu_size(data, position, start)
            end = position + obu_size
            if end > total:
                raise BitstreamError(
                    f"OBU at byte {start}: obu_size is {obu_size}, {total - position} bytes are left"
                )
        else:
            end = total
        yield Obu(header >> 3 & 15, extension, temporal_id, spatial_id, start, position, end)
        position = end


def _obu_size(data: bytes, position: int, start: int) -> tuple[int, int]:
    """``leb128()`` on whole bytes (AV1 4.10.5): the value, and the position after it."""
    value = 0
    for index, octet in enumerate(data[position : position + 8]):
        value |= (octet & 0x7F) << (7 * index)
        if not octet & 0x80:
            if value > 0xFFFFFFFF:
                break
            return value, position + index + 1
    raise BitstreamError(
        f"OBU at byte {start}: obu_size is cut off, longer than 8 bytes or above 4294967295"
    )


def write_obu(obu_type: ObuType, payload: bytes) -> bytes:
    """A unit without extension header, with its size (AV1 5.3.1)."""
    size = len(payload)
    octets = bytearray([obu_type << 3 | 2])
    while size > 0x7F:
        octets.append(size & 0x7F | 0x80)
        size >>= 7
    octets.append(size)
    return bytes(octets) + payload


def config_obus(configuration: bytes) -> bytes:
    """The units inside a configuration: ``configOBUs`` of an ``av1C`` record, or bare units.

    An ``av1C`` record begins with a marker bit of 1, which in a unit would be the forbidden bit.
    """
    if not configuration or not configuration[0] & 0x80:
        return configuration
    version = configuration[0] & 0x7F
    if version != 1:
        raise BitstreamError(f"av1C: version is {version}, expected 1")
    if len(configuration) < 4:
        raise BitstreamError(f"av1C: {len(configuration)} bytes, expected at least 4")
    return configuration[4:]
