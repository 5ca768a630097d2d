"""Headers of stars: what is edited, and what decoders make of it."""

from __future__ import annotations

import contextlib
import random
from fractions import Fraction
from typing import Any

import av
import numpy as np
import pytest
from media.encoded_chunks import digest, encode, moving

from videoformat.bitstream.av1 import Av1Indexer
from videoformat.bitstream.av1_frame import Av1FrameHeader
from videoformat.bitstream.av1_obu import iterate_obus
from videoformat.bitstream.av1_star import (
    SHOW_ANCHOR,
    Av1Pairs,
    hidden_anchor,
    wide_sequence_header,
)
from videoformat.bitstream.h264 import H264Indexer
from videoformat.bitstream.h264_star import H264Pairs, H264Presentation
from videoformat.bitstream.nal import split_annexb
from videoformat.bitstream.star import Place
from videoformat.errors import BitstreamError, StructureError, UnsupportedStreamError
from videoformat.media.color import RGB_COLOR, rgb_to_picture
from videoformat.media.encoder import EncodedChunk
from videoformat.media.pairs import GroupEncoder
from videoformat.media.star import Star

SIZES = [(16, 16), (48, 64), (66, 130), (150, 232)]


def star(codec: Any, height: int = 48, width: int = 64) -> EncodedChunk:
    structure = Star(codec=codec, interval=5, adaptive=False)
    return encode(structure, moving(10, height=height, width=width))


def decoded(name: str, units: list[bytes], extradata: bytes = b"") -> list[bytes]:
    decoder: Any = av.CodecContext.create(name, "r")
    decoder.thread_count = 1
    if extradata:
        decoder.extradata = extradata
    frames = [frame for unit in units for frame in decoder.decode(av.Packet(unit))]
    return [digest(frame) for frame in [*frames, *decoder.decode(None)]]


@pytest.mark.parametrize(("height", "width"), SIZES, ids=str)
def test_a_hidden_anchor_is_shown_later_with_the_same_samples(height: int, width: int) -> None:
    made = star("av1", height, width)
    stored = [unit for _, unit in made.access_units]
    plain = decoded("libdav1d", [made.configuration + stored[0], *stored[1:]])
    by_frame = {rank: plain[at] for at, (rank, _) in enumerate(made.access_units)}
    units = dict(made.access_units)
    wide = wide_sequence_header(made.configuration)
    anchors = [made.access_units[0][0], made.access_units[5][0]]
    samples = []
    for start, anchor in zip((0, 5), anchors, strict=True):
        hidden = hidden_anchor(units[anchor], made.configuration)
        assert len(hidden) - len(units[anchor]) in (5, 6)  # five bytes, and one of the OBU's size
        for frame in range(start, start + 5):
            unit = SHOW_ANCHOR if frame == anchor else units[frame]
            samples.append(wide + hidden + unit if frame == start else unit)
    assert decoded("libdav1d", samples) == [by_frame[frame] for frame in range(10)]


def test_the_stored_units_say_what_the_specification_promises() -> None:
    made = star("av1")
    indexer = Av1Indexer(made.configuration)
    for rank, unit in made.access_units:
        assert len(list(iterate_obus(unit))) == 1
        (picture,) = indexer.push(unit)
        header = picture.detail
        assert isinstance(header, Av1FrameHeader)
        assert header.order_hint == rank
        assert header.refresh_frame_flags == (0xFF if picture.picture_type == "I" else 0)


def test_units_of_strangers_are_refused_by_name() -> None:
    made = star("av1")
    configuration, (_, anchor), (_, leaf) = made.configuration, *made.access_units[:2]
    hidden_anchor(anchor, configuration)
    for unit in (
        anchor + anchor,
        configuration + anchor,
        SHOW_ANCHOR + anchor,
        leaf,
        b"",
        anchor[:3],
    ):
        with pytest.raises((BitstreamError, StructureError, UnsupportedStreamError)):
            hidden_anchor(unit, configuration)
    for wrong in (b"", SHOW_ANCHOR, configuration[:4]):
        with pytest.raises((BitstreamError, StructureError, UnsupportedStreamError)):
            wide_sequence_header(wrong)
    rng = random.Random(5)
    for _ in range(300):
        at = rng.randrange(12)
        broken = bytes([*anchor[:at], anchor[at] ^ 1 << rng.randrange(8), *anchor[at + 1 :]])
        with contextlib.suppress(BitstreamError, StructureError, UnsupportedStreamError):
            hidden_anchor(broken, configuration)
        at = rng.randrange(len(configuration))
        broken = bytes(
            [
                *configuration[:at],
                configuration[at] ^ 1 << rng.randrange(8),
                *configuration[at + 1 :],
            ]
        )
        with contextlib.suppress(BitstreamError, StructureError, UnsupportedStreamError):
            wide_sequence_header(broken)
            hidden_anchor(anchor, broken)


def test_order_hints_go_round() -> None:
    first, second = pair("av1")
    reader = Av1Pairs()
    unit = reader.anchor(first, Place(0, 0, 127))
    assert reader.anchor(first, Place(0, 0, 127 + 128)) == unit
    reader.leaf(second, Place(0, 1, 128))
    assert reader.configuration


def pair(codec: Any) -> tuple[bytes, bytes]:
    structure = Star(codec=codec)
    leaves = structure.settings.leaves
    encoder: GroupEncoder[int] = GroupEncoder(
        structure.settings.encoder,
        structure.encoder_options(still=False),
        (64, 48),
        RGB_COLOR,
        Fraction(30),
        leaves,
    )
    group = [rgb_to_picture(frame) for frame in moving(1 + leaves, height=48, width=64)]
    ((mark, (first, second, *_)),) = [*encoder.push(group, 7), *encoder.finish()]
    assert mark == 7
    return first, second


def test_what_is_no_pair_is_refused() -> None:
    at = Place(0, 0, 0)
    first, second = pair("av1")
    reader = Av1Pairs()
    reader.anchor(first, at)
    with pytest.raises(StructureError, match="ends with a shown key frame"):
        reader.leaf(first, at)
    reader.anchor(first, at)
    with pytest.raises(StructureError, match="begins with a shown inter frame"):
        reader.anchor(second, at)
    structure = Star(codec="h264")
    encoder: GroupEncoder[int] = GroupEncoder(
        "libx264", structure.encoder_options(still=False), (64, 48), RGB_COLOR, Fraction(30)
    )
    h264 = H264Pairs(encoder.extradata)
    idr, inter = pair("h264")
    with pytest.raises(StructureError, match="IDR"):
        h264.anchor(inter, at)
    with pytest.raises(StructureError, match="slice_type"):
        h264.leaf(idr, at)
    with pytest.raises(UnsupportedStreamError, match="too far apart"):
        h264.leaf(inter, Place(0, 20000, 20000))


def test_a_stored_star_of_h264_is_idr_pictures_and_unreferenced_ones() -> None:
    made = star("h264")
    indexer = H264Indexer(made.configuration)
    pictures = [indexer.push(unit)[0] for _, unit in made.access_units]
    assert [p.order_count for p in pictures] == [0, 4, 6, 8, 10, 0, 2, 4, 8, 10]
    assert [rank for rank, _ in made.access_units] == [0, 1, 2, 3, 4, 7, 5, 6, 8, 9]
    kinds = [split_annexb(unit)[0][0] & 31 for _, unit in made.access_units]
    assert kinds == [5, 1, 1, 1, 1, 5, 1, 1, 1, 1]
    assert [p.is_reference for p in pictures] == [kind == 5 for kind in kinds]


def test_h264_comes_into_presentation_order() -> None:
    made = star("h264")
    plain = decoded("h264", [unit for _, unit in made.access_units], made.configuration)
    by_frame = {rank: plain[at] for at, (rank, _) in enumerate(made.access_units)}
    presentation = H264Presentation(made.configuration)
    for _ in range(2):  # as two chunks
        presentation.begin_chunk()
        units = [
            (presentation.anchor if at in (0, 5) else presentation.leaf)(unit, rank)
            for at, (rank, unit) in enumerate(made.access_units)
        ]
        shown = decoded("h264", units, presentation.configuration)
        assert shown == [by_frame[frame] for frame in range(10)]
        indexer = H264Indexer(presentation.configuration)
        counts = [indexer.push(unit)[0].order_count for unit in units]
        assert counts == [2 * rank for rank, _ in made.access_units]


def test_a_chunk_that_does_not_begin_with_its_anchor_cannot_be_presented() -> None:
    made = star("h264")
    presentation = H264Presentation(made.configuration)
    presentation.begin_chunk()
    with pytest.raises(UnsupportedStreamError, match="before the first anchor"):
        presentation.anchor(made.access_units[0][1], 3)


def test_frames_of_grey_are_stars_too() -> None:
    """Pictures without any residual: the shortest headers and slices that there are."""
    frames = [np.full((48, 64, 3), 128, np.uint8)] * 7
    for codec in ("av1", "h264"):
        made = encode(Star(codec=codec, interval=7), frames)
        assert len(made.access_units) == 7
