"""H.264 parameter sets: hand-worked ones, and x264's against FFmpeg's reading of them."""

import contextlib

import pytest
from bitstream import h264_syntax
from bitstream.h264_streams import SETTINGS, encode, stream
from bitstream.trace import TracedUnit, trace
from hypothesis import given
from hypothesis import strategies as st

from videoformat.bitstream.bits import u_bits, ue_bits
from videoformat.bitstream.h264_parameter_sets import ParameterSets
from videoformat.bitstream.h264_pps import parse_picture_parameter_set
from videoformat.bitstream.h264_sps import parse_sequence_parameter_set
from videoformat.bitstream.nal import split_annexb
from videoformat.errors import BitstreamError, UnsupportedStreamError


def test_an_sps_worked_by_hand() -> None:
    # profile 66, level 10, id 0: 01000010 00000000 00001010 1
    # log2_max_frame_num_minus4 0: 1 | pic_order_cnt_type 2: 011 | max_num_ref_frames 1: 010
    # gaps 0 | 11 wide: ue(10) = 0001011 | 9 high: ue(8) = 0001001 | frame_mbs_only 1
    # direct_8x8 0 | cropping 0 | VUI 0 | stop bit 1
    # 1 1 011 010 | 0 0001011 | 0001001 1 | 0 0 0 1 0000
    sps = parse_sequence_parameter_set(bytes.fromhex("6742000a da 0b 13 10"))
    assert (sps.profile_idc, sps.level_idc, sps.seq_parameter_set_id) == (66, 10, 0)
    assert (sps.log2_max_frame_num, sps.pic_order_cnt_type, sps.max_num_ref_frames) == (4, 2, 1)
    assert (sps.width, sps.height) == (176, 144)
    assert (sps.chroma_format_idc, sps.bit_depth_luma, sps.bit_depth_chroma) == (1, 8, 8)
    assert sps.frame_mbs_only_flag
    assert not sps.direct_8x8_inference_flag
    assert sps.vui is None
    assert (sps.matrix_coefficients, sps.video_full_range_flag) == (2, False)
    assert sps.positions.log2_max_frame_num_minus4 == 25
    assert sps.positions.max_num_ref_frames == 29
    assert sps.positions.vui_parameters_present_flag == 50
    assert sps.positions.end == 51


def test_a_pps_worked_by_hand() -> None:
    # id 1: 010 | SPS 0: 1 | CABAC 1 | bottom 0 | one slice group: 1 | 3: 011 | 1: 1
    # weighted_pred 1 | bipred 10 | qp -3: 00111 | qs 0: 1 | chroma -2: 00101 | deblocking 1
    # constrained 0 | redundant 0 | stop
    # 01011010 | 11111000 | 11110010 | 11001000
    pps = parse_picture_parameter_set(bytes.fromhex("68 5a f8 f2 c8"))
    assert (pps.pic_parameter_set_id, pps.seq_parameter_set_id) == (1, 0)
    assert pps.entropy_coding_mode_flag
    assert not pps.bottom_field_pic_order_in_frame_present_flag
    assert (pps.num_ref_idx_l0_default_active, pps.num_ref_idx_l1_default_active) == (3, 1)
    assert (pps.weighted_pred_flag, pps.weighted_bipred_idc) == (True, 2)
    assert pps.deblocking_filter_control_present_flag
    assert not pps.redundant_pic_cnt_present_flag


def _sets_of(traced: list[list[TracedUnit]], title: str) -> TracedUnit:
    return next(unit for units in traced for unit in units if unit.title == title)


@pytest.mark.parametrize("name", list(SETTINGS))
def test_x264_parameter_sets_read_as_ffmpeg_reads_them(name: str) -> None:
    access_unit = stream(name).access_units[0]
    units = {unit[0] & 31: unit for unit in split_annexb(access_unit)}
    traced = trace("h264", [access_unit])
    sps = parse_sequence_parameter_set(units[7])
    expected = _sets_of(traced, "Sequence Parameter Set")
    for element, value in (
        ("profile_idc", sps.profile_idc),
        ("level_idc", sps.level_idc),
        ("seq_parameter_set_id", sps.seq_parameter_set_id),
        ("log2_max_frame_num_minus4", sps.log2_max_frame_num - 4),
        ("pic_order_cnt_type", sps.pic_order_cnt_type),
        ("max_num_ref_frames", sps.max_num_ref_frames),
        ("gaps_in_frame_num_allowed_flag", sps.gaps_in_frame_num_value_allowed_flag),
        ("pic_width_in_mbs_minus1", sps.pic_width_in_mbs - 1),
        ("pic_height_in_map_units_minus1", sps.pic_height_in_map_units - 1),
        ("frame_mbs_only_flag", sps.frame_mbs_only_flag),
        ("direct_8x8_inference_flag", sps.direct_8x8_inference_flag),
    ):
        assert expected[element] == value, element
    assert expected.get("chroma_format_idc", 1) == sps.chroma_format_idc
    assert expected.get("bit_depth_luma_minus8", 0) + 8 == sps.bit_depth_luma
    assert expected.get("bit_depth_chroma_minus8", 0) + 8 == sps.bit_depth_chroma
    assert expected.get("mb_adaptive_frame_field_flag", 0) == sps.mb_adaptive_frame_field_flag
    lsb = expected.get("log2_max_pic_order_cnt_lsb_minus4", -4) + 4
    assert lsb == sps.log2_max_pic_order_cnt_lsb
    assert (sps.width, sps.height) == (96, 64)
    positions = sps.positions
    for element in ("log2_max_frame_num_minus4", "max_num_ref_frames"):
        assert expected.position(element) - 8 == getattr(positions, element)
    assert (
        expected.position("vui_parameters_present_flag") - 8
        == positions.vui_parameters_present_flag
    )
    assert expected.position("rbsp_stop_one_bit") - 8 == positions.end
    assert sps.vui is not None
    assert (
        expected.position("bitstream_restriction_flag") - 8 == positions.bitstream_restriction_flag
    )
    restriction = sps.vui.bitstream_restriction
    assert restriction is not None
    for element in ("max_num_reorder_frames", "max_dec_frame_buffering"):
        assert expected[element] == getattr(restriction, element)
    assert sps.vui.time_scale == expected["time_scale"]
    assert sps.vui.num_units_in_tick == expected["num_units_in_tick"]

    pps = parse_picture_parameter_set(units[8])
    expected = _sets_of(traced, "Picture Parameter Set")
    for element in (
        "pic_parameter_set_id",
        "seq_parameter_set_id",
        "entropy_coding_mode_flag",
        "bottom_field_pic_order_in_frame_present_flag",
        "weighted_pred_flag",
        "weighted_bipred_idc",
        "deblocking_filter_control_present_flag",
        "redundant_pic_cnt_present_flag",
    ):
        assert expected[element] == getattr(pps, element), element
    assert expected["num_ref_idx_l0_default_active_minus1"] == pps.num_ref_idx_l0_default_active - 1
    assert expected["num_ref_idx_l1_default_active_minus1"] == pps.num_ref_idx_l1_default_active - 1


def test_colour_is_read_from_the_vui() -> None:
    params = "colorprim=bt709:transfer=iec61966-2-1:colormatrix=smpte170m:sar=300/301"
    access_unit = encode(params, 1, color_range="pc").access_units[0]
    sps = parse_sequence_parameter_set(split_annexb(access_unit)[0])
    assert sps.vui is not None
    assert sps.vui.colour_primaries == 1
    assert sps.vui.transfer_characteristics == 13
    assert sps.matrix_coefficients == sps.vui.matrix_coefficients == 6
    assert sps.video_full_range_flag
    assert (sps.vui.aspect_ratio_idc, sps.vui.sar_width, sps.vui.sar_height) == (255, 300, 301)


@pytest.mark.parametrize(
    ("chroma_format_idc", "frame_mbs_only_flag", "size"),
    # Crop units of table 6-1 and equations 7-19 to 7-22; 6 x 4 macroblocks, cropped by 1 2 3 4.
    [
        (0, True, (96 - 3, 64 - 7)),
        (1, True, (96 - 6, 64 - 14)),
        (2, True, (96 - 6, 64 - 7)),
        (3, True, (96 - 3, 64 - 7)),
        (1, False, (96 - 6, 128 - 28)),
    ],
)
def test_cropping(chroma_format_idc: int, frame_mbs_only_flag, size: tuple[int, int]) -> None:
    high = ue_bits(chroma_format_idc) + ("0" if chroma_format_idc == 3 else "")
    high += ue_bits(0) + ue_bits(0) + "0" + "0"
    sps = parse_sequence_parameter_set(
        h264_syntax.sps(
            profile_idc=244,
            high=high,
            frame_mbs_only_flag=frame_mbs_only_flag,
            crop=(1, 2, 3, 4),
        )
    )
    assert (sps.width, sps.height) == size


def test_scaling_lists_are_passed_over() -> None:
    # List 0: eight deltas of 0, then delta_scale -8, which makes nextScale 0 and ends it (7-25);
    # list 1: 8 + 1 - 9 ends it; lists 2 to 5 absent; list 6 with all 64 deltas; a list whose nextScale passes 255 (+127, +127, ...).
    deltas = [0] * 8 + [-8]
    code = {
        0: "1",
        -9: "000010011",
        -8: "000010001",
        127: "0" * 7 + "11111110",
        1: "010",
        -1: "011",
    }
    lists = "1" + "".join(code[delta] for delta in deltas)
    lists += "1" + code[1] + code[-9]
    lists += "0" * 4
    lists += "1" + (code[1] + code[-1]) * 32
    lists += "1" + (code[127] + "0" * 7 + "11111111") * 32
    high = ue_bits(1) + ue_bits(0) + ue_bits(0) + "0" + "1" + lists
    sps = parse_sequence_parameter_set(
        h264_syntax.sps(profile_idc=100, high=high, max_num_ref_frames=7)
    )
    assert (sps.max_num_ref_frames, sps.width, sps.height) == (7, 96, 64)


def test_every_part_of_the_vui_is_passed_over() -> None:
    hrd = ue_bits(1) + "0" * 8 + (ue_bits(100) + ue_bits(200) + "1") * 2 + "0" * 20
    vui = "1" + u_bits(255, 8) + u_bits(4, 16) + u_bits(3, 16)  # sample aspect ratio
    vui += "11" + "1" + "101" + "1" + "1" + u_bits(9, 8) + u_bits(16, 8) + u_bits(9, 8)
    vui += "1" + ue_bits(2) + ue_bits(3)  # chroma location
    vui += "1" + u_bits(1001, 32) + u_bits(60000, 32) + "1"
    vui += "1" + hrd + "1" + hrd + "0" + "1"
    vui += "1" + "1" + "".join(map(ue_bits, (0, 0, 16, 16, 2, 4)))
    sps = parse_sequence_parameter_set(h264_syntax.sps(vui=vui))
    assert sps.vui is not None
    assert (sps.vui.sar_width, sps.vui.sar_height) == (4, 3)
    assert (sps.vui.colour_primaries, sps.vui.matrix_coefficients) == (9, 9)
    assert (sps.vui.num_units_in_tick, sps.vui.time_scale) == (1001, 60000)
    assert sps.vui.bitstream_restriction is not None
    assert sps.vui.bitstream_restriction.max_num_reorder_frames == 2
    assert sps.vui.bitstream_restriction.max_dec_frame_buffering == 4


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"identifier": 32}, "seq_parameter_set_id .* is 32, expected at most 31"),
        ({"log2_max_frame_num": 17}, "log2_max_frame_num_minus4 .* is 13"),
        ({"pic_order_cnt_type": 3}, "pic_order_cnt_type .* is 3, expected at most 2"),
        ({"log2_max_pic_order_cnt_lsb": 17}, "log2_max_pic_order_cnt_lsb_minus4 .* is 13"),
        ({"max_num_ref_frames": 17}, "max_num_ref_frames .* is 17, expected at most 16"),
        ({"width_in_mbs": 1056}, "pic_width_in_mbs_minus1 .* is 1055"),
        ({"width_in_mbs": 1055, "height_in_map_units": 1055}, "is 1113025, .* 139264 macroblocks"),
        ({"crop": (24, 24, 0, 0)}, "after cropping .* is 0x64"),
        ({"crop": (0, 0, 0, 2**31)}, "after cropping .* is 96x-"),
        ({"pic_order_cnt_type": 1, "type_1": (True, 0, 0, (0,) * 256)}, "cycle .* is 256"),
    ],
)
def test_values_outside_their_range(fields: dict, message: str) -> None:
    with pytest.raises(BitstreamError, match=message):
        parse_sequence_parameter_set(h264_syntax.sps(**fields))


def test_separate_colour_planes_and_slice_groups_are_refused() -> None:
    high = ue_bits(3) + "1" + ue_bits(0) + ue_bits(0) + "0" + "0"
    with pytest.raises(UnsupportedStreamError) as refused:
        parse_sequence_parameter_set(h264_syntax.sps(profile_idc=244, high=high))
    assert refused.value.kind == "separate colour planes"
    with pytest.raises(UnsupportedStreamError) as refused:
        parse_picture_parameter_set(h264_syntax.pps(slice_groups=2))
    assert refused.value.kind == "flexible macroblock ordering"


def test_an_id_keeps_its_content() -> None:
    sets = ParameterSets()
    sets.add_sequence_parameter_set(h264_syntax.sps())
    sets.add_sequence_parameter_set(h264_syntax.sps() + b"\0")  # trailing zeros are no content
    sets.add_sequence_parameter_set(h264_syntax.sps(identifier=1, max_num_ref_frames=5))
    sets.add_picture_parameter_set(h264_syntax.pps())
    sets.add_picture_parameter_set(h264_syntax.pps())
    sets.add_picture_parameter_set(h264_syntax.pps(identifier=7, sps_identifier=1))
    pps, sps = sets.activate(7)
    assert (pps.pic_parameter_set_id, sps.max_num_ref_frames) == (7, 5)
    for add, changed in (
        (sets.add_sequence_parameter_set, h264_syntax.sps(max_num_ref_frames=5)),
        (sets.add_picture_parameter_set, h264_syntax.pps(active=(2, 1))),
    ):
        with pytest.raises(UnsupportedStreamError, match="0 comes again with other") as refused:
            add(changed)
        assert refused.value.kind == "parameter sets that change"


def test_ids_that_are_not_there() -> None:
    sets = ParameterSets()
    with pytest.raises(BitstreamError, match=r"pic_parameter_set_id is 3, the stream has \[\]"):
        sets.activate(3)
    sets.add_picture_parameter_set(h264_syntax.pps(identifier=3, sps_identifier=4))
    with pytest.raises(BitstreamError, match=r"seq_parameter_set_id is 4, the stream has \[\]"):
        sets.activate(3)


@given(st.binary(max_size=80), st.sampled_from([b"\x67\x64\x00\x1f", b"\x67\x42\x00\x1f", b"\x68"]))
def test_any_bytes_are_read_or_refused(data: bytes, start: bytes) -> None:
    parse = parse_picture_parameter_set if start == b"\x68" else parse_sequence_parameter_set
    with contextlib.suppress(BitstreamError, UnsupportedStreamError):
        parse(start + data)
