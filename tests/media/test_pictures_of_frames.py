"""Decoded frames as pictures to encode: samples kept, layouts converted once, depth refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import av
import numpy as np
import pytest

from videoformat.errors import UnsupportedStreamError
from videoformat.media.color import RGB_COLOR, Color, coded_side, picture_of, tag, to_rgb

Planes = list[np.ndarray[Any, Any]]


def planes_of(frame: av.VideoFrame, dtype: str = "u1") -> Planes:
    """Copies of the samples, without the padding of lines."""
    found = []
    for plane in frame.planes:
        lines = np.frombuffer(plane, dtype).reshape(-1, plane.line_size // np.dtype(dtype).itemsize)
        found.append(lines[: plane.height, : plane.width].copy())
    return found


def random_frame(
    layout: str, height: int, width: int, *, bits: int = 8, components: int = 1
) -> av.VideoFrame:
    """A frame of random samples; what lies behind its lines is random too."""
    random = np.random.default_rng(height * 1000 + width)
    frame = av.VideoFrame(width, height, layout)
    for plane in frame.planes:
        if bits == 8:
            plane.update(random.integers(0, 256, plane.buffer_size, np.uint8).tobytes())
        else:
            samples = random.integers(0, 2**bits, plane.buffer_size // 2, np.uint16)
            plane.update(samples.astype("<u2").tobytes())
    return frame


SIZES = [(16, 16), (17, 33), (1, 1), (3, 5), (48, 31), (31, 48), (20, 2)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("layout", ["yuv420p", "yuvj420p"])
def test_every_sample_of_420_is_kept_and_edges_are_repeated(
    layout: str, size: tuple[int, int]
) -> None:
    frame = random_frame(layout, *size)
    before = planes_of(frame)
    picture, color = picture_of(frame)
    assert color.range == ("full" if layout == "yuvj420p" else "limited")
    assert picture.format.name == "yuv420p"
    assert (picture.height, picture.width) == tuple(map(coded_side, size))
    for old, new in zip(before, planes_of(picture), strict=True):
        height, width = old.shape
        np.testing.assert_array_equal(new[:height, :width], old)
        assert (new[height:] == new[height - 1]).all()
        assert (new[:, width:] == new[:, width - 1 : width]).all()


def test_the_time_of_a_padded_frame_is_kept() -> None:
    frame = random_frame("yuv420p", 17, 17)
    frame.pts, frame.time_base = 512, Fraction(1, 15360)
    picture, _ = picture_of(frame)
    assert (picture.pts, picture.time_base) == (512, Fraction(1, 15360))


COLORS = [
    Color("bt709", "limited", "bt709", "bt709"),
    Color("bt709", "full", "bt709", "bt709"),
    Color("smpte170m", "full", "smpte170m", "smpte170m"),
    Color("bt2020nc", "limited", "bt2020", "bt2020-10"),
]


@pytest.mark.parametrize("color", COLORS)
@pytest.mark.parametrize("size", [(16, 32), (17, 33), (5, 3)])
@pytest.mark.parametrize("layout", ["yuv422p", "yuv444p", "yuv440p", "nv12", "nv21", "yuv411p"])
def test_other_layouts_keep_their_luma_matrix_and_range(
    layout: str, size: tuple[int, int], color: Color
) -> None:
    """The luma of every 8-bit layout is what it was, sample for sample."""
    frame = random_frame(layout, *size)
    tag(frame, color)
    height, width = size
    luma = planes_of(frame)[0]
    picture, found = picture_of(frame)
    assert found == color
    assert picture.format.name == "yuv420p"
    np.testing.assert_array_equal(planes_of(picture)[0][:height, :width], luma)


@pytest.mark.parametrize("color", COLORS)
def test_chroma_of_444_is_averaged(color: Color) -> None:
    frame = random_frame("yuv444p", 16, 32)
    tag(frame, color)
    wide = planes_of(frame)[1:]
    picture, _ = picture_of(frame)
    for old, new in zip(wide, planes_of(picture)[1:], strict=True):
        mean = old.reshape(8, 2, 16, 2).mean((1, 3))
        # A mean of four, or of two where the filter is narrower; never a scale or a shift.
        assert abs(float(new.mean() - old.mean())) < 2
        assert np.corrcoef(mean.ravel(), new.ravel())[0, 1] > 0.6


@pytest.mark.parametrize("color", COLORS)
@pytest.mark.parametrize("layout", ["yuv420p10le", "yuv422p10le", "yuv444p10le", "p010le"])
def test_ten_bits_become_eight(layout: str, color: Color) -> None:
    frame = random_frame(layout, 16, 32, bits=10)
    if layout == "p010le":  # the high bits of its words
        for plane in frame.planes:
            words = np.frombuffer(plane, "<u2") << 6
            plane.update(words.astype("<u2").tobytes())
    tag(frame, color)
    luma = planes_of(frame, "<u2")[0].astype(float) / (256 if layout == "p010le" else 4)
    picture, found = picture_of(frame)
    assert found == color
    assert np.abs(planes_of(picture)[0] - luma.clip(0, 255)).max() <= 1.5


@pytest.mark.parametrize("tagged", [None, "limited", "full"])
def test_gray_is_full_range_luma(tagged: str | None) -> None:
    frame = random_frame("gray", 17, 20)
    if tagged:
        tag(frame, Color("bt709", tagged, "bt709", "bt709"))
    luma = planes_of(frame)[0]
    picture, color = picture_of(frame)
    assert (color.matrix, color.range) == ("smpte170m", "full")
    y, cb, cr = planes_of(picture)
    np.testing.assert_array_equal(y[:17, :20], luma)
    assert (cb == 128).all()
    assert (cr == 128).all()
    rgb = to_rgb(picture, color, 17, 20)
    assert np.abs(rgb.astype(int) - luma[..., None]).max() <= 1


@pytest.mark.parametrize("layout", ["rgb24", "bgr24", "gbrp"])
@pytest.mark.parametrize("size", [(16, 16), (17, 33), (1, 1)])
def test_rgb_goes_to_the_colour_of_rgb(layout: str, size: tuple[int, int]) -> None:
    height, width = size
    rgb = np.full((height, width, 3), (200, 90, 30), np.uint8)
    frame = av.VideoFrame.from_ndarray(rgb, format="rgb24")
    if layout != "rgb24":
        frame = frame.reformat(format=layout, threads=1)
    picture, color = picture_of(frame)
    assert color == RGB_COLOR
    assert (picture.height, picture.width) == tuple(map(coded_side, size))
    assert np.abs(to_rgb(picture, color, height, width).astype(int) - rgb).max() <= 2


def test_a_palette_is_rgb() -> None:
    palette = np.zeros((256, 4), np.uint8)
    palette[:, 0] = 255
    palette[7, 1:] = (200, 90, 30)
    frame = av.VideoFrame.from_ndarray((np.full((16, 16), 7, np.uint8), palette), format="pal8")
    picture, color = picture_of(frame)
    assert color == RGB_COLOR
    rgb = to_rgb(picture, color, 16, 16)
    assert np.abs(rgb.astype(int) - (200, 90, 30)).max() <= 2


@pytest.mark.parametrize("layout", ["gray10le", "gray12le", "gray16le", "gray16be", "grayf32le"])
def test_depth_is_refused(layout: str) -> None:
    with pytest.raises(UnsupportedStreamError, match=f"depth: pixel format {layout}"):
        picture_of(av.VideoFrame(16, 16, layout))


@pytest.mark.parametrize("layout", ["yuva420p", "yuva444p", "rgba", "bgra", "argb", "ya8", "gbrap"])
def test_transparency_is_refused(layout: str) -> None:
    with pytest.raises(UnsupportedStreamError, match=f"alpha channel: pixel format {layout}"):
        picture_of(av.VideoFrame(16, 16, layout))


def test_yuv_that_calls_itself_rgb_is_refused() -> None:
    frame = av.VideoFrame(16, 16, "yuv444p")
    frame.colorspace = 0
    with pytest.raises(UnsupportedStreamError, match="gbr in pixel format yuv444p"):
        picture_of(frame)
