"""Converting: what is read, where it goes, and what an earlier run left to do.

Each episode's ``episode_uid`` follows from the source and its number, so a second run sees which ones
are there and makes the others.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from videoformat.convert.lerobot import LeRobotConversion
from videoformat.convert.native import IndexedFiles
from videoformat.convert.progress import ConvertReport, Progress
from videoformat.convert.run import REFERENCE, ConversionRun
from videoformat.convert.source import ConversionSource, episode_uid
from videoformat.convert.video_files import VideoFilesConversion
from videoformat.errors import DatasetNotFoundError, InvalidArgumentError
from videoformat.index.schema import DatasetInfo
from videoformat.media.episode import ChunkBounds
from videoformat.media.gop import DDRA
from videoformat.media.star import Star
from videoformat.media.structures import STRUCTURE_NAMES, Structure, named_structure
from videoformat.table import Table

__all__ = ["convert", "open_source"]

NATIVE = "native"


def open_source(
    source: str | os.PathLike[str], indexed: IndexedFiles | None = None
) -> ConversionSource:
    """A LeRobot dataset's folder, a video file, or a folder of video files.

    With ``indexed``, video files have the frames that their index shows. Raises ``DatasetNotFoundError`` where there is nothing, ``InvalidArgumentError`` where it is
    neither.
    """
    path = Path(source).expanduser()
    if not path.exists():
        raise DatasetNotFoundError(f"there is nothing at {path}")
    if path.is_dir() and (path / "meta").is_dir():
        return LeRobotConversion(path)
    return VideoFilesConversion(path, indexed)


def convert(
    source: str | os.PathLike[str],
    uri: str | os.PathLike[str],
    *,
    video: Structure | str | None = None,
    storage_options: Mapping[str, str] | None = None,
    workers: int | None = None,
    episodes: Iterable[int] | None = None,
    chunk_bounds: ChunkBounds | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ConvertReport:
    """Converts a LeRobot dataset (v2.0, v2.1, v3.0) or video files.

    ``video`` says how: ``DDRA(...)`` or the name of one of its profiles, ``Star(...)``, ``"star"``
    or ``"star-h264"`` re-encodes (default: ``DDRA()``); ``"native"`` keeps every H.264, HEVC or AV1
    picture as it is, and the samples of images (PNG) in lossless H.264, a picture each;
    ``"reference"`` stores no media at all and points into the source's files, which then must stay
    as they are (any container that keeps pictures in one piece, so no transport streams; readers
    say with ``allowed_sources`` which files they follow).
    ``episodes`` are the source's own episode numbers, None for all. ``workers`` are threads, None
    for one a core. Run again after an interruption, it continues after the last episode that was
    stored; where everything is there, it does nothing.

    Raises ``InvalidArgumentError`` where ``uri`` holds something that this conversion did not make,
    ``CountMismatchError`` where rows and frames differ in number, ``DataError`` and
    ``UnsupportedStreamError`` for a source that is damaged or cannot be converted, naming episode
    and camera. Episodes before the one at fault are stored.
    """
    structure = _structure(video)
    count = workers if workers is not None else os.cpu_count() or 1
    if count < 1:
        raise InvalidArgumentError(f"workers is {workers}, expected at least 1")
    indexed = IndexedFiles() if isinstance(structure, str) else None
    origin = open_source(source, indexed)
    begin = time.monotonic()
    table = _open_target(origin, uri, structure, storage_options)
    present = set(table.directory().column("episode_uid").to_pylist())
    chosen = _choose(origin, episodes)
    todo = {
        number: length
        for number, length in chosen.items()
        if episode_uid(origin, number) not in present
    }
    run = ConversionRun(
        origin, table, structure, chunk_bounds or ChunkBounds(), count, todo, progress, begin
    )
    run.skipped = len(chosen) - len(todo)
    run.files = indexed or run.files
    run.execute()
    return ConvertReport(
        uri=table.uri,
        episodes=len(todo),
        frames=run.shared.frames,
        skipped_episodes=run.skipped,
        media_bytes=run.shared.media_bytes,
        source_bytes=origin.video_bytes,
        seconds=time.monotonic() - begin,
        notes=tuple(origin.notes),
    )


def _structure(video: Structure | str | None) -> Structure | str:
    """The reference structure to encode, or how the pictures are kept as they are."""
    if video is None or isinstance(video, DDRA | Star):
        return video or DDRA()
    if video in (NATIVE, REFERENCE):
        return video
    if isinstance(video, str) and video in STRUCTURE_NAMES:
        return named_structure(video)
    raise InvalidArgumentError(
        f"video is {video!r}, expected vf.DDRA(...), vf.Star(...), {NATIVE!r}, {REFERENCE!r} or one of "
        f"{', '.join(STRUCTURE_NAMES)}"
    )


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
    structure: Structure | str,
    storage_options: Mapping[str, str] | None,
) -> Table:
    """The table to append to: a new one, or the one that an earlier run of this began."""
    made_by: dict[str, Any] = {
        "kind": origin.kind,
        "fingerprint": origin.fingerprint,
        "video": structure if isinstance(structure, str) else structure.describe(),
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
