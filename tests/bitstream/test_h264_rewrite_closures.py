"""Rewritten H.264 closures: the pixels over many x264 settings, and damage."""

import contextlib
import random

import pytest
from bitstream.h264_closures import (
    check,
    closure,
    closure_pictures,
    indexed,
    requests,
)
from bitstream.h264_streams import SETTINGS, EncodedStream, decode_groups, encode, stream
from hypothesis import given, settings
from hypothesis import strategies as st

from videoformat.bitstream.bits import BitReader, bits_to_bytes, se_bits, ue_bits
from videoformat.bitstream.closure import ClosurePicture
from videoformat.bitstream.h264 import H264Indexer
from videoformat.bitstream.h264_rewrite import H264Rewriter
from videoformat.bitstream.h264_sps import parse_sequence_parameter_set
from videoformat.bitstream.nal import escape, split_annexb, to_annexb, unescape
from videoformat.errors import BitstreamError, DataError, UnsupportedStreamError


@pytest.mark.parametrize("name", list(SETTINGS))
def test_random_closures_decode_exactly(name: str) -> None:
    source = indexed(stream(name))
    outcome = check(source, requests(source, 12, seed=7))
    assert (outcome.wrong, outcome.missing) == (0, 0)
    assert outcome.targets > 50


def test_order_counts_of_types_1_and_2_decode_exactly() -> None:
    # x264 without B pictures has type 2; with another SPS the same slices have type 1.
    encoded = stream("no B")
    units = split_annexb(encoded.access_units[0])
    index = next(at for at, each in enumerate(units) if each[0] & 31 == 7)
    sps = parse_sequence_parameter_set(units[index])
    assert sps.pic_order_cnt_type == 2
    bits = BitReader(unescape(units[index][1:])).bits
    at = sps.positions
    # delta_pic_order_always_zero_flag, the bottom field 1 later, a cycle of one frame of 2
    type_1 = ue_bits(1) + "1" + se_bits(0) + se_bits(1) + ue_bits(1) + se_bits(2)
    bits = (
        bits[: at.log2_max_frame_num_minus4]
        + ue_bits(sps.log2_max_frame_num - 4)
        + type_1
        + bits[at.max_num_ref_frames : at.end]
        + "1"
    )
    units[index] = escape(units[index][:1] + bits_to_bytes(bits + "0" * (-len(bits) % 8)))
    changed = EncodedStream((to_annexb(units), *encoded.access_units[1:]), encoded.pts, b"")
    source = indexed(changed)
    assert source.pictures[0].detail[0].sps.pic_order_cnt_type == 1
    outcome = check(source, requests(source, 12, seed=3))
    assert (outcome.wrong, outcome.missing) == (0, 0)


def test_a_closure_that_is_not_rewritten_is_wrong_without_an_error() -> None:
    # Why rewriting is needed: the same pictures as they are come back wrong.
    source = indexed(stream("one reference"))
    rng = random.Random(1)
    configuration = to_annexb(split_annexb(source.encoded.access_units[0])[:2])
    wrong = 0
    for _ in range(30):
        positions = closure(source.pictures, [rng.randrange(60)])
        group = [(at, source.encoded.access_units[at]) for at in positions]
        [decoded] = decode_groups([group], configuration)
        wrong += any(at in decoded and decoded[at] != source.whole[at] for at in positions)
    assert wrong


def test_an_intra_start_is_found_in_the_middle_of_a_sequence() -> None:
    # An open GOP: the I pictures are no IDR pictures, and closures begin at them.
    source = indexed(encode("open-gop=1:keyint=10:min-keyint=5:bframes=3:scenecut=0", 60))
    starts = [p.position for p in source.pictures if p.picture_type == "I"]
    assert len(starts) > 4
    assert [p.position for p in source.pictures if p.detail[0].is_idr] == [0]
    rewriter = H264Rewriter(source.configuration)
    for start in starts:
        pictures = closure_pictures(source, [start])
        [access_unit] = rewriter.rewrite(pictures)
        indexer = H264Indexer(rewriter.configuration)
        assert indexer.push(access_unit)[0].detail[0].is_idr
        [decoded] = decode_groups([[(start, access_unit)]], rewriter.configuration)
        assert decoded[start] == source.whole[start]


def test_a_rewritten_closure_is_indexed_as_it_was() -> None:
    source = indexed(stream("temporal direct"))
    rewriter = H264Rewriter(source.configuration)
    positions = closure(source.pictures, [33, 47])
    indexer = H264Indexer(rewriter.configuration)
    for at, access_unit in zip(
        positions, rewriter.rewrite(closure_pictures(source, positions)), strict=True
    ):
        [found] = indexer.push(access_unit)
        was = source.pictures[at]
        named = tuple(tuple(positions[to] for to in each) for each in found.reference_lists)
        assert named == was.reference_lists
        assert found.picture_type == was.picture_type


@settings(max_examples=100)
@given(st.data())
def test_damage_anywhere_is_rewritten_or_refused(data) -> None:
    source = indexed(stream(data.draw(st.sampled_from(["default", "CAVLC", "no B"]))))
    pictures = closure_pictures(source, closure(source.pictures, [9, 12]))
    for _ in range(data.draw(st.integers(1, 3))):
        which = data.draw(st.integers(0, len(pictures) - 1))
        damaged = bytearray(pictures[which].access_unit)
        at = data.draw(st.integers(0, min(len(damaged), 40) - 1))
        damaged[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
        lists = st.lists(st.lists(st.integers(-1, 20), max_size=4).map(tuple), max_size=3)
        pictures[which] = ClosurePicture(
            pictures[which].position + data.draw(st.sampled_from([0, 0, 0, 1, -9])),
            data.draw(st.just(pictures[which].order_count) | st.integers(-(2**31), 2**31)),
            data.draw(st.just(pictures[which].reference_lists) | lists.map(tuple)),
            data.draw(st.sampled_from([bytes(damaged), pictures[which].access_unit])),
        )
    with contextlib.suppress(BitstreamError, DataError, UnsupportedStreamError):
        assert len(H264Rewriter(source.configuration).rewrite(pictures)) == len(pictures)
