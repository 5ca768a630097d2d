"""Colour: names, tags in the stream, the way to RGB held to H.273's formulas."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import av
import numpy as np
import pytest
from media.encoded_chunks import encode

from videoformat.bitstream.h264 import H264Indexer
from videoformat.bitstream.hevc import HevcIndexer
from videoformat.errors import DataError, UnsupportedStreamError
from videoformat.media.color import (
    MATRICES,
    PRIMARIES,
    RANGES,
    RGB_COLOR,
    TRANSFERS,
    Color,
    RgbConverter,
    coded_side,
    color_of,
    luma,
    rgb_to_picture,
    tag,
    to_rgb,
)
from videoformat.media.encoder import ChunkEncoder
from videoformat.media.gop import DDRA, PROFILES, ProfileName

# H.273 table 4: K_R and K_B.
WEIGHTS = {
    "bt709": (0.2126, 0.0722), "fcc": (0.30, 0.11), "bt470bg": (0.299, 0.114),
    "smpte170m": (0.299, 0.114), "smpte240m": (0.212, 0.087), "bt2020nc": (0.2627, 0.0593),
}  # fmt: skip


def flat(y: int, cb: int, cr: int, height: int = 16, width: int = 16) -> av.VideoFrame:
    frame = av.VideoFrame(width, height, "yuv420p")
    for plane, value in zip(frame.planes, (y, cb, cr), strict=True):
        plane.update(bytes([value]) * plane.buffer_size)
    return frame


def by_formula(y: int, cb: int, cr: int, matrix: str, range_: str) -> Any:
    """H.273 equations 20 to 22 and 38 to 40 backwards."""
    kr, kb = WEIGHTS[matrix]
    black, white, swing = (16, 219, 224) if range_ == "limited" else (0, 255, 255)
    e_y, pb, pr = (y - black) / white, (cb - 128) / swing, (cr - 128) / swing
    red, blue = e_y + 2 * (1 - kr) * pr, e_y + 2 * (1 - kb) * pb
    green = (e_y - kr * red - kb * blue) / (1 - kr - kb)
    return np.clip(255 * np.array([red, green, blue]), 0, 255)


SAMPLES = [
    (16, 128, 128), (235, 128, 128), (81, 90, 240), (145, 54, 34), (41, 240, 110), (120, 100, 150),
    (0, 128, 128), (255, 128, 128), (200, 16, 128), (60, 128, 220),
]  # fmt: skip


@pytest.mark.parametrize("range_", RANGES)
@pytest.mark.parametrize("matrix", WEIGHTS)
def test_rgb_is_that_of_the_formulas(matrix: str, range_: str) -> None:
    color = Color(matrix, range_, "unspecified", "unspecified")
    for sample in SAMPLES:
        # The stream's own tags do not count: what is stored decides.
        frame = flat(*sample)
        tag(frame, Color("bt709" if matrix != "bt709" else "fcc", "full", "bt709", "bt709"))
        rgb = to_rgb(frame, color, 16, 16).astype(float)
        assert np.abs(rgb - by_formula(*sample, matrix, range_)).max() <= 2.5, sample


@pytest.mark.parametrize("range_", RANGES)
@pytest.mark.parametrize("matrix", WEIGHTS)
def test_scaled_rgb_is_the_nearest_to_the_formulas(matrix: str, range_: str) -> None:
    color = Color(matrix, range_, "unspecified", "unspecified")
    for sample in SAMPLES:
        for size in ((5, 9), (40, 24)):
            rgb = to_rgb(flat(*sample), color, 16, 16, size).astype(float)
            assert rgb.shape == (*size, 3)
            # Half a level of rounding, and swscale's coefficients have 13 bits.
            assert np.abs(rgb - by_formula(*sample, matrix, range_)).max() <= 0.75, sample


def test_rgb_of_the_top_left_part() -> None:
    picture = rgb_to_picture(np.full((5, 3, 3), 77, np.uint8))
    assert (picture.width, picture.height) == (16, 16)
    rgb = to_rgb(picture, RGB_COLOR, 5, 3)
    assert rgb.shape == (5, 3, 3)
    assert np.abs(rgb.astype(int) - 77).max() <= 1


def test_a_converter_takes_pictures_of_any_layout_in_turn() -> None:
    converter = RgbConverter()
    for _ in range(2):
        for size, color in ((16, RGB_COLOR), (32, Color("bt709", "full", "bt709", "bt709"))):
            frame = flat(120, 100, 150, size, size)
            rgb = converter.convert(frame, color, size, size).astype(float)
            expected = by_formula(120, 100, 150, color.matrix, color.range)
            assert np.abs(rgb - expected).max() <= 2.5


def test_a_colour_that_is_not_known_is_refused() -> None:
    for facts in (("bt2100", "limited"), ("bt709", "narrow"), ("", "full")):
        with pytest.raises(UnsupportedStreamError, match=r"colour (matrix|range): '"):
            Color(*facts, "bt709", "bt709")
    unchecked = object.__new__(Color)
    for name, value in zip(("matrix", "range", "primaries", "transfer"), "abcd", strict=True):
        object.__setattr__(unchecked, name, value)
    with pytest.raises(DataError, match="not known"):
        to_rgb(flat(1, 2, 3), unchecked, 16, 16)


@pytest.mark.parametrize("range_", RANGES)
@pytest.mark.parametrize("matrix", [name for name in MATRICES if name != "gbr"])
def test_a_tagged_frame_has_that_colour(matrix: str, range_: str) -> None:
    for primaries, transfer in (("bt709", "iec61966-2-1"), ("unspecified", "unspecified")):
        frame = flat(1, 2, 3)
        color = Color(matrix, range_, primaries, transfer)
        tag(frame, color)
        assert color_of(frame) == color


def test_every_name_of_primaries_and_transfers_is_read_back() -> None:
    for primaries in PRIMARIES:
        frame = flat(1, 2, 3)
        tag(frame, Color("bt709", "limited", primaries, "bt709"))
        assert color_of(frame).primaries == primaries
    for transfer in TRANSFERS:
        frame = flat(1, 2, 3)
        tag(frame, Color("bt709", "limited", "bt709", transfer))
        assert color_of(frame).transfer == transfer


def test_what_a_frame_does_not_say_is_assumed() -> None:
    assert color_of(flat(1, 2, 3)) == Color("smpte170m", "limited", "unspecified", "unspecified")
    full = av.VideoFrame(16, 16, "yuvj420p")
    assert color_of(full).range == "full"


def test_a_code_point_that_is_not_known_is_refused() -> None:
    frame = flat(1, 2, 3)
    frame.colorspace = 8  # YCgCo
    with pytest.raises(UnsupportedStreamError, match="colour matrix: code point 8"):
        color_of(frame)


def test_sides_that_are_encoded() -> None:
    assert [coded_side(side) for side in (1, 2, 15, 16, 17, 18, 479, 480)] == [
        16, 16, 16, 16, 18, 18, 480, 480,
    ]  # fmt: skip


@pytest.mark.parametrize("size", [(1, 1), (3, 5), (16, 16), (17, 33), (2, 40), (30, 17)])
def test_the_last_row_and_column_are_repeated(size: tuple[int, int]) -> None:
    height, width = size
    rgb = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    picture = rgb_to_picture(rgb)
    rows, columns = coded_side(height), coded_side(width)
    assert (picture.height, picture.width, picture.format.name) == (rows, columns, "yuv420p")
    samples = luma(picture)
    assert (samples[height:] == samples[height - 1]).all()
    assert (samples[:, width:] == samples[:, width - 1 : width]).all()
    kr, kb = WEIGHTS["smpte170m"]
    expected = 16 + 219 / 255 * (rgb @ np.array([kr, 1 - kr - kb, kb]))
    assert np.abs(samples[:height, :width] - expected).max() <= 1.01


CORNERS = [(r, g, b) for r in (0, 255) for g in (0, 255) for b in (0, 255)]


@pytest.mark.parametrize("corner", CORNERS, ids=str)
def test_a_corner_of_rgb_survives_the_conversion_alone(corner: tuple[int, int, int]) -> None:
    rgb = np.full((16, 16, 3), corner, np.uint8)
    back = to_rgb(rgb_to_picture(rgb), RGB_COLOR, 16, 16)
    assert np.abs(back.astype(int) - rgb).max() <= 2


@pytest.mark.parametrize(
    "color",
    [
        RGB_COLOR,
        Color("bt709", "limited", "bt709", "bt709"),
        Color("bt709", "full", "bt709", "iec61966-2-1"),
        Color("bt2020nc", "limited", "bt2020", "bt2020-10"),
        Color("bt470bg", "full", "unspecified", "unspecified"),
    ],
)
@pytest.mark.parametrize("profile", PROFILES)
def test_the_stream_carries_the_colour(profile: ProfileName, color: Color) -> None:
    """Read by this package's parser, and by FFmpeg's decoder."""
    encoder = ChunkEncoder(DDRA(profile=profile), 16, 16, color, Fraction(30))
    encoder.push(flat(100, 100, 100))
    encoded = encoder.finish()
    parser = (H264Indexer if encoded.codec == "h264" else HevcIndexer)(encoded.configuration)
    parser.push(encoded.access_units[0][1])
    sps = parser.sequence_parameter_set
    assert sps is not None
    assert sps.matrix_coefficients == MATRICES[color.matrix]
    assert sps.video_full_range_flag == (color.range == "full")
    decoder = av.CodecContext.create(encoded.codec, "r")
    decoder.extradata = encoded.configuration
    frames = [*decoder.decode(av.Packet(encoded.access_units[0][1])), *decoder.decode(None)]
    assert color_of(frames[0]) == color


def test_encoding_rgb_tags_what_it_converted_to() -> None:
    encoded = encode(DDRA(), [np.zeros((16, 16, 3), np.uint8)])
    assert encoded.color == RGB_COLOR
