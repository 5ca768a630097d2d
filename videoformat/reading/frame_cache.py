"""Frames that were read lately, kept for requests that overlap: windows that move by less than themselves.

What is kept is RGB, not the anchors' samples: an ordinary decoder takes coded pictures alone, so an
anchor that was decoded once cannot be handed to it, and is decoded again with every closure.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, TypeAlias

import numpy as np

__all__ = ["FrameCache", "FrameKey"]

UInt8Array = np.ndarray[Any, np.dtype[np.uint8]]
# Row, camera, frame of the episode, the size that it was scaled to.
FrameKey: TypeAlias = tuple[int, str, int, tuple[int, int] | None]


class FrameCache:
    """Frames, bounded in bytes, least recently used out first. Safe to use from several threads."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._frames: OrderedDict[FrameKey, UInt8Array] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def byte_count(self) -> int:
        """The bytes of the frames that are kept."""
        return self._bytes

    def get(self, key: FrameKey) -> UInt8Array | None:
        """A copy of the frame, if it is kept."""
        with self._lock:
            frame = self._frames.get(key)
            if frame is None:
                return None
            self._frames.move_to_end(key)
        return frame.copy()

    def put(self, key: FrameKey, frame: UInt8Array) -> None:
        """Keeps a copy, and lets go of frames that were used longest ago."""
        if frame.nbytes > self.capacity:
            return
        kept = frame.copy()
        with self._lock:
            old = self._frames.pop(key, None)
            self._bytes += kept.nbytes - (0 if old is None else old.nbytes)
            self._frames[key] = kept
            while self._bytes > self.capacity:
                _, dropped = self._frames.popitem(last=False)
                self._bytes -= dropped.nbytes
