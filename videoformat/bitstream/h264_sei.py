"""Supplemental enhancement information of H.264: ITU-T H.264 7.3.2.3 and annex D."""

from __future__ import annotations

from dataclasses import dataclass

from videoformat.bitstream.bits import BitReader
from videoformat.bitstream.nal import unescape
from videoformat.bitstream.sei import FILM_GRAIN_CHARACTERISTICS, has_film_grain, sei_messages

__all__ = ["SupplementalInformation", "parse_sei"]

# payloadType (D.1.1).
_USER_DATA_UNREGISTERED = 5
_RECOVERY_POINT = 6
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


def parse_sei(nal_unit: bytes) -> SupplementalInformation:
    """Reads the messages of a NAL unit of type 6."""
    recovery_frame_cnt = None
    is_encoder_version = has_grain = False
    for payload_type, payload in sei_messages(unescape(nal_unit[1:])):
        if payload_type == _RECOVERY_POINT:
            r = BitReader(payload, "recovery point SEI")
            recovery_frame_cnt = r.ue("recovery_frame_cnt", 65535)
        elif payload_type == _USER_DATA_UNREGISTERED:
            is_encoder_version |= payload.startswith(_X264, _UUID_SIZE)
        elif payload_type == FILM_GRAIN_CHARACTERISTICS:
            has_grain |= has_film_grain(payload)
    return SupplementalInformation(recovery_frame_cnt, is_encoder_version, has_grain)
