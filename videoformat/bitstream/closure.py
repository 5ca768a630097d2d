"""A closure as it is handed to a rewriter: what a table row stores, and the pictures' bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["ClosurePicture", "ClosureRewriter"]


@dataclass(frozen=True, slots=True)
class ClosurePicture:
    """One picture of a closure; the fields are those of ``Picture``, with its access unit.

    ``position`` and the entries of ``reference_lists`` count in one decode order, whichever.
    """

    position: int
    order_count: int
    reference_lists: tuple[tuple[int, ...], ...]
    access_unit: bytes


class ClosureRewriter(Protocol):
    """Makes a closure's pictures into a stream that an ordinary decoder decodes exactly."""

    @property
    def configuration(self) -> bytes:
        """The parameter sets of every rewritten closure, in byte stream format."""
        ...

    def rewrite(self, pictures: Sequence[ClosurePicture]) -> list[bytes]:
        """The access units, one per picture, in byte stream format.

        ``pictures`` are in decode order, and hold every picture that one of them references. The
        result depends on the arguments alone. Raises ``DataError`` where the pictures contradict
        their bytes or each other, ``UnsupportedStreamError`` where exactness cannot be had.
        """
        ...
