"""What the stars of every codec have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["PairReader", "Place"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a picture of a star stands: its interval, its place in it, its frame; all from 0.

    Intervals and frames count in the chunk.
    """

    interval: int
    place: int
    frame: int


class PairReader(Protocol):
    """Makes pictures of a star from what one encoder made of an anchor and a frame, again and again.

    A group of an anchor and two frames is read as two pairs that have the anchor in common. Raises
    ``StructureError`` where a packet is not what a pair should give.
    """

    @property
    def configuration(self) -> bytes:
        """The codec configuration of the star."""
        ...

    def anchor(self, packet: bytes, at: Place) -> bytes:
        """The access unit of the anchor of the pairs that follow."""
        ...

    def leaf(self, packet: bytes, at: Place) -> bytes:
        """The access unit of the other picture of a pair with that anchor."""
        ...
