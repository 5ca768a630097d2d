"""The H.264 sequence parameter set: ITU-T H.264 7.3.2.1.1."""

from __future__ import annotations

from dataclasses import dataclass

from videoformat.bitstream.bits import BitReader
from videoformat.bitstream.h264_vui import VuiParameters, parse_vui
from videoformat.bitstream.nal import unescape
from videoformat.errors import UnsupportedStreamError

__all__ = [
    "SequenceParameterSet",
    "SpsPositions",
    "parse_sequence_parameter_set",
]

# Profiles whose SPS carries chroma_format_idc and what follows it (7.3.2.1.1).
_HIGH_PROFILES = frozenset({44, 83, 86, 100, 110, 118, 122, 128, 134, 135, 138, 139, 244})
# Level 6.2 allows 139,264 macroblocks in a frame, and √(8 · 139,264) in a row or column (A.3.1).
_MAXIMUM_FRAME_SIZE_IN_MBS = 139_264
_MAXIMUM_SIDE_IN_MBS = 1_055


@dataclass(frozen=True, slots=True)
class SpsPositions:
    """Where rewriting cuts: positions in bits from the first bit after the NAL unit header.

    ``bitstream_restriction_flag`` is ``None`` where there is no VUI, ``end`` is that of
    ``rbsp_stop_one_bit``.
    """

    log2_max_frame_num_minus4: int
    max_num_ref_frames: int
    vui_parameters_present_flag: int
    bitstream_restriction_flag: int | None
    end: int


@dataclass(frozen=True, slots=True)
class SequenceParameterSet:
    """A sequence parameter set; ``nal_unit`` is its own bytes, by which two are compared.

    ``frame_crop_*_offset`` are in crop units (7.4.2.1.1); ``width`` and ``height`` are the luma
    samples that are left after cropping.
    """

    nal_unit: bytes
    profile_idc: int
    constraint_set_flags: int
    level_idc: int
    seq_parameter_set_id: int
    chroma_format_idc: int
    bit_depth_luma: int
    bit_depth_chroma: int
    log2_max_frame_num: int
    pic_order_cnt_type: int
    log2_max_pic_order_cnt_lsb: int
    delta_pic_order_always_zero_flag: bool
    offset_for_non_ref_pic: int
    offset_for_top_to_bottom_field: int
    offset_for_ref_frame: tuple[int, ...]
    max_num_ref_frames: int
    gaps_in_frame_num_value_allowed_flag: bool
    pic_width_in_mbs: int
    pic_height_in_map_units: int
    frame_mbs_only_flag: bool
    mb_adaptive_frame_field_flag: bool
    direct_8x8_inference_flag: bool
    frame_crop_left_offset: int
    frame_crop_right_offset: int
    frame_crop_top_offset: int
    frame_crop_bottom_offset: int
    vui: VuiParameters | None
    positions: SpsPositions

    @property
    def frame_height_in_mbs(self) -> int:
        """``FrameHeightInMbs`` (equation 7-18)."""
        return (2 - self.frame_mbs_only_flag) * self.pic_height_in_map_units

    @property
    def frame_size_in_mbs(self) -> int:
        """``PicSizeInMbs`` of a frame (equation 7-29)."""
        return self.pic_width_in_mbs * self.frame_height_in_mbs

    @property
    def width(self) -> int:
        """Luma samples in a row, after cropping (equations 7-19 to 7-22)."""
        unit = 2 if self.chroma_format_idc in (1, 2) else 1
        cropped = self.frame_crop_left_offset + self.frame_crop_right_offset
        return 16 * self.pic_width_in_mbs - unit * cropped

    @property
    def height(self) -> int:
        """Rows of luma samples in a frame, after cropping (equations 7-19 to 7-22)."""
        unit = (2 if self.chroma_format_idc == 1 else 1) * (2 - self.frame_mbs_only_flag)
        cropped = self.frame_crop_top_offset + self.frame_crop_bottom_offset
        return 16 * self.frame_height_in_mbs - unit * cropped

    @property
    def matrix_coefficients(self) -> int:
        """``matrix_coefficients`` of table E-5; 2 where it is unspecified."""
        return self.vui.matrix_coefficients if self.vui else 2

    @property
    def video_full_range_flag(self) -> bool:
        """Whether samples use their full range."""
        return self.vui.video_full_range_flag if self.vui else False


def parse_sequence_parameter_set(nal_unit: bytes) -> SequenceParameterSet:
    """Reads ``seq_parameter_set_rbsp`` from a NAL unit of type 7."""
    r = BitReader(unescape(nal_unit[1:]), "SPS")
    profile_idc = r.u(8, "profile_idc")
    constraint_set_flags = r.u(8, "constraint_set_flags")
    level_idc = r.u(8, "level_idc")
    seq_parameter_set_id = r.ue("seq_parameter_set_id", 31)
    chroma_format_idc, bit_depth_luma, bit_depth_chroma = 1, 8, 8
    if profile_idc in _HIGH_PROFILES:
        chroma_format_idc = r.ue("chroma_format_idc", 3)
        if chroma_format_idc == 3 and r.flag("separate_colour_plane_flag"):
            raise UnsupportedStreamError("separate colour planes")
        bit_depth_luma = 8 + r.ue("bit_depth_luma_minus8", 6)
        bit_depth_chroma = 8 + r.ue("bit_depth_chroma_minus8", 6)
        r.flag("qpprime_y_zero_transform_bypass_flag")
        if r.flag("seq_scaling_matrix_present_flag"):
            for index in range(8 if chroma_format_idc != 3 else 12):
                if r.flag("seq_scaling_list_present_flag"):
                    _skip_scaling_list(r, 16 if index < 6 else 64)

    at_frame_num = r.position
    log2_max_frame_num = 4 + r.ue("log2_max_frame_num_minus4", 12)
    pic_order_cnt_type = r.ue("pic_order_cnt_type", 2)
    log2_max_pic_order_cnt_lsb = 0
    delta_pic_order_always_zero_flag = False
    offset_for_non_ref_pic = offset_for_top_to_bottom_field = 0
    offset_for_ref_frame: tuple[int, ...] = ()
    if pic_order_cnt_type == 0:
        log2_max_pic_order_cnt_lsb = 4 + r.ue("log2_max_pic_order_cnt_lsb_minus4", 12)
    elif pic_order_cnt_type == 1:
        delta_pic_order_always_zero_flag = r.flag("delta_pic_order_always_zero_flag")
        offset_for_non_ref_pic = r.se("offset_for_non_ref_pic")
        offset_for_top_to_bottom_field = r.se("offset_for_top_to_bottom_field")
        cycle = r.ue("num_ref_frames_in_pic_order_cnt_cycle", 255)
        offset_for_ref_frame = tuple(r.se("offset_for_ref_frame") for _ in range(cycle))

    at_ref_frames = r.position
    max_num_ref_frames = r.ue("max_num_ref_frames", 16)
    gaps_in_frame_num_value_allowed_flag = r.flag("gaps_in_frame_num_value_allowed_flag")
    pic_width_in_mbs = 1 + r.ue("pic_width_in_mbs_minus1", _MAXIMUM_SIDE_IN_MBS - 1)
    pic_height_in_map_units = 1 + r.ue("pic_height_in_map_units_minus1", _MAXIMUM_SIDE_IN_MBS - 1)
    frame_mbs_only_flag = r.flag("frame_mbs_only_flag")
    mb_adaptive_frame_field_flag = not frame_mbs_only_flag and r.flag(
        "mb_adaptive_frame_field_flag"
    )
    direct_8x8_inference_flag = r.flag("direct_8x8_inference_flag")
    left = right = top = bottom = 0
    if r.flag("frame_cropping_flag"):
        left, right = r.ue("frame_crop_left_offset"), r.ue("frame_crop_right_offset")
        top, bottom = r.ue("frame_crop_top_offset"), r.ue("frame_crop_bottom_offset")

    at_vui = r.position
    vui, at_restriction = None, None
    if r.flag("vui_parameters_present_flag"):
        vui, at_restriction = parse_vui(r)
    sps = SequenceParameterSet(
        nal_unit,
        profile_idc,
        constraint_set_flags,
        level_idc,
        seq_parameter_set_id,
        chroma_format_idc,
        bit_depth_luma,
        bit_depth_chroma,
        log2_max_frame_num,
        pic_order_cnt_type,
        log2_max_pic_order_cnt_lsb,
        delta_pic_order_always_zero_flag,
        offset_for_non_ref_pic,
        offset_for_top_to_bottom_field,
        offset_for_ref_frame,
        max_num_ref_frames,
        gaps_in_frame_num_value_allowed_flag,
        pic_width_in_mbs,
        pic_height_in_map_units,
        frame_mbs_only_flag,
        mb_adaptive_frame_field_flag,
        direct_8x8_inference_flag,
        left,
        right,
        top,
        bottom,
        vui,
        SpsPositions(at_frame_num, at_ref_frames, at_vui, at_restriction, r.position),
    )
    if sps.frame_size_in_mbs > _MAXIMUM_FRAME_SIZE_IN_MBS:
        raise r.error("the frame's size", sps.frame_size_in_mbs, "at most 139264 macroblocks")
    if sps.width < 1 or sps.height < 1:
        raise r.error("the frame after cropping", f"{sps.width}x{sps.height}", "at least 1x1")
    return sps


def _skip_scaling_list(r: BitReader, size: int) -> None:
    """``scaling_list()`` (7.3.2.1.1.1)."""
    last_scale = next_scale = 8
    for _ in range(size):
        if next_scale:
            next_scale = (last_scale + r.se("delta_scale")) % 256
            last_scale = next_scale or last_scale
