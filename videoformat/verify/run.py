"""Verifying a dataset: every episode, chunk and camera, whatever is found on the way.

Strategy: a unit of work is one camera of one chunk, or one chunk's tabular columns. Units run on as
many threads as there are cores (decoding and Lance both leave the interpreter's lock), and no more
are started than are about to run, so memory holds a chunk's media a thread.
"""

from __future__ import annotations

import datetime as dt
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from videoformat.dataset import Dataset
from videoformat.directory import Directory
from videoformat.errors import CountMismatchError, InvalidArgumentError, VideoFormatError
from videoformat.index.features import Feature
from videoformat.index.rows import frame_values
from videoformat.reading import Reader, ReadOptions
from videoformat.table import Table
from videoformat.verify.camera import verify_camera
from videoformat.verify.findings import Findings
from videoformat.verify.report import Problem, VerifyProgress, VerifyReport

__all__ = ["verify"]


@dataclass(frozen=True, slots=True)
class _Unit:
    """One camera (None: the tabular columns) of one chunk."""

    episode: int
    uid: str | None
    row: int
    chunk: int
    frame_count: int
    camera: str | None


def verify(
    uri_or_dataset: str | os.PathLike[str] | Dataset,
    *,
    decode: bool = False,
    storage_options: Mapping[str, str] | None = None,
    version: int | str | dt.datetime | None = None,
    allowed_sources: Sequence[str | os.PathLike[str]] = (),
    workers: int | None = None,
    progress: Callable[[VerifyProgress], None] | None = None,
) -> VerifyReport:
    """Checks everything that is stored, and lists all that is wrong instead of stopping at it.

    Per episode: its rows and its identity. Per chunk: every tabular column has as many values as
    there are frames; per camera the picture index and its checksum, the layout and size of the
    media, the crc32 of every access unit, the index derived from the bytes once more, and the
    reference structure's promise. With ``decode``, every frame is decoded from its closure alone
    and compared, sample by sample, with a sequential decode of its chunk.

    ``allowed_sources``: as for ``open``. ``workers``: threads; None takes the machine's cores. ``progress`` is called in this thread as
    chunks are finished. Raises where the dataset cannot be opened at all (see ``open``), and
    ``SourceNotAllowedError`` where its media lies in files that are not allowed.
    """
    if workers is not None and workers < 1:
        raise InvalidArgumentError(f"workers is {workers}, expected at least 1")
    # Opened anew: an open dataset may hold metadata in memory that is damaged in the store.
    if isinstance(uri_or_dataset, Dataset):
        dataset = uri_or_dataset
        if version is not None:
            raise InvalidArgumentError(f"version is {version!r}, but an open dataset has its own")
        table = Table.open(
            dataset.uri,
            storage_options=storage_options or dataset.storage_options,
            version=dataset.version,
        )
        allowed_sources = allowed_sources or dataset.allowed_sources
    else:
        table = Table.open(uri_or_dataset, storage_options=storage_options, version=version)
    # Every index is used once.
    reader = Reader(
        table,
        options=ReadOptions(index_cache_bytes=0),
        allowed_sources=[os.fspath(item) for item in allowed_sources],
    )
    return _Verification(table, reader, decode=decode, progress=progress).run(workers)


class _Verification:
    def __init__(
        self,
        table: Table,
        reader: Reader,
        *,
        decode: bool,
        progress: Callable[[VerifyProgress], None] | None,
    ) -> None:
        self.table = table
        self.reader = reader
        self.decode = decode
        self.progress = progress
        self.problems: list[Problem] = []
        self.begin = time.monotonic()
        self.chunks = self.frames = self.pictures = self.byte_count = self.derived = (
            self.closures
        ) = 0

    def run(self, workers: int | None) -> VerifyReport:
        directory = self._directory()
        if directory is not None:
            self._verify_chunks(directory, workers or os.cpu_count() or 1)
        return VerifyReport(
            uri=self.table.uri,
            version=self.table.version,
            episodes=0 if directory is None else len(directory),
            chunks=self.chunks,
            frames=self.frames,
            pictures=self.pictures,
            byte_count=self.byte_count,
            derived=self.derived,
            closures=self.closures,
            seconds=time.monotonic() - self.begin,
            problems=tuple(self.problems),
        )

    def _directory(self) -> Directory | None:
        try:
            return Directory(self.table.directory())
        except VideoFormatError as error:
            self.problems.append(Problem(None, None, None, None, "directory", str(error)))
            return None

    def _verify_chunks(self, directory: Directory, workers: int) -> None:
        running: deque[tuple[_Unit, Future[Findings]]] = deque()
        pool = ThreadPoolExecutor(workers, thread_name_prefix="videoformat-verify")
        try:
            for unit in self._units(directory):
                running.append((unit, pool.submit(self._verify_unit, unit)))
                if len(running) > workers:
                    self._take(directory, *running.popleft())
            while running:
                self._take(directory, *running.popleft())
        finally:
            pool.shutdown(cancel_futures=True)

    def _units(self, directory: Directory) -> Iterator[_Unit]:
        """All work in order; an episode's own problems are noted as it is reached."""
        cameras: list[str | None] = [*self.table.info.cameras, None]
        uids: list[str | None] = [*directory.uids()]
        seen: dict[str, int] = {}
        counts = directory.frame_counts
        for episode, uid in enumerate(uids):
            findings = Findings(episode, uid)
            with findings.noting("directory"):
                directory.episode(episode)
            if not uid:
                findings.add("identity", f"its episode_uid is {uid!r}")
            elif seen.setdefault(uid, episode) != episode:
                findings.add("identity", f"episode {seen[uid]} has the same episode_uid")
            self.problems += findings.problems
            start = int(directory.first_rows[episode])
            for chunk in range(int(directory.chunk_counts[episode])):
                row = start + chunk
                for camera in cameras:
                    yield _Unit(episode, uid, row, chunk, counts[row], camera)

    def _verify_unit(self, unit: _Unit) -> Findings:
        findings = Findings(unit.episode, unit.uid, unit.camera, unit.chunk)
        if unit.camera is None:
            self._verify_columns(unit, findings)
        else:
            feature = self.table.info.cameras[unit.camera]
            verify_camera(self.reader, unit.row, feature, findings, decode=self.decode)
        return findings

    def _verify_columns(self, unit: _Unit, findings: Findings) -> None:
        features = list(self.table.info.tabular.values())
        if not features:
            return
        try:
            taken = self.table.take([unit.row], [feature.column for feature in features])
        except VideoFormatError:
            # One by one, then: which of them is it?
            taken = None
        for feature in features:
            with findings.noting("column"):
                self._verify_column(unit, feature, taken)

    def _verify_column(self, unit: _Unit, feature: Feature, taken: Any) -> None:
        if taken is None:
            taken = self.table.take([unit.row], [feature.column])
        if taken.num_rows != 1:
            raise CountMismatchError(
                f"feature {feature.key!r}: {taken.num_rows} cells where one was asked for"
            )
        frame_values(feature, taken.column(feature.column), [unit.frame_count])

    def _take(self, directory: Directory, unit: _Unit, future: Future[Findings]) -> None:
        findings = future.result()
        self.problems += findings.problems
        self.pictures += findings.pictures
        self.byte_count += findings.byte_count
        self.derived += findings.derived
        self.closures += findings.closures
        if unit.camera is not None:
            return
        self.chunks += 1
        self.frames += max(0, unit.frame_count)
        if self.progress is not None:
            self.progress(
                VerifyProgress(
                    chunks_done=self.chunks,
                    chunks_total=directory.row_count,
                    frames_done=self.frames,
                    frames_total=directory.frame_count,
                    problems=len(self.problems),
                    seconds=time.monotonic() - self.begin,
                )
            )
