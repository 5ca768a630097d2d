"""Order counts of H.264: worked by hand for the three types, and as FFmpeg's decoder has them."""

import pytest
from bitstream import h264_syntax
from bitstream.h264_oracle import oracle
from bitstream.h264_streams import stream
from bitstream.h264_syntax import B, I, P, coded_slice

from videoformat.bitstream.bits import BitReader, bits_to_bytes, se_bits, ue_bits
from videoformat.bitstream.h264 import H264Indexer
from videoformat.bitstream.h264_order_count import OrderCounter
from videoformat.bitstream.h264_parameter_sets import ParameterSets
from videoformat.bitstream.h264_slice import parse_slice_header
from videoformat.bitstream.h264_sps import parse_sequence_parameter_set
from videoformat.bitstream.nal import escape, split_annexb, to_annexb, unescape
from videoformat.errors import BitstreamError


def order_counts(slices: list[bytes], sps: dict, pps: dict | None = None) -> list[int]:
    parameter_sets = ParameterSets()
    parameter_sets.add_sequence_parameter_set(h264_syntax.sps(**sps))
    parameter_sets.add_picture_parameter_set(h264_syntax.pps(**(pps or {})))
    counter = OrderCounter()
    return [counter.next(parse_slice_header(unit, parameter_sets)) for unit in slices]


def test_type_0_wraps_both_ways() -> None:
    # 16 values of lsb. A non-reference picture leaves the previous msb and lsb as they were.
    bits = {"log2_max_pic_order_cnt_lsb": 4}
    slices = [
        coded_slice(I, 0, 0, idr=True, **bits),
        coded_slice(P, 1, 7, **bits),  # 7
        coded_slice(P, 2, 15, **bits),  # 15: 8 more, not above half
        coded_slice(P, 3, 6, **bits),  # 22: 9 less, at least half
        coded_slice(B, 4, 15, reference=False, **bits),  # 15: 9 more, above half, so it is before
        coded_slice(B, 4, 14, **bits),  # 30: 8 more than 6 is not above half
        coded_slice(I, 0, 2, idr=True, **bits),
        coded_slice(B, 1, 15, **bits),  # 2 -> 15: 13 more: before the IDR picture, -1
    ]
    assert order_counts(slices, {"log2_max_pic_order_cnt_lsb": 4}) == [
        0,
        7,
        15,
        22,
        15,
        30,
        2,
        -1,
    ]


def test_type_0_at_half_the_range() -> None:
    # Equation 8-3: 8 less is a wrap, 8 more is none.
    bits = {"log2_max_pic_order_cnt_lsb": 4}
    slices = [coded_slice(I, 0, 0, idr=True, **bits)]
    slices += [coded_slice(P, n + 1, lsb, **bits) for n, lsb in enumerate((8, 9, 1, 9, 0))]
    assert order_counts(slices, bits) == [0, 8, 9, 17, 25, 32]


def test_a_frame_has_the_smaller_count_of_its_fields() -> None:
    slices = [
        coded_slice(I, 0, 0, idr=True, delta=(0,)),
        coded_slice(P, 1, 8, delta=(1,)),
        coded_slice(P, 2, 12, delta=(-1,)),
    ]
    assert order_counts(slices, {}, {"bottom_field_present": True}) == [0, 8, 11]


def test_type_1() -> None:
    # A cycle of three reference frames, 4 + 6 + 8 = 18 long; a non-reference picture is 3 before
    # the place of a reference frame with its frame_num; FrameNumOffset grows by 16.
    sps = {"pic_order_cnt_type": 1, "type_1": (False, -3, 1, (4, 6, 8))}
    slices = [
        coded_slice(I, 0, idr=True, delta=(0,)),  # absFrameNum 0
        coded_slice(P, 1, delta=(0,)),  # 4
        coded_slice(P, 2, delta=(5,)),  # 4 + 6 and delta 5
        coded_slice(B, 3, reference=False, delta=(0,)),  # absFrameNum 3 - 1 -> 10 - 3
        coded_slice(P, 3, delta=(0,)),  # 18
        coded_slice(P, 4, delta=(-2,)),  # 18 + 4 - 2
        coded_slice(P, 15, delta=(0,)),  # 15 = 5 cycles: 90
        coded_slice(P, 0, delta=(0,)),  # 16: 90 + 4
    ]
    assert order_counts(slices, sps) == [0, 4, 15, 7, 18, 20, 90, 94]
    # The bottom field is 1 after the top one, unless delta_pic_order_cnt[1] says otherwise.
    slices = [coded_slice(I, 0, idr=True, delta=(0, -3)), coded_slice(P, 1, delta=(0, 4))]
    assert order_counts(slices, sps, {"bottom_field_present": True}) == [-2, 4]
    # Without a cycle only the deltas count.
    sps = {"pic_order_cnt_type": 1, "type_1": (False, -3, 0, ())}
    slices = [
        coded_slice(I, 0, idr=True, delta=(0,)),
        coded_slice(P, 1, delta=(9,)),
        coded_slice(B, 2, reference=False, delta=(6,)),
    ]
    assert order_counts(slices, sps) == [0, 9, 3]


def test_type_2_is_decode_order() -> None:
    slices = [
        coded_slice(I, 0, idr=True),
        coded_slice(P, 1),
        coded_slice(P, 2, reference=False),
        coded_slice(P, 2),
        coded_slice(P, 15),
        coded_slice(P, 0, reference=False),
        coded_slice(P, 0),
    ]
    assert order_counts(slices, {"pic_order_cnt_type": 2}) == [0, 2, 3, 4, 30, 31, 32]


def test_order_counts_have_32_bits() -> None:
    sps = {"pic_order_cnt_type": 1, "type_1": (False, 0, 0, (2**31 - 1,))}
    assert order_counts([coded_slice(P, 1, delta=(0,))], sps) == [2**31 - 1]
    with pytest.raises(BitstreamError, match="order count is 2147483648, expected 32 bits"):
        order_counts([coded_slice(P, 1, delta=(1,))], sps)


@pytest.mark.parametrize("name", ["default", "many B", "open GOP", "MBAFF", "no B"])
def test_types_0_and_2_as_ffmpeg_has_them(name: str) -> None:
    access_units = stream(name).access_units
    indexer = H264Indexer()
    pictures = [indexer.push(access_unit)[0] for access_unit in access_units]
    assert [picture.order_count for picture in pictures] == [
        picture.order_count for picture in oracle(access_units)
    ]


def test_type_1_as_ffmpeg_has_it() -> None:
    # x264 has no type 1. Without B pictures it writes type 2, whose slice headers are those of type
    # 1 with delta_pic_order_always_zero_flag: only the SPS changes.
    access_units = list(stream("no B").access_units)
    units = split_annexb(access_units[0])
    index = next(at for at, unit in enumerate(units) if unit[0] & 31 == 7)
    sps = parse_sequence_parameter_set(units[index])
    assert sps.pic_order_cnt_type == 2
    bits = BitReader(unescape(units[index][1:])).bits
    cycle = (4, 6, 2)
    type_1 = ue_bits(1) + "1" + se_bits(-2) + se_bits(1) + ue_bits(3) + "".join(map(se_bits, cycle))
    bits = (
        bits[: sps.positions.log2_max_frame_num_minus4]
        + ue_bits(sps.log2_max_frame_num - 4)
        + type_1
        + bits[sps.positions.max_num_ref_frames : sps.positions.end]
        + "1"
    )
    bits += "0" * (-len(bits) % 8)
    units[index] = escape(units[index][:1] + bits_to_bytes(bits))
    access_units[0] = to_annexb(units)
    indexer = H264Indexer()
    pictures = [indexer.push(access_unit)[0] for access_unit in access_units]
    counts = [picture.order_count for picture in pictures]
    assert counts == [picture.order_count for picture in oracle(access_units)]
    assert counts[:5] == [0, 4, 10, 12, 16]
