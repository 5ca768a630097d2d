"""What was unusual in a source, and what was done about it."""

from __future__ import annotations

__all__ = ["Notes"]


class Notes:
    """Sentences for the person who converts; the first of each kind is kept.

    A fault that repeats in every episode of a large dataset is one note.
    """

    __slots__ = ("_kinds", "texts")

    def __init__(self) -> None:
        self._kinds: set[str] = set()
        self.texts: list[str] = []

    def add(self, kind: str, text: str) -> None:
        """Keeps ``text`` unless this kind was noted before."""
        if kind not in self._kinds:
            self._kinds.add(kind)
            self.texts.append(text)
