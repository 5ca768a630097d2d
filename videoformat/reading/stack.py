"""One array that frames are read into, and the checks of what a caller gives for it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from videoformat.directory import as_index
from videoformat.errors import DataError, InvalidArgumentError
from videoformat.index.features import MAXIMUM_SIDE

__all__ = ["Request", "Stack", "check_out", "check_size"]

Request = tuple[int, str, int]
UInt8Array = np.ndarray[Any, np.dtype[np.uint8]]


def check_size(size: tuple[int, int] | None) -> tuple[int, int] | None:
    """A size to scale to, as (height, width). Raises ``InvalidArgumentError``."""
    if size is None:
        return None
    try:
        height, width = (as_index(side, "a side of size") for side in size)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"size is {size!r}, expected (height, width): {error}") from None
    if not (1 <= height <= MAXIMUM_SIDE and 1 <= width <= MAXIMUM_SIDE):
        raise InvalidArgumentError(f"size is {size!r}, expected sides from 1 to {MAXIMUM_SIDE}")
    return height, width


def check_out(out: UInt8Array, shape: tuple[int, ...]) -> UInt8Array:
    """An array of the caller's to fill in. Raises ``InvalidArgumentError``."""
    if not isinstance(out, np.ndarray) or out.dtype != np.uint8 or out.shape != shape:
        given = getattr(out, "dtype", type(out).__name__), getattr(out, "shape", ())
        raise InvalidArgumentError(
            f"out is {given[0]} of shape {given[1]}, expected a uint8 array of shape {shape}"
        )
    if not out.flags.writeable:
        raise InvalidArgumentError("out cannot be written to")
    return out


class Stack:
    """One array [N, H, W, 3] that frames are put straight into.

    A new array is made when the first frame comes and not before: memory that the decoder has just
    let go of is then used again.
    """

    def __init__(
        self,
        shape: tuple[int, int, int, int],
        slots: Mapping[Request, Sequence[int]],
        out: UInt8Array | None = None,
    ) -> None:
        self._shape = shape
        self._slots = slots
        self._out = out
        self._lock = threading.Lock()

    def array(self) -> UInt8Array:
        """The array, filled in once the read is done."""
        with self._lock:
            if self._out is None:
                self._out = np.empty(self._shape, np.uint8)
            return self._out

    def place(self, episode: int, camera: str, frame: int, rgb: UInt8Array) -> None:
        """Puts a frame into every slot that asked for it."""
        if rgb.shape != self._shape[1:]:
            raise DataError(
                f"episode {episode}, camera {camera!r}, frame {frame}: a frame of {rgb.shape} where "
                f"{self._shape[1:]} is expected"
            )
        if self._shape[0] == 1 and self._adopt(rgb):
            return
        out = self.array()
        for slot in self._slots[episode, camera, frame]:
            out[slot] = rgb

    def _adopt(self, rgb: UInt8Array) -> bool:
        """Takes a frame for the whole array, without a copy, where it can be just that."""
        with self._lock:
            if self._out is not None or not rgb.flags.c_contiguous:
                return False
            self._out = rgb[np.newaxis]
            return True
