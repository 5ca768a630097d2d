"""The behaviour cloning example learns from a bucket and draws its plot."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from object_store import ObjectStore
from PIL import Image

import videoformat as vf

pytest.importorskip("torch")

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_behaviour_cloning.py"


def write(uri: str, storage_options: dict[str, str]) -> None:
    """A bright column moves about; the action is where it is."""
    features = {
        "observation.images.top": {"dtype": "video", "shape": (64, 64, 3)},
        "action": {"dtype": "float32", "shape": (2,)},
    }
    random = np.random.default_rng(0)
    with vf.create(uri, fps=30, features=features, storage_options=storage_options) as writer:
        for _ in range(4):
            for place in random.permutation(48):
                image = np.full((64, 64, 3), 40, np.uint8)
                image[:, place : place + 16] = 220
                action = np.array([place / 24 - 1, 1 - place / 24], np.float32)
                writer.add_frame({"observation.images.top": image, "action": action, "task": "x"})
            writer.save_episode()


def test_help_says_what_each_argument_is() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), "--help"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "Behaviour cloning from a bucket" in done.stdout
    for name in ("--camera", "--epochs", "--batch", "--workers", "--seed", "--plot"):
        assert re.search(rf"\n  {name} [A-Z]+\s+\S", done.stdout), name


@pytest.mark.object_store
def test_behaviour_cloning_from_a_bucket(s3: ObjectStore, tmp_path: Path) -> None:
    uri, picture = s3.uri("examples/training.vf"), tmp_path / "training.png"
    write(uri, s3.storage_options)
    keys = {name.upper(): value for name, value in s3.storage_options.items()}
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), uri, "--epochs=6", "--workers=1", f"--plot={picture}"],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env=os.environ | keys | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = re.search(r"loss (\S+) -> (\S+)\nmean wait for data \d+%", done.stdout)
    assert found, done.stdout
    assert float(found[2]) < 0.5 * float(found[1])
    assert "epoch 5 [########################] 6/6" in done.stdout
    with Image.open(picture) as drawn:
        assert drawn.size == (700, 500)
