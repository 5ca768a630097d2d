"""A store that refuses, fills up, or was tampered with: named errors, nothing lost."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import whole
from small_dataset import CAMERAS, scene, write_dataset

import videoformat as vf
from videoformat.errors import DataError, StoreError, VideoFormatError

LIMITED = """
import resource, sys
import numpy as np
import videoformat as vf
uri = sys.argv[1]
vf.open(uri).num_episodes
writer = vf.create(uri, mode="append", video=vf.DDRA(crf=1))
random = np.random.default_rng(0)
for frame in range(40):
    image = random.integers(0, 256, (32, 48, 3)).astype(np.uint8)
    writer.add_frame({"observation.images.top": image, "observation.images.wrist": image,
                      "action": [0.0, 0.0], "task": ""})
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, resource.RLIM_INFINITY))
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    writer.save_episode()
    print("saved")
except vf.VideoFormatError as error:
    print(type(error).__name__, error)
"""


@pytest.fixture
def uri(tmp_path: Path) -> Path:
    path = tmp_path / "d.vf"
    write_dataset(path, lengths=(5, 3), chunk_frames=4)
    return path


def child(script: str, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout.strip()


def test_a_file_that_cannot_grow_is_a_named_error_and_nothing_is_lost(uri: Path) -> None:
    before = whole.episodes(uri)
    said = child(LIMITED, str(uri))
    assert said.startswith("StoreError"), said
    assert whole.episodes(uri) == before
    with vf.create(uri, mode="append") as writer:
        images = {key: scene(0, 0, 0) for key in CAMERAS}
        writer.add_frame({**images, "action": np.zeros(2, np.float32), "task": ""})
        writer.save_episode()
    assert vf.open(uri).num_episodes == 3


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.99])
def test_any_file_that_is_cut_is_a_named_error(uri: Path, tmp_path: Path, keep: float) -> None:
    files = sorted(path for path in uri.rglob("*") if path.is_file())
    for number, path in enumerate(files):
        copy = Path(shutil.copytree(uri, tmp_path / f"{number}.vf"))
        target = copy / path.relative_to(uri)
        data = target.read_bytes()
        target.write_bytes(data[: int(len(data) * keep)])
        try:
            dataset = vf.open(copy)
            found = [
                dataset.read_frames(episode, CAMERAS[0], [0, -1])
                for episode in range(dataset.num_episodes)
            ]
        except VideoFormatError:
            continue
        # What is not an error is the truth.
        for episode, frames in enumerate(found):
            assert np.array_equal(frames, vf.open(uri).read_frames(episode, CAMERAS[0], [0, -1]))


def test_a_folder_that_is_something_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a dataset")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "file", tmp_path / "folder", tmp_path / "nothing"):
        for call in (vf.open, vf.log, vf.vacuum, vf.recover):
            with pytest.raises((VideoFormatError, DataError, StoreError)):
                call(path)
