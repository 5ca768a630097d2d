"""Moving content that exercises prediction: a pan, objects, noise, a fade, a flash and a cut."""

from __future__ import annotations

from functools import cache

import av
import numpy as np

__all__ = ["HEIGHT", "WIDTH", "pictures"]

WIDTH, HEIGHT = 192, 128
_FADE = range(24, 40)
_FLASH = 64
_CUT = 48  # the negative from here to twice here, so that a scene also comes back


@cache
def pictures(count: int, pixel_format: str) -> tuple[av.VideoFrame, ...]:
    """The first ``count`` pictures; always the same ones."""
    rng = np.random.default_rng(11)
    coarse = rng.normal(size=(HEIGHT // 4, WIDTH // 4, 3))
    texture = 112 + 18 * np.kron(coarse, np.ones((8, 8, 1)))
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH]
    found = []
    for number in range(count):
        left = int(WIDTH / 2 * (1 + np.sin(number / 19)))
        top = int(HEIGHT / 2 * (1 + np.cos(number / 23)))
        image = texture[top : top + HEIGHT, left : left + WIDTH].copy()
        for disc in range(3):
            x = WIDTH / 2 + (50 + 12 * disc) * np.sin(number / (5 + 3 * disc) + 2 * disc)
            y = HEIGHT / 2 + 36 * np.cos(number / (7 + 2 * disc) + disc)
            inside = (columns - x) ** 2 + (rows - y) ** 2 < (10 + 5 * disc) ** 2
            image[inside] = (210 - 70 * disc, 70 + 60 * disc, 50 + 80 * disc)
        if number % 96 in _FADE:
            image *= 0.25 + abs(number % 96 - (_FADE.start + _FADE.stop) / 2) / 11
        if number % 96 == _FLASH:
            image += 70
        if number // _CUT % 2:
            image = 255 - image
        image += rng.normal(0, 2, image.shape)
        frame = av.VideoFrame.from_ndarray(image.clip(0, 255).astype(np.uint8), format="rgb24")
        found.append(frame.reformat(format=pixel_format))
    return tuple(found)
