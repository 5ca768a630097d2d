"""SEI messages: ITU-T H.264 7.3.2.3.1 and H.265 7.3.5, the same in both."""

from __future__ import annotations

from videoformat.errors import BitstreamError

__all__ = ["FILM_GRAIN_CHARACTERISTICS", "has_film_grain", "sei_messages"]

# payloadType (H.264 D.1.1, H.265 D.2.1).
FILM_GRAIN_CHARACTERISTICS = 19


def sei_messages(data: bytes) -> list[tuple[int, bytes]]:
    """Type and payload of each ``sei_message()`` of an RBSP."""
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


def has_film_grain(payload: bytes) -> bool:
    """Whether a message of film grain characteristics asks for grain on the frames that are shown.

    ``film_grain_characteristics_cancel_flag`` is its first bit (H.264 D.1.21, H.265 D.2.20).
    """
    return payload[:1] < b"\x80"
