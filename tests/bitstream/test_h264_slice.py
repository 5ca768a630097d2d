"""H.264 slice headers: x264's against FFmpeg's reading of them, and hand-written ones."""

import contextlib

import pytest
from bitstream import h264_syntax
from bitstream.h264_streams import SETTINGS, stream
from bitstream.h264_syntax import B, I, P, coded_slice
from bitstream.trace import TracedUnit, trace
from hypothesis import given
from hypothesis import strategies as st

from videoformat.bitstream.bits import se_bits, ue_bits
from videoformat.bitstream.h264_parameter_sets import ParameterSets
from videoformat.bitstream.h264_slice import SliceHeader, parse_slice_header
from videoformat.bitstream.nal import split_annexb
from videoformat.errors import BitstreamError, UnsupportedStreamError


def sets(sps: dict | None = None, pps: dict | None = None) -> ParameterSets:
    parameter_sets = ParameterSets()
    parameter_sets.add_sequence_parameter_set(h264_syntax.sps(**(sps or {})))
    parameter_sets.add_picture_parameter_set(h264_syntax.pps(**(pps or {})))
    return parameter_sets


def test_a_slice_header_worked_by_hand() -> None:
    # first_mb 0: 1 | slice_type 6 (B): 00111 | PPS 0: 1 | frame_num 5: 0101 | lsb 9: 001001
    # direct_spatial 1 | override 1, 2 and 1: 010 1 | list 0: 1, idc 0 by 3: 1 011, end: 00100
    # list 1: 0 | adaptive marking 1, operation 1 by 2: 010 010, end 1 | qp -1: 011 | data
    bits = "1 00111 1 0101 001001 1 1 010 1 1 1 011 00100 0 1 010 010 1 011".replace(" ", "")
    header = parse_slice_header(h264_syntax.nal_unit(0x41, bits), sets())
    assert (header.nal_ref_idc, header.nal_unit_type, header.is_idr) == (2, 1, False)
    assert (header.first_mb_in_slice, header.slice_type) == (0, B)
    assert (header.frame_num, header.pic_order_cnt_lsb) == (5, 9)
    assert header.direct_spatial_mv_pred_flag
    assert header.num_ref_idx_active == (2, 1)
    assert header.ref_pic_list_modification == (((0, 3),), ())
    assert header.memory_management_control_operations == ((1, 1),)
    assert header.slice_qp_delta == -1
    positions = header.positions
    assert positions.frame_num == 7
    assert positions.order_count_end == 17
    assert (positions.modification, positions.modification_end) == (23, 34)
    assert (positions.marking, positions.marking_end) == (34, 42)
    assert positions.end == len(bits) == 45


def _is_what_ffmpeg_read(header: SliceHeader, expected: TracedUnit) -> None:
    for element in ("nal_ref_idc", "nal_unit_type", "first_mb_in_slice", "frame_num"):
        assert expected[element] == getattr(header, element), element
    assert expected["slice_type"] % 5 == header.slice_type
    assert expected["pic_parameter_set_id"] == header.pps.pic_parameter_set_id
    for element in ("idr_pic_id", "pic_order_cnt_lsb", "delta_pic_order_cnt_bottom"):
        assert expected.get(element, 0) == getattr(header, element), element
    assert expected.get("direct_spatial_mv_pred_flag", 0) == header.direct_spatial_mv_pred_flag
    if expected.get("num_ref_idx_active_override_flag", 0):
        assert header.num_ref_idx_active == tuple(
            1 + value
            for name, value, _ in expected.elements
            if name in ("num_ref_idx_l0_active_minus1", "num_ref_idx_l1_active_minus1")
        )
    modifications = [
        value
        for modification in header.ref_pic_list_modification
        for idc, difference in modification
        for value in (idc, difference - 1)
    ]
    names = ("modification_of_pic_nums_idc", "abs_diff_pic_num_minus1")
    assert modifications == [
        value
        for name, value, _ in expected.elements
        if name.split("_l0")[0].split("_l1")[0].split("[")[0] in names
        and not (name.startswith("modification") and value == 3)
    ]
    operations = header.memory_management_control_operations
    assert expected.get("adaptive_ref_pic_marking_mode_flag", 0) == (operations is not None)
    assert expected.all("memory_management_control_operation") == (
        [] if operations is None else [*(operation[0] for operation in operations), 0]
    )
    assert expected.all("difference_of_pic_nums_minus1") == [
        operation[1] for operation in operations or ()
    ]
    assert expected["slice_qp_delta"] == header.slice_qp_delta
    assert expected.position("frame_num") - 8 == header.positions.frame_num
    after_marking = "cabac_init_idc" if "cabac_init_idc" in expected else "slice_qp_delta"
    assert expected.position(after_marking) - 8 == header.positions.marking_end
    if header.num_ref_idx_active:
        flag = expected.position("ref_pic_list_modification_flag_l0")
        assert flag - 8 == header.positions.modification
    if header.nal_ref_idc:
        marking = "no_output_of_prior_pics_flag" if header.is_idr else "adaptive_ref_pic"
        position = next(at for name, _, at in expected.elements if name.startswith(marking))
        assert position - 8 == header.positions.marking
    # What follows the header is alignment in CABAC, and nothing that the trace prints in CAVLC.
    aligned = [at for name, _, at in expected.elements if name == "cabac_alignment_one_bit"]
    _name, _, last = expected.elements[-1]
    if aligned:
        assert aligned[0] - 8 == header.positions.end
    elif not header.pps.entropy_coding_mode_flag:
        assert header.positions.end > last - 8


@pytest.mark.parametrize("name", list(SETTINGS))
def test_x264_slice_headers_read_as_ffmpeg_reads_them(name: str) -> None:
    access_units = stream(name).access_units
    parameter_sets = ParameterSets()
    slices = 0
    for access_unit, units in zip(access_units, trace("h264", access_units), strict=True):
        expected = [unit for unit in units if unit.title == "Slice Header"]
        for unit in split_annexb(access_unit):
            if unit[0] & 31 == 7:
                parameter_sets.add_sequence_parameter_set(unit)
            elif unit[0] & 31 == 8:
                parameter_sets.add_picture_parameter_set(unit)
            elif unit[0] & 31 in (1, 5):
                _is_what_ffmpeg_read(parse_slice_header(unit, parameter_sets), expected.pop(0))
                slices += 1
        assert not expected
    assert slices >= len(access_units)


def test_a_header_longer_than_the_first_prefix() -> None:
    # 16 luma and chroma weights of 15 bits each make more than 64 bytes.
    weight = "1" + se_bits(-128) + se_bits(127)
    chroma = "1" + (se_bits(-128) + se_bits(127)) * 2
    header = parse_slice_header(
        coded_slice(
            P,
            1,
            2,
            active=(16,),
            weights=ue_bits(7) + ue_bits(7) + (weight + chroma) * 16,
            operations=((1, 3),),
            data="1" * 8000,
        ),
        sets(pps={"weighted_pred_flag": True}),
    )
    assert header.positions.marking > 8 * 64
    assert header.memory_management_control_operations == ((1, 3),)


@pytest.mark.parametrize(
    ("chroma", "weights"),
    [(0, ue_bits(3) + "0" + "1" + se_bits(-5) + se_bits(9)), (1, "11" + "00" * 2)],
)
def test_weights_of_monochrome_and_colour(chroma: int, weights: str) -> None:
    high = ue_bits(chroma) + "11" + "00"
    header = parse_slice_header(
        coded_slice(P, 1, 2, active=(2,), weights=weights, operations=()),
        sets({"profile_idc": 100, "high": high}, {"weighted_pred_flag": True}),
    )
    assert header.memory_management_control_operations == ()
    assert header.slice_qp_delta == 0


def test_bipredictive_weights_are_read_only_where_they_are_explicit() -> None:
    # weighted_bipred_idc 1: explicit, 2: implicit, with nothing in the slice header.
    for idc, weights in ((1, "11" + "00" * 3), (2, "")):
        header = parse_slice_header(
            coded_slice(B, 1, 2, active=(2, 1), weights=weights, operations=((1, 0),)),
            sets(pps={"weighted_bipred_idc": idc}),
        )
        assert header.memory_management_control_operations == ((1, 0),)


def test_marking_of_an_idr_picture() -> None:
    parameter_sets = sets()
    header = parse_slice_header(coded_slice(I, 0, 0, idr=True, idr_pic_id=77), parameter_sets)
    assert (header.is_idr, header.idr_pic_id) == (True, 77)
    assert not header.long_term_reference_flag
    header = parse_slice_header(coded_slice(I, 0, 0, idr=True, long_term=True), parameter_sets)
    assert header.long_term_reference_flag


def test_operands_of_marking_operations() -> None:
    operations = ((2, 5), (3, 1, 2), (4, 0), (5,), (6, 9), (1, 7))
    header = parse_slice_header(coded_slice(P, 1, 2, operations=operations), sets())
    assert header.memory_management_control_operations == operations


REFUSED = [
    ("SP or SI slices", coded_slice(3, 1, 2), {}, {}),
    ("SP or SI slices", coded_slice(9, 1, 2), {}, {}),
    ("field pictures", coded_slice(P, 1, 2, field=True), {"frame_mbs_only_flag": False}, {}),
    ("redundant pictures", coded_slice(P, 1, 2, redundant_pic_cnt=1), {}, {"redundant": True}),
    ("long-term references", coded_slice(P, 1, 2, modifications=(((2, 0),),)), {}, {}),
]


@pytest.mark.parametrize(("kind", "unit", "sps", "pps"), REFUSED)
def test_what_is_refused_by_name(kind: str, unit: bytes, sps: dict, pps: dict) -> None:
    with pytest.raises(UnsupportedStreamError) as refused:
        parse_slice_header(unit, sets(sps, pps))
    assert refused.value.kind == kind


def test_no_field_no_redundancy_is_not_refused() -> None:
    header = parse_slice_header(
        coded_slice(P, 1, 2, field=False, redundant_pic_cnt=0),
        sets({"frame_mbs_only_flag": False}, {"redundant": True}),
    )
    assert header.slice_qp_delta == 0


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (coded_slice(10, 1, 2), "slice_type .* is 10, expected at most 9"),
        (
            coded_slice(I, 1, 2, pps_identifier=1),
            r"pic_parameter_set_id is 1, the stream has \[0\]",
        ),
        (coded_slice(I, 1, 2, first_mb=24), "first_mb_in_slice .* is 24, expected one that is"),
        (coded_slice(P, 1, 2, active=(17,)), "num_ref_idx_l0_active_minus1 .* is 16"),
        (coded_slice(P, 1, 2, modifications=(((0, 0), (0, 0)),)), "is 0, expected 3 after 1"),
        (coded_slice(P, 1, 2, modifications=(((4, 0),),)), "idc .* is 4, expected at most 3"),
        (coded_slice(P, 1, 2, modifications=(((0, 16),),)), "abs_diff_pic_num_minus1 .* is 16"),
        (coded_slice(P, 1, 2, operations=((1, 0),) * 129), "is 1, expected 0 after 128 operations"),
        (coded_slice(P, 1, 2, operations=((7, 0),)), "operation .* is 7, expected at most 6"),
    ],
)
def test_what_breaks_the_syntax(unit: bytes, message: str) -> None:
    with pytest.raises(BitstreamError, match=message):
        parse_slice_header(unit, sets())


def test_a_default_that_only_fields_may_have() -> None:
    with pytest.raises(BitstreamError, match=r"override_flag .* is 0, expected 1"):
        parse_slice_header(coded_slice(P, 1, 2), sets(pps={"active": (17, 1)}))


def test_pairs_of_macroblocks_are_counted_where_they_may_be_fields() -> None:
    interlaced = {"frame_mbs_only_flag": False, "mb_adaptive_frame_field_flag": True}
    last = coded_slice(I, 1, 2, first_mb=23, field=False)  # of 6 x 8 macroblocks
    assert parse_slice_header(last, sets(interlaced)).first_mb_in_slice == 23
    with pytest.raises(BitstreamError, match=r"first_mb_in_slice .* is 24"):
        parse_slice_header(coded_slice(I, 1, 2, first_mb=24, field=False), sets(interlaced))


@pytest.mark.parametrize("size", range(1, 8))
def test_a_header_that_is_cut_off(size: int) -> None:
    unit = coded_slice(B, 9, 33, active=(2, 2), modifications=(((0, 3), (1, 5)), ((0, 1),)))
    with pytest.raises(BitstreamError, match=r"slice header: .* at bit .* needs"):
        parse_slice_header(unit[:size], sets())


@given(st.binary(max_size=200), st.sampled_from([0x65, 0x41, 0x01]), st.booleans())
def test_any_bytes_are_read_or_refused(data: bytes, header: int, weighted: bool) -> None:
    pps = {"weighted_pred_flag": weighted, "weighted_bipred_idc": int(weighted)}
    parameter_sets = sets({"frame_mbs_only_flag": not weighted}, pps)
    with contextlib.suppress(BitstreamError, UnsupportedStreamError):
        parse_slice_header(bytes([header]) + data, parameter_sets)
