"""The H.264 picture parameter set: ITU-T H.264 7.3.2.2."""

from __future__ import annotations

from dataclasses import dataclass

from videoformat.bitstream.bits import BitReader
from videoformat.bitstream.nal import unescape
from videoformat.errors import UnsupportedStreamError

__all__ = ["PictureParameterSet", "parse_picture_parameter_set"]


@dataclass(frozen=True, slots=True)
class PictureParameterSet:
    """A picture parameter set as far as slice headers depend on it.

    What follows ``redundant_pic_cnt_present_flag`` (the 8x8 transform, scaling lists) concerns the
    reconstruction of samples only. ``nal_unit`` is its own bytes, by which two are compared.
    """

    nal_unit: bytes
    pic_parameter_set_id: int
    seq_parameter_set_id: int
    entropy_coding_mode_flag: bool
    bottom_field_pic_order_in_frame_present_flag: bool
    num_ref_idx_l0_default_active: int
    num_ref_idx_l1_default_active: int
    weighted_pred_flag: bool
    weighted_bipred_idc: int
    deblocking_filter_control_present_flag: bool
    redundant_pic_cnt_present_flag: bool


def parse_picture_parameter_set(nal_unit: bytes) -> PictureParameterSet:
    """Reads ``pic_parameter_set_rbsp`` from a NAL unit of type 8."""
    r = BitReader(unescape(nal_unit[1:]), "PPS")
    pic_parameter_set_id = r.ue("pic_parameter_set_id", 255)
    seq_parameter_set_id = r.ue("seq_parameter_set_id", 31)
    entropy_coding_mode_flag = r.flag("entropy_coding_mode_flag")
    bottom_field_present = r.flag("bottom_field_pic_order_in_frame_present_flag")
    num_slice_groups = 1 + r.ue("num_slice_groups_minus1", 7)
    if num_slice_groups > 1:
        raise UnsupportedStreamError(
            "flexible macroblock ordering", f"{num_slice_groups} slice groups"
        )
    num_ref_idx_l0_default_active = 1 + r.ue("num_ref_idx_l0_default_active_minus1", 31)
    num_ref_idx_l1_default_active = 1 + r.ue("num_ref_idx_l1_default_active_minus1", 31)
    weighted_pred_flag = r.flag("weighted_pred_flag")
    weighted_bipred_idc = r.u(2, "weighted_bipred_idc")
    if weighted_bipred_idc > 2:
        raise r.error("weighted_bipred_idc", weighted_bipred_idc, "at most 2")
    r.se("pic_init_qp_minus26")
    r.se("pic_init_qs_minus26")
    r.se("chroma_qp_index_offset")
    deblocking_filter_control_present_flag = r.flag("deblocking_filter_control_present_flag")
    r.flag("constrained_intra_pred_flag")
    redundant_pic_cnt_present_flag = r.flag("redundant_pic_cnt_present_flag")
    return PictureParameterSet(
        nal_unit,
        pic_parameter_set_id,
        seq_parameter_set_id,
        entropy_coding_mode_flag,
        bottom_field_present,
        num_ref_idx_l0_default_active,
        num_ref_idx_l1_default_active,
        weighted_pred_flag,
        weighted_bipred_idc,
        deblocking_filter_control_present_flag,
        redundant_pic_cnt_present_flag,
    )
