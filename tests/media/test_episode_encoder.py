"""Episodes encoded: chunks within bounds, cameras in step, what contradicts a camera refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from media.encoded_chunks import moving

from videoformat.errors import DataError, InvalidArgumentError, StructureError
from videoformat.index.features import Feature, parse_features
from videoformat.index.rows import ExternalRange
from videoformat.media import episode as episode_module
from videoformat.media.color import RGB_COLOR, Color, rgb_to_picture
from videoformat.media.encoder import ChunkEncoder
from videoformat.media.episode import ChunkBounds, EncodedFrames, EpisodeEncoder, TimedPicture
from videoformat.media.gop import DDRA

PERIOD = Fraction(1, 30)
SIZES = {"top": (16, 32), "wrist": (17, 21)}


def cameras(*names: str) -> dict[str, Feature]:
    return parse_features({name: {"dtype": "video", "shape": (*SIZES[name], 3)} for name in names})


def encoder_of(*names: str, **choices: Any) -> EpisodeEncoder:
    return EpisodeEncoder("uid", cameras(*names), DDRA(interval=3), Fraction(30), **choices)


def timed(name: str, number: int) -> TimedPicture:
    height, width = SIZES[name]
    return TimedPicture.of_rgb(moving(1, height, width, seed=number)[0], 7 * number, PERIOD)


def encoded(names: tuple[str, ...], length: int, bounds: ChunkBounds) -> list[EncodedFrames]:
    encoder = encoder_of(*names, bounds=bounds)
    chunks = [encoder.push({name: timed(name, at) for name in names}) for at in range(length)]
    return [chunk for chunk in [*chunks, encoder.finish()] if chunk is not None]


@settings(max_examples=25)
@given(st.sampled_from([(), ("top",), ("top", "wrist")]), st.integers(1, 14), st.integers(1, 6))
def test_chunks_follow_each_other_within_their_bound(
    names: tuple[str, ...], length: int, frames: int
) -> None:
    chunks = encoded(names, length, ChunkBounds(frames=frames))
    counts = [chunk.key.frame_count for chunk in chunks]
    assert counts == [frames] * (length // frames) + [length % frames] * (length % frames > 0)
    for number, chunk in enumerate(chunks):
        first = number * frames
        assert (chunk.key.episode_uid, chunk.key.chunk_index) == ("uid", number)
        assert chunk.key.first_frame == first
        assert list(chunk.cameras) == list(names)
        for name, camera in chunk.cameras.items():
            stream = camera.index.stream
            assert (stream.height, stream.width) == SIZES[name]
            assert (stream.time_base_numerator, stream.time_base_denominator) == (1, 30)
            shown = dict(zip(camera.index.frame_index, camera.index.pts, strict=True))
            assert shown == {first + at: 7 * (first + at) for at in range(counts[number])}
        assert chunk.byte_count == sum(len(c.media) for c in chunk.cameras.values())  # type: ignore[arg-type]


def test_a_chunk_ends_soon_after_its_bytes_pass_the_bound() -> None:
    """What the encoder still holds back counts once it is out."""
    chunks = encoded(("top",), 60, ChunkBounds(bytes=1))
    counts = [chunk.key.frame_count for chunk in chunks]
    assert len(chunks) > 2
    assert max(counts) <= 20
    assert sum(counts) == 60


def test_media_that_lies_elsewhere_counts_no_bytes() -> None:
    (chunk,) = encoded(("top",), 2, ChunkBounds())
    media = replace(chunk.cameras["top"], media=ExternalRange("file:///a.mp4", 0, 99))
    assert replace(chunk, cameras={"top": media}).byte_count == 0


@pytest.mark.parametrize("wrong", [{"frames": 0}, {"frames": -1}, {"bytes": 0}], ids=str)
def test_bounds_are_positive(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidArgumentError, match="bounds are positive"):
        ChunkBounds(**wrong)


@pytest.mark.parametrize(
    ("feature", "frame"),
    [((17, 21), (18, 22)), ((18, 22), (17, 21)), ((17, 21), (17, 22)), ((5, 5), (16, 16)),
     ((5, 5), (4, 5)), ((16, 32), (32, 16)), ((48, 64), (48, 63))],
)  # fmt: skip
def test_a_frame_of_another_size_is_refused_though_it_would_be_padded_to_the_same(
    feature: tuple[int, int], frame: tuple[int, int]
) -> None:
    camera = parse_features({"top": {"dtype": "video", "shape": (*feature, 3)}})
    encoder = EpisodeEncoder("uid", camera, DDRA(), Fraction(30))
    picture = av.VideoFrame.from_ndarray(np.zeros((*frame, 3), np.uint8), format="rgb24")
    for wrong in (
        TimedPicture.of_rgb(np.zeros((*frame, 3), np.uint8), 0, PERIOD),
        TimedPicture.of_frame(picture, 0, PERIOD),
        TimedPicture.of_frame(picture.reformat(format="yuv420p", threads=1), 0, PERIOD),
    ):
        with pytest.raises(
            DataError,
            match=f"camera 'top': a frame of {frame[1]}x{frame[0]}, the feature's shape is "
            f"{feature[1]}x{feature[0]}",
        ):
            encoder.push({"top": wrong})


def test_a_colour_that_changes_is_refused() -> None:
    encoder = encoder_of("top")
    encoder.push({"top": timed("top", 0)})
    other = replace(timed("top", 1), color=Color("bt709", "full", "bt709", "bt709"))
    with pytest.raises(DataError, match=r"camera 'top': the colour changes from .* within an ep"):
        encoder.push({"top": other})


def test_a_time_base_that_changes_is_refused() -> None:
    encoder = encoder_of("top")
    encoder.push({"top": timed("top", 0)})
    other = replace(timed("top", 1), time_base=Fraction(1, 90000))
    with pytest.raises(DataError, match="camera 'top': the time base changes from 1/30 to 1/90000"):
        encoder.push({"top": other})


@pytest.mark.parametrize("names", [(), ("top",)])
def test_an_episode_has_a_frame(names: tuple[str, ...]) -> None:
    with pytest.raises(InvalidArgumentError, match="at least one frame"):
        encoder_of(*names).finish()


def test_cameras_out_of_step_are_refused() -> None:
    """A camera that misses a frame has fewer pictures than the chunk has frames."""
    encoder = encoder_of("top", "wrist")
    encoder.push({"top": timed("top", 0), "wrist": timed("wrist", 0)})
    encoder.push({"top": timed("top", 1)})
    with pytest.raises(StructureError, match=r"1 access units .* for 2 frames"):
        encoder.finish()


def test_a_structure_that_was_not_made_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The encoder is asked for one thing, the chunk checked for another."""

    class Longer(ChunkEncoder):
        def __init__(self, structure: DDRA, *others: Any) -> None:
            super().__init__(DDRA(interval=9), *others)
            self.structure = structure

    monkeypatch.setattr(episode_module, "make_encoder", Longer)
    encoder = encoder_of("top")
    for at in range(12):
        encoder.push({"top": timed("top", at)})
    with pytest.raises(StructureError, match="neighbouring anchors, the interval is 3"):
        encoder.finish()


def test_what_is_stored_about_the_encoder_is_what_it_was_told() -> None:
    (chunk,) = encoded(("top",), 2, ChunkBounds())
    stream = chunk.cameras["top"].index.stream
    assert stream.encoder_settings == DDRA(interval=3).describe()
    assert (stream.structure, stream.interval, stream.access) == ("ddra", 3, "direct")


def test_an_encoder_without_pictures_makes_no_chunk() -> None:
    encoder = ChunkEncoder(DDRA(), 16, 16, RGB_COLOR, Fraction(30))
    with pytest.raises(InvalidArgumentError, match="at least one frame"):
        encoder.finish()


@pytest.mark.parametrize("profile", ["fast", "small"])
def test_a_size_that_an_encoder_does_not_take_is_named(profile: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="does not take 0x16"):
        ChunkEncoder(DDRA(profile=profile), 0, 16, RGB_COLOR, Fraction(30))


def test_the_type_of_a_source_s_picture_is_not_asked_for() -> None:
    """A decoded frame says that it was a key frame; the encoder decides anew."""
    encoder = ChunkEncoder(DDRA(interval=4), 16, 16, RGB_COLOR, Fraction(30))
    for at in range(5):
        picture = rgb_to_picture(np.full((16, 16, 3), 40 * at, np.uint8))
        picture.pict_type = av.video.frame.PictureType.I
        encoder.push(picture)
    order = [rank for rank, _ in encoder.finish().access_units]
    assert order == [0, 4, 1, 2, 3]


@pytest.mark.parametrize("rate", [Fraction(1, 10**6), Fraction(30000, 1001), Fraction(10**5)])
@pytest.mark.parametrize("profile", ["fast", "small"])
def test_any_rate_is_encoded(profile: Any, rate: Fraction) -> None:
    encoder = ChunkEncoder(DDRA(profile=profile, interval=4), 16, 16, RGB_COLOR, rate)
    for at in range(9):
        encoder.push(rgb_to_picture(np.full((16, 16, 3), 20 * at, np.uint8)))
    assert sorted(rank for rank, _ in encoder.finish().access_units) == list(range(9))
