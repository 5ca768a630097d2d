"""Parameter sets and slice segment headers against what was written and what FFmpeg reads."""

import random

import pytest
from bitstream.hevc_syntax import (
    SyntaxWriter,
    nal_unit,
    predict,
    write_pps,
    write_slice_segment_header,
    write_sps,
    write_st_ref_pic_set,
    write_vps,
)
from bitstream.trace import trace
from hypothesis import given, settings
from hypothesis import strategies as st

from videoformat.bitstream.bits import BitReader, bits_to_bytes, ue_bits
from videoformat.bitstream.hevc_parameter_sets import ParameterSets
from videoformat.bitstream.hevc_rps import ShortTermRefPicSet, parse_st_ref_pic_set
from videoformat.bitstream.hevc_slice import parse_slice_segment_header
from videoformat.bitstream.nal import to_annexb
from videoformat.errors import BitstreamError, UnsupportedStreamError

SEEDS = st.integers(0, 2**32 - 1)
HEADER_BITS = 16  # of the NAL unit header, which trace positions count


def reader(bits: str) -> BitReader:
    return BitReader(bits_to_bytes(bits + "0" * (-len(bits) % 8)), "test")


def test_explicit_reference_picture_set():
    bits = ue_bits(2) + ue_bits(1)  # two before, one after
    bits += ue_bits(0) + "1" + ue_bits(2) + "0"  # -1 used; 3 further: -4 not used
    bits += ue_bits(4) + "1"  # +5 used
    parsed = parse_st_ref_pic_set(reader(bits), [], in_slice_header=False)
    assert parsed == ShortTermRefPicSet(((-1, True), (-4, False)), ((5, True),))
    assert parsed.used_by_curr_pic == 2


def test_predicted_reference_picture_set():
    # From {-1, -3 | +2} with deltaRps -2: the sums are -3, -5, 0, and -2 for the picture itself.
    candidate = ShortTermRefPicSet(((-1, True), (-3, True)), ((2, True),))
    prefix = "1" + "1" + ue_bits(1)  # predicted; negative; abs_delta_rps_minus1 = 1
    flags = "1" + "01" + "1" + "00"  # -3 used; -5 kept unused; 0 falls away; -2 dropped
    parsed = parse_st_ref_pic_set(reader(prefix + flags), [candidate], in_slice_header=False)
    assert parsed == ShortTermRefPicSet(((-3, True), (-5, False)), ())
    flags = "00" + "1" + "1" + "1"  # -3 dropped; -5 used; 0 falls away; -2 used
    parsed = parse_st_ref_pic_set(reader(prefix + flags), [candidate], in_slice_header=False)
    assert parsed == ShortTermRefPicSet(((-2, True), (-5, True)), ())


def test_predicted_reference_picture_set_crosses_zero():
    # From {-1, -6 | +3} with deltaRps +4: 3, -2, 7, and 4 for the picture itself.
    candidate = ShortTermRefPicSet(((-1, False), (-6, True)), ((3, True),))
    bits = "1" + "0" + ue_bits(3) + "1" + "1" + "01" + "1"
    parsed = parse_st_ref_pic_set(reader(bits), [candidate], in_slice_header=False)
    assert parsed == ShortTermRefPicSet(((-2, True),), ((3, True), (4, True), (7, False)))


def test_slice_header_chooses_the_set_that_predicts():
    candidates = [
        ShortTermRefPicSet(((-8, True),), ()),
        ShortTermRefPicSet(((-1, True),), ()),
    ]
    bits = "1" + ue_bits(1) + "1" + ue_bits(0) + "1" + "00"  # delta_idx 2, deltaRps -1
    parsed = parse_st_ref_pic_set(reader(bits), candidates, in_slice_header=True)
    assert parsed == ShortTermRefPicSet(((-9, True),), ())


@given(SEEDS)
def test_reference_picture_sets_follow_their_equations(seed):
    source = random.Random(seed)
    candidates, parsed = [], []
    for _ in range(6):
        w = SyntaxWriter(source)
        in_slice_header = source.random() < 0.5
        written = write_st_ref_pic_set(w, candidates, in_slice_header=in_slice_header, limit=15)
        r = reader(w.bits)
        found = parse_st_ref_pic_set(r, parsed, in_slice_header=in_slice_header)
        assert (found.negative_pics, found.positive_pics) == written
        assert r.position == len(w.bits)
        candidates.append(written)
        parsed.append(found)


def test_predict_keeps_the_order_of_distance():
    assert predict(((-1, True),), ((1, True),), -1, [True] * 3, [True] * 3) == (
        ((-1, True), (-2, True)),
        (),
    )


def stream(seed: int, *, dependent: bool = False):
    source = random.Random(seed)
    while True:
        sps = write_sps(source)
        pps = write_pps(source, sps)
        if not dependent or (pps.dependent and sps.ctbs > 1):
            break
    written = write_slice_segment_header(source, sps, pps, dependent=dependent)
    units = (
        nal_unit(32, write_vps(source)),
        nal_unit(33, sps.bits),
        nal_unit(34, pps.bits),
        nal_unit(written.nal_unit_type, written.bits, data=source.randbytes(40) + b"\x80"),
    )
    sets = ParameterSets()
    for unit in units[:3]:
        sets.add(unit[0] >> 1, unit)
    header, bits = parse_slice_segment_header(written.nal_unit_type, units[3], sets)
    assert bits.startswith(written.bits)
    return sps, pps, written, units, header


@settings(max_examples=150)
@given(SEEDS)
def test_parameter_sets_and_slice_headers(seed):
    sps, _, written, units, header = stream(seed)
    traced_sps, traced_pps, traced = trace("hevc", [to_annexb(units)])[0][1:]

    assert (header.sps.width, header.sps.height) == (sps.width, sps.height)
    assert header.sps.pic_size_in_ctbs == sps.ctbs
    assert header.sps.chroma_format_idc == traced_sps["chroma_format_idc"]
    assert header.sps.bit_depth_luma == 8 + traced_sps["bit_depth_luma_minus8"]
    assert header.sps.bit_depth_chroma == 8 + traced_sps["bit_depth_chroma_minus8"]
    assert (
        header.sps.colour_primaries,
        header.sps.transfer_characteristics,
        header.sps.matrix_coefficients,
    ) == sps.colour
    assert header.sps.video_full_range_flag == sps.full_range
    for name in (
        "log2_max_pic_order_cnt_lsb_minus4",
        "sps_sub_layer_ordering_info_present_flag",
        "num_short_term_ref_pic_sets",
        "sps_temporal_mvp_enabled_flag",
    ):
        position = getattr(header.sps.positions, name)
        assert position == traced_sps.position(name) - HEADER_BITS
    position = traced_pps.position("lists_modification_present_flag")
    assert header.pps.lists_modification_position == position - HEADER_BITS

    assert header.slice_type == traced["slice_type"] == written.slice_type
    assert header.first_slice_segment_in_pic_flag == traced["first_slice_segment_in_pic_flag"]
    assert header.slice_segment_address == traced.get("slice_segment_address", 0)
    assert header.pic_output_flag == traced.get("pic_output_flag", 1)
    assert header.slice_pic_order_cnt_lsb == traced.get("slice_pic_order_cnt_lsb", 0)
    assert header.slice_qp_delta == traced["slice_qp_delta"]
    assert header.num_entry_point_offsets == traced.get("num_entry_point_offsets", 0)
    reference_set = header.short_term_ref_pic_set
    assert (reference_set.negative_pics, reference_set.positive_pics) == written.sets
    assert header.num_ref_idx_active == written.active
    assert list(header.list_entries) == written.entries
    assert (header.collocated_from_l0_flag, header.collocated_ref_idx) == written.collocated

    assert header.positions.ref_pic_set == written.ref_pic_set
    assert header.positions.ref_pic_set_end == written.ref_pic_set_end
    assert header.positions.lists_modification == written.lists_modification
    assert header.positions.end == traced.position("alignment_bit_equal_to_one") - HEADER_BITS


@settings(max_examples=30)
@given(SEEDS)
def test_dependent_slice_segment_headers(seed):
    _, _, written, units, header = stream(seed, dependent=True)
    traced = trace("hevc", [to_annexb(units)])[0][3]
    assert header.dependent_slice_segment_flag
    assert traced["dependent_slice_segment_flag"] == 1
    assert header.slice_segment_address == traced["slice_segment_address"]
    assert header.positions.end == len(written.bits)
    assert header.positions.end == traced.position("alignment_bit_equal_to_one") - HEADER_BITS


@pytest.mark.parametrize("size", [1, 3, 20])
def test_a_header_that_ends_early_is_an_error(size):
    _, _, _, units, _ = stream(5)
    sets = ParameterSets()
    for unit in units[1:3]:
        sets.add(unit[0] >> 1, unit)
    with pytest.raises(BitstreamError, match="slice segment header"):
        parse_slice_segment_header(units[3][0] >> 1, units[3][: 2 + size], sets)


def test_a_parameter_set_that_changes_is_refused():
    _, _, _, units, _ = stream(1)
    _, _, _, others, _ = stream(2)
    sets = ParameterSets()
    for unit in units[:3] + units[:3]:
        sets.add(unit[0] >> 1, unit)
    for unit in others[1:3]:
        with pytest.raises(UnsupportedStreamError) as error:
            sets.add(unit[0] >> 1, unit)
        assert error.value.kind == "parameter sets that change"


def test_a_slice_of_an_unknown_parameter_set_is_an_error():
    _, _, _, units, _ = stream(1)
    with pytest.raises(BitstreamError, match="slice_pic_parameter_set_id is 0, the stream has"):
        parse_slice_segment_header(units[3][0] >> 1, units[3], ParameterSets())
    sets = ParameterSets()
    sets.add(34, units[2])
    with pytest.raises(BitstreamError, match="pps_seq_parameter_set_id is 0, the stream has"):
        parse_slice_segment_header(units[3][0] >> 1, units[3], sets)
