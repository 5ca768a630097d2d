"""Random picture indexes: reference graphs of every shape, and those that DDRA makes."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from videoformat.index.pictures import ChunkKey, PictureIndex, Stream, place_pictures

STREAM = Stream(
    codec="h264",
    width=64,
    height=48,
    decoded_width=64,
    decoded_height=48,
    pixel_format="yuv420p",
    color_matrix="smpte170m",
    color_range="limited",
    color_primaries="smpte170m",
    color_transfer="smpte170m",
    time_base_numerator=1,
    time_base_denominator=30,
    framing="annexb",
    configuration=b"\0\0\1\x67",
    structure="native",
    interval=None,
    closure_bound=1,
    access="direct",
    access_reason=None,
    encoder=None,
    source_uri=None,
    source_size=None,
    media_size=0,
)


def make_index(
    references: Sequence[Sequence[int]],
    *,
    frames: Sequence[int | None] | None = None,
    sizes: Sequence[int] | None = None,
    is_reference: Sequence[bool] | None = None,
    is_random_access: Sequence[bool] | None = None,
    reference_lists: Sequence[tuple[tuple[int, ...], ...] | None] | None = None,
    first_frame: int = 0,
    chunk_index: int = 0,
    **facts: Any,
) -> PictureIndex:
    """An index of these references; what is left out follows from them."""
    count = len(references)
    frames = list(range(first_frame, first_frame + count)) if frames is None else frames
    sizes = [10 + at for at in range(count)] if sizes is None else sizes
    named = {reference for items in references for reference in items}
    if is_reference is None:
        is_reference = [at in named for at in range(count)]
    if is_random_access is None:
        is_random_access = [not items for items in references]
    order = [-1 if frame is None else frame for frame in frames]
    _, offsets = place_pictures(sizes, is_reference, order)
    stream = replace(STREAM, media_size=sum(sizes), **facts)
    shown = sum(frame is not None for frame in frames)
    return PictureIndex(
        key=ChunkKey("episode", chunk_index, first_frame, shown),
        stream=stream,
        frame_index=tuple(frames),
        pts=tuple(frame if frame is None else 512 * frame for frame in frames),
        poc=tuple(2 * at for at in order),
        picture_type=tuple("B" if len(r) > 1 else "P" if r else "I" for r in references),
        is_random_access=tuple(is_random_access),
        is_reference=tuple(is_reference),
        offset=tuple(offsets),
        size=tuple(sizes),
        references=tuple(tuple(sorted(set(items))) for items in references),
        reference_lists=tuple(reference_lists or (None,) * count),
        crc32=tuple(zlib.crc32(bytes([at % 256])) for at in range(count)),
    )


def lists_of(references: Sequence[Sequence[int]]) -> list[tuple[tuple[int, ...], ...]]:
    """Reference lists as a P picture of one slice has them, none for intra pictures."""
    return [(tuple(items),) if items else () for items in references]


@st.composite
def reference_graphs(draw: st.DrawFn, *, most: int = 14) -> list[list[int]]:
    """What each picture references: earlier pictures, near ones more often."""
    graph: list[list[int]] = []
    for at in range(draw(st.integers(1, most))):
        distances = draw(st.lists(st.integers(1, max(1, min(at, 6))), max_size=3, unique=True))
        graph.append(sorted(at - distance for distance in distances if distance <= at))
    return graph


@st.composite
def indexes(draw: st.DrawFn, *, access: str, codec: str = "h264") -> PictureIndex:
    """An index over any reference graph, with pictures that are never shown.

    Some intra pictures are no random access points; some pictures are marked as references that
    nothing references.
    """
    graph = draw(reference_graphs())
    count = len(graph)
    named = {reference for items in graph for reference in items}
    frames = draw(st.permutations(range(count)))
    hidden = draw(st.sets(st.integers(0, count - 1), max_size=count // 4))
    first_frame = draw(st.sampled_from([0, 0, 7, 1000]))
    shown = sorted(frame for at, frame in enumerate(frames) if at not in hidden)
    ordinals = {frame: first_frame + n for n, frame in enumerate(shown)}
    points = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    marked = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    return make_index(
        graph,
        frames=[None if at in hidden else ordinals[frames[at]] for at in range(count)],
        sizes=draw(st.lists(st.integers(1, 5000), min_size=count, max_size=count)),
        is_reference=[at in named or marked[at] == 0 for at in range(count)],
        is_random_access=[not graph[at] and (at == 0 or points[at]) for at in range(count)],
        reference_lists=lists_of(graph) if access == "rewrite" else None,
        first_frame=first_frame,
        access=access,
        codec=codec,
    )


@st.composite
def ddra_indexes(draw: st.DrawFn) -> PictureIndex:
    """What an encoder makes of DDRA: an anchor, the next, then the pictures between in any order."""
    interval = draw(st.integers(2, 9))
    gaps = draw(st.lists(st.integers(1, interval), max_size=4))
    first_frame = draw(st.sampled_from([0, 50]))
    frames, graph, anchors = [0], [[]], [(0, 0)]
    for gap in gaps:
        frame = anchors[-1][1] + gap
        before, here = anchors[-1][0], len(graph)
        frames.append(frame)
        graph.append([])
        anchors.append((here, frame))
        for between in draw(st.permutations(range(frame - gap + 1, frame))):
            frames.append(between)
            graph.append([before, here])
    ends = {at for at, _ in anchors}
    return make_index(
        graph,
        frames=[first_frame + frame for frame in frames],
        sizes=draw(st.lists(st.integers(1, 3000), min_size=len(graph), max_size=len(graph))),
        is_reference=[at in ends for at in range(len(graph))],
        first_frame=first_frame,
        structure="ddra",
        interval=interval,
    )


def reachable(graph: Sequence[Sequence[int]], targets: Sequence[int]) -> set[int]:
    """What the targets lead to, by squaring the relation instead of walking it."""
    count = len(graph)
    relation = [1 << at | sum(1 << reference for reference in graph[at]) for at in range(count)]
    for _ in range(count.bit_length() + 1):
        relation = [
            _union(relation[reference] for reference in range(count) if row >> reference & 1)
            for row in relation
        ]
    wanted = _union(relation[at] for at in targets)
    return {at for at in range(count) if wanted >> at & 1}


def _union(masks: Any) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


def draw_frames(data: st.DataObject, index: PictureIndex) -> list[int]:
    """Some of the frames that an index shows, in any order, perhaps with repetitions."""
    shown = range(index.key.first_frame, index.key.end_frame)
    return data.draw(st.lists(st.sampled_from(shown), min_size=1, max_size=8))
