"""DDRA: which settings there are, and every way in which a chunk can break its promise."""

from __future__ import annotations

import itertools
from dataclasses import FrozenInstanceError, replace
from typing import Any

import av
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index.reference_graphs import ddra_indexes, make_index

from videoformat.errors import InvalidArgumentError, StructureError
from videoformat.index.build import largest_closure
from videoformat.index.pictures import PictureIndex
from videoformat.media.gop import DDRA, PROFILES, check_ddra


@given(ddra_indexes())
def test_what_is_ddra_is_accepted(index: PictureIndex) -> None:
    check_ddra(index)
    assert largest_closure(index.references, range(len(index))) <= 3


# Anchors 0, 3 and 5 in the frames 0 to 5: decode order 0 3 1 2 5 4.
GRAPH = [[], [], [0, 1], [0, 1], [], [1, 4]]
FRAMES = [0, 3, 1, 2, 5, 4]
MARKS = (True, True, False, False, True, False)


def ddra(**changes: Any) -> PictureIndex:
    index = make_index(GRAPH, frames=FRAMES, is_reference=MARKS, structure="ddra", interval=3)
    return replace(index, **changes)


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "a reference that is predicted": (
        {"references": ((), (0,), (0, 1), (0, 1), (), (1, 4))}, "frame 3 is referenced but is no"
    ),
    "a reference that is no random access point": (
        {"is_random_access": (True, False, False, False, True, False)}, "frame 3 is referenced"
    ),
    "a reference between anchors": (
        {"is_reference": (True, True, True, False, True, False)}, "frame 1 is referenced"
    ),
    "a last frame that is no anchor": (
        {"is_reference": (True, True, False, False, False, False),
         "references": ((), (), (0, 1), (0, 1), (), (1,))}, r"anchors \[0\] to \[3\]"
    ),
    "a first frame that is no anchor": (
        {"is_reference": (False, True, False, False, True, False)}, r"anchors \[3\] to \[5\]"
    ),
    "anchors too far apart": (
        {"is_reference": (True, False, False, False, True, False),
         "references": ((), (), (0,), (0,), (), (0, 4))}, "frames 0 and 5 are neighbouring"
    ),
    "a reference to an anchor further away": (
        {"references": ((), (), (0, 1), (0, 1), (), (0, 4))}, "frame 4 references pictures"
    ),
    "a reference to a third anchor": (
        {"references": ((), (), (0, 1), (0, 1), (), (0, 1, 4))}, "frame 4 references pictures"
    ),
    "a picture of one reference": (
        {"references": ((), (), (0, 1), (0,), (), (1, 4))}, "frame 2 references pictures"
    ),
    "an intra picture between anchors": (
        {"references": ((), (), (0, 1), (), (), (1, 4))}, "frame 2 references pictures"
    ),
    "a reference to a picture between": (
        {"references": ((), (), (0, 1), (1, 2), (), (1, 4))}, "frame 2 references pictures"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "said"), BROKEN.values(), ids=BROKEN)
def test_what_is_not_ddra_is_named(changes: dict[str, Any], said: str) -> None:
    check_ddra(ddra())
    with pytest.raises(StructureError, match=f"'episode' chunk 0: {said}"):
        check_ddra(ddra(**changes))


@pytest.mark.parametrize("interval", [None, 0, -3])
def test_a_structure_without_interval_is_refused(interval: int | None) -> None:
    index = ddra()
    with pytest.raises(StructureError, match=f"interval {interval}"):
        check_ddra(replace(index, stream=replace(index.stream, interval=interval)))


def test_a_picture_that_is_never_shown_is_refused() -> None:
    index = make_index([[], []], frames=[0, None], is_reference=[True, True], interval=3)
    with pytest.raises(StructureError, match="never shown"):
        check_ddra(index)


@settings(max_examples=60)
@given(ddra_indexes(), st.data())
def test_a_smaller_interval_than_the_widest_is_noticed(
    index: PictureIndex, data: st.DataObject
) -> None:
    anchors = sorted(frame for frame, at in index.position_of.items() if index.is_reference[at])
    widest = max((b - a for a, b in itertools.pairwise(anchors)), default=0)
    if widest < 2:
        return
    short = data.draw(st.integers(1, widest - 1))
    with pytest.raises(StructureError, match=f"the interval is {short}"):
        check_ddra(replace(index, stream=replace(index.stream, interval=short)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"profile": "best"}, {"profile": None}, {"interval": 1}, {"interval": 18},
        {"interval": 4.0}, {"interval": True}, {"interval": "4"}, {"interval": None},
        {"crf": 0}, {"crf": 0.5}, {"crf": 51.5}, {"crf": -1}, {"crf": "20"}, {"crf": True},
        {"crf": float("nan")}, {"preset": "quick"}, {"preset": 4}, {"preset": ""},
    ],
    ids=str,
)  # fmt: skip
def test_settings_that_cannot_be_are_named(wrong: dict[str, Any]) -> None:
    ((name, value),) = wrong.items()
    with pytest.raises(InvalidArgumentError) as caught:
        DDRA(**wrong)
    assert str(caught.value).startswith(f"{name} is {value!r}, expected")


def test_settings_are_values() -> None:
    assert DDRA() == DDRA(profile="fast", interval=16)
    assert len({DDRA(), DDRA(crf=20), DDRA(crf=20)}) == 2
    with pytest.raises(FrozenInstanceError):
        DDRA().interval = 4  # type: ignore[misc]
    with pytest.raises(TypeError):
        DDRA("fast")  # type: ignore[misc]


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_a_profile_is_an_encoder_that_is_there_with_defaults(profile: Any) -> None:
    assert profile.encoder in av.codecs_available
    structure = DDRA(profile=profile.name)
    assert structure.effective_crf == profile.crf
    assert structure.effective_preset == profile.preset
    chosen = DDRA(profile=profile.name, crf=31, preset="slow", interval=4)
    assert chosen.describe() == {
        "profile": profile.name, "interval": 4, "crf": 31.0, "preset": "slow",
        "encoder": profile.encoder, "parameters": chosen.encoder_parameters(),
    }  # fmt: skip
    assert chosen.encoder_parameters()["keyint"] == "4"
    assert chosen.encoder_parameters()["bframes"] == "3"
    with pytest.raises(TypeError):
        profile.parameters["ref"] = "2"
