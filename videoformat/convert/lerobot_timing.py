"""What the rows of an episode say about their order, their clock and their tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from videoformat.convert.lerobot_info import INFO
from videoformat.convert.lerobot_notes import Notes
from videoformat.convert.lerobot_parquet import integers
from videoformat.errors import DataError

__all__ = ["check_rows", "note_clock", "note_video_fps"]


def note_video_fps(fps: float, features: Mapping[str, Any], notes: Notes) -> None:
    """Notes a camera that declares another rate than the dataset."""
    for key, feature in features.items():
        details = feature.get("info") or feature.get("video_info")
        rate = details.get("video.fps") if isinstance(details, dict) else None
        if isinstance(rate, int | float) and rate != fps:
            notes.add(
                f"rate {key}",
                f"{INFO}: fps is {fps}, video.fps of {key} is {rate}; frames are matched to rows "
                "by counting",
            )


def note_clock(timestamps: pa.ChunkedArray, fps: float, notes: Notes) -> None:
    """Notes a first episode whose timestamps are not row / fps; they are kept as they are."""
    if not pa.types.is_floating(timestamps.type) or timestamps.null_count:
        return
    seconds = timestamps.cast(pa.float64()).to_numpy()
    first = float(seconds[0])
    if abs(first) * fps >= 0.5:
        frames = " (1/fps)" if abs(first * fps - 1) < 0.01 else ""
        notes.add(
            "clock start",
            f"timestamps start at {first:.6g} s{frames} where the video starts at 0; they are kept "
            "and frames are matched to rows by counting",
        )
    step = float(np.median(np.diff(seconds))) if len(seconds) > 1 else 1 / fps
    if not abs(step * fps - 1) < 0.01:
        notes.add(
            "clock rate",
            f"timestamps advance by {step:.6g} s, 1/fps is {1 / fps:.6g} s; they are kept and "
            "frames are matched to rows by counting",
        )


def check_rows(table: pa.Table, where: str, tasks: list[str], notes: Notes) -> None:
    """Checks that rows are in order and name tasks that exist."""
    if "frame_index" in table.column_names and pa.types.is_integer(
        table.schema.field("frame_index").type
    ):
        frames = integers(table.column("frame_index"), f"{where}: frame_index")
        wrong = np.flatnonzero(np.diff(frames) <= 0)
        if wrong.size:
            row = int(wrong[0])
            raise DataError(
                f"{where}: frame_index is {frames[row + 1]} in row {row + 1} after {frames[row]}; "
                "the rows are not in order"
            )
        if frames.size and (frames[0] != 0 or frames[-1] != frames.size - 1):
            notes.add(
                "frame_index",
                f"{where}: frame_index runs from {frames[0]} to {frames[-1]} over {frames.size} "
                "rows; it is kept and frames are matched to rows by counting",
            )
    if "task_index" in table.column_names and pa.types.is_integer(
        table.schema.field("task_index").type
    ):
        indices = integers(table.column("task_index"), f"{where}: task_index")
        wrong = np.flatnonzero((indices < 0) | (indices >= len(tasks)))
        if wrong.size:
            raise DataError(
                f"{where}: task_index is {indices[wrong[0]]} in row {wrong[0]}, there are "
                f"{len(tasks)} tasks"
            )
