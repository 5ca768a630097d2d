"""Moving content that exercises prediction: a pan, objects, noise, a fade, a flash and a cut."""

from __future__ import annotations

from functools import cache

import av
import numpy as np

__all__ = ["SMALL", "pictures"]

SMALL = (128, 96)
_PERIOD = 96
_FADE = range(10, 22)
_CUT = range(30, 70)  # the negative, so that a scene also comes back
_FLASH = 42


@cache
def pictures(
    count: int, pixel_format: str, size: tuple[int, int] = SMALL
) -> tuple[av.VideoFrame, ...]:
    """The first ``count`` pictures of a (width, height); always the same ones."""
    width, height = size
    rng = np.random.default_rng(11)
    coarse = rng.normal(size=(height // 4, width // 4, 3))
    texture = 112 + 18 * np.kron(coarse, np.ones((8, 8, 1)))
    rows, columns = np.mgrid[0:height, 0:width]
    found = []
    for number in range(count):
        left = int(width / 2 * (1 + np.sin(number / 19)))
        top = int(height / 2 * (1 + np.cos(number / 23)))
        image = texture[top : top + height, left : left + width].copy()
        for disc in range(3):
            x = width / 2 + width * (0.26 + 0.06 * disc) * np.sin(
                number / (5 + 3 * disc) + 2 * disc
            )
            y = height / 2 + height * 0.28 * np.cos(number / (7 + 2 * disc) + disc)
            inside = (columns - x) ** 2 + (rows - y) ** 2 < (height * (0.08 + 0.04 * disc)) ** 2
            image[inside] = (210 - 70 * disc, 70 + 60 * disc, 50 + 80 * disc)
        if number % _PERIOD in _FADE:
            image *= 0.25 + abs(number % _PERIOD - (_FADE.start + _FADE.stop) / 2) / 8
        if number % _PERIOD == _FLASH:
            image += 70
        if number % _PERIOD in _CUT:
            image = 255 - image
        image += rng.normal(0, 2, image.shape)
        frame = av.VideoFrame.from_ndarray(image.clip(0, 255).astype(np.uint8), format="rgb24")
        found.append(frame.reformat(format=pixel_format))
    return tuple(found)
