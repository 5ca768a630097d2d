"""A scene with a robot arm: trajectories, and pictures of them that compress as video does.

The first camera stands still and sees the arm; every other one rides on the gripper, so that all
of its picture moves. Sensor noise keeps any two frames apart. A number burnt into each picture
tells which frame it is, whatever a codec or a reader did to it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lerobot_sample.spec import BURNT_IN_BITS, CAMERA_ID_STEP, SampleSpec

Image = NDArray[np.uint8]  # [height, width, 3], RGB
Vectors = NDArray[np.float32]  # [frames, joints]

_WAYPOINT_FRAMES = 20
_PAN = 48  # pixels that a wrist camera's view moves for one radian
_NOISE_SHIFTS = 64


def trajectory(spec: SampleSpec, episode: int) -> Vectors:
    """Joint angles in radians (the last is the gripper, 0 to 1), smooth between random poses."""
    length = spec.lengths[episode]
    rng = np.random.default_rng([spec.seed, 1, episode])
    poses = rng.uniform(-0.8, 0.8, (length // _WAYPOINT_FRAMES + 2, spec.joints))
    poses[:, -1] = rng.uniform(0.0, 1.0, len(poses))
    at = np.arange(length) / _WAYPOINT_FRAMES
    before, t = at.astype(int), (at % 1.0)[:, None]
    # The minimum-jerk polynomial: a hand's way from rest to rest.
    s = t**3 * (10.0 - 15.0 * t + 6.0 * t**2)
    way: NDArray[np.float64] = poses[before] * (1.0 - s) + poses[before + 1] * s
    return way.astype(np.float32)


def actions(states: Vectors) -> Vectors:
    """The command at each frame: the state that the next frame reaches."""
    return np.concatenate([states[1:], states[-1:]])


class Camera:
    """One camera of a spec: renders its frames, each with its number burnt in."""

    def __init__(self, spec: SampleSpec, position: int) -> None:
        rng = np.random.default_rng([spec.seed, 2, position])
        self._height, self._width = spec.height, spec.width
        self._first_id = CAMERA_ID_STEP * position
        self._moves = position > 0
        margin = 2 * _PAN if self._moves else 0
        self._table = _texture(rng, spec.height + 2 * margin, spec.width + 2 * margin)
        noise = rng.normal(0.0, 1.0, (spec.height + _NOISE_SHIFTS, spec.width + _NOISE_SHIFTS, 1))
        self._noise = np.rint(noise).astype(np.int16)
        self._margin = margin

    def frames(self, states: Vectors, first_index: int) -> Iterator[Image]:
        """The frames of an episode whose first row has the dataset-wide index ``first_index``."""
        for index, state in enumerate(states, first_index):
            image = self._see_from_wrist(state) if self._moves else self._see_arm(state)
            image = self._with_noise(image, index)
            burn_in(image, self._first_id + index)
            yield image

    def _see_arm(self, state: NDArray[np.float32]) -> Image:
        image = self._table.copy()
        reach = 0.75 * self._height / len(state)
        at = np.array([0.95 * self._height, 0.5 * self._width])
        angle = 0.0
        for joint, turn in enumerate(state[:-1]):
            angle += float(turn)
            to = at + reach * np.array([-np.cos(angle), np.sin(angle)])
            _draw_capsule(image, at, to, self._height / 24, (200, 90 + 20 * (joint % 4), 40))
            at = to
        radius = self._height / 16 * (0.6 + 0.4 * float(state[-1]))
        _draw_capsule(image, at, at, radius, (40, 40, 60))
        return image

    def _see_from_wrist(self, state: NDArray[np.float32]) -> Image:
        pan = np.rint(_PAN * np.clip(state[:2], -2.0, 2.0)).astype(int) + self._margin
        top, left = int(pan[0]), int(pan[1])
        image = self._table[top : top + self._height, left : left + self._width].copy()
        opening = (0.1 + 0.2 * float(state[-1])) * self._width
        for side in (-1.0, 1.0):
            root = np.array([float(self._height), 0.5 * self._width + side * opening])
            tip = np.array([0.7 * self._height, 0.5 * self._width + 0.6 * side * opening])
            _draw_capsule(image, root, tip, self._height / 20, (50, 50, 55))
        return image

    def _with_noise(self, image: Image, index: int) -> Image:
        top, left = index * 37 % _NOISE_SHIFTS, index * 23 % _NOISE_SHIFTS
        noise = self._noise[top : top + self._height, left : left + self._width]
        noisy: Image = np.clip(image + noise, 0, 255).astype(np.uint8)
        return noisy


def burn_in(image: Image, number: int) -> None:
    """Draws a number as 16 blocks, rows 8 to 39, bit b in columns 8b to 8b+7, white for 1."""
    for bit in range(BURNT_IN_BITS):
        image[8:40, 8 * bit : 8 * bit + 8] = 255 if number >> bit & 1 else 0


def read_burnt_in(image: Image) -> int:
    """Reads the number back from the blocks' middles, which a codec's ringing does not reach."""
    number = 0
    for bit in range(BURNT_IN_BITS):
        block = image[12:36, 8 * bit + 2 : 8 * bit + 6]
        number |= int(block.mean() > 127.5) << bit
    return number


def _texture(rng: np.random.Generator, height: int, width: int) -> Image:
    """A table top: smooth patches of colour under a fine grain."""
    rows, columns = np.linspace(0, 7, height), np.linspace(0, 9, width)
    coarse = rng.uniform(60, 190, (9, 11, 3))
    top, left = rows.astype(int), columns.astype(int)
    y, x = (rows % 1.0)[:, None, None], (columns % 1.0)[None, :, None]
    above = coarse[top][:, left] * (1 - x) + coarse[top][:, left + 1] * x
    below = coarse[top + 1][:, left] * (1 - x) + coarse[top + 1][:, left + 1] * x
    grain = rng.normal(0.0, 3.0, (height, width, 1))
    texture: Image = np.clip(above * (1 - y) + below * y + grain, 0, 255).astype(np.uint8)
    return texture


def _draw_capsule(
    image: Image,
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    radius: float,
    color: tuple[int, int, int],
) -> None:
    """Paints all points within ``radius`` of a segment; points are (row, column)."""
    low = np.maximum(np.floor(np.minimum(start, end) - radius), 0).astype(int)
    high = np.ceil(np.maximum(start, end) + radius).astype(int) + 1
    box = image[low[0] : max(high[0], 0), low[1] : max(high[1], 0)]
    rows = np.arange(box.shape[0])[:, None] + low[0] - start[0]
    columns = np.arange(box.shape[1])[None, :] + low[1] - start[1]
    along = end - start
    square = max(float(along @ along), 1e-9)
    t = np.clip((rows * along[0] + columns * along[1]) / square, 0.0, 1.0)
    distance = np.hypot(rows - t * along[0], columns - t * along[1])
    box[distance <= radius] = color
