"""Chunks of native streams: the pictures that their frames need, with their bytes."""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest
from bitstream import h264_streams, hevc_streams
from bitstream.h264_streams import EncodedStream
from hypothesis import given, settings
from hypothesis import strategies as st
from index.reference_graphs import STREAM

from videoformat.errors import ChecksumError
from videoformat.index.native import CodedUnit, IndexedStream, index_stream
from videoformat.index.native_chunk import native_chunk, reference_chunk
from videoformat.index.pictures import ChunkKey, Stream
from videoformat.index.plan import plan_chunk

COUNT = 24
STREAMS = {
    "h264": lambda: h264_streams.encode("keyint=8:min-keyint=8:bframes=3:b-pyramid=normal", COUNT),
    "hevc": lambda: hevc_streams.encode("keyint=8:open-gop=1:bframes=3:scenecut=0", COUNT),
}


@functools.cache
def indexed(codec: str) -> tuple[EncodedStream, IndexedStream]:
    encoded = STREAMS[codec]()
    units = [
        CodedUnit(unit, pts) for unit, pts in zip(encoded.access_units, encoded.pts, strict=True)
    ]
    return encoded, index_stream(codec, b"", units)


def facts(codec: str) -> Stream:
    return replace(STREAM, codec=codec)


SPANS = st.integers(0, COUNT - 1).flatmap(
    lambda first: st.tuples(st.just(first), st.integers(1, COUNT - first))
)


@settings(max_examples=40)
@given(st.sampled_from(sorted(STREAMS)), SPANS, st.sampled_from([0, 500]))
def test_a_chunk_holds_its_frames_and_what_they_need(
    codec: str, span: tuple[int, int], first_frame: int
) -> None:
    encoded, stream = indexed(codec)
    first, count = span
    key = ChunkKey("episode", 0, first_frame, count)
    units = encoded.access_units
    chunk = native_chunk(key, facts(codec), stream, first, units.__getitem__)
    index = chunk.index
    base = stream.span(first, count).start
    assert isinstance(chunk.media, bytes)
    assert len(chunk.media) == index.stream.media_size
    for at in range(len(index)):
        source = stream.pictures[base + at]
        begin = index.offset[at]
        assert chunk.media[begin : begin + index.size[at]] == units[base + at]
        frame = encoded.pts[base + at] - first
        assert index.frame_index[at] == (first_frame + frame if 0 <= frame < count else None)
        assert index.crc32[at] == source.crc32
        assert index.pts[at] == encoded.pts[base + at]
        inside = [reference - base for reference in source.references if reference >= base]
        assert list(index.references[at]) == inside
        if len(inside) == len(source.references) and index.frame_index[at] is not None:
            lists = index.reference_lists[at]
            assert lists is not None
            assert [[r + base for r in items] for items in lists] == [
                list(items) for items in source.reference_lists or ()
            ]
    for frame in range(first_frame, first_frame + count):
        closure = index.closure([index.position_of[frame]])
        assert len(closure) <= index.stream.closure_bound
        assert plan_chunk(index, [frame]).frames == (frame,)


@settings(max_examples=20)
@given(st.sampled_from(sorted(STREAMS)), SPANS, st.integers(0, 99))
def test_a_chunk_in_place_says_where_its_bytes_lie(
    codec: str, span: tuple[int, int], gap: int
) -> None:
    """In a file whose access units lie one after the other, with something in between."""
    encoded, stream = indexed(codec)
    positions, data = {}, bytearray()
    for number, unit in enumerate(encoded.access_units):
        data += bytes(gap)
        positions[number] = len(data)
        data += unit
    key = ChunkKey("episode", 0, 0, span[1])
    index, low, high = reference_chunk(key, facts(codec), stream, span[0], positions)
    media = data[low:high]
    base = stream.span(*span).start
    assert len(media) == index.stream.media_size
    for at in range(len(index)):
        begin = index.offset[at]
        assert media[begin : begin + index.size[at]] == encoded.access_units[base + at]


def test_bytes_that_changed_since_indexing_are_refused() -> None:
    encoded, stream = indexed("h264")

    def changed(number: int) -> bytes:
        unit = bytearray(encoded.access_units[number])
        unit[-1] ^= number == 3
        return bytes(unit)

    with pytest.raises(ChecksumError, match="access unit 3 is not the one"):
        native_chunk(ChunkKey("episode", 0, 0, COUNT), facts("h264"), stream, 0, changed)
