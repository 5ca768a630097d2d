"""AV1 frame headers: written by an independent writer, as FFmpeg reads them, and edited in place."""

from dataclasses import replace

import pytest
from bitstream.av1_streams import SETTINGS, decode, decoder, header_of, stream
from bitstream.av1_syntax import (
    INTER,
    INTRA_ONLY,
    KEY,
    SWITCH,
    Frame,
    SequenceHeader,
    by_hand,
    leb128,
    show_existing,
    trailing,
)
from bitstream.test_av1_sequence import sequence_headers
from bitstream.trace import TracedUnit, trace
from hypothesis import given
from hypothesis import strategies as st

from videoformat.bitstream.av1_frame import Av1FrameHeader, BitField, replace_field
from videoformat.bitstream.av1_header import parse_frame_header
from videoformat.bitstream.av1_references import ReferenceSlot, ReferenceSlots
from videoformat.bitstream.av1_sequence import parse_sequence_header
from videoformat.bitstream.bits import BitReader
from videoformat.errors import BitstreamError, InvalidArgumentError, UnsupportedStreamError

SLOTS = tuple(
    ReferenceSlot(
        position=10 + at,
        frame_id=20 + at,
        frame_type=KEY if at == 3 else INTER,
        order_hint=at,
        upscaled_width=64 + at,
        frame_height=32 + at,
        render_width=50 + at,
        render_height=30 + at,
        showable=at != 5,
    )
    for at in range(8)
)


def parse(
    bits: str, sequence: SequenceHeader, slots: tuple[ReferenceSlot | None, ...] = SLOTS
) -> tuple[Av1FrameHeader, BitReader]:
    reader = BitReader(trailing(bits), "frame header")
    header = parse_frame_header(
        reader, 0, parse_sequence_header(sequence.payload), ReferenceSlots(slots)
    )
    return header, reader


def test_an_inter_frame_by_hand() -> None:
    bits = by_hand(
        "0 01 1 0 1 0",  # inter, shown, not resilient, no CDF update, no screen content tools
        "0 0010001 011 00100000",  # sequence size, order hint 17, primary 3, refreshes slot 5
        "0 000 001 010 011 100 101 110",  # explicit references
        "0 0 1 0 1",  # render size; precision, filter, motion mode; motion fields
    )
    # allow_high_precision_mv 0, is_filter_switchable 1, is_motion_mode_switchable 0.
    header, reader = parse(bits, SequenceHeader())
    assert reader.position == len(bits)
    assert header.frame_type.name == "INTER_FRAME"
    assert header.show_frame
    assert header.showable_frame
    assert not header.error_resilient_mode
    assert header.disable_cdf_update
    assert header.order_hint == 17
    assert header.primary_ref_frame == 3
    assert header.refresh_frame_flags == 0b100000
    assert header.ref_frame_idx == (0, 1, 2, 3, 4, 5, 6)
    assert header.use_ref_frame_mvs
    assert (header.frame_width, header.frame_height) == (96, 64)
    assert header.field("order_hint") == BitField("order_hint", 8, 7)
    assert header.field("primary_ref_frame") == BitField("primary_ref_frame", 15, 3)
    assert header.field("refresh_frame_flags") == BitField("refresh_frame_flags", 18, 8)
    assert header.field("ref_frame_idx", 6) == BitField("ref_frame_idx", 45, 3)
    with pytest.raises(InvalidArgumentError, match=r"ref_frame_idx\[7\]"):
        header.field("ref_frame_idx", 7)
    with pytest.raises(InvalidArgumentError, match="ref_order_hint"):
        header.field("ref_order_hint")


@st.composite
def frames(draw: st.DrawFn, sequence: SequenceHeader) -> Frame:
    """Any frame whose references the slots of this module satisfy."""
    width = sequence.order_hint_bits
    frame_type = draw(st.sampled_from([KEY, INTER, INTRA_ONLY, SWITCH]))
    frame_id = 0
    deltas = (1,) * 7
    indices = tuple(draw(st.lists(st.integers(0, 7), min_size=7, max_size=7)))
    if sequence.frame_ids:
        frame_id = 28
        deltas = tuple(28 - SLOTS[index].frame_id for index in indices)
    hints = tuple(slot.order_hint & ((1 << width) - 1) for slot in SLOTS) if width else ()
    removal_times = None
    if sequence.model is not None:
        count = sum(point[3] is not None and _in_base_layer(point[0]) for point in sequence.points)
        removal_times = draw(st.none() | st.just((0,) * count))
    size = draw(
        st.none() | st.tuples(st.integers(1, sequence.width), st.integers(1, sequence.height))
    )
    found_ref = (
        draw(st.none() | st.integers(0, 6)) if frame_type == INTER and size is None else None
    )
    return Frame(
        frame_type=frame_type,
        show_frame=draw(st.booleans()),
        showable_frame=draw(st.booleans()),
        error_resilient_mode=draw(st.booleans()),
        disable_cdf_update=draw(st.booleans()),
        allow_screen_content_tools=draw(st.integers(0, 1)),
        force_integer_mv=draw(st.integers(0, 1)),
        frame_id=frame_id,
        size=size,
        found_ref=found_ref,
        order_hint=draw(st.integers(0, (1 << width) - 1)),
        primary_ref_frame=draw(st.integers(0, 7)),
        removal_times=removal_times,
        refresh_frame_flags=draw(st.integers(0, 254)),
        ref_order_hint=hints,
        ref_frame_idx=indices,
        delta_frame_ids=deltas,
        coded_denom=draw(st.none() | st.integers(0, 7)) if sequence.superres else None,
        render=draw(st.none() | st.tuples(st.integers(1, 65536), st.integers(1, 65536))),
        use_ref_frame_mvs=draw(st.booleans()),
    )


def _in_base_layer(idc: int) -> bool:
    return idc == 0 or (idc & 1 == 1 and idc >> 8 & 1 == 1)


def fit(sequence: SequenceHeader) -> SequenceHeader:
    """Order hints of 4 bits and frame ids of 8 bits at least hold what the slots say."""
    bits = sequence.order_hint_bits
    ids = sequence.frame_ids
    if ids is not None:
        ids = (max(ids[0], 4), max(ids[1], 8, max(ids[0], 4) + 1))
    return replace(sequence, order_hint_bits=max(bits, 4) if bits else 0, frame_ids=ids)


@given(st.data())
def test_written_headers_come_back(data: st.DataObject) -> None:
    sequence = fit(data.draw(sequence_headers()))
    frame = data.draw(frames(sequence))
    bits = frame.bits(sequence)
    header, reader = parse(bits, sequence)
    assert reader.position == len(bits)
    shown_key = frame.frame_type == KEY and frame.show_frame
    everything = shown_key or frame.frame_type == SWITCH
    resilient = everything or frame.error_resilient_mode
    assert header.frame_type == frame.frame_type
    assert header.show_frame == frame.show_frame
    assert header.showable_frame == (
        frame.frame_type != KEY if frame.show_frame else frame.showable_frame
    )
    assert header.error_resilient_mode == resilient
    assert header.disable_cdf_update == frame.disable_cdf_update
    assert header.current_frame_id == frame.frame_id
    assert header.order_hint == (frame.order_hint if sequence.order_hint_bits else 0)
    assert header.refresh_frame_flags == (255 if everything else frame.refresh_frame_flags)
    intra = frame.frame_type in (KEY, INTRA_ONLY)
    assert header.is_intra == intra
    assert header.primary_ref_frame == (7 if intra or resilient else frame.primary_ref_frame)
    assert header.ref_frame_idx == (() if intra else frame.ref_frame_idx)
    _check_size(header, frame, sequence, resilient=resilient)
    if frame.frame_type == INTER and sequence.order_hint_bits and not resilient:
        assert header.use_ref_frame_mvs == (frame.use_ref_frame_mvs and sequence.ref_frame_mvs)
    for name, position, size, count in header.fields:
        value = {"showable_frame": frame.showable_frame, "order_hint": frame.order_hint}.get(name)
        if value is not None:
            assert int(bits[position : position + size], 2) == value
        assert 0 <= position < position + size * count <= len(bits)


def _check_size(
    header: Av1FrameHeader, frame: Frame, sequence: SequenceHeader, *, resilient: bool
) -> None:
    width, height = frame.size or (sequence.width, sequence.height)
    render = frame.render or (width, height)
    if frame.found_ref is not None and not resilient:
        slot = SLOTS[frame.ref_frame_idx[frame.found_ref]]
        width, height = slot.upscaled_width, slot.frame_height
        render = slot.render_width, slot.render_height
    assert (header.upscaled_width, header.frame_height) == (width, height)
    assert (header.render_width, header.render_height) == render
    denominator = 8 if frame.coded_denom is None else 9 + frame.coded_denom
    # AV1 5.9.8: rounded to the nearest.
    assert header.frame_width == int(width * 8 / denominator + 0.5)


@pytest.mark.parametrize("name", SETTINGS)
def test_as_ffmpeg_reads_them(name: str) -> None:
    """Every field that may be edited, and every value, with its place in the temporal unit."""
    source = stream(name)
    pictures = iter(source.pictures)
    for traced in trace("av1", source.units):
        start = 0
        for place, unit in enumerate(traced):
            if unit.title != "OBU header":
                continue
            length = unit["obu_size"]
            if traced[place + 1].title == "Frame Header":
                picture = next(pictures)
                assert picture.start <= start < picture.end
                _same(header_of(picture), traced[place + 1], 8 * (start - picture.start))
            start += 1 + len(leb128(length)) + length
    assert next(pictures, None) is None


def _same(header: Av1FrameHeader, found: TracedUnit, origin: int) -> None:
    assert header.show_existing_frame == found["show_existing_frame"]
    for element in (
        "frame_type",
        "show_frame",
        "showable_frame",
        "error_resilient_mode",
        "disable_cdf_update",
        "frame_size_override_flag",
        "order_hint",
        "primary_ref_frame",
        "refresh_frame_flags",
        "frame_refs_short_signaling",
        "use_ref_frame_mvs",
        "frame_to_show_map_idx",
    ):
        if element in found:
            assert getattr(header, element) == found[element], element
    assert list(header.ref_frame_idx) == found.all("ref_frame_idx")
    assert list(header.ref_order_hint) == found.all("ref_order_hint")
    if "frame_width_minus_1" in found:
        assert header.upscaled_width == found["frame_width_minus_1"] + 1
    for name, position, size, count in header.fields:
        first = name if count == 1 else f"{name}[0]"
        assert found.position(first) + origin == position, name
        if count > 1:
            assert found.position(f"{name}[1]") == found.position(first) + size
    assert {name for name, *_ in header.fields} >= {
        element.partition("[")[0]
        for element, _, _ in found.elements
        if element.partition("[")[0]
        in {"order_hint", "primary_ref_frame", "refresh_frame_flags", "ref_frame_idx"}
    }


def test_show_existing_frame() -> None:
    unit = show_existing(6)
    header, reader = parse("1110", SequenceHeader())
    assert unit[2:] == trailing("1110")
    assert reader.position == 5
    assert header.show_existing_frame
    assert header.shown == SLOTS[6]
    assert header.order_hint == 6
    assert header.refresh_frame_flags == 0
    # A key frame refreshes all slots (AV1 5.9.2).
    header, _ = parse("1011", SequenceHeader())
    assert header.refresh_frame_flags == 255
    assert header.field("frame_to_show_map_idx") == BitField("frame_to_show_map_idx", 1, 3)
    with pytest.raises(BitstreamError, match="picture 15, which is not showable"):
        parse("1101", SequenceHeader())
    with pytest.raises(UnsupportedStreamError, match="names slot 2") as caught:
        parse("1010", SequenceHeader(), (*SLOTS[:2], None, *SLOTS[3:]))
    assert caught.value.kind == "missing reference"


def test_show_existing_frame_by_id() -> None:
    sequence = SequenceHeader(
        frame_ids=(4, 8),
        timing=(1, 30, False, 0),
        model=(8, 1, 8, 5),
        points=((0, 0, 0, None, None),),
    )
    header, reader = parse(f"1110{0:05b}{26:08b}", sequence)
    assert reader.position == 4 + 5 + 8 + 1
    assert header.current_frame_id == 26
    with pytest.raises(
        UnsupportedStreamError, match="frame id 27 in slot 6, which holds frame id 26"
    ):
        parse(f"1110{0:05b}{27:08b}", sequence)


def test_frame_ids_tell_a_lost_reference() -> None:
    sequence = SequenceHeader(frame_ids=(4, 8))
    right = Frame(frame_id=28, ref_frame_idx=(7,) * 7, delta_frame_ids=(1,) * 7)
    bits = right.bits(sequence)
    header, _ = parse(bits, sequence)
    assert header.ref_frame_idx == (7,) * 7
    # Each reference is followed by its 4-bit difference: 7 bits from one to the next.
    first = header.field("ref_frame_idx")
    for place in range(7):
        field = header.field("ref_frame_idx", place)
        assert (field.position, field.size) == (first.position + 7 * place, 3)
        assert bits[field.position : field.position + 7] == "111" + "0000"
    wrong = replace(right, delta_frame_ids=(1, 1, 1, 2, 1, 1, 1))
    with pytest.raises(
        UnsupportedStreamError, match="frame id 26 in slot 7, which holds frame id 27"
    ):
        parse(wrong.bits(sequence), sequence)


def test_order_hints_tell_a_lost_reference() -> None:
    sequence = SequenceHeader()
    frame = Frame(error_resilient_mode=True, ref_order_hint=tuple(range(8)), ref_frame_idx=(1,) * 7)
    parse(frame.bits(sequence), sequence)
    lost = replace(frame, ref_order_hint=(0, 9, 2, 3, 4, 5, 6, 7))
    with pytest.raises(UnsupportedStreamError, match="names slot 1"):
        parse(lost.bits(sequence), sequence)
    # A slot that nothing names may be lost.
    parse(replace(lost, ref_frame_idx=(2,) * 7).bits(sequence), sequence)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (Frame(INTRA_ONLY, refresh_frame_flags=255), "refresh_frame_flags before bit .* is 0xff"),
        (Frame(size=(97, 64)), "frame size before bit .* is 97x64, expected at most 96x64"),
        (Frame(short=(6, 7), order_hint=7), "gold_frame_idx names slot 7 with order hint 7"),
    ],
)
def test_broken_headers(frame: Frame, message: str) -> None:
    with pytest.raises(BitstreamError, match=message):
        parse(frame.bits(SequenceHeader()), SequenceHeader())


@given(st.binary(max_size=16), st.integers(0, 100), st.integers(1, 20), st.data())
def test_replaced_fields(data: bytes, position: int, size: int, draw: st.DataObject) -> None:
    field = BitField("x", position, size)
    if position + size > 8 * len(data):
        with pytest.raises(InvalidArgumentError, match="x ends at bit"):
            replace_field(data, field, 0)
        return
    value = draw.draw(st.integers(0, (1 << size) - 1))
    bits = "".join(f"{octet:08b}" for octet in data)
    expected = bits[:position] + f"{value:0{size}b}" + bits[position + size :]
    edited = replace_field(data, field, value)
    assert "".join(f"{octet:08b}" for octet in edited) == expected
    with pytest.raises(InvalidArgumentError, match=r"does not fit in f\("):
        replace_field(data, field, 1 << size)


def test_edited_references_decode() -> None:
    """Pairs of key and inter frame: all slots hold the key frame, so any reference is as good."""
    source = stream("pairs")
    key, inter = source.data[:2]
    header = header_of(source.pictures[1])
    edited = inter
    for place in range(7):
        edited = replace_field(edited, header.field("ref_frame_idx", place), (place * 3 + 1) % 8)
    assert edited != inter
    whole = decode(decoder(), [(0, key), (1, inter)])
    assert decode(decoder(), [(0, key), (1, edited)]) == whole
