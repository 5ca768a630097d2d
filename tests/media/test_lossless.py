"""Images coded without loss, against Pillow's samples of the same files."""

import io
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

import videoformat as vf
from videoformat.errors import DataError, UnsupportedStreamError
from videoformat.media.images import decode_image
from videoformat.media.lossless import encode_lossless

HEIGHT, WIDTH = 37, 51
NOISE = np.random.default_rng(4).integers(0, 256, (3, HEIGHT, WIDTH, 3), np.uint8)


def image(rgb: np.ndarray[Any, Any], mode: str, file_format: str = "PNG") -> bytes:
    data = io.BytesIO()
    Image.fromarray(rgb).convert(mode).save(data, file_format)
    return data.getvalue()


def encode(images: list[bytes], path: Path) -> None:
    frames = (decode_image(data, "here") for data in images)
    encode_lossless(frames, path, Fraction(30000, 1001), WIDTH, HEIGHT)


@pytest.mark.parametrize("mode", ["RGB", "L", "1", "P"])
def test_every_sample_comes_back_after_native_conversion(tmp_path: Path, mode: str) -> None:
    images = [image(rgb, mode) for rgb in NOISE]
    encode(images, tmp_path / "images.mp4")
    vf.convert(tmp_path / "images.mp4", tmp_path / "out.vf", video="native", workers=1)
    ds = vf.open(tmp_path / "out.vf")
    (camera,) = ds.cameras
    expected = [np.asarray(Image.open(io.BytesIO(data)).convert("RGB")) for data in images]
    for at in (2, 0, 1):
        np.testing.assert_array_equal(ds.read_frames(0, camera, [at])[0], expected[at])
        assert ds.plan([(0, camera, at)]).picture_count == 1
    (stream,) = ds.streams(0, camera)
    assert (stream["color_matrix"], stream["time_base_denominator"]) == ("gbr", 30000)
    assert ds.pictures(0, camera).column("pts").to_pylist() == [0, 1001, 2002]


@pytest.mark.parametrize(
    ("mode", "file_format", "kind"),
    [("RGB", "JPEG", "images"), ("RGBA", "PNG", "alpha channel"), ("I;16", "PNG", "depth")],
)
def test_what_it_would_change_is_refused(
    tmp_path: Path, mode: str, file_format: str, kind: str
) -> None:
    rgb = NOISE[0] if mode != "I;16" else NOISE[0, ..., 0].astype(np.uint16) * 256
    with pytest.raises(UnsupportedStreamError) as caught:
        encode([image(rgb, mode, file_format)], tmp_path / "images.mp4")
    assert caught.value.kind == kind


def test_an_image_of_another_size_is_refused(tmp_path: Path) -> None:
    small = av.VideoFrame(16, 16, "rgb24")
    with pytest.raises(DataError, match=r"an image of 16x16, the feature's shape is 51x37"):
        encode_lossless([small], tmp_path / "images.mp4", Fraction(30), WIDTH, HEIGHT)
