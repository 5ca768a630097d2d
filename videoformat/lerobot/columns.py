"""LeRobot's columns over this format: which there are, which are derived, and their types.

LeRobot keeps five columns of its own beside the user's: ``timestamp``, ``frame_index``,
``episode_index``, ``index``, ``task_index``. Where a frame is says what three of them are, so they
are derived and always those of this dataset, also where it was made from a part of another. Its
items pass through ``torch.tensor`` of Python values: every float comes out as float32, every
integer as int64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from videoformat.loading import DatasetFacts

__all__ = [
    "DEFAULT_COLUMNS",
    "POSITION_COLUMNS",
    "item_columns",
    "lerobot_features",
    "lerobot_value",
]

DEFAULT_COLUMNS = ("timestamp", "frame_index", "episode_index", "index", "task_index")
POSITION_COLUMNS = ("frame_index", "episode_index", "index")
# Text of a frame's task, which this format's writer keeps where LeRobot keeps task_index.
TASK_TEXT = "task"


def lerobot_features(facts: DatasetFacts) -> dict[str, dict[str, Any]]:
    """The features as LeRobot declares them: the user's, then the five of its own."""
    features = {
        key: dict(feature)
        for key, feature in facts.features.items()
        if not (key == TASK_TEXT and feature["dtype"] == "string")
    }
    for key in DEFAULT_COLUMNS:
        # What is declared keeps its place; timestamp alone may be stored without being declared.
        dtype = "float32" if key == "timestamp" else "int64"
        features.setdefault(key, {"dtype": dtype, "shape": (1,), "names": None})
    return features


def item_columns(features: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    """The keys of an item's columns in the table's order, images among them, videos not."""
    return tuple(key for key, feature in features.items() if feature["dtype"] != "video")


def lerobot_value(value: Any) -> Any:
    """A stored value as LeRobot's items hold it."""
    if isinstance(value, np.ndarray | np.generic):
        value = torch.from_numpy(np.array(value))
    if not isinstance(value, torch.Tensor):
        return torch.tensor(value) if _is_numeric(value) else value
    if value.dtype == torch.bool:
        return value
    return value.to(torch.float32 if value.is_floating_point() else torch.int64)


def _is_numeric(value: Any) -> bool:
    """Whether a Python value becomes a tensor: numbers, and lists of them."""
    while isinstance(value, list) and value:
        value = value[0]
    return isinstance(value, bool | int | float)
