"""The SPS of rewritten H.264 closures: the bits by hand, and x264's read again."""

from dataclasses import replace

import pytest
from bitstream import h264_syntax
from bitstream.h264_streams import SETTINGS, stream
from bitstream.h264_syntax import nal_unit
from bitstream.trace import trace

from videoformat.bitstream.bits import BitReader, ue_bits
from videoformat.bitstream.h264_rewrite_sps import rewrite_sequence_parameter_set
from videoformat.bitstream.h264_sps import parse_sequence_parameter_set
from videoformat.bitstream.nal import split_annexb, to_annexb, unescape

SPS = h264_syntax.sps()


def test_the_sps_announces_what_a_decoder_would_guess() -> None:
    # Level 3, 24 macroblocks: 8100 / 24 frames, at most 16. No VUI: eight flags of absent parts.
    bits = BitReader(unescape(SPS[1:])).bits
    at = parse_sequence_parameter_set(SPS).positions
    # log2_max_frame_num_minus4 12 | type 0 | log2_max_pic_order_cnt_lsb_minus4 12 | the rest
    expected = bits[: at.log2_max_frame_num_minus4] + "0001101" + "1" + "0001101"
    expected += bits[at.max_num_ref_frames : at.vui_parameters_present_flag]
    # VUI 1, absent parts | restriction 1 | vectors 1 | 0 0 16 16 | reorder 16 | buffering 16
    expected += "1 00000000 1 1 1 1 000010001 000010001 000010001 000010001".replace(" ", "")
    assert rewrite_sequence_parameter_set(parse_sequence_parameter_set(SPS)) == nal_unit(
        0x67, expected
    )


@pytest.mark.parametrize(
    ("fields", "restriction"),
    [
        # Table A-1: 8100 / 1620 = 5 frames at level 3; never less than max_num_ref_frames.
        ({"width_in_mbs": 45, "height_in_map_units": 36}, (5, 5)),
        ({"width_in_mbs": 45, "height_in_map_units": 36, "max_num_ref_frames": 7}, (7, 7)),
        ({"level_idc": 99}, (16, 16)),  # a level that is not known
        ({"pic_order_cnt_type": 2}, (0, 16)),  # nothing to reorder
        ({"vui": "0" * 9}, (16, 16)),  # a VUI without it
        # An announcement stays as it is.
        ({"vui": "0" * 8 + "1" + "1" + "".join(map(ue_bits, (0, 0, 9, 9, 2, 4)))}, (2, 4)),
    ],
)
def test_reordering_is_announced(fields: dict, restriction: tuple[int, int]) -> None:
    sps = parse_sequence_parameter_set(
        rewrite_sequence_parameter_set(parse_sequence_parameter_set(h264_syntax.sps(**fields)))
    )
    assert (sps.log2_max_frame_num, sps.pic_order_cnt_type) == (16, 0)
    assert sps.log2_max_pic_order_cnt_lsb == 16
    announced = sps.vui.bitstream_restriction
    assert (announced.max_num_reorder_frames, announced.max_dec_frame_buffering) == restriction


@pytest.mark.parametrize("name", list(SETTINGS))
def test_the_rewritten_sps_reads_as_before(name: str) -> None:
    units = split_annexb(stream(name).access_units[0])
    sps = parse_sequence_parameter_set(next(each for each in units if each[0] & 31 == 7))
    new = rewrite_sequence_parameter_set(sps)
    changed = parse_sequence_parameter_set(new)
    same = {
        field: getattr(sps, field)
        for field in (
            "nal_unit",
            "log2_max_frame_num",
            "pic_order_cnt_type",
            "log2_max_pic_order_cnt_lsb",
            "positions",
        )
    }
    assert replace(changed, **same) == sps
    [[traced]] = trace("h264", [to_annexb([new])])
    assert traced["log2_max_pic_order_cnt_lsb_minus4"] == 12
