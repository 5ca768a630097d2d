"""Supplemental enhancement information of H.264: ITU-T H.264 7.3.2.3 and annex D."""

from __future__ import annotations

from videoformat.bitstream.bits import BitReader
from videoformat.bitstream.nal import unescape
from videoformat.errors import BitstreamError

__all__ = ["is_encoder_version", "recovery_frame_count"]

_USER_DATA_UNREGISTERED = 5
_RECOVERY_POINT = 6


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


def recovery_frame_count(nal_unit: bytes) -> int | None:
    """``recovery_frame_cnt`` of the recovery point message (D.1.8), if there is one."""
    for payload_type, payload in _messages(nal_unit):
        if payload_type == _RECOVERY_POINT:
            return BitReader(payload, "recovery point SEI").ue("recovery_frame_cnt", 65535)
    return None


def is_encoder_version(nal_unit: bytes) -> bool:
    """Whether a SEI NAL unit holds user data such as the encoder's version.

    Decoders work around the faults of known encoders by it, so it must stay with the stream.
    """
    return any(kind == _USER_DATA_UNREGISTERED for kind, _ in _messages(nal_unit))
