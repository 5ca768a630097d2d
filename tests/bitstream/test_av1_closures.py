"""Closures of AV1 decode exactly, and what FFmpeg's libdav1d makes of pictures that are missing."""

from pathlib import Path

import av
import av.error
import av.logging
import pytest
from bitstream.av1_streams import (
    SETTINGS,
    IndexedStream,
    closure_packets,
    decode,
    decode_whole,
    decoder,
    indexed,
    stream,
)

from videoformat.bitstream.av1_obu import ObuType, iterate_obus


def check(source: IndexedStream, **options: str) -> None:
    """One decoder takes every shown picture's closure in turn, and returns exactly its pictures."""
    whole = decode_whole(source, **options)
    context = decoder(**options)
    for target in source.shown:
        closure = source.closure(target)
        found = decode(context, closure_packets(source, closure))
        assert [tag for tag, _ in found] == [at for at in closure if source.pictures[at].is_shown]
        for tag, seen in found:
            assert tag is not None
            assert seen == whole[tag], (target, tag)


@pytest.mark.parametrize("name", SETTINGS)
def test_closures_decode_exactly(name: str) -> None:
    check(stream(name))


def test_closures_decode_exactly_without_film_grain() -> None:
    check(stream("film grain"), filmgrain="0")
    assert decode_whole(stream("film grain"), filmgrain="0") != decode_whole(stream("film grain"))


def test_closures_that_start_at_intra_only_frames() -> None:
    """They are random access points: what the sets of the tests above begin with."""
    source = stream("open gop, hidden intra-only")
    starts = {source.closure(target)[0] for target in source.shown}
    assert len(starts) > 1
    assert all(source.pictures[at].is_random_access for at in starts)


def without(data: bytes, *kinds: ObuType) -> bytes:
    return b"".join(
        data[unit.start : unit.end] for unit in iterate_obus(data) if unit.obu_type not in kinds
    )


def test_the_sequence_header_must_be_fed_after_every_flush() -> None:
    source = stream("pairs")
    whole = decode_whole(source)
    bare = [
        without(data, ObuType.SEQUENCE_HEADER, ObuType.TEMPORAL_DELIMITER) for data in source.data
    ]
    header = source.indexer.sequence_header_obu
    context = decoder()
    # Temporal delimiters are not needed, the sequence header is.
    assert decode(context, [(0, header + bare[0]), (1, bare[1])]) == [(0, whole[0]), (1, whole[1])]
    with av.logging.Capture(), pytest.raises(av.error.InvalidDataError):
        decode(context, [(2, bare[2]), (3, bare[3])])
    assert decode(context, [(2, header + bare[2]), (3, bare[3])]) == [(2, whole[2]), (3, whole[3])]


def test_the_configurations_sequence_header_may_be_wrong() -> None:
    """SVT-AV1's extradata denies tools that its stream uses; decoding by it is silently wrong."""
    source = stream("pairs")
    whole = decode_whole(source)
    bare = without(source.data[0], ObuType.SEQUENCE_HEADER)
    assert source.configuration not in source.data[0]
    wrong = decode(decoder(), [(0, source.configuration + bare)])
    assert wrong[0][1] != whole[0]
    right = decode(decoder(), [(0, source.indexer.sequence_header_obu + bare)])
    assert right[0][1] == whole[0]


def test_a_missing_reference_may_go_unnoticed() -> None:
    """Why a closure must be complete: not every missing picture is an error for the decoder."""
    source = stream("low delay")
    whole = decode_whole(source)
    context = decoder()
    outcomes = set()
    with av.logging.Capture():
        for target in source.shown[:16]:
            closure = source.closure(target)
            for missing in closure[:-1]:
                rest = [at for at in closure if at != missing]
                try:
                    found = dict(decode(context, closure_packets(source, rest)))
                except av.error.InvalidDataError:
                    outcomes.add("error")
                    continue
                outcomes.add("right" if found.get(target) == whole[target] else "wrong")
    assert outcomes >= {"error", "wrong"}


@pytest.mark.shared_data
@pytest.mark.parametrize(
    "name",
    [
        "cases/av1_g2.mp4",
        "lerobot/g1_v30/videos/observation.images.cam_high/chunk-000/file-000.mp4",
    ],
)
def test_files_of_lerobot(shared: Path, name: str) -> None:
    with av.open(str(shared / "data" / name)) as container:
        video = container.streams.video[0]
        configuration = bytes(video.codec_context.extradata or b"")
        units = [bytes(packet) for packet in container.demux(video) if packet.size]
    source = indexed(units, configuration)
    assert len(source.pictures) == len(units)
    # Every second frame is a key frame, and the others have no other reference.
    for picture in source.pictures:
        assert picture.is_random_access != bool(picture.references)
        assert picture.references in {(), (picture.position - 1,)}
    check(indexed(units[:20], configuration))
