"""Stars as the encoders make them: any interval, any length, every frame from at most two pictures."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from media.encoded_chunks import (
    decoded_closure,
    decoded_in_sequence,
    encode,
    index_of,
    moving,
    shown_in_sequence,
)

from videoformat.bitstream.av1_star import Av1Pairs
from videoformat.bitstream.star import Place
from videoformat.errors import DataError, InvalidArgumentError, StructureError
from videoformat.index.pictures import PictureIndex
from videoformat.media.color import RGB_COLOR, rgb_to_picture
from videoformat.media.decoder import ClosureDecoder
from videoformat.media.pairs import GroupEncoder
from videoformat.media.proof import prove_star
from videoformat.media.star import STARS, Star, StarCodec
from videoformat.media.star_encoder import StarEncoder
from videoformat.media.star_promise import check_star

CODECS: list[StarCodec] = ["av1", "h264"]


def luma_of(rgb: Any) -> Any:
    return rgb @ np.array([0.257, 0.504, 0.098]) + 16


@pytest.mark.parametrize("interval", [2, 3, 7, 16])
@pytest.mark.parametrize("codec", CODECS)
def test_every_frame_decodes_from_its_closure(codec: StarCodec, interval: int) -> None:
    chosen = random.Random(f"{codec} {interval}")
    for length in sorted({1, interval + 1, chosen.randrange(2, 40)}):
        structure = Star(codec=codec, interval=interval, adaptive=chosen.random() < 0.5)
        frames = moving(length, height=48, width=64)
        encoded = encode(structure, frames)
        index = index_of(encoded, structure)
        check_star(index)
        assert index.stream.closure_bound == min(length, 2)
        # A star comes out in decode order.
        shown = dict(zip(index.frame_index, decoded_in_sequence(encoded), strict=True))
        decoder = ClosureDecoder(codec, encoded.configuration, encoded.framing)
        for frame in range(length):
            assert len(index.closure([index.position_of[frame]])) <= 2
            found = decoded_closure(encoded, index, decoder, [frame])
            assert found == {frame: shown[frame]}


@pytest.mark.parametrize("codec", CODECS)
def test_frames_are_where_they_belong(codec: StarCodec) -> None:
    """Every picture of a star is nearest to the frame that the index says that it shows."""
    frames = [np.full((48, 64, 3), 20 + 9 * number, np.uint8) for number in range(24)]
    structure = Star(codec=codec, interval=9)
    encoded = encode(structure, frames)
    means = [
        float(np.frombuffer(picture.planes[0], np.uint8)[:64].mean())
        for picture in shown_in_sequence(encoded)
    ]
    wanted = [float(luma_of(frame).mean()) for frame in frames]
    nearest = [int(np.argmin([abs(mean - each) for each in wanted])) for mean in means]
    assert nearest == [rank for rank, _ in encoded.access_units]


@pytest.mark.parametrize("codec", CODECS)
def test_threads_change_nothing(codec: StarCodec) -> None:
    frames = moving(21, height=48, width=64)
    structure = Star(codec=codec, interval=8)
    assert encode(structure, frames, threads=1) == encode(structure, frames, threads=3)


@pytest.mark.parametrize("preset", ["default", "faster", "smaller"])
@pytest.mark.parametrize("codec", CODECS)
def test_intervals_of_a_still_and_of_a_moving_scene_share_a_chunk(
    codec: StarCodec, preset: Any
) -> None:
    """Encoders of other settings code each, under one configuration."""
    structure = Star(codec=codec, interval=8, preset=preset)
    frames = [*moving(1, height=48, width=64) * 12, *moving(12, height=48, width=64, seed=5)]
    pictures = [rgb_to_picture(frame) for frame in frames]
    encoder = StarEncoder(structure, 64, 48, RGB_COLOR, Fraction(30), 2)
    for picture in pictures:
        encoder.push(picture)
    encoded = encoder.finish()
    assert {still for still, _ in encoder._lanes} == {False, True}
    check_star(index_of(encoded, structure))
    assert len(decoded_in_sequence(encoded)) == len(frames)


@pytest.mark.parametrize(
    ("preset", "size"),
    [
        ("default", (256, 256)),
        ("default", (640, 480)),
        ("default", (1280, 720)),
        ("faster", (640, 480)),
        ("smaller", (320, 240)),
    ],
)
def test_encoders_of_both_kinds_of_intervals_agree_at_any_size(
    preset: Any, size: tuple[int, int]
) -> None:
    """A chunk has one sequence header, and which tools it allows may follow from the size."""
    levels = np.random.default_rng(2).integers(0, 255, (size[1] // 16, size[0] // 16, 3), np.uint8)
    first = levels.repeat(16, axis=0).repeat(16, axis=1)
    height, width, _ = first.shape
    group = [rgb_to_picture(np.roll(first, 3 * shift, axis=1)) for shift in range(3)]
    places = Place(0, 0, 0), Place(0, 2, 2)
    configurations = set()
    for still in (False, True):
        encoder: GroupEncoder[None] = GroupEncoder(
            "libsvtav1",
            Star(preset=preset).encoder_options(still=still),
            (width, height),
            RGB_COLOR,
            Fraction(30),
            2,
        )
        ((_, packets),) = encoder.push(group, None) + encoder.finish()
        pairs = Av1Pairs()
        pairs.anchor(packets[0], Place(0, 1, 1))
        # Both are predicted from the anchor alone, or this raises.
        for packet, place in zip(packets[1:], places, strict=True):
            pairs.leaf(packet, place)
        configurations.add(pairs.configuration)
    assert len(configurations) == 1


def test_a_group_has_its_length() -> None:
    structure = Star()
    encoder: GroupEncoder[int] = GroupEncoder(
        "libsvtav1", structure.encoder_options(still=True), (64, 48), RGB_COLOR, Fraction(30), 2
    )
    with pytest.raises(InvalidArgumentError, match="a group has 1 pictures, expected 3"):
        encoder.push([rgb_to_picture(moving(1, height=48, width=64)[0])], 0)


@pytest.mark.parametrize("preset", ["default", "faster", "smaller"])
@pytest.mark.parametrize("codec", CODECS)
def test_presets_make_stars(codec: StarCodec, preset: Any) -> None:
    structure = Star(codec=codec, interval=4, preset=preset, crf=20)
    check_star(index_of(encode(structure, moving(6, height=48, width=64)), structure))


@pytest.mark.parametrize(
    "given",
    [
        {"codec": "hevc"},
        {"interval": 1},
        {"interval": 65},
        {"interval": True},
        {"interval": 8.0},
        {"crf": 0},
        {"crf": 64},
        {"crf": 23.5},
        {"crf": True},
        {"codec": "h264", "crf": 52},
        {"preset": "fast"},
    ],
    ids=str,
)
def test_what_cannot_be_made_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        Star(**given)


def test_the_default_bounds_the_order_hints() -> None:
    """An interval has fewer frames than half of AV1's order hints, or they would be ambiguous."""
    assert Star().interval <= 64
    assert set(STARS) == {"av1", "h264"}


@pytest.fixture(scope="module", params=CODECS)
def star_index(request: pytest.FixtureRequest) -> PictureIndex:
    structure = Star(codec=request.param, interval=5, adaptive=False)
    return index_of(encode(structure, moving(12, height=48, width=64)), structure)


def changed(index: PictureIndex, name: str, at: int, value: Any) -> PictureIndex:
    values = list(getattr(index, name))
    values[at] = value
    return replace(index, **{name: tuple(values)})


def test_what_breaks_the_promise_is_noticed(star_index: PictureIndex) -> None:
    check_star(star_index)
    second = [at for at, is_anchor in enumerate(star_index.is_reference) if is_anchor][1]
    frames = star_index.frame_index
    swapped = list(frames)
    swapped[1], swapped[2] = swapped[2], swapped[1]
    moved = list(frames)
    moved[0], moved[1] = moved[1], moved[0]
    broken = {
        "interval": replace(star_index, stream=replace(star_index.stream, interval=3)),
        "no interval": replace(star_index, stream=replace(star_index.stream, interval=None)),
        "an anchor with references": changed(star_index, "references", second, (0,)),
        "no random access": changed(star_index, "is_random_access", second, False),
        "no reference": changed(star_index, "references", 1, ()),
        "another anchor's frame": changed(star_index, "references", second + 1, (0,)),
        "a frame that others may reference": changed(star_index, "is_reference", 2, True),
        "no first anchor": changed(star_index, "is_reference", 0, False),
        "order": replace(star_index, frame_index=tuple(swapped)),
        "the anchor's place": replace(star_index, frame_index=tuple(moved)),
        "order count": changed(star_index, "poc", 1, 77),
    }
    for index in broken.values():
        with pytest.raises(StructureError):
            check_star(index)


def test_an_anchor_that_comes_out_twice_differently_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = Av1Pairs.anchor
    seen = []

    def anchor(self: Av1Pairs, packet: bytes, at: Place) -> bytes:
        seen.append(at)
        unit = original(self, packet, at)
        return unit if len(seen) < 3 else unit[:-1] + bytes([unit[-1] ^ 1])

    monkeypatch.setattr(Av1Pairs, "anchor", anchor)
    with pytest.raises(StructureError, match="in two ways"):
        encode(Star(interval=6, adaptive=False), moving(6, height=48, width=64))


@pytest.mark.parametrize("codec", CODECS)
def test_a_chunk_that_decodes_otherwise_is_refused(
    codec: StarCodec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proof is given two frames of the chunk in each other's place."""

    def swapped(*given: Any, **knobs: Any) -> None:
        *facts, units, pairs = given
        prove_star(*facts, [units[0], units[2], units[1], *units[3:]], pairs, **knobs)

    monkeypatch.setattr("videoformat.media.star_encoder.prove_star", swapped)
    with pytest.raises(DataError):
        encode(Star(codec=codec, interval=6, adaptive=False), moving(6, height=48, width=64))


def test_a_chunk_has_a_frame() -> None:
    with pytest.raises(InvalidArgumentError, match="at least one frame"):
        StarEncoder(Star(), 64, 48, RGB_COLOR, Fraction(30)).finish()
