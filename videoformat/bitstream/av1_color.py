"""The colour configuration of AV1's sequence header (clause 5.5.2)."""

from __future__ import annotations

from dataclasses import dataclass

from videoformat.bitstream.bits import BitReader

__all__ = ["Av1ColorConfig", "parse_color_config"]

_UNSPECIFIED = 2
# CP_BT_709, TC_SRGB and MC_IDENTITY: the one description that implies 4:4:4 in full range.
_SRGB = (1, 13, 0)


@dataclass(frozen=True, slots=True)
class Av1ColorConfig:
    """``color_config`` (AV1 5.5.2), with ``BitDepth`` for its two flags."""

    bit_depth: int
    mono_chrome: bool
    color_primaries: int
    transfer_characteristics: int
    matrix_coefficients: int
    color_range: int
    subsampling_x: int
    subsampling_y: int
    chroma_sample_position: int
    separate_uv_delta_q: bool


def parse_color_config(r: BitReader, seq_profile: int) -> Av1ColorConfig:
    """Reads ``color_config`` at the reader's position."""
    high_bitdepth = r.flag("high_bitdepth")
    bit_depth = 10 if high_bitdepth else 8
    if seq_profile == 2 and high_bitdepth and r.flag("twelve_bit"):
        bit_depth = 12
    mono_chrome = seq_profile != 1 and r.flag("mono_chrome")
    primaries = transfer = matrix = _UNSPECIFIED
    if r.flag("color_description_present_flag"):
        primaries = r.u(8, "color_primaries")
        transfer = r.u(8, "transfer_characteristics")
        matrix = r.u(8, "matrix_coefficients")
    subsampling_x = subsampling_y = 1
    chroma_sample_position = 0
    if not mono_chrome and (primaries, transfer, matrix) == _SRGB:
        color_range = 1
        subsampling_x = subsampling_y = 0
    else:
        color_range = r.u(1, "color_range")
        if seq_profile == 1:
            subsampling_x = subsampling_y = 0
        elif seq_profile == 2 and not mono_chrome:
            if bit_depth == 12:
                subsampling_x = r.u(1, "subsampling_x")
                subsampling_y = r.u(1, "subsampling_y") if subsampling_x else 0
            else:
                subsampling_y = 0
        if subsampling_x and subsampling_y and not mono_chrome:
            chroma_sample_position = r.u(2, "chroma_sample_position")
    separate_uv_delta_q = not mono_chrome and r.flag("separate_uv_delta_q")
    return Av1ColorConfig(
        bit_depth=bit_depth,
        mono_chrome=mono_chrome,
        color_primaries=primaries,
        transfer_characteristics=transfer,
        matrix_coefficients=matrix,
        color_range=color_range,
        subsampling_x=subsampling_x,
        subsampling_y=subsampling_y,
        chroma_sample_position=chroma_sample_position,
        separate_uv_delta_q=separate_uv_delta_q,
    )
