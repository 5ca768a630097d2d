"""HEVC slice segment headers (ITU-T H.265 7.3.6, 7.4.7)."""

from __future__ import annotations

from dataclasses import dataclass

from videoformat.bitstream.bits import BitReader, OutOfBitsError
from videoformat.bitstream.hevc_nal import is_idr, is_irap
from videoformat.bitstream.hevc_parameter_sets import ParameterSets
from videoformat.bitstream.hevc_pps import PictureParameterSet
from videoformat.bitstream.hevc_rps import ShortTermRefPicSet, parse_st_ref_pic_set
from videoformat.bitstream.hevc_slice_lists import (
    ListEntries,
    parse_ref_pic_lists_modification,
    skip_pred_weight_table,
)
from videoformat.bitstream.hevc_sps import SequenceParameterSet
from videoformat.bitstream.nal import unescape
from videoformat.errors import UnsupportedStreamError

__all__ = [
    "B_SLICE",
    "I_SLICE",
    "P_SLICE",
    "SlicePositions",
    "SliceSegmentHeader",
    "parse_slice_segment_header",
]

B_SLICE, P_SLICE, I_SLICE = 0, 1, 2

_EMPTY = ShortTermRefPicSet()
# Most headers fit the first; one that does not is read again from the second, which holds the longest
# that a level allows: entry points of 440 tiles or of 528 rows in 20 columns, of 4 bytes (table A.8).
_PREFIX = 96
_LONGEST = 1 << 16


@dataclass(frozen=True, slots=True)
class SlicePositions:
    """Where rewriting cuts: positions in bits from the first bit after the NAL unit header.

    ``ref_pic_set`` is that of ``slice_pic_order_cnt_lsb``, and ``ref_pic_set_end`` that of what
    follows the reference picture sets (both ``None`` in an IDR picture); ``lists_modification`` and
    its end enclose ``ref_pic_lists_modification()``, or the place where it would be (``None`` in an
    I slice); ``end`` is that of ``byte_alignment()``.
    """

    ref_pic_set: int | None
    ref_pic_set_end: int | None
    lists_modification: int | None
    lists_modification_end: int | None
    end: int


@dataclass(frozen=True, slots=True)
class SliceSegmentHeader:
    """One slice segment header.

    Of a dependent slice segment, the elements after ``slice_segment_address`` are not in the bytes
    and have the values of the defaults here. ``num_ref_idx_active`` and ``list_entries`` are of
    lists 0 and 1; entries are ``None`` where the list is the initial one.
    """

    nal_unit_type: int
    temporal_id: int
    sps: SequenceParameterSet
    pps: PictureParameterSet
    first_slice_segment_in_pic_flag: bool
    no_output_of_prior_pics_flag: bool
    dependent_slice_segment_flag: bool
    slice_segment_address: int
    positions: SlicePositions
    slice_type: int = I_SLICE
    pic_output_flag: bool = True
    slice_pic_order_cnt_lsb: int = 0
    short_term_ref_pic_set: ShortTermRefPicSet = _EMPTY
    slice_temporal_mvp_enabled_flag: bool = False
    num_ref_idx_active: tuple[int, int] = (0, 0)
    list_entries: ListEntries = (None, None)
    collocated_from_l0_flag: bool = True
    collocated_ref_idx: int = 0
    slice_qp_delta: int = 0
    num_entry_point_offsets: int = 0


def parse_slice_segment_header(
    nal_unit_type: int, nal_unit: bytes, parameter_sets: ParameterSets
) -> tuple[SliceSegmentHeader, str]:
    """``slice_segment_header()`` of a coded slice segment of the base layer, and its bits.

    The bits are those from the first after the NAL unit header; they go on behind the header.
    """
    where = f"slice segment header of NAL type {nal_unit_type}"
    temporal_id = (nal_unit[1] & 7) - 1
    reader = BitReader(unescape(nal_unit[2:_PREFIX]), where)
    try:
        header = _slice_segment_header(reader, nal_unit_type, temporal_id, parameter_sets)
    except OutOfBitsError:
        if len(nal_unit) <= _PREFIX:
            raise
        reader = BitReader(unescape(nal_unit[2:_LONGEST]), where)
        header = _slice_segment_header(reader, nal_unit_type, temporal_id, parameter_sets)
    return header, reader.bits


def _slice_segment_header(
    reader: BitReader, nal_unit_type: int, temporal_id: int, parameter_sets: ParameterSets
) -> SliceSegmentHeader:
    flag, ue = reader.flag, reader.ue
    first_slice_segment_in_pic_flag = flag("first_slice_segment_in_pic_flag")
    irap = is_irap(nal_unit_type)
    no_output_of_prior_pics_flag = irap and flag("no_output_of_prior_pics_flag")
    pps, sps = parameter_sets.activate(ue("slice_pic_parameter_set_id", 63))
    dependent_slice_segment_flag = False
    slice_segment_address = 0
    if not first_slice_segment_in_pic_flag:
        if pps.dependent_slice_segments_enabled_flag:
            dependent_slice_segment_flag = flag("dependent_slice_segment_flag")
        slice_segment_address = reader.u(sps.slice_segment_address_length, "slice_segment_address")
        if not 0 < slice_segment_address < sps.pic_size_in_ctbs:
            raise reader.error(
                "slice_segment_address", slice_segment_address, f"1 to {sps.pic_size_in_ctbs - 1}"
            )
    if dependent_slice_segment_flag:
        num_entry_point_offsets = _entry_points_and_extension(reader, sps, pps)
        return SliceSegmentHeader(
            nal_unit_type,
            temporal_id,
            sps,
            pps,
            first_slice_segment_in_pic_flag,
            no_output_of_prior_pics_flag,
            dependent_slice_segment_flag,
            slice_segment_address,
            SlicePositions(None, None, None, None, _byte_alignment(reader)),
            num_entry_point_offsets=num_entry_point_offsets,
        )
    if pps.num_extra_slice_header_bits:
        reader.skip(pps.num_extra_slice_header_bits, "slice_reserved_flag")
    slice_type = ue("slice_type", 2)
    if irap and slice_type != I_SLICE:
        raise reader.error("slice_type", slice_type, "2 (I) in an IRAP picture")
    pic_output_flag = flag("pic_output_flag") if pps.output_flag_present_flag else True
    if sps.separate_colour_plane_flag:
        reader.skip(2, "colour_plane_id")
    slice_pic_order_cnt_lsb = 0
    ref_pic_set = _EMPTY
    ref_pic_set_position = ref_pic_set_end = None
    slice_temporal_mvp_enabled_flag = False
    if not is_idr(nal_unit_type):
        ref_pic_set_position = reader.position
        slice_pic_order_cnt_lsb = reader.u(
            sps.log2_max_pic_order_cnt_lsb, "slice_pic_order_cnt_lsb"
        )
        candidates = sps.short_term_ref_pic_sets
        if not flag("short_term_ref_pic_set_sps_flag"):
            ref_pic_set = parse_st_ref_pic_set(reader, candidates, in_slice_header=True)
        else:
            index = reader.u(
                (len(candidates) - 1).bit_length() if candidates else 0,
                "short_term_ref_pic_set_idx",
            )
            if index >= len(candidates):
                raise reader.error("short_term_ref_pic_set_idx", index, f"below {len(candidates)}")
            ref_pic_set = candidates[index]
        if sps.long_term_ref_pics_present_flag:
            count = ue("num_long_term_sps", 32) if sps.lt_ref_pic_poc_lsb_sps else 0
            count += ue("num_long_term_pics", 32)
            if count:
                raise UnsupportedStreamError(
                    "long-term reference pictures", f"a slice names {count} of them"
                )
        ref_pic_set_end = reader.position
        if sps.sps_temporal_mvp_enabled_flag:
            slice_temporal_mvp_enabled_flag = flag("slice_temporal_mvp_enabled_flag")
    chroma = sps.chroma_array_type != 0
    slice_sao = False
    if sps.sample_adaptive_offset_enabled_flag:
        slice_sao = flag("slice_sao_luma_flag")
        if chroma:
            slice_sao |= flag("slice_sao_chroma_flag")
    active = (0, 0)
    list_entries: ListEntries = (None, None)
    lists_modification = lists_modification_end = None
    collocated_from_l0_flag = True
    collocated_ref_idx = 0
    if slice_type != I_SLICE:
        is_b = slice_type == B_SLICE
        active = pps.num_ref_idx_default_active
        if flag("num_ref_idx_active_override_flag"):
            active = (
                1 + ue("num_ref_idx_l0_active_minus1", 14),
                1 + ue("num_ref_idx_l1_active_minus1", 14) if is_b else 0,
            )
        elif not is_b:
            active = (active[0], 0)
        lists_modification = reader.position
        if pps.lists_modification_present_flag:
            list_entries = parse_ref_pic_lists_modification(
                reader, ref_pic_set.used_by_curr_pic, active, is_b=is_b
            )
        lists_modification_end = reader.position
        if is_b:
            reader.skip(1, "mvd_l1_zero_flag")
        if pps.cabac_init_present_flag:
            reader.skip(1, "cabac_init_flag")
        if slice_temporal_mvp_enabled_flag:
            if is_b:
                collocated_from_l0_flag = flag("collocated_from_l0_flag")
            size = active[0] if collocated_from_l0_flag else active[1]
            if size > 1:
                collocated_ref_idx = ue("collocated_ref_idx", size - 1)
        if pps.weighted_bipred_flag if is_b else pps.weighted_pred_flag:
            skip_pred_weight_table(reader, active, chroma=chroma)
        ue("five_minus_max_num_merge_cand", 4)
    slice_qp_delta = reader.se("slice_qp_delta")
    if pps.pps_slice_chroma_qp_offsets_present_flag:
        reader.se("slice_cb_qp_offset")
        reader.se("slice_cr_qp_offset")
    if pps.chroma_qp_offset_list_enabled_flag:
        reader.skip(1, "cu_chroma_qp_offset_enabled_flag")
    slice_deblocking_filter_disabled_flag = pps.pps_deblocking_filter_disabled_flag
    if pps.deblocking_filter_override_enabled_flag and flag("deblocking_filter_override_flag"):
        slice_deblocking_filter_disabled_flag = flag("slice_deblocking_filter_disabled_flag")
        if not slice_deblocking_filter_disabled_flag:
            reader.se("slice_beta_offset_div2")
            reader.se("slice_tc_offset_div2")
    if pps.pps_loop_filter_across_slices_enabled_flag and (
        slice_sao or not slice_deblocking_filter_disabled_flag
    ):
        reader.skip(1, "slice_loop_filter_across_slices_enabled_flag")
    num_entry_point_offsets = _entry_points_and_extension(reader, sps, pps)
    return SliceSegmentHeader(
        nal_unit_type,
        temporal_id,
        sps,
        pps,
        first_slice_segment_in_pic_flag,
        no_output_of_prior_pics_flag,
        dependent_slice_segment_flag,
        slice_segment_address,
        SlicePositions(
            ref_pic_set_position,
            ref_pic_set_end,
            lists_modification,
            lists_modification_end,
            _byte_alignment(reader),
        ),
        slice_type,
        pic_output_flag,
        slice_pic_order_cnt_lsb,
        ref_pic_set,
        slice_temporal_mvp_enabled_flag,
        active,
        list_entries,
        collocated_from_l0_flag,
        collocated_ref_idx,
        slice_qp_delta,
        num_entry_point_offsets,
    )


def _entry_points_and_extension(
    reader: BitReader, sps: SequenceParameterSet, pps: PictureParameterSet
) -> int:
    num_entry_point_offsets = 0
    if pps.tiles_enabled_flag or pps.entropy_coding_sync_enabled_flag:
        # At most one a CTB: tiles of one CTB, or rows of one CTB.
        num_entry_point_offsets = reader.ue("num_entry_point_offsets", sps.pic_size_in_ctbs)
        if num_entry_point_offsets:
            bits = 1 + reader.ue("offset_len_minus1", 31)
            reader.skip(bits * num_entry_point_offsets, "entry_point_offset_minus1")
    if pps.slice_segment_header_extension_present_flag:
        length = reader.ue("slice_segment_header_extension_length", 256)
        reader.skip(8 * length, "slice_segment_header_extension_data_byte")
    return num_entry_point_offsets


def _byte_alignment(reader: BitReader) -> int:
    """Checks ``byte_alignment()`` (7.3.2.12) and gives the position where it begins."""
    end = reader.position
    if not reader.flag("alignment_bit_equal_to_one"):
        raise reader.error("alignment_bit_equal_to_one", 0, "1")
    padding = -reader.position % 8
    if padding and reader.u(padding, "alignment_bit_equal_to_zero"):
        raise reader.error("alignment_bit_equal_to_zero", "not 0", "0")
    return end
