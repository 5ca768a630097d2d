"""Video usability information of H.264: ITU-T H.264 annex E."""

from __future__ import annotations

from dataclasses import dataclass

from videoformat.bitstream.bits import BitReader

__all__ = ["BitstreamRestriction", "VuiParameters", "parse_vui"]

_EXTENDED_SAR = 255


@dataclass(frozen=True, slots=True)
class BitstreamRestriction:
    """What ``bitstream_restriction_flag`` announces (E.1.1)."""

    motion_vectors_over_pic_boundaries_flag: bool
    max_bytes_per_pic_denom: int
    max_bits_per_mb_denom: int
    log2_max_mv_length_horizontal: int
    log2_max_mv_length_vertical: int
    max_num_reorder_frames: int
    max_dec_frame_buffering: int


@dataclass(frozen=True, slots=True)
class VuiParameters:
    """Video usability information (E.1.1), as far as it says how samples are to be read.

    Elements that are absent have the values that E.2.1 infers.
    """

    aspect_ratio_idc: int = 0
    sar_width: int = 0
    sar_height: int = 0
    video_full_range_flag: bool = False
    colour_primaries: int = 2
    transfer_characteristics: int = 2
    matrix_coefficients: int = 2
    num_units_in_tick: int = 0
    time_scale: int = 0
    fixed_frame_rate_flag: bool = False
    bitstream_restriction: BitstreamRestriction | None = None


def parse_vui(r: BitReader) -> tuple[VuiParameters, int]:
    """``vui_parameters()`` (E.1.1), and the position of its ``bitstream_restriction_flag``."""
    aspect_ratio_idc = sar_width = sar_height = 0
    if r.flag("aspect_ratio_info_present_flag"):
        aspect_ratio_idc = r.u(8, "aspect_ratio_idc")
        if aspect_ratio_idc == _EXTENDED_SAR:
            sar_width, sar_height = r.u(16, "sar_width"), r.u(16, "sar_height")
    if r.flag("overscan_info_present_flag"):
        r.flag("overscan_appropriate_flag")
    video_full_range_flag = False
    colour_primaries = transfer_characteristics = matrix_coefficients = 2
    if r.flag("video_signal_type_present_flag"):
        r.u(3, "video_format")
        video_full_range_flag = r.flag("video_full_range_flag")
        if r.flag("colour_description_present_flag"):
            colour_primaries = r.u(8, "colour_primaries")
            transfer_characteristics = r.u(8, "transfer_characteristics")
            matrix_coefficients = r.u(8, "matrix_coefficients")
    if r.flag("chroma_loc_info_present_flag"):
        r.ue("chroma_sample_loc_type_top_field", 5)
        r.ue("chroma_sample_loc_type_bottom_field", 5)
    num_units_in_tick = time_scale = 0
    fixed_frame_rate_flag = False
    if r.flag("timing_info_present_flag"):
        num_units_in_tick = r.u(32, "num_units_in_tick")
        time_scale = r.u(32, "time_scale")
        fixed_frame_rate_flag = r.flag("fixed_frame_rate_flag")
    nal_hrd = r.flag("nal_hrd_parameters_present_flag")
    if nal_hrd:
        _skip_hrd(r)
    vcl_hrd = r.flag("vcl_hrd_parameters_present_flag")
    if vcl_hrd:
        _skip_hrd(r)
    if nal_hrd or vcl_hrd:
        r.flag("low_delay_hrd_flag")
    r.flag("pic_struct_present_flag")
    at_restriction = r.position
    restriction = None
    if r.flag("bitstream_restriction_flag"):
        restriction = BitstreamRestriction(
            motion_vectors_over_pic_boundaries_flag=r.flag(
                "motion_vectors_over_pic_boundaries_flag"
            ),
            max_bytes_per_pic_denom=r.ue("max_bytes_per_pic_denom", 16),
            max_bits_per_mb_denom=r.ue("max_bits_per_mb_denom", 16),
            log2_max_mv_length_horizontal=r.ue("log2_max_mv_length_horizontal", 16),
            log2_max_mv_length_vertical=r.ue("log2_max_mv_length_vertical", 16),
            max_num_reorder_frames=r.ue("max_num_reorder_frames", 16),
            max_dec_frame_buffering=r.ue("max_dec_frame_buffering", 16),
        )
    return (
        VuiParameters(
            aspect_ratio_idc,
            sar_width,
            sar_height,
            video_full_range_flag,
            colour_primaries,
            transfer_characteristics,
            matrix_coefficients,
            num_units_in_tick,
            time_scale,
            fixed_frame_rate_flag,
            restriction,
        ),
        at_restriction,
    )


def _skip_hrd(r: BitReader) -> None:
    """``hrd_parameters()`` (E.1.2)."""
    cpb_cnt = 1 + r.ue("cpb_cnt_minus1", 31)
    r.skip(8, "bit_rate_scale and cpb_size_scale")
    for _ in range(cpb_cnt):
        r.ue("bit_rate_value_minus1")
        r.ue("cpb_size_value_minus1")
        r.flag("cbr_flag")
    r.skip(20, "hrd delay lengths and time_offset_length")
