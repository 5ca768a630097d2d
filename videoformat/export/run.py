"""Exporting: access units are copied as they are, no picture is decoded or encoded.

Strategy: everything is written into a folder beside the target, which gets the target's name when it
is complete; so what is there under that name is whole.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from videoformat.dataset import Dataset
from videoformat.editing import chosen_episodes, open_table
from videoformat.errors import InvalidArgumentError, StoreError
from videoformat.export.lerobot_rows import check_keys
from videoformat.export.lerobot_v3 import DATA_FILE_MB, VIDEO_FILE_MB, LeRobotV3
from videoformat.export.lerobot_v21 import LeRobotV21
from videoformat.export.plain import PlainVideos
from videoformat.export.source import ExportSource

__all__ = ["FORMATS", "ExportReport", "export"]

FORMATS = ("lerobot-v3", "lerobot-v2.1", "mp4")


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was written. ``notes`` say what is not as it is stored, for people."""

    path: Path
    episodes: int
    frames: int
    byte_count: int
    notes: tuple[str, ...]


def export(
    dataset: str | os.PathLike[str] | Dataset,
    path: str | os.PathLike[str],
    to: str = "lerobot-v3",
    *,
    episodes: Iterable[int | str] | None = None,
    version: int | str | None = None,
    storage_options: Mapping[str, str] | None = None,
    allowed_sources: Iterable[str | os.PathLike[str]] = (),
    data_file_mb: float = DATA_FILE_MB,
    video_file_mb: float = VIDEO_FILE_MB,
    progress: Callable[[int, int], None] | None = None,
) -> ExportReport:
    """Writes a folder in another format: ``lerobot-v3``, ``lerobot-v2.1`` or ``mp4``.

    Access units are copied as they are into MP4, with their times, sync samples and the index in
    front. A sync sample is one at which decoding is exact for all that follows, so what seeks in the
    file gets right frames; in a ``ddra`` stream these are the starts of chunks. ``episodes`` are
    ordinals or identities, in the order of the export; None for all. ``progress`` is called with
    the episodes that are done and all of them.

    Raises ``InvalidArgumentError`` where something is at ``path``, ``UnsupportedStreamError`` where
    a container cannot hold a stream as it is, ``DataError`` where what is stored is damaged.
    """
    if to not in FORMATS:
        raise InvalidArgumentError(f"to is {to!r}, expected one of {', '.join(FORMATS)}")
    if data_file_mb <= 0 or video_file_mb <= 0:
        raise InvalidArgumentError(f"file sizes are {data_file_mb} and {video_file_mb} MiB")
    target = Path(path).expanduser()
    if target.is_symlink() or (target.exists() and not _is_empty_folder(target)):
        raise InvalidArgumentError(f"there is something at {target} already")
    table = open_table(dataset, storage_options, version)
    allowed = [os.fspath(item) for item in allowed_sources]
    if isinstance(dataset, Dataset):
        allowed = allowed or list(dataset.allowed_sources)
    opened = Dataset(table, allowed_sources=allowed)
    check_keys(list(table.info.features))
    chosen = (
        list(range(opened.num_episodes))
        if episodes is None
        else chosen_episodes(opened.directory, episodes)
    )
    if not chosen:
        raise InvalidArgumentError(f"{table.uri}: there are no episodes to export")
    source = ExportSource(table, opened, chosen)
    part = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        part.mkdir(parents=True)
        _write(source, part, to, (data_file_mb, video_file_mb), progress)
        if target.exists():
            target.rmdir()
        part.rename(target)
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"{target} cannot be written: {error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return ExportReport(
        path=target,
        episodes=len(chosen),
        frames=sum(source.length(episode) for episode in chosen),
        byte_count=sum(item.stat().st_size for item in target.rglob("*") if item.is_file()),
        notes=tuple(source.notes),
    )


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _write(
    source: ExportSource,
    root: Path,
    to: str,
    sizes: tuple[float, float],
    progress: Callable[[int, int], None] | None,
) -> None:
    layout: LeRobotV3 | LeRobotV21 | PlainVideos
    if to == "lerobot-v3":
        layout = LeRobotV3(source, root, *sizes)
    elif to == "lerobot-v2.1":
        layout = LeRobotV21(source, root)
    else:
        layout = PlainVideos(source, root)
    for done, episode in enumerate(source.chosen, start=1):
        layout.add(episode)
        if progress is not None:
            progress(done, len(source.chosen))
    layout.finish()
