"""Rewritten H.264 closures: the bits by hand, and what is refused."""

import pytest
from bitstream import h264_syntax
from bitstream.h264_syntax import B, I, P, coded_slice, nal_unit, unit
from hypothesis import given
from hypothesis import strategies as st

from videoformat.bitstream.bits import BitReader, bits_to_bytes, se_bits, u_bits, ue_bits
from videoformat.bitstream.closure import ClosurePicture
from videoformat.bitstream.h264_parameter_sets import ParameterSets
from videoformat.bitstream.h264_rewrite import H264Rewriter
from videoformat.bitstream.h264_rewrite_slice import PictureHeader, rewrite_slice
from videoformat.bitstream.h264_rewrite_sps import rewrite_sequence_parameter_set
from videoformat.bitstream.h264_slice import parse_slice_header, parse_slice_header_bits
from videoformat.bitstream.h264_sps import parse_sequence_parameter_set
from videoformat.bitstream.nal import escape, split_annexb, unescape
from videoformat.errors import DataError, UnsupportedStreamError

SPS, PPS = h264_syntax.sps(), h264_syntax.pps()
IDR = coded_slice(I, 0, 0, idr=True)
DATA = "1" * 16  # the slice data that h264_syntax writes


def picture(position: int, order_count: int, lists, *slices: bytes) -> ClosurePicture:
    return ClosurePicture(position, order_count, tuple(map(tuple, lists)), unit(*slices))


def rewrite(*pictures: ClosurePicture, sps: bytes = SPS, pps: bytes = PPS) -> list[bytes]:
    """The only NAL unit of each rewritten picture."""
    rewritten = H264Rewriter(unit(sps, pps)).rewrite(pictures)
    return [each for access_unit in rewritten for each in split_annexb(access_unit)]


def by_hand(header: int, bits: str) -> bytes:
    return nal_unit(header, bits.replace(" ", ""))


# Each vector: first_mb, slice_type, pps id | frame_num | ... as the comment above it says.
ZEROS = u_bits(0, 16)


def test_an_idr_picture() -> None:
    # frame_num 0 | idr_pic_id 1 (the first that is written) | lsb 0 | marking 00 | qp 0
    [got] = rewrite(picture(0, 0, [], IDR))
    assert got == by_hand(0x65, f"1 011 1 {ZEROS} 010 {ZEROS} 00 1 {DATA}")


def test_an_intra_picture_becomes_an_idr_picture() -> None:
    # It was frame 5 with order count 40; nal_unit_type 1 becomes 5, nal_ref_idc 0 becomes 1.
    [got] = rewrite(picture(9, 40, [], coded_slice(I, 5, 40, reference=False)))
    assert got == by_hand(0x25, f"1 011 1 {ZEROS} 010 {ZEROS} 00 1 {DATA}")


def test_idr_pic_id_alternates() -> None:
    got = rewrite(*(picture(at, 0, [], coded_slice(I, 0, 0, idr=True)) for at in (0, 5, 7)))
    assert [parse_slice_header(each, wide()).idr_pic_id for each in got] == [1, 0, 1]


def wide(pps: bytes = PPS, sps: bytes = SPS) -> ParameterSets:
    sets = ParameterSets()
    sets.add_sequence_parameter_set(
        rewrite_sequence_parameter_set(parse_sequence_parameter_set(sps))
    )
    sets.add_picture_parameter_set(pps)
    return sets


def test_frame_num_becomes_dense_and_order_counts_keep_their_differences() -> None:
    # Frame 7 with order count 30 after the IDR picture at 16 (lsb 30 of 6 bits is 30).
    got = rewrite(
        picture(3, 16, [], coded_slice(I, 4, 16)),
        picture(6, 30, [[3]], coded_slice(P, 7, 30)),
    )
    # frame_num 1 | lsb 14 | override 0 | modification 1, idc 0, 1 less, end | no marking: it is
    # not referenced, so nal_ref_idc is 0 | qp
    assert got[1] == by_hand(0x01, f"1 1 1 {u_bits(1, 16)} {u_bits(14, 16)} 0 1 1 1 00100 1 {DATA}")


def test_a_reference_that_is_done_with_is_unmarked() -> None:
    got = rewrite(
        picture(0, 0, [], IDR),
        picture(2, 8, [[0]], coded_slice(P, 1, 8)),
        picture(5, 12, [[2]], coded_slice(P, 2, 12)),
    )
    # The IDR picture's last use is picture 2: adaptive marking 1, operation 1, 1 - 0 - 1, end.
    assert got[1] == by_hand(
        0x61, f"1 1 1 {u_bits(1, 16)} {u_bits(8, 16)} 0 1 1 1 00100 1 010 1 1 1 {DATA}"
    )
    assert got[2][0] == 0x01


def test_a_reference_that_is_needed_again_stays() -> None:
    got = rewrite(
        picture(0, 0, [], IDR),
        picture(2, 8, [[0]], coded_slice(P, 1, 8)),
        picture(5, 4, [[0], [2]], coded_slice(B, 2, 4, reference=False, active=(1, 1))),
    )
    # Sliding window: adaptive marking 0.
    assert got[1] == by_hand(
        0x61, f"1 1 1 {u_bits(1, 16)} {u_bits(8, 16)} 0 1 1 1 00100 0 1 {DATA}"
    )
    # direct_spatial 1 | override 1: 1 and 1 | list 0: 2 less | list 1: 1 less
    assert got[2] == by_hand(
        0x01,
        f"1 010 1 {u_bits(2, 16)} {u_bits(4, 16)} 1 1 1 1 1 1 010 00100 1 1 1 00100 1 {DATA}",
    )


def test_lists_are_spelled_out() -> None:
    slices = [IDR, *(coded_slice(P, n, 2 * n) for n in range(1, 4))]
    pictures = [picture(0, 0, [], slices[0])]
    pictures += [picture(n, 2 * n, [[n - 1]], slices[n]) for n in range(1, 4)]
    last = coded_slice(P, 4, 8, active=(4,), modifications=(((0, 1),),))
    # frame_num 4 names 0, 2, 2, 3: 4 less | 2 more | 65536 less | 1 more
    got = rewrite(*pictures, picture(4, 8, [[0, 2, 2, 3]], last))[4]
    modification = f"1  1 00100  010 010  1 {ue_bits(65535)}  010 1  00100"
    assert got == by_hand(
        0x01, f"1 1 1 {u_bits(4, 16)} {u_bits(8, 16)} 1 00100 {modification} 1 {DATA}"
    )


def test_lists_and_marking_across_the_wrap_of_frame_num() -> None:
    # Too many pictures for a test, so one slice is written as the 65,538th reference picture.
    parameter_sets = ParameterSets()
    parameter_sets.add_sequence_parameter_set(SPS)
    parameter_sets.add_picture_parameter_set(PPS)
    old = coded_slice(P, 1, 2, active=(2,), operations=())
    header, bits = parse_slice_header_bits(old, parameter_sets)
    new = PictureHeader(2, 1, None, 7, 0, unmarked=(65535,))
    got = rewrite_slice(old, header, bits, new, [[65535, 0]])
    # frame_num 1 names 65535: 2 less, then 0: 1 more | operation 1: 1 - 65535 is 2, less 1
    lists = "1  1 010  010 1  00100"
    expected = f"1 1 1 {u_bits(1, 16)} {u_bits(7, 16)} 1 010 {lists} 1 010 010 1 1 {DATA}"
    assert got == by_hand(0x41, expected)
    again = parse_slice_header(got, wide())
    assert again.ref_pic_list_modification == (((0, 2), (1, 1)),)
    assert again.memory_management_control_operations == ((1, 1),)


def test_the_order_count_of_the_bottom_field() -> None:
    pps = h264_syntax.pps(bottom_field_present=True)
    got = rewrite(
        picture(0, -1, [], coded_slice(I, 0, 0, idr=True, delta=(-1,))),
        picture(1, 5, [[0]], coded_slice(P, 1, 6, delta=(-1,))),
        picture(2, 9, [[0]], coded_slice(P, 2, 9, delta=(3,))),
        pps=pps,
    )
    # The smaller count is that of the frame: the IDR picture's becomes 0, so its top field's is 1.
    headers = [parse_slice_header(each, wide(pps)) for each in got]
    assert [header.pic_order_cnt_lsb for header in headers] == [1, 7, 10]
    assert [header.delta_pic_order_cnt_bottom for header in headers] == [-1, -1, 3]


def test_a_closure_that_leads_over_its_first_picture_is_refused() -> None:
    """It would follow an IDR picture and precede it in output order, which decoders call broken."""
    with pytest.raises(UnsupportedStreamError, match="leads over its first picture"):
        rewrite(
            picture(3, 16, [], coded_slice(I, 4, 16)),
            picture(4, 14, [[3]], coded_slice(P, 5, 14, reference=False)),
        )


def test_an_intra_picture_that_a_later_one_leads_over_is_no_idr_picture() -> None:
    got = rewrite(
        picture(0, 0, [], coded_slice(I, 0, 0, idr=True)),
        picture(1, 4, [], coded_slice(I, 1, 4)),
        picture(2, 8, [], coded_slice(I, 2, 8)),
        picture(3, 6, [[2]], coded_slice(P, 3, 6, reference=False)),
    )
    headers = [parse_slice_header(each, wide()) for each in got]
    assert [header.is_idr for header in headers] == [True, True, False, False]
    assert [header.pic_order_cnt_lsb for header in headers] == [0, 0, 4, 2]


def test_order_counts_are_told_from_that_of_the_last_reference() -> None:
    sps = h264_syntax.sps(log2_max_pic_order_cnt_lsb=16)
    wide_lsb = {"log2_max_pic_order_cnt_lsb": 16}
    got = rewrite(
        picture(0, 0, [], coded_slice(I, 0, 0, idr=True, **wide_lsb)),
        picture(1, 30000, [[0]], coded_slice(P, 1, 30000, reference=False, **wide_lsb)),
        picture(2, -5000, [[0]], coded_slice(P, 1, 60536, reference=False, **wide_lsb)),
        sps=sps,
    )
    headers = [parse_slice_header(each, wide(sps=sps)) for each in got]
    assert [header.pic_order_cnt_lsb for header in headers] == [0, 30000, 60536]


def test_zeros_on_both_sides_of_the_seam() -> None:
    # The old header ends in a byte of zeros, so that the first zero of the slice data and the 1
    # after it are kept apart by a 3; the new header ends elsewhere, where no 3 may be.
    pps = h264_syntax.pps(entropy_coding_mode_flag=True)
    for log2_max_frame_num in range(4, 12):
        bits = "1" * 3 + u_bits(1, log2_max_frame_num) + u_bits(2, 6) + "00" + "0" + "1"
        bits += se_bits(128)
        if len(bits) % 8 == 0:
            break
    old = escape(b"\x41" + bits_to_bytes(bits) + b"\0\1\x80")
    assert old.endswith(b"\0\0\3\1\x80")
    got = rewrite(
        picture(0, 0, [], coded_slice(I, 0, 0, idr=True, log2_max_frame_num=log2_max_frame_num)),
        picture(1, 2, [[0]], old),
        sps=h264_syntax.sps(log2_max_frame_num=log2_max_frame_num),
        pps=pps,
    )[1]
    assert got.endswith(b"\0\1\x80")


def test_frames_of_an_interlaced_sequence_keep_field_pic_flag() -> None:
    sps = h264_syntax.sps(frame_mbs_only_flag=False, mb_adaptive_frame_field_flag=True)
    [got] = rewrite(picture(0, 0, [], coded_slice(I, 0, 0, idr=True, field=False)), sps=sps)
    assert got == by_hand(0x65, f"1 011 1 {ZEROS} 0 010 {ZEROS} 00 1 {DATA}")


def test_what_lies_between_is_copied() -> None:
    # redundant_pic_cnt and the weights.
    pps = h264_syntax.pps(weighted_pred_flag=True, redundant=True)
    weights = ue_bits(5) + ue_bits(4) + "1" + se_bits(30) + se_bits(-7) + "0"
    got = rewrite(
        picture(0, 0, [], coded_slice(I, 0, 0, idr=True, redundant_pic_cnt=0)),
        picture(1, 2, [[0]], coded_slice(P, 1, 2, redundant_pic_cnt=0, weights=weights)),
        pps=pps,
    )
    assert got[1] == by_hand(
        0x01, f"1 1 1 {u_bits(1, 16)} {u_bits(2, 16)} 1 0 1 1 1 00100 {weights} 1 {DATA}"
    )


def test_each_slice_has_its_lists() -> None:
    slices = (
        coded_slice(I, 2, 4),
        coded_slice(P, 2, 4, first_mb=3, active=(2,)),
        coded_slice(P, 2, 4, first_mb=9),
    )
    got = rewrite(
        picture(0, 0, [], IDR),
        picture(1, 2, [[0]], coded_slice(P, 1, 2)),
        picture(2, 4, [[1, 0], [1]], *slices),
    )
    headers = [parse_slice_header(each, wide()) for each in got[2:]]
    assert [header.ref_pic_list_modification for header in headers] == [
        (),
        (((0, 1), (0, 1)),),
        (((0, 1),),),
    ]
    assert [header.first_mb_in_slice for header in headers] == [0, 3, 9]


@pytest.mark.parametrize("entropy_coding_mode_flag", [False, True])
@given(
    data=st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 255]), max_size=24).map(bytes),
    modified=st.integers(0, 3),
    zero_words=st.integers(0, 2),
)
def test_slice_data_is_not_touched(
    entropy_coding_mode_flag: bool, data: bytes, modified: int, zero_words: int
) -> None:
    # Zeros at the seam between header and data are where emulation prevention can go wrong.
    pps = h264_syntax.pps(entropy_coding_mode_flag=entropy_coding_mode_flag)
    sets = ParameterSets()
    sets.add_sequence_parameter_set(SPS)
    sets.add_picture_parameter_set(pps)
    modifications = (((0, 0), *((0, 15),) * modified),)
    cabac = "1" if entropy_coding_mode_flag else ""  # cabac_init_idc
    bits = ue_bits(0) * 3 + u_bits(1, 4) + u_bits(2, 6) + "1" + ue_bits(modified) + "1"
    bits += "".join(ue_bits(idc) + ue_bits(operand) for idc, operand in modifications[0])
    bits += ue_bits(3) + "0" + cabac + se_bits(0)
    if entropy_coding_mode_flag:
        bits += "1" * (-len(bits) % 8)
    payload = "".join(f"{octet:08b}" for octet in data)
    bits += payload + "1"
    bits += "0" * (-len(bits) % 8)
    rbsp = bits_to_bytes(bits) + b"\0\0" * (zero_words if entropy_coding_mode_flag else 0)
    original = escape(b"\x41" + rbsp)
    lists = [[0] * (1 + modified)]
    got = rewrite(
        picture(0, 0, [], IDR if not cabac else coded_slice(I, 0, 0, idr=True)),
        picture(1, 2, lists, original),
        pps=pps,
    )[1]
    header, _ = parse_slice_header_bits(got, wide(pps))
    end = header.positions.end
    rewritten = BitReader(unescape(got[1:])).bits
    if entropy_coding_mode_flag:
        end += -end % 8
        assert (
            rewritten[end:] == (payload + "1").ljust(len(payload) + 8, "0") + "0" * 16 * zero_words
        )
    else:
        assert rewritten[end:].rstrip("0") == payload + "1"
    assert escape(unescape(got)) == got  # emulation prevention is where it must be, and only there


def test_the_version_of_the_encoder_comes_first() -> None:
    version = nal_unit(
        0x06,
        f"{5:08b}{38:08b}"
        + "0" * 128
        + "".join(f"{c:08b}" for c in b"x264 - core 164 r3108"[:22].ljust(22)),
    )
    for configuration, access_unit in (
        (unit(version, SPS, PPS), unit(IDR)),
        (unit(SPS, PPS), unit(SPS, PPS, version, IDR)),
    ):
        rewriter = H264Rewriter(configuration)
        assert split_annexb(rewriter.configuration)[1:] == [PPS]
        pictures = [ClosurePicture(at, 0, (), access_unit) for at in (0, 1)]
        first, second = rewriter.rewrite(pictures)
        assert split_annexb(first)[0] == version
        assert [each[0] & 31 for each in split_annexb(second)] == [5]


def test_framing_by_length() -> None:
    record = b"\1\x4d\0\x1e\xff\xe1" + len(SPS).to_bytes(2, "big") + SPS
    record += b"\1" + len(PPS).to_bytes(2, "big") + PPS
    prefixed = len(IDR).to_bytes(4, "big") + IDR
    expected = H264Rewriter(unit(SPS, PPS)).rewrite([picture(0, 0, [], IDR)])
    for rewriter in (H264Rewriter(record), H264Rewriter(unit(SPS, PPS), length_size=4)):
        assert rewriter.rewrite([ClosurePicture(0, 0, (), prefixed)]) == expected


CONTRADICTIONS = [
    (
        "picture 1 references 0, which the closure does not hold",
        [(1, 2, [[0]], coded_slice(P, 1, 2))],
    ),
    (
        "picture 2 references 1, which the closure does not hold .* it holds \\[\\]",
        [(0, 0, [], IDR), (2, 4, [[1]], coded_slice(P, 2, 4))],
    ),
    (
        "has a reference list of 2 entries, its slice header says 1",
        [(0, 0, [], IDR), (1, 2, [[0, 0]], coded_slice(P, 1, 2))],
    ),
    (
        "has a reference list of 0 entries, its slice header says 1",
        [(0, 0, [], IDR), (1, 2, [], coded_slice(P, 1, 2))],
    ),
    (
        "has 2 reference lists, more than its 1 slices use",
        [(0, 0, [], IDR), (1, 2, [[0], [0]], coded_slice(P, 1, 2))],
    ),
    (
        "has order count 3, pic_order_cnt_lsb of its slice header is 2",
        [(0, 3, [], coded_slice(I, 0, 2))],
    ),
    ("picture 4 follows 4", [(4, 0, [], IDR), (4, 0, [], IDR)]),
    ("picture 0 has no slice", [(0, 0, [], nal_unit(9, "111"))]),
    (
        "picture 1 is referenced, but nal_ref_idc is 0",
        [
            (0, 0, [], IDR),
            (1, 2, [[0]], coded_slice(P, 1, 2, reference=False)),
            (2, 4, [[1]], coded_slice(P, 1, 4)),
        ],
    ),
    (
        "a picture after IDR picture 1 names \\[0\\]",
        [(0, 0, [], IDR), (1, 0, [], IDR), (2, 4, [[0]], coded_slice(P, 1, 4))],
    ),
    (
        "picture 4 makes 5 reference frames, max_num_ref_frames is 4",
        [
            (0, 0, [], IDR),
            *((n, 2 * n, [[0]], coded_slice(P, n, 2 * n)) for n in range(1, 5)),
            (5, 10, [[0, 1, 2, 3, 4]], coded_slice(P, 5, 10, active=(5,))),
        ],
    ),
]


@pytest.mark.parametrize(("message", "pictures"), CONTRADICTIONS)
def test_rows_that_contradict_the_bytes(message: str, pictures) -> None:
    with pytest.raises(DataError, match=message):
        rewrite(*(picture(*each) for each in pictures))


def test_what_cannot_be_exact_is_refused() -> None:
    wide_lsb = {"log2_max_pic_order_cnt_lsb": 16}
    far = [
        picture(0, 0, [], coded_slice(I, 0, 0, idr=True, **wide_lsb)),
        picture(9, 32768, [[0]], coded_slice(P, 1, 32768, **wide_lsb)),
    ]
    with pytest.raises(UnsupportedStreamError) as refused:
        rewrite(*far, sps=h264_syntax.sps(**wide_lsb))
    assert refused.value.kind == "order counts too far apart"
    fields = {"frame_mbs_only_flag": False, "mb_adaptive_frame_field_flag": True}
    sps = h264_syntax.sps(pic_order_cnt_type=1, type_1=(True, 0, 1, ()), **fields)
    with pytest.raises(UnsupportedStreamError) as refused:
        rewrite(picture(0, 0, [], coded_slice(I, 0, idr=True, field=False)), sps=sps)
    assert refused.value.kind == "field order counts without delta_pic_order_cnt_bottom"
