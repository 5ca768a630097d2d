"""A chunk of native video: pictures of an indexed stream, with their bytes, as a row holds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from videoformat.errors import ChecksumError, UnsupportedStreamError
from videoformat.index.build import crc32_of, largest_closure
from videoformat.index.native import IndexedStream
from videoformat.index.pictures import ChunkKey, PictureIndex, Stream, place_pictures
from videoformat.index.rows import ChunkMedia

__all__ = ["access_of", "native_chunk", "reference_chunk"]


def access_of(codec: str, stream: IndexedStream, span: range) -> tuple[str, str | None]:
    """How closures of these pictures are fed, and why not sparsely where they are not."""
    reasons = [fallback for at in span if (fallback := stream.pictures[at].fallback) is not None]
    reason = None
    if reasons:
        kinds = ", ".join(sorted(set(reasons)))
        reason = f"{len(reasons)} of {len(span)} pictures are decoded in sequence: {kinds}"
    if len(reasons) == len(span):
        return "sequential", reason
    return ("direct" if codec == "av1" else "rewrite"), reason


def _index(
    key: ChunkKey,
    facts: Stream,
    stream: IndexedStream,
    span: range,
    first_frame: int,
    offsets: list[int],
    media_size: int,
) -> PictureIndex:
    """The index of a chunk whose frames begin at ``first_frame`` of the stream."""
    base = span.start
    pictures = [stream.pictures[at] for at in span]
    access, reason = access_of(facts.codec, stream, span)
    keep_lists = access == "rewrite"
    frames = range(first_frame, first_frame + key.frame_count)
    index = PictureIndex(
        key=key,
        stream=replace(
            facts,
            access=access,
            access_reason=reason,
            media_size=media_size,
            closure_bound=0,
        ),
        frame_index=tuple(
            key.first_frame + picture.frame - first_frame
            if picture.frame is not None and picture.frame in frames
            else None
            for picture in pictures
        ),
        pts=tuple(picture.pts for picture in pictures),
        poc=tuple(picture.poc for picture in pictures),
        picture_type=tuple(picture.picture_type for picture in pictures),
        is_random_access=tuple(picture.is_random_access for picture in pictures),
        is_reference=tuple(picture.is_reference for picture in pictures),
        offset=tuple(offsets),
        size=tuple(picture.end - picture.start for picture in pictures),
        references=tuple(_within(picture.references, span) for picture in pictures),
        reference_lists=tuple(
            tuple(tuple(at - base for at in items) for items in picture.reference_lists)
            if keep_lists
            and picture.reference_lists is not None
            and all(at in span for at in picture.references)
            else None
            for picture in pictures
        ),
        crc32=tuple(picture.crc32 for picture in pictures),
    )
    shown = [index.position_of[frame] for frame in index.position_of]
    for at in shown:
        if not index.is_random_access[index.earliest[at]] and access != "rewrite":
            raise UnsupportedStreamError(
                "no random access point", f"picture {index.earliest[at]} starts a closure"
            )
    bound = largest_closure(index.references, shown)
    return replace(index, stream=replace(index.stream, closure_bound=bound))


def _within(references: tuple[int, ...], span: range) -> tuple[int, ...]:
    """References within the chunk. Those outside belong to pictures that no frame here needs."""
    return tuple(at - span.start for at in references if at in span)


def native_chunk(
    key: ChunkKey,
    facts: Stream,
    stream: IndexedStream,
    first_frame: int,
    unit_data: Callable[[int], bytes],
) -> ChunkMedia:
    """The chunk of ``key.frame_count`` frames that begin at ``first_frame`` of the stream.

    ``unit_data`` gives the bytes of an access unit by its number. Raises ``ChecksumError`` where
    they are not those that were indexed.
    """
    span = stream.span(first_frame, key.frame_count)
    pictures = [stream.pictures[at] for at in span]
    parts = []
    unit, data = -1, b""
    for picture in pictures:
        if picture.unit != unit:
            unit, data = picture.unit, unit_data(picture.unit)
        part = data[picture.start : picture.end]
        if crc32_of(part) != picture.crc32:
            raise ChecksumError(f"access unit {unit} is not the one that was indexed")
        parts.append(part)
    order = [picture.frame if picture.frame is not None else -1 for picture in pictures]
    sizes = [len(part) for part in parts]
    layout, offsets = place_pictures(sizes, [picture.is_reference for picture in pictures], order)
    index = _index(key, facts, stream, span, first_frame, offsets, sum(sizes))
    return ChunkMedia(b"".join(parts[at] for at in layout), index)


def reference_chunk(
    key: ChunkKey,
    facts: Stream,
    stream: IndexedStream,
    first_frame: int,
    unit_position: Mapping[int, int],
) -> tuple[PictureIndex, int, int]:
    """The chunk's index over its source file: the index, and the bytes of the file that it spans.

    ``unit_position`` gives each access unit's place in the file. Offsets count from the first byte
    of the span, which is returned as its start and end (exclusive) in the file.
    """
    span = stream.span(first_frame, key.frame_count)
    pictures = [stream.pictures[at] for at in span]
    starts = [unit_position[picture.unit] + picture.start for picture in pictures]
    ends = [unit_position[picture.unit] + picture.end for picture in pictures]
    low, high = min(starts), max(ends)
    offsets = [start - low for start in starts]
    return _index(key, facts, stream, span, first_frame, offsets, high - low), low, high
