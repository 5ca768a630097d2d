"""Native conversion of datasets that hold images: every sample as Pillow reads it."""

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from lerobot_builder import build_v2, feature
from PIL import Image

import videoformat as vf
from videoformat.errors import UnsupportedStreamError
from videoformat.verify import verify

KEY = "observation.images.front"
LENGTHS = (7, 3)
FRAMES = np.random.default_rng(8).integers(0, 256, (10, 20, 34, 3), np.uint8)


def build(root: Path, file_format: str) -> None:
    def column(episode: int, length: int) -> dict[str, pa.Array]:
        rows = []
        for rgb in FRAMES[sum(LENGTHS[:episode]) :][:length]:
            data = io.BytesIO()
            Image.fromarray(rgb).save(data, file_format)
            rows.append({"bytes": data.getvalue(), "path": None})
        return {KEY: pa.array(rows, pa.struct([("bytes", pa.binary()), ("path", pa.string())]))}

    build_v2(root, LENGTHS, cameras=(), features={KEY: feature("image", 20, 34, 3)}, columns=column)


def test_images_are_kept_to_the_last_bit(tmp_path: Path) -> None:
    build(tmp_path / "source", "PNG")
    bounds = vf.ChunkBounds(frames=4)
    vf.convert(
        tmp_path / "source", tmp_path / "out.vf", video="native", workers=2, chunk_bounds=bounds
    )
    ds = vf.open(tmp_path / "out.vf")
    first = 0
    for episode, length in enumerate(LENGTHS):
        found = ds.read_frames(episode, KEY, range(length))
        np.testing.assert_array_equal(found, FRAMES[first : first + length])
        first += length
    assert len(ds.streams(0, KEY)) == 2
    assert not verify(tmp_path / "out.vf", decode=True).problems


def test_images_of_a_lossy_codec_are_refused_with_their_place(tmp_path: Path) -> None:
    build(tmp_path / "source", "JPEG")
    with pytest.raises(UnsupportedStreamError, match=r"images: episode 0, camera .*re-encoded"):
        vf.convert(tmp_path / "source", tmp_path / "out.vf", video="native", workers=1)
