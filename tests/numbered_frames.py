"""Frames that say which one they are, however they were encoded."""

from __future__ import annotations

from typing import Any

import numpy as np

UInt8Array = np.ndarray[Any, np.dtype[np.uint8]]
HEIGHT, WIDTH = 32, 40
BITS = 16
DARK, BRIGHT = 60, 200


def image(number: int, height: int = HEIGHT, width: int = WIDTH) -> UInt8Array:
    """16 blocks of 8x8 samples that are the bits of a number; at least 32x32."""
    rgb = np.full((height, width, 3), (DARK, 90, 120), np.uint8)
    for bit in range(BITS):
        row, column = divmod(bit, 4)
        if number >> bit & 1:
            rgb[8 * row : 8 * row + 8, 8 * column : 8 * column + 8] = (BRIGHT, 150, 180)
    return rgb


def number_of(rgb: UInt8Array) -> int:
    """The number of a frame that was read back; every block must be nearly what it was."""
    assert rgb.dtype == np.uint8
    inner = rgb[:32, :32, 0].reshape(4, 8, 4, 8).astype(float)[:, 2:6, :, 2:6].mean((1, 3)).ravel()
    is_bright = inner > (DARK + BRIGHT) / 2
    assert np.abs(inner - np.where(is_bright, BRIGHT, DARK)).max() < 30, inner
    return sum(1 << bit for bit in range(BITS) if is_bright[bit])


def numbers_of(frames: Any) -> list[int]:
    return [number_of(frame) for frame in frames]
