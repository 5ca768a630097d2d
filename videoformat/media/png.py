"""RGB frames as PNG files."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import av
import numpy as np

from videoformat.errors import InvalidArgumentError

__all__ = ["encode_png"]


def encode_png(rgb: np.ndarray[Any, np.dtype[np.uint8]]) -> bytes:
    """A frame, uint8 [H, W, 3], as the bytes of a PNG file that holds exactly its samples."""
    if rgb.dtype != np.uint8 or rgb.ndim != 3 or rgb.shape[2] != 3 or not rgb.size:
        raise InvalidArgumentError(f"a PNG is made of uint8 [H, W, 3], got {rgb.dtype} {rgb.shape}")
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(rgb), format="rgb24")
    context = av.CodecContext.create("png", "w")
    context.width, context.height, context.pix_fmt = frame.width, frame.height, "rgb24"
    context.time_base = Fraction(1, 1)
    context.thread_count = 1
    # Filter "paeth" for every line: FFmpeg's default of none doubles the size of camera frames.
    context.options = {"pred": "paeth"}
    return b"".join(bytes(packet) for packet in (*context.encode(frame), *context.encode(None)))
