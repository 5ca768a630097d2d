"""Frames and rows of native datasets against what LeRobot 0.6.1 itself returned for them.

LeRobot's pyav backend converts with FFmpeg's defaults, as reads here do: images are equal to the last
bit, so that bound is the one that is held.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import videoformat as vf

pytestmark = pytest.mark.shared_data

# Golden file: dataset, and the frames around its own that an item's images hold.
GOLDEN: Mapping[str, tuple[str, tuple[int, ...] | None]] = {
    "g1_plain": ("g1_v30", None),
    "g1_delta": ("g1_v30", (-3, 0, 3)),
    "syn_h264": ("syn_v30_h264", None),
    "syn_h264_g30_bframes_drift": ("syn_v30_h264_g30_bframes_drift", None),
}
ACTIONS = range(5)  # the frames from its own on that an item's actions hold, in g1_delta


@pytest.fixture(scope="module")
def native(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], vf.Dataset]:
    folder = tmp_path_factory.mktemp("golden")

    def make(name: str) -> vf.Dataset:
        if not (folder / name).exists():
            vf.convert(shared / "data" / "lerobot" / name, folder / name, video="native")
        return vf.open(folder / name)

    return make


def window(frame: int, deltas: Any, length: int) -> tuple[list[int], list[bool]]:
    """Frames clamped to the episode, and which of them are not it."""
    wanted = [frame + delta for delta in deltas]
    return [min(max(at, 0), length - 1) for at in wanted], [not 0 <= at < length for at in wanted]


@pytest.mark.parametrize("name", GOLDEN)
def test_items_are_those_of_lerobot(
    name: str, shared: Path, native: Callable[[str], vf.Dataset]
) -> None:
    source, deltas = GOLDEN[name]
    dataset = native(source)
    golden = np.load(shared / "data" / "golden" / f"{name}_pyav.npz")
    assert dataset.num_frames == int(golden["__len__"])
    starts = dataset.episodes.column("from_index").to_pylist()
    lengths = dataset.episodes.column("length").to_pylist()
    items = sorted({int(key.split("/")[0]) for key in golden.files if "/" in key})
    assert len(items) >= 5
    for item in items:
        episode, frame = (int(golden[f"{item}/{key}"]) for key in ("episode_index", "frame_index"))
        assert starts[episode] + frame == item == int(golden[f"{item}/index"])
        rows = dataset.rows(episode)
        for camera in dataset.cameras:
            expected = golden[f"{item}/{camera}"]
            frames, is_pad = window(frame, deltas or (0,), lengths[episode])
            images = dataset.read_frames(episode, camera, frames).transpose(0, 3, 1, 2)
            assert np.array_equal(images if deltas else images[0], expected)
            if deltas:
                assert golden[f"{item}/{camera}_is_pad"].tolist() == is_pad
        for key in ("timestamp", "task_index", "observation.state", "action"):
            if f"{item}/{key}" not in golden.files:
                continue
            expected = golden[f"{item}/{key}"]
            around = ACTIONS if deltas and key == "action" else (0,)
            frames, is_pad = window(frame, around, lengths[episode])
            values = np.array(rows.column(key).to_pylist())[frames].astype(expected.dtype)
            assert np.array_equal(values.reshape(expected.shape), expected)
            if len(around) > 1:
                assert golden[f"{item}/{key}_is_pad"].tolist() == is_pad
