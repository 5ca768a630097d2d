"""AV1 sequence headers: worked by hand, written by an independent writer, and as FFmpeg reads them."""

from dataclasses import replace

import pytest
from bitstream.av1_streams import SETTINGS, stream
from bitstream.av1_syntax import SequenceHeader, by_hand, elements, trailing
from bitstream.trace import trace
from hypothesis import given
from hypothesis import strategies as st

from videoformat.bitstream.av1_color import Av1ColorConfig
from videoformat.bitstream.av1_sequence import (
    Av1DecoderModelInfo,
    Av1OperatingPoint,
    Av1SequenceHeader,
    Av1TimingInfo,
    parse_sequence_header,
)
from videoformat.errors import BitstreamError


def test_a_header_by_hand() -> None:
    # The sequence header of a 640x480 file of SVT-AV1, bit by bit.
    bits = by_hand(
        "000 0 0 0 0 00000",  # profile 0, not still, no timing, no delays, one operating point
        "000000000000 00100",  # idc 0, level 4
        "1001 1000 1001111111 111011111",  # 10 and 9 bits: 639, 479
        "0 0 0 0",  # no frame ids, 64x64 superblocks, no filter intra, no intra edge filter
        "0 0 0 0 1 0 1",  # order hints and motion field references
        "1 1 110",  # screen content and integer vectors by frame; 7-bit order hints
        "0 0 0",  # no super-resolution, CDEF, restoration
        "0 0 0 0 00 0",  # 8 bits, colour, no description, limited range, unknown position
        "0",  # no film grain
    )
    header = parse_sequence_header(trailing(bits))
    assert (header.max_frame_width, header.max_frame_height) == (640, 480)
    assert (header.frame_width_bits, header.frame_height_bits) == (10, 9)
    assert header.operating_points == (Av1OperatingPoint(0, 4, 0, False, None, None),)
    assert header.order_hint_bits == 7
    assert header.enable_ref_frame_mvs
    assert not header.enable_jnt_comp
    assert not header.frame_id_numbers_present_flag
    assert (header.seq_force_screen_content_tools, header.seq_force_integer_mv) == (2, 2)
    assert header.color_config == Av1ColorConfig(8, False, 2, 2, 2, 0, 1, 1, 0, False)
    assert not header.film_grain_params_present
    assert header.frame_presentation_time_length == 0


def test_a_header_with_everything_by_hand() -> None:
    bits = by_hand(
        "010 0 0",  # profile 2
        "1" + f"{1001:032b}{60000:032b}" + "1 00100",  # equal intervals of uvlc 3 + 1 ticks
        "1 01001" + f"{7:032b}" + "00100 00011",  # decoder model: 10, 7, 5 and 4 bits
        "1 00001",  # display delays, two operating points
        "000100000011 01000 1 1" + f"{5:010b}{6:010b}" + "1 1 0011",
        "000100000001 00111 0 0",
        "1111 1111" + f"{95:016b}{63:016b}",
        "1 0010 011",  # frame ids: deltas of 4 bits, ids of 4 + 4
        "1 1 1 1 1 1 1",
        "1 1 1",
        "0 1 0 1 000",  # forced screen content tools and integer vectors, 1-bit hints
        "1 1 1",
        "1 1 0 1 00001001 00010000 00001001 1 1 1 10 1",  # 12 bits, PQ, full, 4:2:0 co-located
        "1",
    )
    header = parse_sequence_header(trailing(bits))
    assert header.seq_profile == 2
    assert header.timing_info == Av1TimingInfo(1001, 60000, True, 3)
    assert header.decoder_model_info == Av1DecoderModelInfo(9, 7, 4, 3)
    assert [point.operating_point_idc for point in header.operating_points] == [0x103, 0x101]
    assert header.operating_points[0].operating_parameters_info == (5, 6, True)
    assert header.operating_points[0].seq_tier == 1
    assert header.operating_points[0].initial_display_delay_minus_1 == 3
    assert header.operating_points[1] == Av1OperatingPoint(0x101, 7, 0, False, None, None)
    assert (header.delta_frame_id_length, header.id_length) == (4, 8)
    assert header.use_128x128_superblock
    assert header.enable_superres
    assert (header.seq_force_screen_content_tools, header.seq_force_integer_mv) == (1, 1)
    assert header.order_hint_bits == 1
    assert header.color_config == Av1ColorConfig(12, False, 9, 16, 9, 1, 1, 1, 2, True)
    assert header.film_grain_params_present
    # temporal_point_info is not coded where pictures are equally spaced.
    assert header.frame_presentation_time_length == 0


@pytest.mark.parametrize(
    ("profile", "color", "expected"),
    [
        # mono_chrome: only color_range follows the description.
        (0, "1 1 0 1", Av1ColorConfig(10, True, 2, 2, 2, 1, 1, 1, 0, False)),
        (0, "0 0 0 0 01 1", Av1ColorConfig(8, False, 2, 2, 2, 0, 1, 1, 1, True)),
        # 4:4:4, profile 1 has no mono_chrome.
        (1, "0 0 0 0", Av1ColorConfig(8, False, 2, 2, 2, 0, 0, 0, 0, False)),
        (
            1,
            "1 1 00000001 00001101 00000000 1",
            Av1ColorConfig(10, False, 1, 13, 0, 1, 0, 0, 0, True),
        ),
        # 4:2:2, then 12 bits in 4:4:4, 4:2:2 and 4:2:0.
        (2, "0 0 0 1 0", Av1ColorConfig(8, False, 2, 2, 2, 1, 1, 0, 0, False)),
        (2, "1 0 0 0 0 1", Av1ColorConfig(10, False, 2, 2, 2, 0, 1, 0, 0, True)),
        (2, "1 1 0 0 0 0 0", Av1ColorConfig(12, False, 2, 2, 2, 0, 0, 0, 0, False)),
        (2, "1 1 0 0 0 1 0 0", Av1ColorConfig(12, False, 2, 2, 2, 0, 1, 0, 0, False)),
        (2, "1 1 0 0 0 1 1 10 0", Av1ColorConfig(12, False, 2, 2, 2, 0, 1, 1, 2, False)),
        (2, "1 1 1 0 0", Av1ColorConfig(12, True, 2, 2, 2, 0, 1, 1, 0, False)),
    ],
)
def test_color_configurations(profile: int, color: str, expected: Av1ColorConfig) -> None:
    written = SequenceHeader(seq_profile=profile, color=color.replace(" ", ""), film_grain=True)
    header = parse_sequence_header(written.payload)
    assert header.color_config == expected
    # The flag after it is read at the right place.
    assert header.film_grain_params_present


POINT = st.tuples(
    st.integers(0, 4095),
    st.integers(0, 31),
    st.integers(0, 1),
    st.none() | st.tuples(st.integers(0, 63), st.integers(0, 63), st.integers(0, 1)),
    st.none() | st.integers(0, 15),
)


@st.composite
def sequence_headers(draw: st.DrawFn) -> SequenceHeader:
    """Any sequence header, reduced ones apart."""
    timing = draw(
        st.none()
        | st.tuples(
            st.integers(1, 2**32 - 1), st.integers(1, 2**32 - 1), st.booleans(), st.integers(0, 99)
        )
    )
    model = None
    if timing is not None:
        size = st.integers(1, 32)
        model = draw(st.none() | st.tuples(st.integers(6, 32), st.integers(0, 9), size, size))
    delta = draw(st.integers(2, 12))
    screen_content_tools = draw(st.integers(0, 2))
    return SequenceHeader(
        timing=timing,
        model=model,
        points=draw(st.lists(POINT, min_size=1, max_size=4)),
        width=draw(st.integers(1, 4096)),
        height=draw(st.integers(1, 4096)),
        size_bits=(draw(st.integers(12, 16)), draw(st.integers(12, 16))),
        frame_ids=draw(st.none() | st.just((delta, delta + draw(st.integers(1, 4))))),
        tools=draw(st.text("01", min_size=7, max_size=7)),
        order_hint_bits=draw(st.integers(0, 8)),
        jnt_comp=draw(st.booleans()),
        ref_frame_mvs=draw(st.booleans()),
        screen_content_tools=screen_content_tools,
        integer_mv=draw(st.integers(0, 2)) if screen_content_tools else 2,
        superres=draw(st.booleans()),
        cdef_and_restoration=draw(st.sampled_from(["00", "01", "10", "11"])),
        film_grain=draw(st.booleans()),
    )


@given(sequence_headers())
def test_written_headers_come_back(written: SequenceHeader) -> None:
    header = parse_sequence_header(written.payload)
    assert (header.max_frame_width, header.max_frame_height) == (written.width, written.height)
    assert (header.frame_width_bits, header.frame_height_bits) == tuple(written.size_bits)
    ids = (header.delta_frame_id_length, header.id_length) if written.frame_ids else None
    assert header.frame_id_numbers_present_flag == bool(written.frame_ids)
    assert ids == written.frame_ids
    assert header.frame_presentation_time_length == written.presentation_bits
    assert header.order_hint_bits == written.order_hint_bits
    assert header.enable_ref_frame_mvs == (written.ref_frame_mvs and written.order_hint_bits > 0)
    assert header.seq_force_screen_content_tools == written.screen_content_tools
    assert header.seq_force_integer_mv == written.integer_mv
    assert header.enable_superres == written.superres
    assert header.film_grain_params_present == written.film_grain
    delays = any(point[4] is not None for point in written.points)
    assert [
        (
            point.operating_point_idc,
            point.seq_level_idx,
            point.seq_tier,
            point.operating_parameters_info,
            point.initial_display_delay_minus_1,
        )
        for point in header.operating_points
    ] == [
        (
            idc,
            level,
            tier if level > 7 else 0,
            info if written.model else None,
            delay if delays else None,
        )
        for idc, level, tier, info, delay in written.points
    ]


@given(sequence_headers(), st.data())
def test_any_change_but_of_delays_makes_another_header(
    written: SequenceHeader, data: st.DataObject
) -> None:
    """AV1 7.5: all of it is the same throughout a coded video sequence, but operating parameters."""
    header = parse_sequence_header(written.payload)
    at = data.draw(st.integers(0, 6))
    flipped = "".join(
        "10"[int(bit)] if place == at else bit for place, bit in enumerate(written.tools)
    )
    assert parse_sequence_header(replace(written, tools=flipped).payload) != header
    delayed = replace(
        written,
        points=[
            (idc, level, tier, None if info is None else (9, 9, 0), delay)
            for idc, level, tier, info, delay in written.points
        ],
    )
    assert parse_sequence_header(delayed.payload) == header


def test_reduced_still_picture_header() -> None:
    written = SequenceHeader(still_picture=True, reduced=True, order_hint_bits=0, tools="101")
    header = parse_sequence_header(written.payload)
    assert header.reduced_still_picture_header
    assert header.order_hint_bits == 0
    assert header.use_128x128_superblock
    assert header.enable_intra_edge_filter
    assert not header.enable_filter_intra


@pytest.mark.parametrize("name", SETTINGS)
def test_as_ffmpeg_reads_it(name: str) -> None:
    source = stream(name)
    found = next(unit for unit in trace("av1", source.units[:1])[0] if "Sequence" in unit.title)
    header = source.indexer.sequence_header
    assert header is not None
    assert header.max_frame_width == found["max_frame_width_minus_1"] + 1
    assert header.max_frame_height == found["max_frame_height_minus_1"] + 1
    assert header.order_hint_bits == found["order_hint_bits_minus_1"] + 1
    for element in (
        "seq_profile",
        "still_picture",
        "use_128x128_superblock",
        "enable_filter_intra",
        "enable_intra_edge_filter",
        "enable_interintra_compound",
        "enable_masked_compound",
        "enable_warped_motion",
        "enable_dual_filter",
        "enable_order_hint",
        "enable_jnt_comp",
        "enable_ref_frame_mvs",
        "enable_superres",
        "enable_cdef",
        "enable_restoration",
        "film_grain_params_present",
    ):
        assert getattr(header, element) == found[element], element
    for element in ("color_range", "chroma_sample_position", "separate_uv_delta_q"):
        assert getattr(header.color_config, element) == found[element], element
    assert isinstance(header, Av1SequenceHeader)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b"", "seq_profile"),
        (b"\x60", "seq_profile before bit 3 is 3, expected 0 to 2"),
        (b"\x08", "reduced_still_picture_header"),
        (SequenceHeader().payload[:5], "needs"),
        (
            SequenceHeader(frame_ids=(15, 17)).payload,
            "idLen before bit 77 is 17, expected at most 16",
        ),
        (bytes(20), "trailing_one_bit"),
    ],
)
def test_broken_headers(payload: bytes, message: str) -> None:
    with pytest.raises(BitstreamError, match=message):
        parse_sequence_header(payload)


@given(st.binary(max_size=48))
def test_any_bytes_parse_or_raise(payload: bytes) -> None:
    try:
        header = parse_sequence_header(payload)
    except BitstreamError:
        return
    assert 1 <= len(header.operating_points) <= 32
    assert elements((header.max_frame_width - 1, header.frame_width_bits))
