"""The H.264 slice header of a frame: ITU-T H.264 7.3.3.

Strategy: a header is short and the slice data behind it long, so only the first bytes of a NAL unit
are turned into bits, and more only where the header turns out to be longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from videoformat.bitstream.bits import BitReader, OutOfBitsError
from videoformat.bitstream.h264_parameter_sets import ParameterSets
from videoformat.bitstream.h264_pps import PictureParameterSet
from videoformat.bitstream.h264_sps import SequenceParameterSet
from videoformat.bitstream.nal import unescape
from videoformat.errors import BitstreamError, UnsupportedStreamError

__all__ = [
    "SLICE_B",
    "SLICE_I",
    "SLICE_P",
    "SliceElements",
    "SliceHeader",
    "SlicePositions",
    "parse_slice_header",
    "parse_slice_header_bits",
]

# slice_type modulo 5 (table 7-6); 3 and 4 are SP and SI.
SLICE_P, SLICE_B, SLICE_I = 0, 1, 2

# Nearly every header fits into the first size, and any legal one into the second: at most two lists
# of 32 weights (88 bits each), 33 modifications (38 bits each) and _MAXIMUM_MARKINGS operations.
_PREFIX_SIZES = (64, 4096)
# The operands of each memory_management_control_operation (7.3.3.3).
_OPERANDS = {
    1: ("difference_of_pic_nums_minus1",),
    2: ("long_term_pic_num",),
    3: ("difference_of_pic_nums_minus1", "long_term_frame_idx"),
    4: ("max_long_term_frame_idx_plus1",),
    5: (),
    6: ("long_term_frame_idx",),
}
# No frame has more reference fields than 32, and each can be the subject of a few operations.
_MAXIMUM_MARKINGS = 128
_MAXIMUM_REF_IDX_ACTIVE_OF_A_FRAME = 16


class SliceElements(Protocol):
    """What indexing needs of a slice header; the attributes are those of ``SliceHeader``."""

    @property
    def nal_ref_idc(self) -> int: ...  # noqa: D102
    @property
    def nal_unit_type(self) -> int: ...  # noqa: D102
    @property
    def first_mb_in_slice(self) -> int: ...  # noqa: D102
    @property
    def slice_type(self) -> int: ...  # noqa: D102
    @property
    def pps(self) -> PictureParameterSet: ...  # noqa: D102
    @property
    def sps(self) -> SequenceParameterSet: ...  # noqa: D102
    @property
    def frame_num(self) -> int: ...  # noqa: D102
    @property
    def idr_pic_id(self) -> int: ...  # noqa: D102
    @property
    def pic_order_cnt_lsb(self) -> int: ...  # noqa: D102
    @property
    def delta_pic_order_cnt_bottom(self) -> int: ...  # noqa: D102
    @property
    def delta_pic_order_cnt(self) -> tuple[int, int]: ...  # noqa: D102
    @property
    def num_ref_idx_active(self) -> tuple[int, ...]: ...  # noqa: D102
    @property
    def ref_pic_list_modification(self) -> tuple[tuple[tuple[int, int], ...], ...]: ...  # noqa: D102
    @property
    def long_term_reference_flag(self) -> bool: ...  # noqa: D102
    @property
    def memory_management_control_operations(self) -> tuple[tuple[int, ...], ...] | None: ...  # noqa: D102
    @property
    def is_idr(self) -> bool: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class SlicePositions:
    """Where rewriting cuts: positions in bits from the first bit after the NAL unit header.

    ``order_count_end`` is where ``redundant_pic_cnt`` and what follows the order count begin,
    ``modification`` and ``modification_end`` enclose ``ref_pic_list_modification()``, ``marking``
    and ``marking_end`` enclose ``dec_ref_pic_marking()``, and ``end`` is where slice data begins.
    """

    frame_num: int
    order_count_end: int
    modification: int
    modification_end: int
    marking: int
    marking_end: int
    end: int


@dataclass(frozen=True, slots=True)
class SliceHeader:
    """A slice header, its elements spelled as in 7.3.3; ``slice_type`` is taken modulo 5.

    ``num_ref_idx_active`` has one entry per list: none for an I slice, one for P, two for B.
    ``ref_pic_list_modification`` has, per list, the pairs of ``modification_of_pic_nums_idc`` and
    its operand. ``memory_management_control_operations`` are tuples of the operation and its
    operands, or ``None`` where the sliding window applies.
    """

    nal_ref_idc: int
    nal_unit_type: int
    first_mb_in_slice: int
    slice_type: int
    pps: PictureParameterSet
    sps: SequenceParameterSet
    frame_num: int
    idr_pic_id: int
    pic_order_cnt_lsb: int
    delta_pic_order_cnt_bottom: int
    delta_pic_order_cnt: tuple[int, int]
    direct_spatial_mv_pred_flag: bool
    num_ref_idx_active: tuple[int, ...]
    ref_pic_list_modification: tuple[tuple[tuple[int, int], ...], ...]
    long_term_reference_flag: bool
    memory_management_control_operations: tuple[tuple[int, ...], ...] | None
    slice_qp_delta: int
    positions: SlicePositions

    @property
    def is_idr(self) -> bool:
        """``IdrPicFlag``."""
        return self.nal_unit_type == 5


def parse_slice_header(nal_unit: bytes, parameter_sets: ParameterSets) -> SliceHeader:
    """Reads ``slice_header()`` from a NAL unit of type 1 or 5.

    Raises ``UnsupportedStreamError`` for field pictures, SP and SI slices and redundant pictures.
    """
    return parse_slice_header_bits(nal_unit, parameter_sets)[0]


def parse_slice_header_bits(
    nal_unit: bytes, parameter_sets: ParameterSets
) -> tuple[SliceHeader, str]:
    """The header, and the bits from after the NAL unit header on, at least to the header's end."""
    for size in _PREFIX_SIZES:
        r = BitReader(unescape(nal_unit[1 : 1 + size]), "slice header")
        try:
            return _parse(nal_unit[0], r, parameter_sets), r.bits
        except OutOfBitsError:
            if len(nal_unit) <= 1 + size:
                raise
    raise BitstreamError(f"slice header: longer than {_PREFIX_SIZES[-1]} bytes")


def _parse(nal_header: int, r: BitReader, parameter_sets: ParameterSets) -> SliceHeader:
    nal_ref_idc, nal_unit_type = nal_header >> 5 & 3, nal_header & 31
    first_mb_in_slice = r.ue("first_mb_in_slice")
    slice_type = r.ue("slice_type", 9) % 5
    if slice_type > SLICE_I:
        raise UnsupportedStreamError("SP or SI slices", f"slice_type {slice_type}")
    pps, sps = parameter_sets.activate(r.ue("pic_parameter_set_id", 255))
    # In a frame that may mix frame and field macroblocks, pairs of macroblocks are counted (7.4.3).
    if first_mb_in_slice << sps.mb_adaptive_frame_field_flag >= sps.frame_size_in_mbs:
        raise r.error("first_mb_in_slice", first_mb_in_slice, "one that is in the frame")

    at_frame_num = r.position
    frame_num = r.u(sps.log2_max_frame_num, "frame_num")
    if not sps.frame_mbs_only_flag and r.flag("field_pic_flag"):
        raise UnsupportedStreamError("field pictures")
    idr_pic_id = r.ue("idr_pic_id", 65535) if nal_unit_type == 5 else 0
    pic_order_cnt_lsb = delta_pic_order_cnt_bottom = 0
    delta_pic_order_cnt = (0, 0)
    bottom_present = pps.bottom_field_pic_order_in_frame_present_flag
    if sps.pic_order_cnt_type == 0:
        pic_order_cnt_lsb = r.u(sps.log2_max_pic_order_cnt_lsb, "pic_order_cnt_lsb")
        if bottom_present:
            delta_pic_order_cnt_bottom = r.se("delta_pic_order_cnt_bottom")
    elif sps.pic_order_cnt_type == 1 and not sps.delta_pic_order_always_zero_flag:
        delta_pic_order_cnt = (
            r.se("delta_pic_order_cnt[0]"),
            r.se("delta_pic_order_cnt[1]") if bottom_present else 0,
        )
    order_count_end = r.position

    if pps.redundant_pic_cnt_present_flag:
        redundant_pic_cnt = r.ue("redundant_pic_cnt", 127)
        if redundant_pic_cnt:
            raise UnsupportedStreamError(
                "redundant pictures", f"redundant_pic_cnt {redundant_pic_cnt}"
            )
    direct_spatial_mv_pred_flag = slice_type == SLICE_B and r.flag("direct_spatial_mv_pred_flag")
    num_ref_idx_active: tuple[int, ...] = ()
    if slice_type != SLICE_I:
        num_ref_idx_active = _num_ref_idx_active(r, slice_type, pps)

    modification = r.position
    ref_pic_list_modification = tuple(
        [_modification_of_list(r, active, sps) for active in num_ref_idx_active]
    )
    modification_end = r.position
    if (pps.weighted_pred_flag and slice_type == SLICE_P) or (
        pps.weighted_bipred_idc == 1 and slice_type == SLICE_B
    ):
        _skip_pred_weight_table(r, num_ref_idx_active, monochrome=sps.chroma_format_idc == 0)

    marking = r.position
    long_term_reference_flag = False
    operations: tuple[tuple[int, ...], ...] | None = None
    if nal_ref_idc:
        if nal_unit_type == 5:
            r.flag("no_output_of_prior_pics_flag")
            long_term_reference_flag = r.flag("long_term_reference_flag")
        elif r.flag("adaptive_ref_pic_marking_mode_flag"):
            operations = _marking_operations(r)
    marking_end = r.position

    if pps.entropy_coding_mode_flag and slice_type != SLICE_I:
        r.ue("cabac_init_idc", 2)
    slice_qp_delta = r.se("slice_qp_delta")
    if pps.deblocking_filter_control_present_flag and r.ue("disable_deblocking_filter_idc", 2) != 1:
        r.se("slice_alpha_c0_offset_div2")
        r.se("slice_beta_offset_div2")
    return SliceHeader(
        nal_ref_idc,
        nal_unit_type,
        first_mb_in_slice,
        slice_type,
        pps,
        sps,
        frame_num,
        idr_pic_id,
        pic_order_cnt_lsb,
        delta_pic_order_cnt_bottom,
        delta_pic_order_cnt,
        direct_spatial_mv_pred_flag,
        num_ref_idx_active,
        ref_pic_list_modification,
        long_term_reference_flag,
        operations,
        slice_qp_delta,
        SlicePositions(
            at_frame_num,
            order_count_end,
            modification,
            modification_end,
            marking,
            marking_end,
            r.position,
        ),
    )


def _num_ref_idx_active(r: BitReader, slice_type: int, pps: PictureParameterSet) -> tuple[int, ...]:
    lists = 2 if slice_type == SLICE_B else 1
    if r.flag("num_ref_idx_active_override_flag"):
        # A frame's index ends at 15, only a field's at 31 (7.4.3).
        maximum = _MAXIMUM_REF_IDX_ACTIVE_OF_A_FRAME - 1
        active: tuple[int, ...] = (1 + r.ue("num_ref_idx_l0_active_minus1", maximum),)
        return (
            (*active, 1 + r.ue("num_ref_idx_l1_active_minus1", maximum)) if lists == 2 else active
        )
    active = (pps.num_ref_idx_l0_default_active, pps.num_ref_idx_l1_default_active)[:lists]
    if max(active) > _MAXIMUM_REF_IDX_ACTIVE_OF_A_FRAME:
        raise r.error("num_ref_idx_active_override_flag", 0, f"1, the default being {active}")
    return active


def _modification_of_list(
    r: BitReader, active: int, sps: SequenceParameterSet
) -> tuple[tuple[int, int], ...]:
    """``ref_pic_list_modification()`` of one list (7.3.3.1)."""
    if not r.flag("ref_pic_list_modification_flag"):
        return ()
    modifications: list[tuple[int, int]] = []
    while True:
        idc = r.ue("modification_of_pic_nums_idc", 3)
        if idc == 3:
            return tuple(modifications)
        if idc == 2:
            raise UnsupportedStreamError(
                "long-term references", "a list modification names a long-term picture"
            )
        if len(modifications) == active:
            # 7.4.3.1: not more than num_ref_idx_active_minus1 + 1 of them.
            raise r.error("modification_of_pic_nums_idc", idc, f"3 after {active} modifications")
        maximum = (1 << sps.log2_max_frame_num) - 1
        modifications.append((idc, 1 + r.ue("abs_diff_pic_num_minus1", maximum)))


def _skip_pred_weight_table(r: BitReader, active: tuple[int, ...], *, monochrome: bool) -> None:
    """``pred_weight_table()`` (7.3.3.2)."""
    r.ue("luma_log2_weight_denom", 7)
    if not monochrome:
        r.ue("chroma_log2_weight_denom", 7)
    for entries in active:
        for _ in range(entries):
            if r.flag("luma_weight_flag"):
                r.se("luma_weight")
                r.se("luma_offset")
            if not monochrome and r.flag("chroma_weight_flag"):
                for _ in range(2):
                    r.se("chroma_weight")
                    r.se("chroma_offset")


def _marking_operations(r: BitReader) -> tuple[tuple[int, ...], ...]:
    """The operations of ``dec_ref_pic_marking()`` (7.3.3.3), without the final 0."""
    operations: list[tuple[int, ...]] = []
    while True:
        operation = r.ue("memory_management_control_operation", 6)
        if operation == 0:
            return tuple(operations)
        if len(operations) == _MAXIMUM_MARKINGS:
            raise r.error(
                "memory_management_control_operation",
                operation,
                f"0 after {_MAXIMUM_MARKINGS} operations",
            )
        operands = [r.ue(name) for name in _OPERANDS[operation]]
        operations.append((operation, *operands))
