"""What a chunk of stars promises, checked on the index that was derived from its bytes."""

from __future__ import annotations

import itertools

from videoformat.bitstream.av1_star import order_hint_range
from videoformat.bitstream.h264_star import leaf_order_count
from videoformat.errors import StructureError
from videoformat.index.pictures import PictureIndex

__all__ = ["STAR_CLOSURE_BOUND", "check_star"]

STAR_CLOSURE_BOUND = 2


def check_star(index: PictureIndex) -> None:
    """Raises ``StructureError`` unless the chunk keeps a star's promise.

    In decode order, intervals follow each other as their frames do: an anchor, then the others in
    presentation order, each of which references the anchor alone and is referenced by none. An
    interval holds consecutive frames, at most ``interval`` of them, and its anchor is intra and a
    random access point. The order counts say which frame is which.
    """
    where = f"episode {index.key.episode_uid!r} chunk {index.key.chunk_index}"
    bound = index.stream.interval
    if bound is None or bound < 1:
        raise StructureError(f"{where}: a star chunk with interval {bound}")
    if None in index.frame_index:
        raise StructureError(f"{where}: a star chunk holds a picture that is never shown")
    starts = [at for at, is_reference in enumerate(index.is_reference) if is_reference]
    if not starts or starts[0]:
        raise StructureError(f"{where}: its first picture is no anchor")
    if index.stream.codec == "h264" and index.frame_index[0] != index.key.first_frame:
        raise StructureError(
            f"{where}: its first anchor is frame {index.frame_index[0]}, in H.264 it is the chunk's "
            f"first, {index.key.first_frame}"
        )
    next_frame = index.key.first_frame
    for start, end in itertools.pairwise([*starts, len(index)]):
        if end - start > bound:
            raise StructureError(
                f"{where}: an interval of {end - start} frames, the stream says at most {bound}"
            )
        frames = [frame for frame in index.frame_index[start:end] if frame is not None]
        expected = list(range(next_frame, next_frame + end - start))
        if sorted(frames) != expected or frames[1:] != sorted(frames[1:]):
            raise StructureError(
                f"{where}: the interval at picture {start} holds frames {frames}, expected an anchor "
                f"among {expected[0]} to {expected[-1]} and then the others in order"
            )
        _check_interval(index, start, end, where)
        _check_order_counts(index, start, end, next_frame, where)
        next_frame += end - start


def _check_interval(index: PictureIndex, start: int, end: int, where: str) -> None:
    if index.references[start] or not index.is_random_access[start]:
        raise StructureError(
            f"{where}: frame {index.frame_index[start]} is an anchor but no intra random access "
            f"point (type {index.picture_type[start]}, references {index.references[start]})"
        )
    for at in range(start + 1, end):
        if index.references[at] != (start,):
            raise StructureError(
                f"{where}: frame {index.frame_index[at]} references pictures "
                f"{index.references[at]}, expected its anchor, ({start},)"
            )


def _check_order_counts(
    index: PictureIndex, start: int, end: int, first_frame: int, where: str
) -> None:
    """The bytes say which frame is which, each codec in its own way."""
    hints = order_hint_range(index.stream.configuration) if index.stream.codec == "av1" else 0
    for at in range(start, end):
        frame = index.frame_index[at]
        if frame is None:
            continue
        if hints:
            expected = (frame - index.key.first_frame) % hints
        else:
            expected = 0 if at == start else leaf_order_count(frame - first_frame)
        if index.poc[at] != expected:
            raise StructureError(
                f"{where}: frame {frame} has order count {index.poc[at]}, expected {expected}"
            )
