"""Recording from a loop that has no time for the encoder.

Strategy: a thread of its own encodes and appends what the loop hands over, in order. What waits is
bounded; when it is full the loop waits or gets an error, as it chose. A frame that was taken is in the
episode that ``save_episode`` acknowledges, or there is an error: nothing is dropped in between.
"""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np

from videoformat.errors import BacklogError, InvalidArgumentError
from videoformat.writer import Writer

__all__ = ["Recorder"]


@dataclass(slots=True)
class _Frame:
    values: dict[str, Any]


@dataclass(slots=True)
class _Save:
    facts: dict[str, Any]
    uid: Future[str] = field(default_factory=Future)


class Recorder:
    """Takes frames as fast as they come, and has a ``Writer`` encode them in a thread of its own.

    ``backlog`` frames wait at most, copied. ``when_full`` says what ``add_frame`` does then: ``block``
    waits until there is room, ``raise`` raises ``BacklogError`` and takes nothing, so that the caller
    may try again or give the episode up. The writer belongs to the recorder, which closes it.

    Where the store or the encoder fails, every call raises that error, and so does whatever was saved
    and not yet appended, until ``clear_episode``.
    """

    def __init__(
        self, writer: Writer, *, backlog: int = 64, when_full: Literal["block", "raise"] = "block"
    ) -> None:
        if isinstance(backlog, bool) or not isinstance(backlog, int) or backlog < 1:
            raise InvalidArgumentError(f"backlog is {backlog!r}, expected an integer of at least 1")
        if when_full not in ("block", "raise"):
            raise InvalidArgumentError(f"when_full is {when_full!r}, expected 'block' or 'raise'")
        self._writer = writer
        self._backlog = backlog
        self._blocks = when_full == "block"
        self._waiting: deque[_Frame | _Save] = deque()
        self._frames_waiting = self._open_frames = 0
        self._busy = self._closed = False
        self._error: Exception | None = None
        # One lock; told whenever something was taken, done or failed.
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="videoformat-recorder", daemon=True)
        self._thread.start()

    @property
    def num_pending_frames(self) -> int:
        """Frames of the open episode."""
        return self._open_frames

    @property
    def num_waiting_frames(self) -> int:
        """Frames that were taken and are not encoded yet."""
        return self._frames_waiting

    def add_frame(self, frame: Mapping[str, Any]) -> None:
        """Takes the next frame of the open episode, as ``Writer.add_frame`` does.

        The values are copied: their arrays may be used again at once. Raises ``BacklogError`` where
        too many wait and the recorder does not.
        """
        with self._changed:
            self._check()
            self._writer.check_frame(frame)
            while self._frames_waiting >= self._backlog:
                if not self._blocks:
                    raise BacklogError(
                        f"{self._frames_waiting} frames wait to be encoded, backlog is "
                        f"{self._backlog}: frame {self._open_frames} was not taken"
                    )
                self._changed.wait()
                self._check()
            self._waiting.append(_Frame({key: _copied(value) for key, value in frame.items()}))
            self._frames_waiting += 1
            self._open_frames += 1
            self._changed.notify_all()

    def save_episode(
        self,
        *,
        metadata: Mapping[str, Any] | None = None,
        statistics: Mapping[str, Any] | None = None,
    ) -> Future[str]:
        """Ends the open episode and returns at once; the next one may begin.

        The result of what is returned is the ``episode_uid``, once the writer has saved the episode
        (``Writer.save_episode``); it raises what went wrong.
        """
        with self._changed:
            self._check()
            if not self._open_frames:
                raise InvalidArgumentError("save_episode: no frame was added")
            save = _Save({"metadata": metadata, "statistics": statistics})
            self._waiting.append(save)
            self._open_frames = 0
            self._changed.notify_all()
            return save.uid

    def clear_episode(self) -> None:
        """Abandons the open episode and forgets an error; episodes that were saved before go on."""
        with self._changed:
            self._check_open()
            while self._waiting and isinstance(self._waiting[-1], _Frame):
                self._waiting.pop()
                self._frames_waiting -= 1
            self._open_frames = 0
            while self._waiting or self._busy:
                self._changed.wait()
            # The thread waits for the lock, or for something to do.
            self._error = None
            self._writer.clear_episode()
            self._changed.notify_all()

    def close(self) -> None:
        """Waits until every saved episode is visible, and ends the writer.

        Raises ``InvalidArgumentError`` where frames were added and not saved, and what went wrong
        where something did: the recorder stays open then.
        """
        with self._changed:
            if self._closed:
                return
            while self._waiting or self._busy:
                self._changed.wait()
            if self._error is not None:
                raise self._error
            self._writer.close()
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def _check(self) -> None:
        self._check_open()
        if self._error is not None:
            raise self._error

    def _check_open(self) -> None:
        if self._closed:
            raise InvalidArgumentError("the recorder is closed")

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                item = self._waiting.popleft()
                self._busy = True
            error = self._error or self._done(item)
            with self._changed:
                self._busy = False
                if isinstance(item, _Frame):
                    self._frames_waiting -= 1
                if error is not None:
                    self._fail(item, error)
                self._changed.notify_all()

    def _done(self, item: _Frame | _Save) -> Exception | None:
        try:
            if isinstance(item, _Frame):
                self._writer.add_frame(item.values)
            else:
                item.uid.set_result(self._writer.save_episode(**item.facts))
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets it
            return error
        return None

    def _fail(self, item: _Frame | _Save, error: Exception) -> None:
        """Refuses this and all that waits behind it; to be called with the lock."""
        self._error = error
        for each in (item, *self._waiting):
            if isinstance(each, _Save):
                each.uid.set_exception(error)
        self._waiting.clear()
        self._frames_waiting = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None and not self._closed:
            self.clear_episode()
        self.close()


def _copied(value: Any) -> Any:
    return np.array(value) if hasattr(value, "__array__") else copy.deepcopy(value)
