"""Small datasets for tests, written frame by frame, and their frames."""

from pathlib import Path
from typing import Any

import numpy as np

import videoformat as vf
from videoformat.media.gop import ProfileName

CAMERAS = ("observation.images.top", "observation.images.wrist")
HEIGHT, WIDTH = 32, 48
FPS = 30

UInt8Array = np.ndarray[Any, np.dtype[np.uint8]]


def scene(episode: int, camera: int, frame: int) -> UInt8Array:
    """One frame: a moving gradient with a little noise, different for every argument."""
    noise = np.random.default_rng((episode, camera, frame)).integers(0, 8, (HEIGHT, WIDTH, 3))
    slope = np.arange(WIDTH)[None, :, None] * 3 + np.arange(HEIGHT)[:, None, None]
    shift = frame * (3 + camera) + episode * 40
    return ((slope + shift) % 240 + noise).astype(np.uint8)


def write_dataset(
    uri: Path | str,
    *,
    lengths: tuple[int, ...] = (13, 6),
    profile: ProfileName = "fast",
    interval: int = 4,
    chunk_frames: int = 8,
    cameras: tuple[str, ...] = CAMERAS,
    storage_options: dict[str, str] | None = None,
) -> None:
    """Writes a dataset whose episodes have these lengths, several chunks each where longer."""
    features: dict[str, Any] = {
        camera: {"dtype": "video", "shape": (HEIGHT, WIDTH, 3), "names": None} for camera in cameras
    }
    features["action"] = {"dtype": "float32", "shape": (2,), "names": ["x", "y"]}
    writer = vf.create(
        uri,
        fps=FPS,
        features=features,
        video=vf.DDRA(profile=profile, interval=interval, crf=30),
        robot_type="arm",
        chunk_bounds=vf.ChunkBounds(frames=chunk_frames),
        storage_options=storage_options,
        encoder_threads=1,
    )
    with writer:
        for episode, length in enumerate(lengths):
            for frame in range(length):
                images = {key: scene(episode, at, frame) for at, key in enumerate(cameras)}
                action = np.array([episode, frame], np.float32)
                writer.add_frame({**images, "action": action, "task": f"task {episode}"})
            writer.save_episode()
