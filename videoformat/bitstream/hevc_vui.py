"""Video usability information of an HEVC SPS (ITU-T H.265 annex E)."""

from __future__ import annotations

from dataclasses import dataclass

from videoformat.bitstream.bits import BitReader

__all__ = ["VideoUsabilityInformation", "parse_vui_parameters"]

_EXTENDED_SAR = 255


@dataclass(frozen=True, slots=True)
class VideoUsabilityInformation:
    """What decides how decoded samples turn into colours, and whether pictures are fields.

    Code points are those of ITU-T H.273; 2 is "unspecified".
    """

    video_full_range_flag: bool = False
    colour_primaries: int = 2
    transfer_characteristics: int = 2
    matrix_coeffs: int = 2
    field_seq_flag: bool = False


def parse_vui_parameters(
    reader: BitReader, sps_max_sub_layers_minus1: int
) -> VideoUsabilityInformation:
    """``vui_parameters()`` (E.2.1)."""
    if (
        reader.flag("aspect_ratio_info_present_flag")
        and reader.u(8, "aspect_ratio_idc") == _EXTENDED_SAR
    ):
        reader.skip(32, "sar_width, sar_height")
    if reader.flag("overscan_info_present_flag"):
        reader.skip(1, "overscan_appropriate_flag")
    full_range = False
    colour = (2, 2, 2)
    if reader.flag("video_signal_type_present_flag"):
        reader.skip(3, "video_format")
        full_range = reader.flag("video_full_range_flag")
        if reader.flag("colour_description_present_flag"):
            colour = (
                reader.u(8, "colour_primaries"),
                reader.u(8, "transfer_characteristics"),
                reader.u(8, "matrix_coeffs"),
            )
    if reader.flag("chroma_loc_info_present_flag"):
        reader.ue("chroma_sample_loc_type_top_field", 5)
        reader.ue("chroma_sample_loc_type_bottom_field", 5)
    reader.skip(1, "neutral_chroma_indication_flag")
    field_seq_flag = reader.flag("field_seq_flag")
    reader.skip(1, "frame_field_info_present_flag")
    if reader.flag("default_display_window_flag"):
        # A recommendation for display: decoders put out what the conformance window says.
        for side in ("left", "right", "top", "bottom"):
            reader.ue(f"def_disp_win_{side}_offset")
    if reader.flag("vui_timing_info_present_flag"):
        reader.skip(64, "vui_num_units_in_tick, vui_time_scale")
        if reader.flag("vui_poc_proportional_to_timing_flag"):
            reader.ue("vui_num_ticks_poc_diff_one_minus1")
        if reader.flag("vui_hrd_parameters_present_flag"):
            _hrd_parameters(reader, sps_max_sub_layers_minus1)
    if reader.flag("bitstream_restriction_flag"):
        reader.skip(3, "tiles_fixed_structure_flag to restricted_ref_pic_lists_flag")
        for name in (
            "min_spatial_segmentation_idc",
            "max_bytes_per_pic_denom",
            "max_bits_per_min_cu_denom",
            "log2_max_mv_length_horizontal",
            "log2_max_mv_length_vertical",
        ):
            reader.ue(name)
    return VideoUsabilityInformation(full_range, *colour, field_seq_flag)


def _hrd_parameters(reader: BitReader, max_num_sub_layers_minus1: int) -> None:
    """``hrd_parameters(1, maxNumSubLayersMinus1)`` (E.2.2)."""
    layers = [
        reader.flag("nal_hrd_parameters_present_flag"),
        reader.flag("vcl_hrd_parameters_present_flag"),
    ]
    sub_pic_hrd_params_present_flag = False
    if any(layers):
        sub_pic_hrd_params_present_flag = reader.flag("sub_pic_hrd_params_present_flag")
        if sub_pic_hrd_params_present_flag:
            reader.skip(8 + 5 + 1 + 5, "tick_divisor_minus2 to dpb_output_delay_du_length_minus1")
        reader.skip(4 + 4, "bit_rate_scale, cpb_size_scale")
        if sub_pic_hrd_params_present_flag:
            reader.skip(4, "cpb_size_du_scale")
        reader.skip(5 + 5 + 5, "initial_cpb_removal_delay_length_minus1 and two lengths")
    for _ in range(max_num_sub_layers_minus1 + 1):
        # fixed_pic_rate_within_cvs_flag is inferred to be 1 where the first flag is 1.
        fixed = reader.flag("fixed_pic_rate_general_flag")
        fixed = fixed or reader.flag("fixed_pic_rate_within_cvs_flag")
        low_delay_hrd_flag = False
        if fixed:
            reader.ue("elemental_duration_in_tc_minus1")
        else:
            low_delay_hrd_flag = reader.flag("low_delay_hrd_flag")
        cpb_cnt = 1
        if not low_delay_hrd_flag:
            cpb_cnt += reader.ue("cpb_cnt_minus1", 31)
        for _ in range(cpb_cnt * sum(layers)):
            reader.ue("bit_rate_value_minus1")
            reader.ue("cpb_size_value_minus1")
            if sub_pic_hrd_params_present_flag:
                reader.ue("cpb_size_du_value_minus1")
                reader.ue("bit_rate_du_value_minus1")
            reader.skip(1, "cbr_flag")
