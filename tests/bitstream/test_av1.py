"""The AV1 indexer: byte ranges, references, what is refused, and that broken bytes change nothing."""

import random

import pytest
from bitstream.av1_streams import SETTINGS, header_of, indexed, stream
from bitstream.av1_syntax import (
    INTER,
    INTRA_ONLY,
    KEY,
    SWITCH,
    TEMPORAL_DELIMITER,
    Frame,
    SequenceHeader,
    obu,
    show_existing,
)
from hypothesis import given
from hypothesis import strategies as st

from videoformat.bitstream.av1 import Av1Indexer
from videoformat.errors import BitstreamError, UnsupportedStreamError

SEQUENCE = SequenceHeader()
SHOWN_KEY = Frame(KEY)
PADDING = obu(15, b"\x80")
METADATA = obu(5, b"\x01\x00\x00\x00\x00\x80")


def started() -> Av1Indexer:
    """An indexer that has seen one shown key frame, position 0."""
    indexer = Av1Indexer()
    indexer.push(TEMPORAL_DELIMITER + SEQUENCE.unit + SHOWN_KEY.unit(SEQUENCE))
    return indexer


def hidden(hint: int, flags: int, **other: object) -> bytes:
    frame = Frame(
        show_frame=False,
        showable_frame=True,
        order_hint=hint,
        refresh_frame_flags=flags,
        **other,  # type: ignore[arg-type]
    )
    return frame.unit(SEQUENCE)


def test_a_key_frame() -> None:
    indexer = Av1Indexer()
    assert indexer.sequence_header is None
    assert indexer.sequence_header_obu == b""
    unit = TEMPORAL_DELIMITER + SEQUENCE.unit + Frame(KEY, order_hint=9).unit(SEQUENCE)
    (picture,) = indexer.push(unit)
    assert picture.position == 0
    assert picture.order_count == 9
    assert picture.picture_type == "I"
    assert picture.is_random_access
    assert picture.is_reference
    assert picture.is_shown
    assert picture.references == picture.reference_lists == ()
    assert (picture.start, picture.end) == (0, len(unit))
    assert indexer.sequence_header_obu == SEQUENCE.unit


def test_a_unit_of_many_frames() -> None:
    """Ranges tile the unit: what precedes a frame is its own, what follows the last one too."""
    indexer = started()
    parts = [
        TEMPORAL_DELIMITER + METADATA + hidden(8, 0b0001),
        PADDING + obu(9, b"reserved") + hidden(4, 0b0010, ref_frame_idx=(0, 1, 1, 0, 1, 1, 2)),
        METADATA
        + Frame(order_hint=2, ref_frame_idx=(2, 1, 0, 2, 2, 2, 2)).header_unit(SEQUENCE)
        + obu(4, b"tile")
        + METADATA
        + obu(4, b"more tiles"),
    ]
    unit = b"".join(parts) + PADDING + METADATA
    first, second, third = indexer.push(unit)
    assert [first.position, second.position, third.position] == [1, 2, 3]
    assert [first.order_count, second.order_count, third.order_count] == [8, 4, 2]
    assert first.start == 0
    assert first.end == second.start == len(parts[0])
    assert second.end == third.start == len(parts[0]) + len(parts[1])
    assert third.end == len(unit)
    assert [first.is_shown, second.is_shown, third.is_shown] == [False, False, True]
    assert [first.is_reference, second.is_reference, third.is_reference] == [True, True, False]
    assert first.references == (0,)
    assert second.reference_lists == ((1, 0, 0, 1, 0, 0, 0),)
    assert second.references == (0, 1)
    assert third.reference_lists == ((0, 2, 1, 0, 0, 0, 0),)
    assert third.references == (0, 1, 2)
    assert header_of(third).field("order_hint").position == 8 * (len(METADATA) + 2) + 8


def test_a_frame_that_is_shown_later() -> None:
    indexer = started()
    indexer.push(hidden(8, 0b0001) + Frame(order_hint=1).unit(SEQUENCE))
    (picture,) = indexer.push(TEMPORAL_DELIMITER + show_existing(0))
    assert picture.position == 3
    assert picture.order_count == 8
    assert picture.picture_type == "P"
    assert picture.references == (1,)
    assert picture.reference_lists == ((1,),)
    assert picture.is_shown
    assert not picture.is_reference
    assert not picture.is_random_access
    # AV1 6.8.2: at most once.
    with pytest.raises(BitstreamError, match="picture 1, which is not showable or was shown"):
        indexer.push(show_existing(0))
    # A key frame that was shown at once is not showable.
    with pytest.raises(BitstreamError, match="picture 0"):
        indexer.push(show_existing(1))


def test_a_key_frame_that_is_shown_later() -> None:
    """AV1 7.21: showing it refreshes every slot, so later pictures need its showing."""
    indexer = started()
    key = Frame(
        KEY, show_frame=False, showable_frame=True, order_hint=16, refresh_frame_flags=0b100
    )
    leading = Frame(order_hint=15, ref_frame_idx=(0, 0, 0, 0, 2, 2, 2))
    found = indexer.push(key.unit(SEQUENCE) + leading.unit(SEQUENCE))
    assert [picture.is_random_access for picture in found] == [True, False]
    assert found[1].references == (0, 1)
    (shown,) = indexer.push(show_existing(2))
    assert shown.references == (1,)
    assert shown.picture_type == "I"
    assert shown.is_reference
    assert not shown.is_random_access
    (after,) = indexer.push(Frame(order_hint=17, ref_frame_idx=tuple(range(7))).unit(SEQUENCE))
    assert after.reference_lists == ((3,) * 7,)


def test_an_intra_only_frame() -> None:
    indexer = started()
    (picture,) = indexer.push(Frame(INTRA_ONLY, refresh_frame_flags=1).unit(SEQUENCE))
    assert picture.picture_type == "I"
    assert picture.references == ()
    assert picture.is_random_access
    (after,) = indexer.push(Frame().unit(SEQUENCE))
    assert after.references == (1,)


def test_a_switch_frame() -> None:
    indexer = started()
    indexer.push(Frame(order_hint=3, refresh_frame_flags=1).unit(SEQUENCE))
    switch = Frame(
        SWITCH, order_hint=4, ref_order_hint=(3, 0, 0, 0, 0, 0, 0, 0), ref_frame_idx=(0,) * 6 + (1,)
    )
    (picture,) = indexer.push(switch.unit(SEQUENCE))
    assert picture.references == (0, 1)
    assert not picture.is_random_access
    (after,) = indexer.push(Frame(order_hint=5, ref_frame_idx=tuple(range(7))).unit(SEQUENCE))
    assert after.references == (2,)


def test_short_signaling_depends_on_every_slot() -> None:
    indexer = started()
    for at in range(8):
        indexer.push(Frame(order_hint=at + 1, refresh_frame_flags=1 << at).unit(SEQUENCE))
    (picture,) = indexer.push(Frame(order_hint=20, short=(7, 6)).unit(SEQUENCE))
    # LAST 7, GOLDEN 6, then 5 to 1: slot 0 is not named, but its order hint decided that.
    assert picture.reference_lists == ((8, 6, 5, 7, 4, 3, 2),)
    assert picture.references == (1, 2, 3, 4, 5, 6, 7, 8)


def test_redundant_headers_are_counted() -> None:
    indexer = started()
    frame = Frame(order_hint=1)
    unit = (
        frame.header_unit(SEQUENCE)
        + obu(4, b"tile")
        + frame.header_unit(SEQUENCE, redundant=True)
        + obu(4, b"tile")
    )
    (picture,) = indexer.push(unit)
    assert picture.end == len(unit)
    assert header_of(picture).redundant_copies == 1


def test_a_sequence_header_in_the_stream_replaces_the_configuration() -> None:
    configured = SequenceHeader(tools="0000000")
    used = SequenceHeader(tools="0101000")
    indexer = Av1Indexer(b"\x81\x04\x0c\x00" + configured.unit)
    assert indexer.sequence_header_obu == configured.unit
    indexer.push(used.unit + SHOWN_KEY.unit(used))
    assert indexer.sequence_header_obu == used.unit
    with pytest.raises(UnsupportedStreamError, match="after 1 pictures") as caught:
        indexer.push(configured.unit + SHOWN_KEY.unit(configured))
    assert caught.value.kind == "sequence header change"
    # Without one in the stream, the configuration's counts, and is kept.
    indexer = Av1Indexer(configured.unit)
    indexer.push(SHOWN_KEY.unit(configured))
    with pytest.raises(UnsupportedStreamError, match="sequence header change"):
        indexer.push(used.unit + SHOWN_KEY.unit(used))


def test_operating_parameters_may_change() -> None:
    before = SequenceHeader(
        timing=(1, 30, True, 0), model=(8, 1, 8, 8), points=((0, 0, 0, (1, 2, 0), None),)
    )
    after = SequenceHeader(
        timing=(1, 30, True, 0), model=(8, 1, 8, 8), points=((0, 0, 0, (3, 4, 1), None),)
    )
    indexer = Av1Indexer()
    indexer.push(before.unit + SHOWN_KEY.unit(before))
    indexer.push(after.unit + SHOWN_KEY.unit(after))
    assert indexer.sequence_header_obu == after.unit


def layered(idc: int) -> SequenceHeader:
    return SequenceHeader(points=((idc, 0, 0, None, None), (0x101, 0, 0, None, None)))


def test_temporal_layers_are_read() -> None:
    sequence = layered(0x103)
    indexer = Av1Indexer()
    indexer.push(sequence.unit + SHOWN_KEY.unit(sequence, (0, 0)))
    (picture,) = indexer.push(Frame(order_hint=1).unit(sequence, (1, 0)))
    assert picture.references == (0,)


@pytest.mark.parametrize(
    ("kind", "unit"),
    [
        ("spatial layers", layered(0x301).unit + SHOWN_KEY.unit(SEQUENCE)),
        ("dropped layers", layered(0x101).unit + SHOWN_KEY.unit(SEQUENCE, (1, 0))),
        ("dropped layers", layered(0x101).unit + SHOWN_KEY.unit(SEQUENCE, (0, 1))),
        ("large scale tile", SEQUENCE.unit + obu(8, b"\0\0\0\0")),
        ("missing reference", SEQUENCE.unit + Frame().unit(SEQUENCE)),
        ("missing reference", SEQUENCE.unit + show_existing(0)),
        ("missing reference", SEQUENCE.unit + Frame(short=(0, 1)).unit(SEQUENCE)),
    ],
)
def test_refused_by_name(kind: str, unit: bytes) -> None:
    with pytest.raises(UnsupportedStreamError) as caught:
        Av1Indexer().push(unit)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (b"", "no frame header in a temporal unit of 0 bytes"),
        (TEMPORAL_DELIMITER + SEQUENCE.unit, "no frame header"),
        (SHOWN_KEY.unit(SEQUENCE), "precedes any sequence header"),
        (SEQUENCE.unit + obu(4, b"tile"), "TILE_GROUP at byte .* follows no frame header"),
        (
            SEQUENCE.unit + SHOWN_KEY.header_unit(SEQUENCE, redundant=True),
            "REDUNDANT_FRAME_HEADER at byte .* follows no frame header",
        ),
        (SEQUENCE.unit + SHOWN_KEY.header_unit(SEQUENCE), "picture 0 at byte 0 has no tile group"),
        (SEQUENCE.unit + SHOWN_KEY.unit(SEQUENCE) * 2, "shows 2 frames, expected 1"),
        (SEQUENCE.unit + SHOWN_KEY.unit(SEQUENCE)[:-1], "bytes are left"),
        (SEQUENCE.unit + obu(6, b"\x10"), "frame header: .* needs"),
    ],
)
def test_broken_units(unit: bytes, message: str) -> None:
    with pytest.raises(BitstreamError, match=message):
        Av1Indexer().push(unit)


def test_show_existing_frame_has_no_tiles() -> None:
    indexer = started()
    indexer.push(hidden(8, 0b0001) + Frame(order_hint=1).unit(SEQUENCE))
    with pytest.raises(BitstreamError, match="follows no frame header"):
        indexer.push(show_existing(0) + obu(4, b"tile"))
    with pytest.raises(BitstreamError, match="OBU_FRAME at byte 0 has show_existing_frame 1"):
        indexer.push(show_existing(0, obu_type=6))


def test_configurations() -> None:
    Av1Indexer(b"\x81\x04\x0c\x00")
    Av1Indexer(SEQUENCE.unit + METADATA)
    with pytest.raises(BitstreamError, match="version"):
        Av1Indexer(b"\x83\x04\x0c\x00")
    with pytest.raises(BitstreamError, match="seq_profile"):
        Av1Indexer(b"\x81\x04\x0c\x00" + obu(1, b"\xff"))


@pytest.mark.parametrize("name", SETTINGS)
def test_streams_add_up(name: str) -> None:
    source = stream(name)
    assert [picture.position for picture in source.pictures] == list(range(len(source.pictures)))
    assert b"".join(source.data) == b"".join(source.units)
    assert len(source.shown) == len(source.units)
    for picture in source.pictures:
        assert all(at < picture.position for at in picture.references)
        assert {at for items in picture.reference_lists for at in items} == set(picture.references)
        assert all(source.pictures[at].is_reference for at in picture.references)
        assert not picture.is_random_access or not picture.references
    # The same without the encoder's extradata.
    assert indexed(source.units).pictures == source.pictures


def test_the_settings_have_what_they_are_for() -> None:
    headers = {name: [header_of(picture) for picture in stream(name).pictures] for name in SETTINGS}
    assert any(header.show_existing_frame for header in headers["hierarchy"])
    assert not any(header.show_existing_frame for header in headers["low delay"])
    for name, shown in (
        ("open gop, hidden intra-only", False),
        ("open gop, shown intra-only", True),
    ):
        assert any(
            header.frame_type == INTRA_ONLY and header.show_frame == shown and header.shown is None
            for header in headers[name]
        )
    assert any(header.frame_width < header.upscaled_width for header in headers["super-resolution"])
    assert len({header.frame_height for header in headers["resized"]}) == 2
    assert any(header.frame_type == SWITCH for header in headers["switch frames"])
    assert any(header.frame_type == INTER for header in headers["pairs"])


@given(st.sampled_from(["hierarchy", "switch frames"]), st.integers(0, 10**9))
def test_damaged_units_change_nothing(name: str, seed: int) -> None:
    """Whatever the bytes, a unit is read or refused, and a refused one leaves no trace."""
    rng = random.Random(seed)
    source = stream(name)
    indexer = Av1Indexer()
    victim = rng.randrange(1, len(source.units))
    for unit in source.units[:victim]:
        indexer.push(unit)
    damaged = bytearray(source.units[victim])
    for _ in range(rng.randint(1, 4)):
        damaged[min(int(rng.expovariate(0.1)), len(damaged) - 1)] = rng.randrange(256)
    damaged = damaged[: rng.choice([len(damaged), rng.randrange(len(damaged) + 1)])]
    try:
        pictures = indexer.push(bytes(damaged))
    except (BitstreamError, UnsupportedStreamError):
        found = [picture for unit in source.units[victim:] for picture in indexer.push(unit)]
        assert found == [
            picture for picture in source.pictures if picture.position >= found[0].position
        ]
        return
    assert [picture.start for picture in pictures] == [
        0,
        *(picture.end for picture in pictures[:-1]),
    ]
    assert pictures[-1].end == len(damaged)


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for indexer in (Av1Indexer(), started()):
        try:
            assert indexer.push(data)
        except (BitstreamError, UnsupportedStreamError):
            continue
    try:
        Av1Indexer(data)
    except (BitstreamError, UnsupportedStreamError):
        return
