"""Encoded images, PNG files and digests of pictures."""

from __future__ import annotations

import io
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from PIL import Image

from videoformat.errors import DataError, InvalidArgumentError, UnsupportedStreamError
from videoformat.media.digest import picture_digest
from videoformat.media.images import decode_image
from videoformat.media.png import encode_png

RGB = np.random.default_rng(5).integers(0, 256, (20, 30, 3), np.uint8)


def written(format_: str, **choices: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(RGB).save(file, format_, **choices)
    return file.getvalue()


@pytest.mark.parametrize(
    ("format_", "choices"),
    [("PNG", {}), ("TIFF", {}), ("BMP", {}), ("WEBP", {"lossless": True}),
     ("TIFF", {"compression": "tiff_lzw"})],
)  # fmt: skip
def test_lossless_images_are_exact(format_: str, choices: dict[str, Any]) -> None:
    frame = decode_image(written(format_, **choices), "row 3")
    np.testing.assert_array_equal(frame.to_ndarray(format="rgb24"), RGB)


def test_jpeg_is_as_near_as_pillow_has_it() -> None:
    data = written("JPEG", quality=95, subsampling=0)
    expected = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
    found = decode_image(data, "row 3").to_ndarray(format="rgb24")
    assert np.abs(found - expected).mean() < 2


def test_a_gray_png_is_gray() -> None:
    file = io.BytesIO()
    Image.fromarray(RGB[..., 0]).save(file, "PNG")
    frame = decode_image(file.getvalue(), "row 3")
    assert frame.format.name == "gray"
    np.testing.assert_array_equal(frame.to_ndarray(), RGB[..., 0])


@pytest.mark.parametrize("data", [b"", b"GIF89a", b"\x89PN", b"<svg>", bytes(40)])
def test_another_format_is_named_with_its_place(data: bytes) -> None:
    with pytest.raises(UnsupportedStreamError, match=f"image format: row 3: {len(data)} bytes"):
        decode_image(data, "row 3")


@pytest.mark.parametrize("format_", ["PNG", "JPEG", "TIFF", "WEBP", "BMP"])
def test_an_image_that_was_cut_off_is_refused_with_its_place(format_: str) -> None:
    data = written(format_)
    for cut in (16, len(data) // 3):
        with pytest.raises(DataError, match=r"row 3: the \w+ image"):
            decode_image(data[:cut], "row 3")


@settings(max_examples=30)
@given(npst.arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(3))))
def test_a_png_holds_exactly_its_samples(rgb: np.ndarray[Any, Any]) -> None:
    """As Pillow reads it, and as this package does."""
    data = encode_png(rgb)
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(data)).convert("RGB")), rgb)
    np.testing.assert_array_equal(decode_image(data, "").to_ndarray(format="rgb24"), rgb)


def test_a_png_of_a_view() -> None:
    data = encode_png(RGB[::2, ::-3])
    np.testing.assert_array_equal(decode_image(data, "").to_ndarray(format="rgb24"), RGB[::2, ::-3])


@pytest.mark.parametrize(
    "wrong", [RGB.astype(float), RGB[..., 0], RGB[..., :2], RGB[:0], RGB[None]]
)
def test_what_is_no_frame_becomes_no_png(wrong: np.ndarray[Any, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match=r"a PNG is made of uint8 \[H, W, 3\]"):
        encode_png(wrong)


def filled(layout: str, width: int, padding: int, bits: int = 8) -> av.VideoFrame:
    """A frame whose samples follow from the layout, and what lies behind its lines from padding."""
    frame = av.VideoFrame(width, 6, layout)
    size = 2 if bits > 8 else 1
    packed = 3 if layout == "rgb24" else 1
    for number, plane in enumerate(frame.planes):
        lines = np.full((plane.buffer_size // plane.line_size, plane.line_size), padding, np.uint8)
        used = plane.width * size * packed
        lines[: plane.height, :used] = (np.arange(used) * (7 + number)) % 251
        plane.update(lines.tobytes())
    return frame


LAYOUTS = [("yuv420p", 8), ("yuv444p", 8), ("gray", 8), ("yuv420p10le", 10), ("rgb24", 8)]


@pytest.mark.parametrize(("layout", "bits"), LAYOUTS)
def test_a_digest_is_of_the_samples_alone(layout: str, bits: int) -> None:
    one, other = (filled(layout, 21, padding, bits) for padding in (0, 255))
    assert one.planes[0].line_size > 21
    assert picture_digest(one) == picture_digest(other)
    assert picture_digest(one) != picture_digest(filled(layout, 22, 0, bits))


@pytest.mark.parametrize(("layout", "bits"), LAYOUTS)
def test_a_digest_sees_every_sample(layout: str, bits: int) -> None:
    before = picture_digest(filled(layout, 21, 0, bits))
    size = (2 if bits > 8 else 1) * (3 if layout == "rgb24" else 1)
    for number, plane in enumerate(filled(layout, 21, 0, bits).planes):
        for row, column in ((0, 0), (plane.height - 1, plane.width * size - 1)):
            frame = filled(layout, 21, 0, bits)
            data = bytearray(bytes(frame.planes[number]))
            data[row * plane.line_size + column] ^= 1
            frame.planes[number].update(bytes(data))
            assert picture_digest(frame) != before


def test_a_digest_tells_layouts_apart() -> None:
    flat = [av.VideoFrame(16, 16, layout) for layout in ("yuv420p", "yuvj420p")]
    for frame in flat:
        for plane in frame.planes:
            plane.update(bytes(plane.buffer_size))
    assert picture_digest(flat[0]) != picture_digest(flat[1])
