"""A dataset whose every frame and row says which one it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numbered_frames import HEIGHT, WIDTH, image

import videoformat as vf

LENGTHS = (7, 1, 5)
TOP, WRIST = "observation.images.top", "observation.images.wrist"
SIZES = {TOP: (HEIGHT, WIDTH), WRIST: (33, 45)}
NUMERIC = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64",
)  # fmt: skip
SHAPES: tuple[tuple[int, ...], ...] = (
    (),
    (1,),
    (3,),
    (2, 3),
    (2, 1, 2),
    (1, 2, 1, 2),
    (2, 1, 2, 1, 2),
)


def number(episode: int, camera: str, frame: int) -> int:
    """What is written into a frame; different for each."""
    return 1000 * episode + 100 * sorted(SIZES).index(camera) + frame + 1


def tabular_features() -> dict[str, dict[str, Any]]:
    """Every dtype as scalar and matrix, every shape in one dtype, and texts."""
    features: dict[str, dict[str, Any]] = {}
    for dtype in NUMERIC:
        features[f"scalar.{dtype}"] = {"dtype": dtype, "shape": (1,)}
        features[f"matrix.{dtype}"] = {"dtype": dtype, "shape": (2, 3)}
    for shape in SHAPES:
        features[f"shape.{len(shape)}d{shape[-1] if shape else ''}"] = {
            "dtype": "int32",
            "shape": shape,
        }
    features["text"] = {"dtype": "string", "shape": (1,)}
    features["texts"] = {"dtype": "string", "shape": (2,)}
    features["grid.of.texts"] = {"dtype": "string", "shape": (2, 2)}
    return features


def value(feature: dict[str, Any], episode: int, frame: int) -> Any:
    """What is written for a frame: follows from the feature, the episode, the frame."""
    base = 10 * episode + frame
    count = int(np.prod(feature["shape"]))
    if feature["dtype"] == "string":
        texts = np.array([f"{base}ü{at}" for at in range(count)])
        return str(texts[0]) if feature["shape"] == (1,) else texts.reshape(feature["shape"])
    numbers = (base + np.arange(count)) % (2 if feature["dtype"] == "bool" else 100)
    return numbers.astype(feature["dtype"]).reshape(feature["shape"])


def write(
    uri: Path | str,
    *,
    tabular: bool = True,
    lengths: tuple[int, ...] = LENGTHS,
    chunk_frames: int = 3,
    **choices: Any,
) -> None:
    cameras: dict[str, Any] = {
        key: {"dtype": "video", "shape": (*size, 3)} for key, size in SIZES.items()
    }
    features = tabular_features() if tabular else {}
    with vf.create(
        uri,
        fps=10,
        features={**cameras, **features},
        video=vf.DDRA(interval=3, crf=12),
        chunk_bounds=vf.ChunkBounds(frames=chunk_frames),
        encoder_threads=1,
        **choices,
    ) as writer:
        for episode, length in enumerate(lengths):
            for frame in range(length):
                images = {
                    key: image(number(episode, key, frame), *size) for key, size in SIZES.items()
                }
                values = {key: value(item, episode, frame) for key, item in features.items()}
                task = f"task {episode % 2}"
                writer.add_frame({**images, **values, "task": task})
            writer.save_episode(metadata={"episode": episode})
