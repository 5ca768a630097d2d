"""Decoding closures: wrong input never gives a picture, and a decoder recovers from it."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from media.encoded_chunks import decoded_in_sequence, digest, encode, index_of, moving

from videoformat.bitstream.nal import split_annexb, to_length_prefixed
from videoformat.errors import DecodeError, UnsupportedStreamError
from videoformat.index.pictures import PictureIndex
from videoformat.media.decoder import ClosureDecoder
from videoformat.media.encoder import EncodedChunk
from videoformat.media.gop import DDRA, ProfileName

PROFILES: tuple[ProfileName, ...] = ("fast", "balanced", "small")


@functools.cache
def chunk(profile: ProfileName) -> tuple[EncodedChunk, PictureIndex, list[bytes]]:
    structure = DDRA(profile=profile, interval=4)
    encoded = encode(structure, moving(13))
    return encoded, index_of(encoded, structure), decoded_in_sequence(encoded)


def decoder_of(encoded: EncodedChunk) -> ClosureDecoder:
    return ClosureDecoder(encoded.codec, encoded.configuration)


@settings(max_examples=40)
@given(st.sampled_from(PROFILES), st.sets(st.integers(0, 12), min_size=1), st.data())
def test_a_closure_with_something_missing_is_never_a_wrong_picture(
    profile: ProfileName, wanted: set[int], data: st.DataObject
) -> None:
    """Whatever is left out: the right pictures, or an error. Then the decoder decodes as before."""
    encoded, index, whole = chunk(profile)
    decoder = decoder_of(encoded)
    closure = sorted(index.closure([index.position_of[frame] for frame in wanted]))
    left_out = data.draw(st.sets(st.sampled_from(closure), min_size=1))
    needed = {r for at in closure if at not in left_out for r in index.references[at]} & left_out
    packets = [(at, encoded.access_units[at][1]) for at in closure if at not in left_out]
    targets = [index.position_of[frame] for frame in wanted]
    kept = [at for at in targets if at not in left_out]
    if left_out & set(targets):
        with pytest.raises(DecodeError, match=r"did not return pictures|refused"):
            list(decoder.decode_group(packets, targets))
    if packets and kept and not needed:
        for at, picture in decoder.decode_group(packets, kept):
            assert digest(picture) == whole[index.frame_index[at] or 0]
    first = encoded.access_units[0][1]
    ((at, picture),) = decoder.decode_group([(0, first)], [0])
    assert digest(picture) == whole[0]


@pytest.mark.parametrize("profile", PROFILES)
def test_bytes_that_are_no_picture_are_refused_and_forgotten(profile: ProfileName) -> None:
    encoded, _, whole = chunk(profile)
    decoder = decoder_of(encoded)
    for garbage in (b"\0\0\1\x65garbage", b"\xff" * 40, b"\0" * 9):
        with pytest.raises(DecodeError, match=encoded.codec):
            list(decoder.decode_group([(7, garbage)], [7]))
        ((_, picture),) = decoder.decode_group([(0, encoded.access_units[0][1])], [0])
        assert digest(picture) == whole[0]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_group_that_is_abandoned_half_way_leaves_nothing_behind(profile: ProfileName) -> None:
    encoded, _, whole = chunk(profile)
    decoder = decoder_of(encoded)
    packets = [(at, unit) for at, (_, unit) in enumerate(encoded.access_units)]
    everything = list(range(13))
    going = decoder.decode_group(packets, everything)
    next(going)
    going.close()
    found = {at: digest(picture) for at, picture in decoder.decode_group(packets, everything)}
    assert [found[at] for at in sorted(found, key=lambda at: encoded.access_units[at][0])] == whole


@pytest.mark.parametrize("profile", PROFILES)
def test_only_wanted_pictures_are_yielded_with_the_tags_that_they_were_fed_with(
    profile: ProfileName,
) -> None:
    encoded, _, whole = chunk(profile)
    packets = [(1000 + at, unit) for at, (_, unit) in enumerate(encoded.access_units)]
    wanted = [1003, 1000]
    found = dict(decoder_of(encoded).decode_group(packets, wanted))
    assert sorted(found) == [1000, 1003]
    for tag, picture in found.items():
        assert digest(picture) == whole[encoded.access_units[tag - 1000][0]]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("length_size", [2, 3, 4])
def test_units_behind_lengths_decode_as_they_are(profile: ProfileName, length_size: int) -> None:
    encoded, index, whole = chunk(profile)
    decoder = ClosureDecoder(encoded.codec, encoded.configuration, f"length{length_size}")
    packets = [
        (at, to_length_prefixed(split_annexb(unit), length_size))
        for at, (_, unit) in enumerate(encoded.access_units)
    ]
    for _ in range(2):  # from group to group
        found = dict(decoder.decode_group(packets, range(13)))
        assert [digest(found[index.position_of[frame]]) for frame in range(13)] == whole
    with pytest.raises(UnsupportedStreamError, match="framing: 'length5'"):
        ClosureDecoder(encoded.codec, encoded.configuration, "length5")


def test_nothing_fed_is_nothing_decoded() -> None:
    encoded, _, _ = chunk("fast")
    decoder = decoder_of(encoded)
    assert list(decoder.decode_group([], [])) == []
    with pytest.raises(DecodeError, match=r"did not return pictures \[4\]"):
        list(decoder.decode_group([], [4]))


def test_one_tag_for_two_pictures_is_refused() -> None:
    encoded, _, _ = chunk("fast")
    (_, first), (_, second) = encoded.access_units[:2]
    with pytest.raises(DecodeError, match="tagged 0, which was not fed"):
        list(decoder_of(encoded).decode_group([(0, first), (0, second)], [0]))


def test_a_codec_without_a_decoder_is_named() -> None:
    with pytest.raises(UnsupportedStreamError, match="codec: 'vp9'"):
        ClosureDecoder("vp9", b"")


def test_what_a_decoder_is_for_is_its_key() -> None:
    encoded, _, _ = chunk("fast")
    decoder = decoder_of(encoded)
    assert decoder.key == ("h264", encoded.configuration, "annexb")
