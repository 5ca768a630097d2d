"""HEVC NAL unit headers and types (ITU-T H.265 7.3.1.2 and table 7-1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from videoformat.bitstream.nal import split_annexb, split_length_prefixed
from videoformat.errors import BitstreamError

__all__ = [
    "BLA_W_LP",
    "CRA_NUT",
    "EOB_NUT",
    "EOS_NUT",
    "IDR_N_LP",
    "IDR_W_RADL",
    "PPS_NUT",
    "PREFIX_SEI_NUT",
    "RADL_N",
    "RADL_R",
    "RASL_N",
    "RASL_R",
    "SPS_NUT",
    "TRAIL_N",
    "TRAIL_R",
    "VPS_NUT",
    "base_layer_units",
    "base_layer_units_of",
    "is_coded_slice_segment",
    "is_idr",
    "is_irap",
    "is_leading",
    "is_rasl",
    "is_sub_layer_non_reference",
]

TRAIL_N = 0
TRAIL_R = 1
RADL_N = 6
RADL_R = 7
RASL_N = 8
RASL_R = 9
BLA_W_LP = 16
IDR_W_RADL = 19
IDR_N_LP = 20
CRA_NUT = 21
VPS_NUT = 32
SPS_NUT = 33
PPS_NUT = 34
EOS_NUT = 36
EOB_NUT = 37
PREFIX_SEI_NUT = 39


def is_coded_slice_segment(nal_unit_type: int) -> bool:
    """Whether it is a slice segment of a type that is not reserved."""
    return nal_unit_type <= RASL_R or BLA_W_LP <= nal_unit_type <= CRA_NUT


def is_irap(nal_unit_type: int) -> bool:
    """Whether it belongs to an intra random access point picture: BLA, IDR or CRA."""
    return BLA_W_LP <= nal_unit_type <= 23


def is_idr(nal_unit_type: int) -> bool:
    """Whether it belongs to an instantaneous decoding refresh picture."""
    return nal_unit_type in (IDR_W_RADL, IDR_N_LP)


def is_rasl(nal_unit_type: int) -> bool:
    """Whether it belongs to a random access skipped leading picture."""
    return nal_unit_type in (RASL_N, RASL_R)


def is_leading(nal_unit_type: int) -> bool:
    """Whether it belongs to a leading picture: RADL or RASL."""
    return RADL_N <= nal_unit_type <= RASL_R


def is_sub_layer_non_reference(nal_unit_type: int) -> bool:
    """Whether no picture of the same TemporalId refers to it (H.265 table 7-1)."""
    return nal_unit_type <= 14 and nal_unit_type % 2 == 0


def base_layer_units(nal_units: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """The NAL units of the base layer as (nal_unit_type, NAL unit), in order.

    NAL units with ``nuh_layer_id`` above 0 are passed over, as a decoder of the version 1 profiles
    must (H.265 7.4.2.2).
    """
    for unit in nal_units:
        if len(unit) < 2:
            raise BitstreamError(f"a NAL unit of {len(unit)} bytes, its header alone takes 2")
        if unit[0] & 0x80:
            raise BitstreamError("forbidden_zero_bit of a NAL unit is 1")
        if unit[1] & 7 == 0:
            raise BitstreamError("nuh_temporal_id_plus1 of a NAL unit is 0")
        if not (unit[0] & 1 or unit[1] & 0xF8):
            yield unit[0] >> 1, unit


def base_layer_units_of(access_unit: bytes, length_size: int) -> Iterator[tuple[int, bytes]]:
    """The same of an access unit; ``length_size`` is as in ``CodecConfiguration``."""
    if length_size:
        return base_layer_units(split_length_prefixed(access_unit, length_size))
    return base_layer_units(split_annexb(access_unit))
