"""The slots of AV1, and references that are derived from order hints (AV1 7.8)."""

import pytest
from bitstream.av1_short_signaling import recode
from bitstream.av1_streams import (
    closure_packets,
    decode,
    decode_whole,
    decoder,
    header_of,
    indexed,
    stream,
)
from hypothesis import given
from hypothesis import strategies as st

from videoformat.bitstream.av1_references import (
    ReferenceSlot,
    ReferenceSlots,
    relative_dist,
    set_frame_refs,
)
from videoformat.errors import BitstreamError, UnsupportedStreamError


@pytest.mark.parametrize(
    ("a", "b", "bits", "distance"),
    [
        (5, 3, 4, 2),
        (3, 5, 4, -2),
        (1, 15, 4, 2),
        (15, 1, 4, -2),
        (0, 8, 4, -8),
        (8, 0, 4, -8),
        (1, 0, 1, -1),
        (9, 2, 0, 0),
    ],
)
def test_relative_dist(a: int, b: int, bits: int, distance: int) -> None:
    assert relative_dist(a, b, bits) == distance


@pytest.mark.parametrize(
    ("hints", "order_hint", "last", "gold", "expected"),
    [
        # Only the past: LAST2, LAST3, BWDREF, ALTREF2, ALTREF take the latest in turn, and what is
        # left over takes the earliest of all.
        ((10, 11, 12, 13, 14, 15, 16, 17), 20, 7, 0, (7, 6, 5, 0, 4, 3, 2)),
        # Two of the future: ALTREF the farthest, BWDREF the nearest; ALTREF2 the latest of the rest.
        ((10, 11, 12, 13, 14, 15, 24, 22), 20, 5, 0, (5, 4, 3, 0, 7, 2, 6)),
        # Three of the future.
        ((10, 11, 12, 13, 14, 26, 24, 22), 20, 4, 1, (4, 3, 2, 1, 7, 6, 5)),
        # Four: the one between is not used.
        ((10, 11, 12, 13, 28, 26, 24, 22), 20, 3, 2, (3, 1, 0, 2, 7, 6, 4)),
        # A picture of the same order hint counts as of the future.
        ((10, 11, 12, 13, 14, 15, 16, 20), 20, 6, 0, (6, 5, 4, 0, 3, 2, 7)),
        # After a key frame: LAST and GOLDEN apart, slots of one picture in falling order, and the
        # seventh reference has no slot of its own.
        ((4,) * 8, 5, 2, 3, (2, 7, 6, 3, 5, 4, 1)),
        # LAST and GOLDEN may be one slot. Order hints wrap.
        ((126, 127, 0, 1, 120, 121, 122, 123), 2, 3, 3, (3, 2, 1, 3, 0, 7, 6)),
        # All of the future but one: what is left over takes the earliest.
        ((9, 20, 20, 20, 30, 30, 30, 30), 10, 0, 0, (0, 0, 0, 0, 1, 2, 7)),
    ],
)
def test_derived_references_by_hand(
    hints: tuple[int, ...], order_hint: int, last: int, gold: int, expected: tuple[int, ...]
) -> None:
    assert set_frame_refs(hints, order_hint, 7, last, gold) == expected


@given(
    st.lists(st.integers(0, 31), min_size=8, max_size=8),
    st.integers(0, 31),
    st.integers(0, 7),
    st.integers(0, 7),
)
def test_derived_references_by_sorting(
    hints: list[int], order_hint: int, last: int, gold: int
) -> None:
    """7.8's note: the same as sorting the slots by output order, ties by slot."""
    distance = {slot: (hint - order_hint + 16) % 32 - 16 for slot, hint in enumerate(hints)}
    if distance[last] >= 0 or distance[gold] >= 0:
        with pytest.raises(BitstreamError, match="expected one before"):
            set_frame_refs(hints, order_hint, 5, last, gold)
        return
    ranked = sorted(distance, key=lambda slot: (distance[slot], slot))
    past = [slot for slot in ranked if distance[slot] < 0 and slot not in {last, gold}]
    future = [slot for slot in ranked if distance[slot] >= 0]
    named = {"LAST": last, "GOLDEN": gold}
    if future:
        named["ALTREF"] = future.pop()
    for name in ("BWDREF", "ALTREF2"):
        if future:
            named[name] = future.pop(0)
    for name in ("LAST2", "LAST3", "BWDREF", "ALTREF2", "ALTREF"):
        if name not in named:
            named[name] = past.pop() if past else ranked[0]
    order = ("LAST", "LAST2", "LAST3", "GOLDEN", "BWDREF", "ALTREF2", "ALTREF")
    assert set_frame_refs(hints, order_hint, 5, last, gold) == tuple(named[name] for name in order)


@pytest.mark.parametrize("name", ["pairs", "hierarchy", "low delay"])
def test_a_decoder_derives_the_same(name: str) -> None:
    """Frames recoded to name two references instead of seven decode to the same pictures."""
    source = stream(name)
    sequence = source.indexer.sequence_header
    assert sequence is not None
    units, count = recode(list(source.units), list(source.pictures), sequence.order_hint_bits)
    assert count > 0
    recoded = indexed(units)
    short = [
        at
        for at, picture in enumerate(recoded.pictures)
        if header_of(picture).frame_refs_short_signaling
    ]
    assert len(short) == count
    for before, after in zip(source.pictures, recoded.pictures, strict=True):
        assert before.reference_lists == after.reference_lists
        assert set(before.references) <= set(after.references)
    whole = decode_whole(source)
    assert decode_whole(recoded) == whole
    for target in set(short) & set(recoded.shown):
        found = dict(decode(decoder(), closure_packets(recoded, recoded.closure(target))))
        assert found[target] == whole[target]


def slot(position: int, frame_id: int = 0, order_hint: int = 0) -> ReferenceSlot:
    return ReferenceSlot(position, frame_id, 1, order_hint, 96, 64, 96, 64, showable=True)


def test_slots_are_refreshed() -> None:
    slots = ReferenceSlots()
    with pytest.raises(UnsupportedStreamError, match="slot 3") as caught:
        slots.require(3, "x")
    assert caught.value.kind == "missing reference"
    slots.update(0xFF, slot(0))
    other = slots.copy()
    slots.update(0b1001, slot(1))
    assert [slots.require(at, "x").position for at in range(8)] == [1, 0, 0, 1, 0, 0, 0, 0]
    assert other.require(3, "x").position == 0
    slots.mark_shown(1)
    assert [slots.require(at, "x").showable for at in range(8)] == [
        at not in {0, 3} for at in range(8)
    ]
    slots.expect_order_hint(0, 1)
    with pytest.raises(UnsupportedStreamError, match=r"\[0\] hold no picture"):
        slots.all_present("x")


@pytest.mark.parametrize(
    ("current", "stale"),
    [
        # Ids of 8 bits, deltas of 4: valid are the 16 ids before the current one, and itself.
        (100, {0: False, 83: True, 84: False, 100: False, 101: True, 200: True}),
        # Below 16 they wrap around: 245 to 255 and 0 to 5.
        (5, {0: False, 5: False, 6: True, 100: True, 244: True, 245: False, 255: False}),
        (16, {0: False, 16: False, 17: True, 255: True}),
    ],
)
def test_frame_ids_age(current: int, stale: dict[int, bool]) -> None:
    if current == 100:
        stale[0] = True
    for frame_id, expected in stale.items():
        slots = ReferenceSlots([slot(0, frame_id)] * 8)
        slots.mark_by_frame_id(current, 8, 4)
        if expected:
            with pytest.raises(UnsupportedStreamError):
                slots.require(0, "x")
        else:
            slots.require(0, "x")
        # Its order hint still counts (AV1 7.8).
        assert len(slots.all_present("x")) == 8
