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


def scene(
    episode: int,
    camera: int,
    frame: int,
    *,
    size: tuple[int, int] = (HEIGHT, WIDTH),
    noise: int = 8,
) -> UInt8Array:
    """One frame: a moving gradient under so much noise, different for every argument."""
    random = np.random.default_rng((episode, camera, frame)).integers(0, noise, (*size, 3))
    slope = np.arange(size[1])[None, :, None] * 3 + np.arange(size[0])[:, None, None]
    shift = frame * (3 + camera) + episode * 40
    return ((slope + shift) % (256 - noise) + random).astype(np.uint8)


def write_dataset(
    uri: Path | str,
    *,
    lengths: tuple[int, ...] = (13, 6),
    profile: ProfileName = "fast",
    interval: int = 4,
    chunk_frames: int = 8,
    cameras: tuple[str, ...] = CAMERAS,
    size: tuple[int, int] = (HEIGHT, WIDTH),
    noise: int = 8,
    crf: float = 30,
    storage_options: dict[str, str] | None = None,
) -> None:
    """Writes a dataset whose episodes have these lengths, several chunks each where longer."""
    features: dict[str, Any] = {
        camera: {"dtype": "video", "shape": (*size, 3), "names": None} for camera in cameras
    }
    features["action"] = {"dtype": "float32", "shape": (2,), "names": ["x", "y"]}
    writer = vf.create(
        uri,
        fps=FPS,
        features=features,
        video=vf.DDRA(profile=profile, interval=interval, crf=crf),
        robot_type="arm",
        chunk_bounds=vf.ChunkBounds(frames=chunk_frames),
        storage_options=storage_options,
        encoder_threads=1,
    )
    with writer:
        for episode, length in enumerate(lengths):
            for frame in range(length):
                images = {
                    key: scene(episode, at, frame, size=size, noise=noise)
                    for at, key in enumerate(cameras)
                }
                action = np.array([episode, frame], np.float32)
                writer.add_frame({**images, "action": action, "task": f"task {episode}"})
            writer.save_episode()
