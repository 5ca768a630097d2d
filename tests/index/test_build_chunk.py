"""Chunks from access units: the index is what the bytes say, and contradictions are refused."""

from __future__ import annotations

import zlib
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from index.reference_graphs import STREAM, reachable, reference_graphs

from videoformat.bitstream.picture import Picture
from videoformat.errors import BitstreamError, StructureError, UnsupportedStreamError
from videoformat.index.build import (
    build_chunk,
    check_order,
    crc32_of,
    derive_pictures,
    largest_closure,
)
from videoformat.index.pictures import ChunkKey, Stream
from videoformat.index.rows import ChunkMedia
from videoformat.media.color import RGB_COLOR, rgb_to_picture
from videoformat.media.encoder import ChunkEncoder, EncodedChunk
from videoformat.media.gop import DDRA, ProfileName


@pytest.fixture(scope="module", params=["fast", "small"])
def encoded(request: pytest.FixtureRequest) -> EncodedChunk:
    profile: ProfileName = request.param
    encoder = ChunkEncoder(DDRA(profile=profile, interval=3), 32, 16, RGB_COLOR, Fraction(30))
    for frame in range(8):
        encoder.push(rgb_to_picture(np.full((16, 32, 3), 30 * frame, np.uint8)))
    return encoder.finish()


def stream_of(encoded: EncodedChunk) -> Stream:
    return replace(
        STREAM, codec=encoded.codec, configuration=encoded.configuration, structure="ddra",
        width=32, height=16, decoded_width=32, decoded_height=16, interval=3,
    )  # fmt: skip


def chunk_of(encoded: EncodedChunk, units: list[tuple[int, bytes]] | None = None) -> ChunkMedia:
    key = ChunkKey("episode", 2, 100, 8)
    pts = [1001 * frame for frame in range(8)]
    return build_chunk(key, stream_of(encoded), units or list(encoded.access_units), pts)


def test_a_chunk_is_what_its_access_units_say(encoded: EncodedChunk) -> None:
    """Anchors at 0, 3, 6 and 7; frames by rank, bytes where the offsets say."""
    chunk = chunk_of(encoded)
    index = chunk.index
    assert isinstance(chunk.media, bytes)
    assert index.key == ChunkKey("episode", 2, 100, 8)
    assert index.frame_index == tuple(100 + rank for rank, _ in encoded.access_units)
    assert index.pts == tuple(1001 * rank for rank, _ in encoded.access_units)
    anchors = {index.frame_index[at] for at in range(8) if index.is_reference[at]}
    assert anchors == {100, 103, 106, 107}
    assert index.stream.closure_bound == 3
    assert index.stream.media_size == len(chunk.media) == sum(index.size)
    for at, (_, unit) in enumerate(encoded.access_units):
        begin = index.offset[at]
        assert chunk.media[begin : begin + index.size[at]] == unit
        assert index.crc32[at] == zlib.crc32(unit) == crc32_of(unit)


def test_ranks_that_are_not_each_frame_once_are_refused(encoded: EncodedChunk) -> None:
    units = list(encoded.access_units)
    for wrong in (units[:-1], [*units, units[-1]], [(rank + 1, unit) for rank, unit in units]):
        with pytest.raises(StructureError, match="presentation ranks"):
            chunk_of(encoded, wrong)


def test_frames_that_were_exchanged_are_noticed(encoded: EncodedChunk) -> None:
    """Every exchange of two ranks contradicts the order counts of the bitstream."""
    units = list(encoded.access_units)
    for one in range(8):
        for other in range(one):
            swapped = list(units)
            swapped[one] = (units[other][0], units[one][1])
            swapped[other] = (units[one][0], units[other][1])
            with pytest.raises(StructureError, match="order count"):
                chunk_of(encoded, swapped)


def test_access_units_that_were_damaged_are_noticed_or_indexed_as_they_are(
    encoded: EncodedChunk,
) -> None:
    (rank, unit), *rest = encoded.access_units
    for damaged in (b"", unit[:4], b"\0\0\1", b"\xff" * 20):
        with pytest.raises((BitstreamError, UnsupportedStreamError)):
            chunk_of(encoded, [(rank, damaged), *rest])


def test_two_pictures_in_one_access_unit_are_refused(encoded: EncodedChunk) -> None:
    units = [unit for _, unit in encoded.access_units]
    with pytest.raises((UnsupportedStreamError, BitstreamError)):
        derive_pictures(encoded.codec, encoded.configuration, [units[0] + units[1], *units[2:]])


def picture(order_count: int, *, is_random_access: bool = False) -> Picture:
    return Picture(0, order_count, "I", is_random_access, True, True, (), (), 0, 1)


def test_order_counts_may_start_anew_at_a_random_access_point() -> None:
    """An IDR picture resets the counts; a CRA picture or recovery point does not."""
    closed = [picture(0, is_random_access=True), picture(2), picture(0, is_random_access=True)]
    check_order(closed, [0, 1, 2], "here")
    not_reset = [picture(0, is_random_access=True), picture(8), picture(4, is_random_access=True)]
    check_order(not_reset, [0, 2, 1], "here")
    with pytest.raises(StructureError, match="here: frame 2 of the chunk has order count 4"):
        check_order(not_reset, [0, 1, 2], "here")
    with pytest.raises(StructureError, match="order count 2, the frame before it 2"):
        check_order([picture(2), picture(2)], [0, 1], "here")


@given(reference_graphs())
def test_the_largest_closure(graph: list[list[int]]) -> None:
    positions = range(len(graph))
    sizes = [len(reachable(graph, [at])) for at in positions]
    assert largest_closure(graph, positions) == max(sizes)
    assert largest_closure(graph, [0]) == 1
    assert largest_closure(graph, []) == 0


def test_the_largest_closure_of_a_long_chain_takes_no_quadratic_walk() -> None:
    chain = [[], *([at] for at in range(20_000))]
    assert largest_closure(chain, [20_000]) == 20_001
