"""Writes the dataset of ``tests/compat/``: one that this version wrote, kept and read for ever.

Run once for a version that changes what is written; what is there already is never written again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

import videoformat as vf
from videoformat.media.gop import ProfileName

CAMERA = "observation.images.top"
FEATURES = {
    CAMERA: {"dtype": "video", "shape": (32, 48, 3)},
    "action": {"dtype": "float32", "shape": (2,), "names": ["x", "y"]},
    "label": {"dtype": "string", "shape": (1,)},
    "task_index": {"dtype": "int64", "shape": (1,)},
}


def _frame(episode: int, frame: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    slope = np.arange(48)[None, :, None] * 3 + np.arange(32)[:, None, None]
    return np.repeat((slope + frame * 5 + episode * 40) % 250, 3, axis=2).astype(np.uint8)


def write(folder: Path) -> None:
    """A dataset with a life: two profiles, a delete, a tag, a feature added, a compaction."""
    uri = folder / "dataset.vf"
    profiles: tuple[ProfileName, ...] = ("fast", "small")
    for at, profile in enumerate(profiles):
        with vf.create(
            uri,
            fps=30,
            features=FEATURES if at == 0 else None,
            mode="append" if at else "create",
            video=vf.DDRA(profile=profile, interval=4),
            chunk_bounds=vf.ChunkBounds(frames=5),
            encoder_threads=1,
        ) as writer:
            for length in (7, 3):
                for frame in range(length):
                    values = {"action": np.array([at, frame], np.float32), "label": f"{frame}"}
                    writer.add_frame({CAMERA: _frame(at, frame), **values, "task": f"task {at}"})
                writer.save_episode(metadata={"profile": profile})
    vf.tag(uri, "four")
    vf.delete_episodes(uri, [1])
    vf.vacuum(uri, unfinished=True)
    vf.add_feature(uri, "reward", {"dtype": "float32", "shape": (1,)}, np.arange(17, dtype="f4"))
    (folder / "expected.json").write_text(json.dumps(facts(uri), indent=1) + "\n")


def facts(uri: Path) -> dict[str, object]:
    """What a reader of any later version must find."""
    found: dict[str, object] = {}
    for version in ("four", None):
        dataset = vf.open(uri, version=version)
        found[str(version)] = {
            "episodes": dataset.directory.uids(),
            "lengths": dataset.directory.lengths.tolist(),
            "tasks": dataset.tasks,
            "metadata": dataset.episodes.column("metadata").to_pylist(),
            "rows": dataset.frames_table().to_pylist(),
            "frames": [
                hashlib.sha256(frame.tobytes()).hexdigest()
                for episode in range(dataset.num_episodes)
                for frame in dataset.read_frames(
                    episode, CAMERA, range(int(dataset.directory.lengths[episode]))
                )
            ],
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="such as tests/compat/1.0; must not be there")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True)
    write(folder)


if __name__ == "__main__":
    main()
