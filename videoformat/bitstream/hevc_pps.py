"""HEVC picture parameter sets (ITU-T H.265 7.3.2.3, 7.4.3.3)."""

from __future__ import annotations

from dataclasses import dataclass

from videoformat.bitstream.bits import BitReader
from videoformat.bitstream.hevc_scaling import skip_scaling_list_data
from videoformat.bitstream.nal import unescape
from videoformat.errors import UnsupportedStreamError

__all__ = ["PictureParameterSet", "parse_picture_parameter_set"]


@dataclass(frozen=True, slots=True)
class PictureParameterSet:
    """The elements of a PPS that decide the syntax of slice segment headers.

    ``nal_unit`` is its own bytes, by which two are compared. ``lists_modification_position`` is that
    of ``lists_modification_present_flag`` in bits from the first bit after the NAL unit header.
    """

    nal_unit: bytes
    pps_pic_parameter_set_id: int
    pps_seq_parameter_set_id: int
    dependent_slice_segments_enabled_flag: bool
    output_flag_present_flag: bool
    num_extra_slice_header_bits: int
    cabac_init_present_flag: bool
    num_ref_idx_default_active: tuple[int, int]
    pps_slice_chroma_qp_offsets_present_flag: bool
    weighted_pred_flag: bool
    weighted_bipred_flag: bool
    tiles_enabled_flag: bool
    entropy_coding_sync_enabled_flag: bool
    pps_loop_filter_across_slices_enabled_flag: bool
    deblocking_filter_override_enabled_flag: bool
    pps_deblocking_filter_disabled_flag: bool
    lists_modification_present_flag: bool
    slice_segment_header_extension_present_flag: bool
    chroma_qp_offset_list_enabled_flag: bool
    lists_modification_position: int


def parse_picture_parameter_set(nal_unit: bytes) -> PictureParameterSet:
    """``pic_parameter_set_rbsp()`` of the base layer."""
    reader = BitReader(unescape(nal_unit[2:]), "PPS")
    pps_pic_parameter_set_id = reader.ue("pps_pic_parameter_set_id", 63)
    pps_seq_parameter_set_id = reader.ue("pps_seq_parameter_set_id", 15)
    dependent_slice_segments_enabled_flag = reader.flag("dependent_slice_segments_enabled_flag")
    output_flag_present_flag = reader.flag("output_flag_present_flag")
    num_extra_slice_header_bits = reader.u(3, "num_extra_slice_header_bits")
    reader.skip(1, "sign_data_hiding_enabled_flag")
    cabac_init_present_flag = reader.flag("cabac_init_present_flag")
    num_ref_idx_default_active = (
        1 + reader.ue("num_ref_idx_l0_default_active_minus1", 14),
        1 + reader.ue("num_ref_idx_l1_default_active_minus1", 14),
    )
    reader.se("init_qp_minus26")
    reader.skip(1, "constrained_intra_pred_flag")
    transform_skip_enabled_flag = reader.flag("transform_skip_enabled_flag")
    if reader.flag("cu_qp_delta_enabled_flag"):
        reader.ue("diff_cu_qp_delta_depth", 3)
    reader.se("pps_cb_qp_offset")
    reader.se("pps_cr_qp_offset")
    pps_slice_chroma_qp_offsets_present_flag = reader.flag(
        "pps_slice_chroma_qp_offsets_present_flag"
    )
    weighted_pred_flag = reader.flag("weighted_pred_flag")
    weighted_bipred_flag = reader.flag("weighted_bipred_flag")
    reader.skip(1, "transquant_bypass_enabled_flag")
    tiles_enabled_flag = reader.flag("tiles_enabled_flag")
    entropy_coding_sync_enabled_flag = reader.flag("entropy_coding_sync_enabled_flag")
    if tiles_enabled_flag:
        # A.4.1, level 6.2: at most 20 columns and 22 rows; beyond the levels, 16 bits of CTBs.
        num_tile_columns_minus1 = reader.ue("num_tile_columns_minus1", 4095)
        num_tile_rows_minus1 = reader.ue("num_tile_rows_minus1", 4095)
        if not reader.flag("uniform_spacing_flag"):
            for _ in range(num_tile_columns_minus1):
                reader.ue("column_width_minus1")
            for _ in range(num_tile_rows_minus1):
                reader.ue("row_height_minus1")
        reader.skip(1, "loop_filter_across_tiles_enabled_flag")
    pps_loop_filter_across_slices_enabled_flag = reader.flag(
        "pps_loop_filter_across_slices_enabled_flag"
    )
    deblocking_filter_override_enabled_flag = False
    pps_deblocking_filter_disabled_flag = False
    if reader.flag("deblocking_filter_control_present_flag"):
        deblocking_filter_override_enabled_flag = reader.flag(
            "deblocking_filter_override_enabled_flag"
        )
        pps_deblocking_filter_disabled_flag = reader.flag("pps_deblocking_filter_disabled_flag")
        if not pps_deblocking_filter_disabled_flag:
            reader.se("pps_beta_offset_div2")
            reader.se("pps_tc_offset_div2")
    if reader.flag("pps_scaling_list_data_present_flag"):
        skip_scaling_list_data(reader)
    lists_modification_position = reader.position
    lists_modification_present_flag = reader.flag("lists_modification_present_flag")
    reader.ue("log2_parallel_merge_level_minus2", 4)
    slice_segment_header_extension_present_flag = reader.flag(
        "slice_segment_header_extension_present_flag"
    )
    chroma_qp_offset_list_enabled_flag = _pps_extension(
        reader, transform_skip_enabled_flag=transform_skip_enabled_flag
    )
    return PictureParameterSet(
        nal_unit,
        pps_pic_parameter_set_id,
        pps_seq_parameter_set_id,
        dependent_slice_segments_enabled_flag,
        output_flag_present_flag,
        num_extra_slice_header_bits,
        cabac_init_present_flag,
        num_ref_idx_default_active,
        pps_slice_chroma_qp_offsets_present_flag,
        weighted_pred_flag,
        weighted_bipred_flag,
        tiles_enabled_flag,
        entropy_coding_sync_enabled_flag,
        pps_loop_filter_across_slices_enabled_flag,
        deblocking_filter_override_enabled_flag,
        pps_deblocking_filter_disabled_flag,
        lists_modification_present_flag,
        slice_segment_header_extension_present_flag,
        chroma_qp_offset_list_enabled_flag,
        lists_modification_position,
    )


def _pps_extension(reader: BitReader, *, transform_skip_enabled_flag: bool) -> bool:
    """The extensions of a PPS: ``chroma_qp_offset_list_enabled_flag``."""
    if not reader.flag("pps_extension_present_flag"):
        return False
    range_extension = reader.flag("pps_range_extension_flag")
    multilayer_extension = reader.flag("pps_multilayer_extension_flag")
    extension_3d = reader.flag("pps_3d_extension_flag")
    scc_extension = reader.flag("pps_scc_extension_flag")
    reader.skip(4, "pps_extension_4bits")
    if scc_extension:
        raise UnsupportedStreamError("screen content coding", "pps_scc_extension_flag is 1")
    if multilayer_extension or extension_3d:
        raise UnsupportedStreamError("layered extension", "in a PPS of the base layer")
    if not range_extension:
        return False
    if transform_skip_enabled_flag:
        reader.ue("log2_max_transform_skip_block_size_minus2", 3)
    reader.skip(1, "cross_component_prediction_enabled_flag")
    chroma_qp_offset_list_enabled_flag = reader.flag("chroma_qp_offset_list_enabled_flag")
    if chroma_qp_offset_list_enabled_flag:
        reader.ue("diff_cu_chroma_qp_offset_depth", 3)
        for _ in range(1 + reader.ue("chroma_qp_offset_list_len_minus1", 5)):
            reader.se("cb_qp_offset_list")
            reader.se("cr_qp_offset_list")
    reader.ue("log2_sao_offset_scale_luma", 8)
    reader.ue("log2_sao_offset_scale_chroma", 8)
    return chroma_qp_offset_list_enabled_flag
