"""Supplemental enhancement information of H.264: ITU-T H.264 7.3.2.3 and annex D."""

from __future__ import annotations

from dataclasses import dataclass

from videoformat.bitstream.bits import BitReader
from videoformat.bitstream.nal import unescape
from videoformat.errors import BitstreamError

__all__ = ["SupplementalInformation", "parse_sei"]

# payloadType (D.1.1).
_USER_DATA_UNREGISTERED = 5
_RECOVERY_POINT = 6
_FILM_GRAIN_CHARACTERISTICS = 19
# FFmpeg looks for this behind uuid_iso_iec_11578, to work around the faults of old versions.
_X264 = b"x264 - core "
_UUID_SIZE = 16


@dataclass(frozen=True, slots=True)
class SupplementalInformation:
    """What of a SEI NAL unit bears on the samples, or on where decoding can begin.

    ``recovery_frame_cnt`` is ``None`` without a recovery point. ``is_encoder_version``: it names the
    version of x264, by which decoders work around that version's faults. ``has_film_grain``: it asks
    for grain on the frames that are shown.
    """

    recovery_frame_cnt: int | None
    is_encoder_version: bool
    has_film_grain: bool


def _messages(nal_unit: bytes) -> list[tuple[int, bytes]]:
    """Type and payload of each ``sei_message()`` of a NAL unit of type 6."""
    data = unescape(nal_unit[1:])
    # more_rbsp_data(): all but rbsp_trailing_bits, which are one byte because messages are whole
    # bytes. Without them the messages are taken as they are, for encoders that forget them.
    end = len(data) - (data[-1:] == b"\x80")
    messages = []
    position = 0
    while position < end:
        numbers = []
        for name in ("payloadType", "payloadSize"):
            value = 0
            while True:
                if position >= end:
                    raise BitstreamError(f"SEI: {name} at byte {position} is cut off")
                octet = data[position]
                position += 1
                value += octet
                if octet != 0xFF:
                    break
            numbers.append(value)
        payload_type, payload_size = numbers
        if payload_size > end - position:
            raise BitstreamError(
                f"SEI: payload {payload_type} of {payload_size} bytes, {end - position} are left"
            )
        messages.append((payload_type, data[position : position + payload_size]))
        position += payload_size
    return messages


def parse_sei(nal_unit: bytes) -> SupplementalInformation:
    """Reads the messages of a NAL unit of type 6."""
    recovery_frame_cnt = None
    is_encoder_version = has_film_grain = False
    for payload_type, payload in _messages(nal_unit):
        if payload_type == _RECOVERY_POINT:
            r = BitReader(payload, "recovery point SEI")
            recovery_frame_cnt = r.ue("recovery_frame_cnt", 65535)
        elif payload_type == _USER_DATA_UNREGISTERED:
            is_encoder_version |= payload.startswith(_X264, _UUID_SIZE)
        elif payload_type == _FILM_GRAIN_CHARACTERISTICS:
            # film_grain_characteristics_cancel_flag is the first bit (D.1.21).
            has_film_grain |= payload[:1] < b"\x80"
    return SupplementalInformation(recovery_frame_cnt, is_encoder_version, has_film_grain)
