"""Pictures to encode, by integer arithmetic alone, so that every machine makes the same ones."""

from __future__ import annotations

from typing import Any

import av
import numpy as np

from videoformat.media.color import Color, luma, tag

__all__ = ["FULL_RANGE", "full_range_picture", "rgb_frame"]

UInt8Array = np.ndarray[Any, np.dtype[np.uint8]]
FULL_RANGE = Color("bt709", "full", "bt709", "bt709")


def rgb_frame(width: int, height: int, number: int) -> UInt8Array:
    """A gradient with a bright square that moves; no two of 200 frames are alike."""
    rows, columns = np.indices((height, width))
    frame = np.stack([2 * columns, 2 * rows, columns + rows], axis=-1) % 160
    top, left = (3 * number) % (height - 12), (5 * number) % (width - 12)
    frame[top : top + 12, left : left + 12] = (250, 40 + number % 200, 30)
    return frame.astype(np.uint8)


def full_range_picture(width: int, height: int, number: int) -> av.VideoFrame:
    """A yuv420p picture whose samples reach 0 and 255, tagged as BT.709 at full range."""
    picture = av.VideoFrame(width, height, "yuv420p")
    for plane, scale in zip(picture.planes, (4, 8, 8), strict=True):
        rows, columns = np.indices((plane.height, plane.width))
        samples = np.clip(scale * columns + 2 * rows - 10 + number, 0, 255).astype(np.uint8)
        lines = np.zeros((plane.height, plane.line_size), np.uint8)
        lines[:, : plane.width] = samples
        plane.update(lines.tobytes())
    left = (5 * number) % (width - 12)
    luma(picture)[8:20, left : left + 12] = 255
    tag(picture, FULL_RANGE)
    return picture
