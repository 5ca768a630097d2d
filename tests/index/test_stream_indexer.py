"""Native streams indexed: presentation order, sequences that are chained, spans of chunks."""

from __future__ import annotations

import functools
import zlib

import pytest
from bitstream import h264_streams, hevc_streams
from bitstream.h264_streams import EncodedStream
from hypothesis import given, settings
from hypothesis import strategies as st
from index.reference_graphs import reachable, reference_graphs

from videoformat.bitstream.codecs import make_indexer
from videoformat.errors import DataError, UnsupportedStreamError
from videoformat.index.native import (
    CodedPicture,
    CodedUnit,
    IndexedStream,
    StreamIndexer,
    index_stream,
)


def units_of(encoded: EncodedStream, *, timed: bool = True, first: int = 0) -> list[CodedUnit]:
    return [
        CodedUnit(unit, 512 * pts + first if timed else None)
        for unit, pts in zip(encoded.access_units, encoded.pts, strict=True)
    ]


@functools.cache
def pyramid() -> EncodedStream:
    return h264_streams.encode("keyint=8:min-keyint=8:bframes=3:b-pyramid=normal", 20)


@functools.cache
def open_gop() -> EncodedStream:
    return hevc_streams.encode("keyint=8:min-keyint=8:bframes=3:open-gop=1:scenecut=0", 20)


STREAMS = [("h264", pyramid), ("hevc", open_gop)]


@pytest.mark.parametrize(("codec", "encode"), STREAMS, ids=["h264", "hevc"])
@pytest.mark.parametrize("timed", [True, False])
def test_frames_are_pictures_in_presentation_order(codec: str, encode: object, timed: bool) -> None:
    """With timestamps, and without them by the bitstream's own order."""
    encoded = encode()  # type: ignore[operator]
    stream = index_stream(codec, b"", units_of(encoded, timed=timed))
    assert stream.frame_count == len(encoded.pts)
    assert [encoded.pts[at] for at in stream.frame_positions] == sorted(encoded.pts)
    assert [stream.pictures[at].frame for at in stream.frame_positions] == list(range(20))
    for at, picture in enumerate(stream.pictures):
        assert picture.unit == at
        assert (picture.start, picture.end) == (0, len(encoded.access_units[at]))
        assert picture.crc32 == zlib.crc32(encoded.access_units[at])
        assert picture.pts == (512 * encoded.pts[at] if timed else None)
    assert {picture.fallback for picture in stream.pictures} == {None}


@pytest.mark.parametrize(("codec", "encode"), STREAMS, ids=["h264", "hevc"])
def test_references_are_the_parser_s_over_the_whole_stream(codec: str, encode: object) -> None:
    encoded = encode()  # type: ignore[operator]
    indexer = make_indexer(codec, b"")
    parsed = [indexer.push(unit)[0] for unit in encoded.access_units]
    stream = index_stream(codec, b"", units_of(encoded))
    for picture, own in zip(stream.pictures, parsed, strict=True):
        assert picture.references == own.references
        assert picture.reference_lists == own.reference_lists
        assert picture.poc == own.order_count
        assert picture.is_random_access == own.is_random_access
        assert picture.is_reference == own.is_reference


def test_timestamps_that_contradict_the_bitstream_are_refused() -> None:
    encoded = pyramid()
    units = units_of(encoded)
    one, other = (encoded.pts.index(frame) for frame in (2, 3))
    units[one], units[other] = (
        CodedUnit(units[one].data, units[other].pts),
        CodedUnit(units[other].data, units[one].pts),
    )
    with pytest.raises(UnsupportedStreamError, match="timestamps out of order"):
        index_stream("h264", b"", units)


def test_what_an_edit_list_hides_is_no_frame() -> None:
    encoded = pyramid()
    hidden = {0, 1}
    units = [
        CodedUnit(unit.data, unit.pts, is_shown=encoded.pts[at] not in hidden)
        for at, unit in enumerate(units_of(encoded))
    ]
    stream = index_stream("h264", b"", units)
    assert stream.frame_count == 18
    assert encoded.pts[stream.frame_positions[0]] == 2
    assert [stream.pictures[encoded.pts.index(frame)].frame for frame in (0, 1)] == [None, None]


def test_a_stream_without_frames_is_refused() -> None:
    with pytest.raises(DataError, match="holds no frames"):
        StreamIndexer("h264", b"").finish()


def test_sequences_are_chained_once_parameter_sets_change() -> None:
    """The first sequence with other content under the same number, and all that follow it."""
    first = h264_streams.encode("keyint=6:min-keyint=6:scenecut=0:bframes=2:ref=3", 12)
    second = h264_streams.encode("keyint=6:min-keyint=6:scenecut=0:bframes=2:ref=2", 18)
    units = units_of(first) + units_of(second, first=512 * 12)
    stream = index_stream("h264", b"", units)
    alone = index_stream("h264", b"", units_of(first))
    assert stream.pictures[:12] == alone.pictures
    starts = [12 + at for at, pts in enumerate(second.pts) if pts % 6 == 0]
    assert len(starts) == 3
    for at, picture in enumerate(stream.pictures[12:], start=12):
        assert picture.fallback == "parameter sets that change"
        assert picture.references == (() if at in starts else (at - 1,))
        assert picture.is_random_access == (at in starts)
        assert picture.is_reference
        assert (picture.poc, picture.reference_lists) == (None, None)
    assert [stream.pictures[at].pts for at in stream.frame_positions] == [
        512 * frame for frame in range(30)
    ]


def coded(graph: list[list[int]], points: set[int], order: list[int]) -> IndexedStream:
    pictures = tuple(
        CodedPicture(
            at, 0, 1, order[at], None, None, "I", at in points, True, tuple(references), (), 0
        )
        for at, references in enumerate(graph)
    )
    positions = sorted(range(len(graph)), key=lambda at: order[at])
    return IndexedStream(pictures, tuple(positions))


@settings(max_examples=80)
@given(reference_graphs(), st.data())
def test_a_span_holds_what_its_frames_need_from_a_random_access_point_on(
    graph: list[list[int]], data: st.DataObject
) -> None:
    count = len(graph)
    order = data.draw(st.permutations(range(count)))
    points = {0} | {at for at in range(count) if not graph[at] and data.draw(st.booleans())}
    stream = coded(graph, points, list(order))
    first = data.draw(st.integers(0, count - 1))
    length = data.draw(st.integers(1, count - first))
    span = stream.span(first, length)
    needed = reachable(graph, stream.frame_positions[first : first + length])
    assert span.start in points
    assert span.start == max(at for at in points if at <= min(needed))
    assert span.stop == max(needed) + 1


def test_a_stream_that_begins_nowhere_has_no_spans() -> None:
    stream = coded([[], [0]], set(), [0, 1])
    with pytest.raises(UnsupportedStreamError, match="no random access point"):
        stream.span(1, 1)
