"""LeRobot 0.6.1's item semantics written out plainly, over rows and frames that are given.

Slow and obvious on purpose: one loop a rule, no shared code with the package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch


@dataclass(frozen=True)
class Recording:
    """Rows of every episode by column, and how to get a frame: (episode, camera, frame)."""

    fps: int
    videos: list[str]
    columns: list[str]
    rows: list[list[dict[str, Any]]]
    tasks: list[str]
    frame: Callable[[int, str, int], np.ndarray[Any, Any]]


def selected(recording: Recording, episodes: Sequence[int] | None) -> list[tuple[int, int, int]]:
    """(episode, frame, absolute index) of each position of a dataset."""
    positions = []
    absolute = 0
    for episode, rows in enumerate(recording.rows):
        for frame in range(len(rows)):
            if episodes is None or episode in episodes:
                positions.append((episode, frame, absolute))
            absolute += 1
    return positions


def tensor(value: Any) -> torch.Tensor:
    return torch.tensor(value)


def image(recording: Recording, episode: int, camera: str, frame: int) -> torch.Tensor:
    rgb = recording.frame(episode, camera, frame)
    return torch.from_numpy(rgb.copy()).permute(2, 0, 1).to(torch.float32) / 255


def reference_item(
    recording: Recording,
    position: int,
    episodes: Sequence[int] | None,
    delta_timestamps: dict[str, list[float]] | None,
) -> dict[str, Any]:
    """The item at a position: video, columns, padding, task."""
    episode, frame, _ = selected(recording, episodes)[position]
    rows = recording.rows[episode]
    windows: dict[str, list[int]] = {}
    pads: dict[str, list[bool]] = {}
    for key, deltas in (delta_timestamps or {}).items():
        windows[key], pads[key] = [], []
        for delta in deltas:
            wanted = frame + round(delta * recording.fps)
            pads[key].append(wanted < 0 or wanted >= len(rows))
            windows[key].append(max(0, min(len(rows) - 1, wanted)))
    item: dict[str, Any] = {}
    for camera in recording.videos:
        frames = windows.get(camera, [frame])
        item[camera] = torch.stack(
            [image(recording, episode, camera, at) for at in frames]
        ).squeeze(0)
    for key in recording.columns:
        if key in windows:
            item[key] = torch.stack([tensor(rows[at][key]) for at in windows[key]])
        else:
            item[key] = tensor(rows[frame][key])
    for key, pad in pads.items():
        item[f"{key}_is_pad"] = torch.BoolTensor(pad)
    item["task"] = recording.tasks[rows[frame]["task_index"]]
    return item
