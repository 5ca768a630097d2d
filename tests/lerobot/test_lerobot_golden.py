"""Items equal those that LeRobot 0.6.1 returned for the same datasets."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from videoformat.lerobot import LeRobotDataset  # noqa: E402 - needs torch

pytestmark = pytest.mark.shared_data

STEP = 1 / 30
WINDOWS = {
    "observation.images.cam_high": [-3 * STEP, 0.0, 3 * STEP],
    "action": [at * STEP for at in range(5)],
    "observation.state": [0.0],
}


def golden(shared: Path, name: str) -> tuple[dict[str, Any], Any]:
    folder = shared / "data/golden"
    described = json.loads((folder / f"{name}_pyav.json").read_text(encoding="utf-8"))
    return described, np.load(folder / f"{name}_pyav.npz")


@pytest.mark.parametrize(
    ("name", "source", "windows"),
    [
        ("g1_plain", "g1_v30", None),
        ("g1_delta", "g1_v30", WINDOWS),
        ("syn_h264", "syn_v30_h264", None),
        ("syn_h264_g30_bframes_drift", "syn_v30_h264_g30_bframes_drift", None),
        ("syn_image", "syn_v30_image", None),
    ],
)
def test_items_are_those_of_lerobot(
    shared: Path,
    converted: Callable[..., Path],
    name: str,
    source: str,
    windows: dict[str, list[float]] | None,
) -> None:
    described, arrays = golden(shared, name)
    dataset = LeRobotDataset("me/set", root=converted(source), delta_timestamps=windows)
    assert len(dataset) == described["len"]
    assert dataset.num_episodes == described["num_episodes"]
    assert (dataset.fps, type(dataset.fps)) == (described["fps"], int)
    for index, entries in described["items"].items():
        item = dataset[int(index)]
        assert list(item) == list(entries)
        for key, (dtype, shape) in entries.items():
            value = item[key]
            if dtype == "str":
                assert value == shape
                continue
            assert (str(value.dtype), list(value.shape)) == (dtype, shape), key
            theirs = arrays[f"{index}/{key}"]
            if key in dataset.meta.camera_keys:
                ours = (value * 255).round().numpy()
                # The same decoder and the same conversion, and images without loss: to the last bit.
                np.testing.assert_array_equal(ours, theirs, err_msg=f"{index} {key}")
            else:
                np.testing.assert_array_equal(value.numpy(), theirs, err_msg=f"{index} {key}")


def test_a_batch_is_the_items_one_by_one(converted: Callable[..., Path]) -> None:
    dataset = LeRobotDataset("me/set", root=converted("syn_v30_h264"))
    indices = [122, 0, 0, 40, -1]
    for together, alone in zip(
        dataset.__getitems__(indices), [dataset[at] for at in indices], strict=True
    ):
        assert list(together) == list(alone)
        for key, value in alone.items():
            assert (
                together[key] == value
                if isinstance(value, str)
                else torch.equal(together[key], value)
            )
