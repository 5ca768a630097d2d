"""RGB frames as tensors: uint8 or float32, channels first or last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

__all__ = ["frames_to_tensor", "value_to_tensor"]

UInt8Array = np.ndarray[Any, np.dtype[np.uint8]]


def frames_to_tensor(
    frames: Sequence[UInt8Array], *, as_float: bool, channels_first: bool
) -> torch.Tensor:
    """Stacks frames of one size: [T, C, H, W] or [T, H, W, C], uint8 or float32 in [0, 1].

    The tensor is contiguous and its own. A float is the byte divided by 255.
    """
    height, width, channels = frames[0].shape
    shape = (channels, height, width) if channels_first else (height, width, channels)
    stacked = np.empty((len(frames), *shape), np.uint8)
    for slot, frame in zip(stacked, frames, strict=True):
        # numpy parts the channels twice as fast as torch does, and both do bytes faster than floats.
        slot[...] = frame.transpose(2, 0, 1) if channels_first else frame
    out = torch.from_numpy(stacked)
    return out.to(torch.float32).div_(255) if as_float else out


def value_to_tensor(values: np.ndarray[Any, Any] | list[Any], at: int | list[int]) -> Any:
    """One frame's value, or the values of several frames stacked, as a tensor of its own.

    Values that are no numbers stay what they are: one, or a list.
    """
    if isinstance(values, np.ndarray):
        return torch.from_numpy(np.array(values[at]))
    return values[at] if isinstance(at, int) else [values[item] for item in at]
