"""One run of a conversion: episodes encoded side by side, appended in order.

Strategy: one thread a core encodes whole episodes (FFmpeg's encoders and decoders release the
interpreter's lock). Finished episodes are appended in the source's order, in batches bounded by
count, bytes and time, so that an episode's ordinal is its ordinal in the source, a fragment holds a
batch, and a crash costs what was not appended yet.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from videoformat.appending import EpisodeRowsBuffer, FinishedEpisode, append_episodes
from videoformat.convert.native import IndexedFiles, native_chunks
from videoformat.convert.progress import Progress
from videoformat.convert.source import ConversionSource, SourceEpisode, episode_uid
from videoformat.errors import CountMismatchError, DataError, UnsupportedStreamError
from videoformat.index.frame_rate import frame_rate
from videoformat.index.rows import EpisodeFacts, chunk_row
from videoformat.media.episode import ChunkBounds, EncodedFrames, EpisodeEncoder
from videoformat.media.structures import Structure
from videoformat.table import Table

__all__ = ["REFERENCE", "ConversionRun"]

REFERENCE = "reference"
BATCH_EPISODES = 32
BATCH_BYTES = 64 * 2**20
BATCH_SECONDS = 10.0
_TICK_SECONDS = 0.2


@dataclass(slots=True)
class _Shared:
    """What the encoding threads tell the main one."""

    cancelled: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    frames: int = 0
    media_bytes: int = 0

    def add(self, frames: int, media_bytes: int) -> None:
        with self.lock:
            self.frames += frames
            self.media_bytes += media_bytes


class _CancelledError(Exception):
    """The conversion ends early; never leaves this module."""


class ConversionRun:
    """One run of a conversion."""

    def __init__(
        self,
        origin: ConversionSource,
        table: Table,
        structure: Structure | str,
        bounds: ChunkBounds,
        workers: int,
        todo: dict[int, int],
        progress: Callable[[Progress], None] | None,
        begin: float,
    ) -> None:
        self.origin = origin
        self.table = table
        self.structure = structure
        self.bounds = bounds
        self.workers = max(1, min(workers, len(todo)))
        # With fewer episodes than cores, the encoders use the rest.
        self.encoder_threads = -(-workers // self.workers)
        self.todo = todo
        self.frames_total = sum(todo.values())
        self.progress = progress
        self.begin = begin
        self.shared = _Shared()
        self.files = IndexedFiles()
        self.skipped = 0
        self._done = 0
        self._waiting: list[FinishedEpisode] = []
        self._last_append = time.monotonic()

    def execute(self) -> None:
        """Encodes and appends everything that is to do."""
        self._tell("")
        pending: deque[Future[FinishedEpisode]] = deque()
        upcoming = iter(self.todo)
        with ThreadPoolExecutor(self.workers, thread_name_prefix="videoformat-convert") as pool:
            try:
                self._loop(pool, upcoming, pending)
            finally:
                self.shared.cancelled.set()
                for future in pending:
                    future.cancel()
                # What is whole is kept, whatever ended the run.
                self._append()
        self._tell("")

    def _loop(
        self,
        pool: ThreadPoolExecutor,
        upcoming: Iterable[int],
        pending: deque[Future[FinishedEpisode]],
    ) -> None:
        # Finished episodes wait for their turn in memory: so many may run ahead, and no more.
        window = self.workers + 2
        source = iter(upcoming)
        while True:
            while len(pending) < window and (item := next(source, None)) is not None:
                pending.append(pool.submit(self._encode, item))
            if not pending:
                return
            wait([pending[0]], timeout=_TICK_SECONDS, return_when=FIRST_COMPLETED)
            while pending and pending[0].done():
                self._take(pending[0].result())
                pending.popleft()
            self._tell("")

    def _take(self, episode: FinishedEpisode) -> None:
        self._waiting.append(episode)
        self._done += 1
        waited = time.monotonic() - self._last_append
        if (
            len(self._waiting) >= BATCH_EPISODES
            or sum(item.byte_count for item in self._waiting) >= BATCH_BYTES
            or waited >= BATCH_SECONDS
        ):
            self._append()

    def _append(self) -> None:
        if self._waiting:
            self.table = append_episodes(self.table, self._waiting)
            self._waiting = []
        self._last_append = time.monotonic()

    def _tell(self, message: str) -> None:
        if self.progress is not None:
            self.progress(
                Progress(
                    episodes_done=self._done,
                    episodes_total=len(self.todo),
                    frames_done=self.shared.frames,
                    frames_total=self.frames_total,
                    seconds=time.monotonic() - self.begin,
                    message=message,
                )
            )

    def _encode(self, number: int) -> FinishedEpisode:
        try:
            return self._encode_episode(self.origin.episode(number))
        except UnsupportedStreamError as error:
            if error.detail.startswith("episode"):
                raise
            raise UnsupportedStreamError(error.kind, f"episode {number}: {error.detail}") from error
        except DataError as error:
            if str(error).startswith("episode"):
                raise
            raise type(error)(f"episode {number}: {error}") from error

    def _encode_episode(self, episode: SourceEpisode) -> FinishedEpisode:
        uid = episode_uid(self.origin, episode.number)
        values = self.origin.values(episode)
        buffer = EpisodeRowsBuffer(self.table)
        first: EncodedFrames | None = None
        chunks = (
            self._encoded_chunks(self.structure, episode, uid)
            if not isinstance(self.structure, str)
            else native_chunks(
                self.files,
                self.origin,
                episode,
                uid,
                self.bounds,
                in_place=self.structure == REFERENCE,
            )
        )
        for chunk in chunks:
            if self.shared.cancelled.is_set():
                raise _CancelledError
            if isinstance(self.structure, str):
                self.shared.add(chunk.key.frame_count, 0)
            self.shared.add(0, chunk.byte_count)
            if chunk.key.chunk_index == 0:
                first = chunk
            else:
                buffer.add(self._row(chunk, values, None))
        if first is None:
            raise AssertionError("an episode without a first chunk")
        facts = EpisodeFacts(episode.length, episode.tasks, episode.metadata, episode.statistics)
        return buffer.finish(uid, episode.length, self._row(first, values, facts))

    def _encoded_chunks(
        self, structure: Structure, episode: SourceEpisode, uid: str
    ) -> Iterator[EncodedFrames]:
        info = self.table.info
        encoder = EpisodeEncoder(
            uid, info.cameras, structure, frame_rate(info.fps),
            bounds=self.bounds, threads=self.encoder_threads,
        )  # fmt: skip
        for pictures in self.origin.pictures(episode):
            if self.shared.cancelled.is_set():
                raise _CancelledError
            finished = encoder.push(pictures)
            if finished is not None:
                yield finished
            self.shared.add(1, 0)
        if encoder.frame_count != episode.length:
            raise CountMismatchError(
                f"episode {episode.number}: {encoder.frame_count} frames for {episode.length} rows"
            )
        yield encoder.finish()

    def _row(
        self, chunk: EncodedFrames, values: Mapping[str, Any], facts: EpisodeFacts | None
    ) -> Any:
        key = chunk.key
        part = {
            name: column.slice(key.first_frame, key.frame_count) for name, column in values.items()
        }
        return chunk_row(self.table.info, key, part, chunk.cameras, facts)
