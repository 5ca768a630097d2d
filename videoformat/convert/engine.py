"""Converting: episodes encoded side by side, appended in order, continued after a crash.

Strategy: one thread a core encodes whole episodes (FFmpeg's encoders and decoders release the
interpreter's lock). Finished episodes are appended in the source's order, in batches bounded by
count, bytes and time, so that an episode's ordinal is its ordinal in the source, a fragment holds a
batch, and a crash costs what was not appended yet. Each episode's ``episode_uid`` follows from the
source and its number: a second run sees which ones are there and makes the others.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from videoformat.appending import EpisodeRowsBuffer, FinishedEpisode, append_episodes
from videoformat.convert.lerobot import LeRobotConversion
from videoformat.convert.native import IndexedFiles, native_chunks
from videoformat.convert.source import ConversionSource, SourceEpisode
from videoformat.convert.video_files import VideoFilesConversion
from videoformat.errors import (
    CountMismatchError,
    DataError,
    DatasetNotFoundError,
    InvalidArgumentError,
    UnsupportedStreamError,
)
from videoformat.index.frame_rate import frame_rate
from videoformat.index.rows import EpisodeFacts, chunk_row
from videoformat.index.schema import DatasetInfo
from videoformat.media.episode import ChunkBounds, EncodedFrames, EpisodeEncoder
from videoformat.media.gop import DDRA, PROFILES, ProfileName
from videoformat.table import Table

__all__ = ["ConvertReport", "Progress", "convert"]

NATIVE, REFERENCE = "native", "reference"
BATCH_EPISODES = 32
BATCH_BYTES = 64 * 2**20
BATCH_SECONDS = 10.0
_TICK_SECONDS = 0.2
_NAMESPACE = uuid.UUID("6f2b7a5e-0d5b-5f0a-9b1e-8d2f6a1c4e37")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a conversion is. ``episodes_done`` are encoded; ``seconds`` are since it began."""

    episodes_done: int
    episodes_total: int
    frames_done: int
    frames_total: int
    seconds: float
    message: str = ""

    @property
    def frames_per_second(self) -> float:
        """Frames encoded a second, on average."""
        return self.frames_done / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds that the rest takes at that rate; None where nothing is known yet."""
        if not self.frames_done:
            return None
        return (self.frames_total - self.frames_done) / self.frames_per_second


@dataclass(frozen=True, slots=True)
class ConvertReport:
    """What a conversion did. Bytes are of media only; ``source_bytes`` of the source's videos."""

    uri: str
    episodes: int
    frames: int
    skipped_episodes: int
    media_bytes: int
    source_bytes: int
    seconds: float
    notes: tuple[str, ...] = ()


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


def open_source(source: str | os.PathLike[str]) -> ConversionSource:
    """A LeRobot dataset's folder, a video file, or a folder of video files.

    Raises ``DatasetNotFoundError`` where there is nothing, ``InvalidArgumentError`` where it is
    neither.
    """
    path = Path(source).expanduser()
    if not path.exists():
        raise DatasetNotFoundError(f"there is nothing at {path}")
    if path.is_dir() and (path / "meta").is_dir():
        return LeRobotConversion(path)
    return VideoFilesConversion(path)


def convert(
    source: str | os.PathLike[str],
    uri: str | os.PathLike[str],
    *,
    video: DDRA | str | None = None,
    storage_options: Mapping[str, str] | None = None,
    workers: int | None = None,
    episodes: Iterable[int] | None = None,
    chunk_bounds: ChunkBounds | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ConvertReport:
    """Converts a LeRobot dataset (v2.0, v2.1, v3.0) or video files.

    ``video`` says how: ``DDRA(...)`` or the name of one of its profiles re-encodes (default:
    ``DDRA()``); ``"native"`` keeps every H.264, HEVC or AV1 picture as it is;
    ``"reference"`` stores no media at all and points into the source's files, which then must stay
    as they are (MP4 and MOV; readers say with ``allowed_sources`` which files they follow). ``episodes`` are the source's own episode numbers, None
    for all. ``workers`` are threads, None for one a core. Run again after an interruption, it
    continues after the last episode that was stored; where everything is there, it does nothing.

    Raises ``InvalidArgumentError`` where ``uri`` holds something that this conversion did not make,
    ``CountMismatchError`` where rows and frames differ in number, ``DataError`` and
    ``UnsupportedStreamError`` for a source that is damaged or cannot be converted, naming episode
    and camera. Episodes before the one at fault are stored.
    """
    structure = _structure(video)
    count = workers if workers is not None else os.cpu_count() or 1
    if count < 1:
        raise InvalidArgumentError(f"workers is {workers}, expected at least 1")
    origin = open_source(source)
    begin = time.monotonic()
    table = _open_target(origin, uri, structure, storage_options)
    present = set(table.directory().column("episode_uid").to_pylist())
    chosen = _choose(origin, episodes)
    todo = {
        number: length for number, length in chosen.items() if _uid(origin, number) not in present
    }
    run = _Run(
        origin, table, structure, chunk_bounds or ChunkBounds(), count, todo, progress, begin
    )
    run.skipped = len(chosen) - len(todo)
    run.execute()
    return ConvertReport(
        uri=table.uri,
        episodes=len(todo),
        frames=run.frames_total,
        skipped_episodes=run.skipped,
        media_bytes=run.shared.media_bytes,
        source_bytes=origin.video_bytes,
        seconds=time.monotonic() - begin,
        notes=tuple(origin.notes),
    )


def _structure(video: DDRA | str | None) -> DDRA | str:
    """The reference structure to encode, or how the pictures are kept as they are."""
    if video is None or isinstance(video, DDRA):
        return video or DDRA()
    if video in (NATIVE, REFERENCE):
        return video
    if isinstance(video, str) and video in PROFILES:
        return DDRA(profile=cast("ProfileName", video))
    raise InvalidArgumentError(
        f"video is {video!r}, expected vf.DDRA(...), {NATIVE!r}, {REFERENCE!r} or one of "
        f"{', '.join(PROFILES)}"
    )


def _uid(origin: ConversionSource, number: int) -> str:
    return uuid.uuid5(_NAMESPACE, f"{origin.fingerprint}/{number}").hex


def _choose(origin: ConversionSource, episodes: Iterable[int] | None) -> dict[int, int]:
    """The lengths of the chosen episodes, by number, in the source's order."""
    lengths = dict(zip(origin.numbers, origin.lengths, strict=True))
    if episodes is None:
        return lengths
    chosen = set(episodes)
    absent = sorted(chosen - lengths.keys())
    if absent:
        raise InvalidArgumentError(f"the source has no episodes {absent}; it has {len(lengths)}")
    return {number: length for number, length in lengths.items() if number in chosen}


def _open_target(
    origin: ConversionSource,
    uri: str | os.PathLike[str],
    structure: DDRA | str,
    storage_options: Mapping[str, str] | None,
) -> Table:
    """The table to append to: a new one, or the one that an earlier run of this began."""
    made_by: dict[str, Any] = {
        "kind": origin.kind,
        "fingerprint": origin.fingerprint,
        "video": structure.describe() if isinstance(structure, DDRA) else structure,
    }
    if not Table.exists(uri, storage_options=storage_options):
        facts = origin.info
        info = DatasetInfo(
            fps=facts.fps, features=facts.features, robot_type=facts.robot_type, tasks=facts.tasks,
            statistics=facts.statistics, info=facts.info, source=made_by,
        )  # fmt: skip
        return Table.create(uri, info, storage_options=storage_options)
    table = Table.open(uri, storage_options=storage_options)
    if table.info.source != made_by:
        raise InvalidArgumentError(
            f"there is a dataset at {table.uri} that this conversion did not make (another source, "
            "or other video settings); choose another address or remove it"
        )
    return table


class _Run:
    """One run of a conversion."""

    def __init__(
        self,
        origin: ConversionSource,
        table: Table,
        structure: DDRA | str,
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
        uid = _uid(self.origin, episode.number)
        values = self.origin.values(episode)
        buffer = EpisodeRowsBuffer(self.table)
        first: EncodedFrames | None = None
        chunks = (
            self._encoded_chunks(self.structure, episode, uid)
            if isinstance(self.structure, DDRA)
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
            if not isinstance(self.structure, DDRA):
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
        self, structure: DDRA, episode: SourceEpisode, uid: str
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
