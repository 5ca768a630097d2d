"""Writing a dataset frame by frame."""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa

from videoformat.appending import (
    EpisodeRowsBuffer,
    FinishedEpisode,
    append_episodes,
    wait_no_longer,
)
from videoformat.automatic import (
    AUTOMATIC,
    OWN_FEATURES,
    AutomaticValues,
    check_automatic,
    task_of,
)
from videoformat.errors import InvalidArgumentError, StoreError, UnsupportedFormatError
from videoformat.index.features import parse_features
from videoformat.index.frame_rate import check_fps, frame_rate
from videoformat.index.rows import EpisodeFacts, chunk_row
from videoformat.index.schema import KNOWN_WRITER_FLAGS, DatasetInfo
from videoformat.index.values import FrameValues, check_image, check_keys, check_value
from videoformat.media.episode import ChunkBounds, EncodedFrames, EpisodeEncoder, TimedPicture
from videoformat.media.gop import DDRA
from videoformat.media.star import Star
from videoformat.media.structures import Structure
from videoformat.table import Table

__all__ = ["Writer", "create"]


def create(
    uri: str | os.PathLike[str],
    *,
    fps: float | None = None,
    features: Mapping[str, Any] | None = None,
    video: Structure | None = None,
    mode: Literal["create", "append"] = "create",
    robot_type: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    episodes_per_append: int = 1,
    chunk_bounds: ChunkBounds | None = None,
    encoder_threads: int | None = None,
) -> Writer:
    """Makes a dataset, or opens one to append to, and returns its writer.

    ``features`` are in LeRobot's form; cameras have dtype ``video`` and shape (height, width, 3).
    ``timestamp`` (float32 seconds) and ``task`` (the text, empty where a frame has none) are added
    where they are not declared. ``mode="append"`` takes ``fps`` and ``features`` from the dataset,
    and compares them with those given, if any. ``video`` says how frames are encoded.
    ``episodes_per_append``: episodes that are made visible together; 1 makes each safe as soon as
    ``save_episode`` returns. ``encoder_threads``: threads of each camera's encoder; None shares the
    machine's cores.

    Raises ``InvalidArgumentError`` where the call cannot be right, ``DatasetNotFoundError`` when
    appending to nothing, ``StoreError``.
    """
    _check_choices(video, episodes_per_append, chunk_bounds, encoder_threads)
    if mode == "create":
        if fps is None or features is None:
            raise InvalidArgumentError("creating a dataset needs fps and features")
        table = Table.create(
            uri, _new_info(fps, features, robot_type), storage_options=storage_options
        )
    elif mode == "append":
        table = Table.open(uri, storage_options=storage_options)
        _check_same(table, fps, features, robot_type)
    else:
        raise InvalidArgumentError(f"mode is {mode!r}, expected 'create' or 'append'")
    return Writer(
        table,
        video=video,
        episodes_per_append=episodes_per_append,
        chunk_bounds=chunk_bounds,
        encoder_threads=encoder_threads,
    )


def as_json_object(name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """The value as JSON has it, arrays as lists. Raises ``InvalidArgumentError`` where it is not."""
    if not isinstance(value, Mapping):
        raise InvalidArgumentError(f"{name} is {value!r:.80}, expected a mapping")
    try:
        text = json.dumps(dict(value), allow_nan=False, default=_as_json)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"{name} does not become JSON: {error}") from None
    plain: dict[str, Any] = json.loads(text)
    return plain


def _as_json(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} {value!r:.60}")


def _check_choices(
    video: object, episodes_per_append: object, chunk_bounds: object, encoder_threads: object
) -> None:
    """How a writer is to work; checked before anything is made."""
    if video is not None and not isinstance(video, DDRA | Star):
        raise InvalidArgumentError(
            f"video is {video!r}, expected vf.DDRA(...), vf.Star(...) or None"
        )
    if chunk_bounds is not None and not isinstance(chunk_bounds, ChunkBounds):
        raise InvalidArgumentError(
            f"chunk_bounds is {chunk_bounds!r}, expected vf.ChunkBounds(...) or None"
        )
    for name, value in (
        ("episodes_per_append", episodes_per_append),
        ("encoder_threads", 1 if encoder_threads is None else encoder_threads),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidArgumentError(f"{name} is {value!r}, expected an integer of at least 1")


def _new_info(fps: float, features: Mapping[str, Any], robot_type: str | None) -> DatasetInfo:
    if robot_type is not None and not isinstance(robot_type, str):
        raise InvalidArgumentError(f"robot_type is {robot_type!r}, expected a string or None")
    declared = dict(parse_features(features))
    own = {key: item for key, item in OWN_FEATURES.items() if key not in declared}
    if not declared:
        raise InvalidArgumentError("a dataset has at least one feature")
    check_automatic(declared)
    return DatasetInfo(
        fps=check_fps(fps),
        features={**declared, **parse_features(own)},
        robot_type=robot_type,
    )


def _check_same(
    table: Table, fps: float | None, features: Mapping[str, Any] | None, robot_type: str | None
) -> None:
    info = table.info
    if fps is not None and fps != info.fps:
        raise InvalidArgumentError(f"fps is {fps}, the dataset at {table.uri} has {info.fps}")
    if robot_type is not None and robot_type != info.robot_type:
        raise InvalidArgumentError(
            f"robot_type is {robot_type!r}, the dataset at {table.uri} has {info.robot_type!r}"
        )
    if features is None:
        return
    given = parse_features(features)
    for key in sorted((set(given) | set(info.features)) - set(AUTOMATIC)):
        one, other = given.get(key), info.features.get(key)
        if one is None or other is None or (one.dtype, one.shape) != (other.dtype, other.shape):
            raise InvalidArgumentError(
                f"feature {key!r} is {one and (one.dtype, one.shape)} in the call and "
                f"{other and (other.dtype, other.shape)} in the dataset at {table.uri}"
            )


class Writer:
    """Appends episodes frame by frame. Made by ``create``; use it as a context manager.

    A frame is encoded as it comes, so memory holds the open chunk's compressed bytes and what the
    encoders need. An episode is visible, whole, once ``save_episode`` has returned (with
    ``episodes_per_append`` above 1: once its batch has so many or 128 MiB, or the writer is closed).
    An exception inside the ``with`` block abandons the open episode and keeps those that were saved.
    """

    def __init__(
        self,
        table: Table,
        *,
        video: Structure | None = None,
        episodes_per_append: int = 1,
        chunk_bounds: ChunkBounds | None = None,
        encoder_threads: int | None = None,
    ) -> None:
        unknown = sorted(set(table.info.writer_flags) - KNOWN_WRITER_FLAGS)
        if unknown:
            raise UnsupportedFormatError(
                f"{table.uri}: writing requires flags {', '.join(unknown)}, which this version lacks"
            )
        _check_choices(video, episodes_per_append, chunk_bounds, encoder_threads)
        self._table = table
        self._video = video or DDRA()
        self._batch_size = episodes_per_append
        self._bounds = chunk_bounds or ChunkBounds()
        cameras = table.info.cameras
        cores = os.cpu_count() or 1
        self._threads = encoder_threads or max(1, min(4, cores // max(1, len(cameras))))
        self._rate = frame_rate(table.info.fps)
        self._finished: list[FinishedEpisode] = []
        self._closed = False
        self._automatic = AutomaticValues(table)
        self._begin()

    @property
    def uri(self) -> str:
        """The dataset's address."""
        return self._table.uri

    @property
    def version(self) -> int:
        """The version that holds what has been appended so far."""
        return self._table.version

    @property
    def num_pending_frames(self) -> int:
        """Frames of the open episode."""
        return self._frame_count

    def _begin(self) -> None:
        self._uid = uuid.uuid4().hex
        info = self._table.info
        self._encoder = EpisodeEncoder(
            self._uid, info.cameras, self._video, self._rate,
            bounds=self._bounds, threads=self._threads,
        )  # fmt: skip
        self._values = {key: FrameValues(feature) for key, feature in info.tabular.items()}
        self._buffer = EpisodeRowsBuffer(self._table)
        self._first: tuple[EncodedFrames, dict[str, pa.Array]] | None = None
        self._tasks: dict[str, None] = {}
        self._frame_count = 0
        self._is_whole = True

    def add_frame(self, frame: Mapping[str, Any]) -> None:
        """Adds the next frame of the open episode.

        ``frame`` has every feature: cameras as uint8 [H, W, 3] (or [3, H, W]), the rest with their
        declared dtype and shape. ``task`` is the text of what is being done. ``timestamp``,
        ``frame_index``, ``episode_index``, ``index`` and ``task_index`` are filled in where the
        dataset has them and the frame does not. Raises ``InvalidArgumentError``, and adds nothing,
        where a key is missing or unknown or a value is not what was declared. Where the store or the
        encoder fails, the episode cannot go on: it is to be cleared.
        """
        self._check_open()
        self._check_whole()
        task, values, images = self._checked(frame)
        pictures = {
            key: TimedPicture.of_rgb(image, self._frame_count, 1 / self._rate)
            for key, image in images.items()
        }
        values |= self._automatic.fill(frame, values, self._frame_count)
        self._use(self._automatic.table)
        # Whatever stops this frame halfway, the episode must not go on without it.
        self._is_whole = False
        # The chunk that this frame closes ends before it: its values are taken before this one's.
        finished = self._encoder.push(pictures)
        if finished is not None:
            self._keep(finished)
        for key, collected in self._values.items():
            collected.append(values[key])
        if task:
            self._tasks[task] = None
        self._frame_count += 1
        self._is_whole = True

    def check_frame(self, frame: Mapping[str, Any]) -> None:
        """Raises ``InvalidArgumentError`` where ``add_frame`` would for what the frame holds."""
        self._checked(frame)

    def _checked(
        self, frame: Mapping[str, Any]
    ) -> tuple[str, dict[str, Any], dict[str, np.ndarray[Any, np.dtype[np.uint8]]]]:
        """A frame's task, tabular values and images."""
        info = self._table.info
        automatic = set(AUTOMATIC)
        check_keys(frame, set(info.features) - automatic, automatic)
        task = task_of(frame)
        values = {
            key: check_value(feature, frame[key])
            for key, feature in info.tabular.items()
            if key in frame
        }
        images = {key: check_image(feature, frame[key]) for key, feature in info.cameras.items()}
        return task, values, images

    def _use(self, table: Table) -> None:
        """Takes a newer version of the table."""
        self._table = self._automatic.table = self._buffer.table = table

    def _keep(self, finished: EncodedFrames) -> None:
        values = {key: collected.take() for key, collected in self._values.items()}
        if finished.key.chunk_index == 0:
            self._first = (finished, values)
        else:
            row = chunk_row(self._table.info, finished.key, values, finished.cameras, None)
            self._buffer.add(row)

    def save_episode(
        self,
        *,
        metadata: Mapping[str, Any] | None = None,
        statistics: Mapping[str, Any] | None = None,
    ) -> str:
        """Finishes the open episode and appends it; returns its stable ``episode_uid``.

        ``metadata`` and ``statistics`` are kept as JSON on the episode; arrays become lists. Raises
        ``InvalidArgumentError`` where no frame was added or they do not become JSON, and
        ``StructureError`` where the encoder did not produce what was asked of it: then nothing is
        appended.
        """
        self._check_open()
        self._check_whole()
        if not self._frame_count:
            raise InvalidArgumentError("save_episode: no frame was added")
        facts = EpisodeFacts(
            self._frame_count,
            tuple(self._tasks),
            as_json_object("metadata", metadata or {}),
            None if statistics is None else as_json_object("statistics", statistics),
        )
        self._is_whole = False
        self._keep(self._encoder.finish())
        if self._first is None:
            raise AssertionError("the first chunk of an episode was not kept")
        chunk, values = self._first
        first = chunk_row(self._table.info, chunk.key, values, chunk.cameras, facts)
        episode = self._buffer.finish(self._uid, self._frame_count, first)
        self._finished.append(episode)
        self._automatic.count_episode(self._frame_count)
        self._begin()
        if len(self._finished) >= self._batch_size or wait_no_longer(self._finished):
            self.flush()
        return episode.uid

    def clear_episode(self) -> None:
        """Abandons the open episode: nothing of it becomes visible, stays in memory or in the store.

        Raises ``StoreError`` where something cannot be removed; the episode is abandoned all the same.
        """
        self._check_open()
        self._abandon()

    def _abandon(self) -> None:
        buffer = self._buffer
        self._begin()
        buffer.discard()

    def flush(self) -> None:
        """Makes every saved episode visible now, in one commit."""
        if self._finished:
            self._use(append_episodes(self._table, self._finished))
            self._finished = []

    def close(self) -> None:
        """Makes saved episodes visible and ends the writer.

        Raises ``InvalidArgumentError`` where frames were added and not saved: call
        ``save_episode`` or ``clear_episode`` first. The writer stays open then.
        """
        if self._closed:
            return
        self.flush()
        if self._frame_count:
            raise InvalidArgumentError(
                f"{self._frame_count} frames were added and not saved: call save_episode() or "
                "clear_episode() before closing"
            )
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise InvalidArgumentError("the writer is closed")

    def _check_whole(self) -> None:
        if not self._is_whole:
            raise InvalidArgumentError(
                f"the open episode lost a frame after {self._frame_count}, when an earlier call "
                "failed: call clear_episode() and record it again"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None and not self._closed:
            # What went wrong first is what is to be seen.
            with contextlib.suppress(StoreError):
                self._abandon()
        self.close()
