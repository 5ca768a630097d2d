"""I_PCM macroblocks in CAVLC: their samples are aligned to bytes, so slice data must stay where it is.

Encoders choose them for noise at fine quantisers, when they weigh rate against plain distortion.
"""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import av
import native_requests as requests
import numpy as np
import pytest

import videoformat as vf
from videoformat.errors import StructureError
from videoformat.media import star
from videoformat.verify import verify

SIZE = 128, 160
PATCH = 16
UInt8Array = np.ndarray[Any, np.dtype[np.uint8]]


def frames(count: int, noisy: range) -> list[UInt8Array]:
    """Flat grey with a step that moves; a block of noise in the last macroblocks of some frames."""
    random = np.random.default_rng(1)
    found = []
    for number in range(count):
        frame = np.full((*SIZE, 3), 100, np.uint8)
        frame[: 16 * (number % 7), : 8 * (number % 5 + 1)] = 60 + 5 * number
        if number in noisy:
            frame[-PATCH:, -PATCH:] = random.integers(0, 256, (PATCH, PATCH, 3))
        found.append(frame)
    return found


def waves(count: int) -> list[UInt8Array]:
    """Waves that move under noise; a larger block of noise in two of three frames."""
    random = np.random.default_rng(1)
    rows, columns = np.mgrid[: SIZE[0], : SIZE[1]]
    found = []
    for number in range(count):
        red = 128 + 90 * np.sin((columns + 3 * number) / 9)
        green = 128 + 90 * np.cos((rows + number) / 7)
        frame = np.stack([red, green, np.full(SIZE, 128.0)], -1) + random.normal(0, 3, (*SIZE, 3))
        if number % 3 != 1:
            frame[-2 * PATCH :, -2 * PATCH :] = random.integers(0, 256, (2 * PATCH, 2 * PATCH, 3))
        found.append(np.clip(frame, 0, 255).astype(np.uint8))
    return found


def luma_error(one: UInt8Array, other: UInt8Array) -> float:
    """The mean difference of luma in the block."""
    weights = np.array([0.299, 0.587, 0.114])
    patches = [(frame[-PATCH:, -PATCH:] @ weights) for frame in (one, other)]
    return float(np.abs(patches[0] - patches[1]).mean())


def write_star(uri: Path, pictures: list[UInt8Array], crf: int) -> None:
    feature = {"camera": {"dtype": "video", "shape": (*SIZE, 3)}}
    structure = vf.Star(codec="h264", crf=crf, adaptive=False, interval=8)
    with vf.create(uri, fps=30, features=feature, video=structure) as writer:
        for picture in pictures:
            writer.add_frame({"camera": picture})
        writer.save_episode()


@pytest.mark.parametrize("crf", [1, 6, 12])
@pytest.mark.parametrize("noisy", [range(5, 6), range(6, 7), range(14)], ids=["5", "6", "all"])
def test_stars_of_noise_at_fine_quantisers(crf: int, noisy: range, tmp_path: Path) -> None:
    pictures = frames(14, noisy)
    write_star(tmp_path / "d", pictures, crf)
    found = vf.open(tmp_path / "d").read_frames(0, "camera", range(14))
    # Chroma is kept at half the resolution, so that luma alone is near.
    assert max(map(luma_error, pictures, found)) < 8
    assert not verify(tmp_path / "d", decode=True).problems


@pytest.mark.parametrize("at", [3, 5, 6, 7])
def test_a_star_whose_slice_data_does_not_bear_it_is_not_written(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By settings with which x264 does choose I_PCM, in any one picture."""
    settings = {name: value for name, value in star._X264.items() if name != "psy-rd"}
    monkeypatch.setattr(star, "_X264", MappingProxyType({**settings, "no-psy": "1"}))
    with pytest.raises(StructureError, match="star"):
        write_star(tmp_path / "d", frames(14, range(at, at + 1)), 6)
    assert vf.open(tmp_path / "d").num_episodes == 0


@pytest.mark.parametrize("quantiser", [4, 10])
def test_native_pictures_keep_their_slice_data_where_it_is(quantiser: int, tmp_path: Path) -> None:
    """Where a strict pyramid and many B pictures would make rewritten closures cheapest."""
    path = tmp_path / "clip.mp4"
    parameters = (
        "cabac=0:no-psy=1:aq-mode=0:b-pyramid=strict:bframes=3:b-adapt=0:keyint=48:scenecut=0:ref=1"
    )
    with av.open(str(path), "w") as container:
        stream = cast(Any, container.add_stream("libx264", rate=30))
        stream.height, stream.width = SIZE
        stream.pix_fmt = "yuv420p"
        stream.options = {
            "preset": "medium", "qp": str(quantiser), "x264-params": parameters
        }  # fmt: skip
        for picture in waves(24):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    vf.convert(path, tmp_path / "d", video="native")
    dataset = vf.open(tmp_path / "d")
    outcome = requests.Outcome()
    expected = requests.sequential_digests(path)
    for frame in range(24):
        requests.compare(dataset, 0, dataset.cameras[0], expected, [frame], outcome)
    assert not outcome.wrong
    assert not verify(tmp_path / "d", decode=True).problems
