"""One line of progress on standard error."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

__all__ = ["ProgressLine"]

TERMINAL_SECONDS = 0.1
OTHER_SECONDS = 10.0


class ProgressLine:
    """Shows the newest text: on a terminal in place, elsewhere as a line every ten seconds.

    Used as a context manager; the line on a terminal is wiped at the end.
    """

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._in_place = self.stream.isatty()
        self._interval = TERMINAL_SECONDS if self._in_place else OTHER_SECONDS
        # In a log nothing is said of what takes less than one interval.
        self._due = clock() + (0 if self._in_place else self._interval)
        self._shown = False

    def update(self, text: str) -> None:
        """Shows the text, if the last one has been there for long enough."""
        now = self._clock()
        if now < self._due:
            return
        self._due = now + self._interval
        if self._in_place:
            width = shutil.get_terminal_size().columns
            self.stream.write(f"\r\x1b[K{text[: width - 1]}")
        else:
            self.stream.write(f"{text}\n")
        self.stream.flush()
        self._shown = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._shown and self._in_place:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
