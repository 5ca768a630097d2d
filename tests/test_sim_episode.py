"""One robot episode with four cameras, written frame by frame, read back in every order."""

import random
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import videoformat as vf
from videoformat.verify import verify

pytestmark = pytest.mark.shared_data

CAMERAS = ("angle", "left_wrist", "right_wrist", "top")
FRAMES = 90


def source(folder: Path, camera: str) -> list[np.ndarray[Any, Any]]:
    with av.open(str(folder / f"aloha_transfer_s0_{camera}.mkv")) as container:
        frames = (frame for frame, _ in zip(container.decode(video=0), range(FRAMES), strict=False))
        return [frame.to_ndarray(format="rgb24") for frame in frames]


def test_four_cameras(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data/sim"
    cameras = {f"observation.images.{camera}": source(folder, camera) for camera in CAMERAS}
    with np.load(folder / "aloha_transfer_s0_state.npz") as arrays:
        state = arrays["qpos"][:FRAMES]
        fps = int(arrays["fps"])
    features: dict[str, Any] = {key: {"dtype": "video", "shape": (480, 640, 3)} for key in cameras}
    features["observation.state"] = {"dtype": "float64", "shape": (14,)}
    bounds = vf.ChunkBounds(frames=64)
    out = tmp_path / "out"
    structure = vf.DDRA(preset="veryfast")
    with vf.create(out, fps=fps, features=features, video=structure, chunk_bounds=bounds) as writer:
        for at in range(FRAMES):
            frame: dict[str, Any] = {key: images[at] for key, images in cameras.items()}
            writer.add_frame({**frame, "observation.state": state[at], "task": "transfer"})
        writer.save_episode()
    ds = vf.open(out, options=vf.ReadOptions(decode_threads=2))
    assert verify(out).problems == ()
    assert ds.episodes.column("chunk_count").to_pylist() == [2]
    kept = np.stack(ds.rows(0).column("observation.state").to_pylist())
    assert np.array_equal(kept, state)
    whole = {key: ds.read_frames(0, key, range(FRAMES)) for key in cameras}
    for key, images in cameras.items():
        difference = whole[key].astype(float) - np.stack(images)
        # RGB, after 4:2:0: the wrist cameras' textures lose the most.
        assert 10 * np.log10(255**2 / (difference**2).mean()) > 34
    rng = random.Random(0)
    for _ in range(60):
        requests = [
            (0, rng.choice(ds.cameras), rng.randrange(FRAMES)) for _ in range(rng.randint(1, 8))
        ]
        plan = ds.plan(requests)
        assert plan.picture_count <= 3 * plan.frame_count
        for (_, key, frame), image in zip(requests, ds.read_batch(requests), strict=True):
            assert np.array_equal(image, whole[key][frame])
