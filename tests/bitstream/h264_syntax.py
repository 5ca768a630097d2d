"""Writes H.264 NAL units element by element, as the syntax tables of 7.3 order them.

It knows nothing of the parser: a test says what the elements are and reads them back.
"""

from __future__ import annotations

from videoformat.bitstream.bits import bits_to_bytes, se_bits, u_bits, ue_bits
from videoformat.bitstream.nal import escape, to_annexb


def nal_unit(header: int, bits: str) -> bytes:
    """A NAL unit from its first byte and its syntax elements, with the trailing bits added."""
    bits += "1"
    return escape(bytes([header]) + bits_to_bytes(bits + "0" * (-len(bits) % 8)))


def sps(
    *,
    profile_idc: int = 77,
    level_idc: int = 30,
    identifier: int = 0,
    log2_max_frame_num: int = 4,
    pic_order_cnt_type: int = 0,
    log2_max_pic_order_cnt_lsb: int = 6,
    type_1: tuple[bool, int, int, tuple[int, ...]] = (False, 0, 0, ()),
    max_num_ref_frames: int = 4,
    gaps: bool = False,
    width_in_mbs: int = 6,
    height_in_map_units: int = 4,
    frame_mbs_only_flag: bool = True,
    mb_adaptive_frame_field_flag: bool = False,
    crop: tuple[int, int, int, int] | None = None,
    high: str = "",
    vui: str = "",
) -> bytes:
    """``high`` is what chroma_format_idc begins, ``vui`` what vui_parameters() holds, as bits."""
    bits = u_bits(profile_idc, 8) + "0" * 8 + u_bits(level_idc, 8) + ue_bits(identifier) + high
    bits += ue_bits(log2_max_frame_num - 4) + ue_bits(pic_order_cnt_type)
    if pic_order_cnt_type == 0:
        bits += ue_bits(log2_max_pic_order_cnt_lsb - 4)
    elif pic_order_cnt_type == 1:
        always_zero, non_ref, top_to_bottom, cycle = type_1
        bits += f"{always_zero:d}" + se_bits(non_ref) + se_bits(top_to_bottom)
        bits += ue_bits(len(cycle)) + "".join(map(se_bits, cycle))
    bits += ue_bits(max_num_ref_frames) + f"{gaps:d}"
    bits += ue_bits(width_in_mbs - 1) + ue_bits(height_in_map_units - 1)
    bits += f"{frame_mbs_only_flag:d}"
    if not frame_mbs_only_flag:
        bits += f"{mb_adaptive_frame_field_flag:d}"
    bits += "1"  # direct_8x8_inference_flag
    bits += "0" if crop is None else "1" + "".join(map(ue_bits, crop))
    bits += "1" + vui if vui else "0"
    return nal_unit(0x67, bits)


def pps(
    *,
    identifier: int = 0,
    sps_identifier: int = 0,
    entropy_coding_mode_flag: bool = False,
    bottom_field_present: bool = False,
    slice_groups: int = 1,
    active: tuple[int, int] = (1, 1),
    weighted_pred_flag: bool = False,
    weighted_bipred_idc: int = 0,
    redundant: bool = False,
) -> bytes:
    bits = ue_bits(identifier) + ue_bits(sps_identifier) + f"{entropy_coding_mode_flag:d}"
    bits += f"{bottom_field_present:d}" + ue_bits(slice_groups - 1)
    bits += ue_bits(active[0] - 1) + ue_bits(active[1] - 1)
    bits += f"{weighted_pred_flag:d}" + u_bits(weighted_bipred_idc, 2)
    bits += se_bits(0) * 3 + "0" + "0" + f"{redundant:d}"
    return nal_unit(0x68, bits)


P, B, I = 0, 1, 2  # noqa: E741 - the standard's names


def coded_slice(
    slice_type: int,
    frame_num: int,
    lsb: int | None = None,
    *,
    idr: bool = False,
    reference: bool = True,
    first_mb: int = 0,
    pps_identifier: int = 0,
    log2_max_frame_num: int = 4,
    log2_max_pic_order_cnt_lsb: int = 6,
    field: bool | None = None,
    idr_pic_id: int = 0,
    delta: tuple[int, ...] = (),
    redundant_pic_cnt: int | None = None,
    active: tuple[int, ...] | None = None,
    modifications: tuple[tuple[tuple[int, int], ...], ...] | None = None,
    weights: str = "",
    long_term: bool = False,
    operations: tuple[tuple[int, ...], ...] | None = None,
    data: str = "1" * 16,
) -> bytes:
    """A CAVLC slice; a modification is ``(modification_of_pic_nums_idc, operand as coded)``."""
    bits = ue_bits(first_mb) + ue_bits(slice_type) + ue_bits(pps_identifier)
    bits += u_bits(frame_num, log2_max_frame_num)
    if field is not None:
        bits += f"{field:d}" + ("0" if field else "")
    if idr:
        bits += ue_bits(idr_pic_id)
    if lsb is not None:
        bits += u_bits(lsb, log2_max_pic_order_cnt_lsb)
    bits += "".join(map(se_bits, delta))
    if redundant_pic_cnt is not None:
        bits += ue_bits(redundant_pic_cnt)
    if slice_type % 5 == B:
        bits += "1"  # direct_spatial_mv_pred_flag
    lists = {P: 1, 3: 1, B: 2}.get(slice_type % 5, 0)
    if lists:
        bits += "0" if active is None else "1" + "".join(ue_bits(count - 1) for count in active)
    for index in range(lists):
        modification = modifications[index] if modifications else ()
        if not modification:
            bits += "0"
            continue
        bits += "1" + "".join(ue_bits(idc) + ue_bits(operand) for idc, operand in modification)
        bits += ue_bits(3)
    bits += weights
    if reference:
        if idr:
            bits += "0" + f"{long_term:d}"
        elif operations is None:
            bits += "0"
        else:
            bits += "1" + "".join(ue_bits(value) for each in operations for value in each)
            bits += ue_bits(0)
    bits += se_bits(0)  # slice_qp_delta
    return nal_unit((3 << 5 if reference else 0) | (5 if idr else 1), bits + data)


def unit(*nal_units: bytes) -> bytes:
    """An access unit in byte stream format."""
    return to_annexb(nal_units)
