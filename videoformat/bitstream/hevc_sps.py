"""HEVC sequence parameter sets (ITU-T H.265 7.3.2.2, 7.4.3.2)."""

from __future__ import annotations

from dataclasses import dataclass

from videoformat.bitstream.bits import BitReader
from videoformat.bitstream.hevc_rps import ShortTermRefPicSet, parse_st_ref_pic_set
from videoformat.bitstream.hevc_scaling import skip_scaling_list_data
from videoformat.bitstream.hevc_vui import VideoUsabilityInformation, parse_vui_parameters
from videoformat.bitstream.nal import unescape
from videoformat.errors import UnsupportedStreamError

__all__ = ["SequenceParameterSet", "SpsPositions", "parse_sequence_parameter_set"]

# Level 6.2 allows 8 · √(MaxLumaPs) = 16888 luma samples a side, level 8.5 as many as 16 bits count.
_MAXIMUM_SIDE = 65535


@dataclass(frozen=True, slots=True)
class SpsPositions:
    """Where rewriting cuts: positions in bits from the first bit after the NAL unit header."""

    log2_max_pic_order_cnt_lsb_minus4: int
    sps_sub_layer_ordering_info_present_flag: int
    num_short_term_ref_pic_sets: int
    sps_temporal_mvp_enabled_flag: int


@dataclass(frozen=True, slots=True)
class SequenceParameterSet:
    """The elements of an SPS that decide references, header syntax and the form of a frame.

    ``nal_unit`` is its own bytes, by which two are compared. ``width`` and ``height`` are in luma
    samples after the conformance window.
    """

    nal_unit: bytes
    sps_seq_parameter_set_id: int
    sps_max_sub_layers_minus1: int
    general_profile_idc: int
    general_level_idc: int
    chroma_format_idc: int
    separate_colour_plane_flag: bool
    pic_width_in_luma_samples: int
    pic_height_in_luma_samples: int
    width: int
    height: int
    bit_depth_luma: int
    bit_depth_chroma: int
    log2_max_pic_order_cnt_lsb: int
    sps_max_dec_pic_buffering: int
    sps_max_num_reorder_pics: int
    pic_size_in_ctbs: int
    sample_adaptive_offset_enabled_flag: bool
    short_term_ref_pic_sets: tuple[ShortTermRefPicSet, ...]
    long_term_ref_pics_present_flag: bool
    lt_ref_pic_poc_lsb_sps: tuple[int, ...]
    sps_temporal_mvp_enabled_flag: bool
    vui: VideoUsabilityInformation
    positions: SpsPositions

    @property
    def chroma_array_type(self) -> int:
        """ChromaArrayType: 0 where each colour plane is coded as a monochrome picture."""
        return 0 if self.separate_colour_plane_flag else self.chroma_format_idc

    @property
    def colour_primaries(self) -> int:
        """``colour_primaries`` of table E.3; 2 where it is unspecified."""
        return self.vui.colour_primaries

    @property
    def transfer_characteristics(self) -> int:
        """``transfer_characteristics`` of table E.4; 2 where it is unspecified."""
        return self.vui.transfer_characteristics

    @property
    def matrix_coefficients(self) -> int:
        """``matrix_coeffs`` of table E.5; 2 where it is unspecified."""
        return self.vui.matrix_coeffs

    @property
    def video_full_range_flag(self) -> bool:
        """Whether samples use their full range."""
        return self.vui.video_full_range_flag

    @property
    def slice_segment_address_length(self) -> int:
        """Bits of ``slice_segment_address``."""
        return (self.pic_size_in_ctbs - 1).bit_length()


def parse_sequence_parameter_set(nal_unit: bytes) -> SequenceParameterSet:
    """``seq_parameter_set_rbsp()`` of the base layer."""
    reader = BitReader(unescape(nal_unit[2:]), "SPS")
    reader.skip(4, "sps_video_parameter_set_id")
    sps_max_sub_layers_minus1 = reader.u(3, "sps_max_sub_layers_minus1")
    if sps_max_sub_layers_minus1 > 6:
        raise reader.error("sps_max_sub_layers_minus1", sps_max_sub_layers_minus1, "at most 6")
    reader.skip(1, "sps_temporal_id_nesting_flag")
    general_profile_idc, general_level_idc = _profile_tier_level(reader, sps_max_sub_layers_minus1)
    sps_seq_parameter_set_id = reader.ue("sps_seq_parameter_set_id", 15)
    chroma_format_idc = reader.ue("chroma_format_idc", 3)
    separate_colour_plane_flag = chroma_format_idc == 3 and reader.flag(
        "separate_colour_plane_flag"
    )
    pic_width = reader.ue("pic_width_in_luma_samples", _MAXIMUM_SIDE)
    pic_height = reader.ue("pic_height_in_luma_samples", _MAXIMUM_SIDE)
    width, height = _conformance_window(reader, pic_width, pic_height, chroma_format_idc)
    bit_depth_luma = 8 + reader.ue("bit_depth_luma_minus8", 8)
    bit_depth_chroma = 8 + reader.ue("bit_depth_chroma_minus8", 8)
    log2_max_pic_order_cnt_lsb_position = reader.position
    log2_max_pic_order_cnt_lsb = 4 + reader.ue("log2_max_pic_order_cnt_lsb_minus4", 12)
    ordering_info_position = reader.position
    present = reader.flag("sps_sub_layer_ordering_info_present_flag")
    for _ in range(sps_max_sub_layers_minus1 + 1 if present else 1):
        sps_max_dec_pic_buffering = 1 + reader.ue("sps_max_dec_pic_buffering_minus1", 15)
        sps_max_num_reorder_pics = reader.ue("sps_max_num_reorder_pics", 15)
        reader.ue("sps_max_latency_increase_plus1")
    ctb_log2_size = 3 + reader.ue("log2_min_luma_coding_block_size_minus3", 3)
    ctb_log2_size += reader.ue("log2_diff_max_min_luma_coding_block_size", 3)
    if not 4 <= ctb_log2_size <= 6:
        raise reader.error("CtbLog2SizeY", ctb_log2_size, "4 to 6")
    reader.ue("log2_min_luma_transform_block_size_minus2", 3)
    reader.ue("log2_diff_max_min_luma_transform_block_size", 3)
    reader.ue("max_transform_hierarchy_depth_inter", 4)
    reader.ue("max_transform_hierarchy_depth_intra", 4)
    if reader.flag("scaling_list_enabled_flag") and reader.flag(
        "sps_scaling_list_data_present_flag"
    ):
        skip_scaling_list_data(reader)
    reader.skip(1, "amp_enabled_flag")
    sample_adaptive_offset_enabled_flag = reader.flag("sample_adaptive_offset_enabled_flag")
    if reader.flag("pcm_enabled_flag"):
        reader.skip(4 + 4, "pcm_sample_bit_depth_luma_minus1 and chroma")
        reader.ue("log2_min_pcm_luma_coding_block_size_minus3", 2)
        reader.ue("log2_diff_max_min_pcm_luma_coding_block_size", 2)
        reader.skip(1, "pcm_loop_filter_disabled_flag")
    ref_pic_sets_position = reader.position
    ref_pic_sets: list[ShortTermRefPicSet] = []
    for _ in range(reader.ue("num_short_term_ref_pic_sets", 64)):
        ref_pic_sets.append(parse_st_ref_pic_set(reader, ref_pic_sets, in_slice_header=False))
    lt_ref_pic_poc_lsb_sps = []
    long_term_ref_pics_present_flag = reader.flag("long_term_ref_pics_present_flag")
    if long_term_ref_pics_present_flag:
        for _ in range(reader.ue("num_long_term_ref_pics_sps", 32)):
            lt_ref_pic_poc_lsb_sps.append(
                reader.u(log2_max_pic_order_cnt_lsb, "lt_ref_pic_poc_lsb_sps")
            )
            reader.skip(1, "used_by_curr_pic_lt_sps_flag")
    temporal_mvp_position = reader.position
    sps_temporal_mvp_enabled_flag = reader.flag("sps_temporal_mvp_enabled_flag")
    reader.skip(1, "strong_intra_smoothing_enabled_flag")
    vui = (
        parse_vui_parameters(reader, sps_max_sub_layers_minus1)
        if reader.flag("vui_parameters_present_flag")
        else VideoUsabilityInformation()
    )
    _sps_extension(reader)
    return SequenceParameterSet(
        nal_unit,
        sps_seq_parameter_set_id,
        sps_max_sub_layers_minus1,
        general_profile_idc,
        general_level_idc,
        chroma_format_idc,
        separate_colour_plane_flag,
        pic_width,
        pic_height,
        width,
        height,
        bit_depth_luma,
        bit_depth_chroma,
        log2_max_pic_order_cnt_lsb,
        sps_max_dec_pic_buffering,
        sps_max_num_reorder_pics,
        -(-pic_width >> ctb_log2_size) * -(-pic_height >> ctb_log2_size),
        sample_adaptive_offset_enabled_flag,
        tuple(ref_pic_sets),
        long_term_ref_pics_present_flag,
        tuple(lt_ref_pic_poc_lsb_sps),
        sps_temporal_mvp_enabled_flag,
        vui,
        SpsPositions(
            log2_max_pic_order_cnt_lsb_position,
            ordering_info_position,
            ref_pic_sets_position,
            temporal_mvp_position,
        ),
    )


def _profile_tier_level(reader: BitReader, max_num_sub_layers_minus1: int) -> tuple[int, int]:
    """``profile_tier_level(1, maxNumSubLayersMinus1)`` (7.3.3): general profile and level."""
    reader.skip(3, "general_profile_space, general_tier_flag")
    general_profile_idc = reader.u(5, "general_profile_idc")
    reader.skip(80, "general_profile_compatibility_flag to general_inbld_flag")
    general_level_idc = reader.u(8, "general_level_idc")
    present = [
        (
            reader.flag("sub_layer_profile_present_flag"),
            reader.flag("sub_layer_level_present_flag"),
        )
        for _ in range(max_num_sub_layers_minus1)
    ]
    if max_num_sub_layers_minus1:
        reader.skip(2 * (8 - max_num_sub_layers_minus1), "reserved_zero_2bits")
    for profile, level in present:
        reader.skip(88 * profile + 8 * level, "sub_layer_profile_space to sub_layer_level_idc")
    return general_profile_idc, general_level_idc


def _conformance_window(
    reader: BitReader, pic_width: int, pic_height: int, chroma_format_idc: int
) -> tuple[int, int]:
    """Width and height that are put out (7.4.3.2.1)."""
    width, height = pic_width, pic_height
    if reader.flag("conformance_window_flag"):
        sub_width = 2 if chroma_format_idc in (1, 2) else 1
        sub_height = 2 if chroma_format_idc == 1 else 1
        width -= sub_width * reader.ue("conf_win_left_offset", _MAXIMUM_SIDE)
        width -= sub_width * reader.ue("conf_win_right_offset", _MAXIMUM_SIDE)
        height -= sub_height * reader.ue("conf_win_top_offset", _MAXIMUM_SIDE)
        height -= sub_height * reader.ue("conf_win_bottom_offset", _MAXIMUM_SIDE)
    if width <= 0 or height <= 0:
        raise reader.error("conformance window", f"{width}x{height}", "at least one sample")
    return width, height


def _sps_extension(reader: BitReader) -> None:
    if not reader.flag("sps_extension_present_flag"):
        return
    range_extension = reader.flag("sps_range_extension_flag")
    multilayer_extension = reader.flag("sps_multilayer_extension_flag")
    extension_3d = reader.flag("sps_3d_extension_flag")
    scc_extension = reader.flag("sps_scc_extension_flag")
    reader.skip(4, "sps_extension_4bits")
    if range_extension:
        # None of its nine flags changes a slice segment header.
        reader.skip(9, "sps_range_extension()")
    if multilayer_extension:
        reader.skip(1, "inter_view_mv_vert_constraint_flag")
    if extension_3d:
        raise UnsupportedStreamError("layered extension", "sps_3d_extension_flag in the base layer")
    if scc_extension:
        # Its flags let a picture refer to itself and add syntax to the slice segment header.
        raise UnsupportedStreamError("screen content coding", "sps_scc_extension_flag is 1")
