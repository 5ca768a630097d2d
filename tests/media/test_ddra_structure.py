"""DDRA as the encoders make it: any interval, any length, every frame from at most three pictures.

``VIDEOFORMAT_ALL_STRUCTURES=1`` goes over every profile, interval from 2 to 17 and length from 1 to
40; otherwise each profile and interval is tried with some lengths.
"""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from media.encoded_chunks import (
    decoded_closure,
    decoded_in_sequence,
    encode,
    index_of,
    moving,
)

from videoformat.index.build import derive_pictures
from videoformat.media.decoder import ClosureDecoder
from videoformat.media.encoder import EncodedChunk
from videoformat.media.gop import (
    DDRA,
    MAXIMUM_INTERVAL,
    MINIMUM_INTERVAL,
    PROFILES,
    ProfileName,
    check_ddra,
)

INTERVALS = range(MINIMUM_INTERVAL, MAXIMUM_INTERVAL + 1)
LENGTHS = range(1, 41)
PRESETS = ["ultrafast", "superfast", "veryfast", "fast", "medium", "slow", "veryslow"]


def lengths_of(interval: int, profile: str) -> list[int]:
    if os.environ.get("VIDEOFORMAT_ALL_STRUCTURES"):
        return list(LENGTHS)
    # Around one and two intervals, where a tail begins and ends, and one at random.
    edges = [1, 2, interval, interval + 1, interval + 2, 2 * interval, 2 * interval + 1]
    chosen = random.Random(f"{profile} {interval}")
    return sorted({*chosen.sample(edges, 3), *chosen.sample(LENGTHS, 2)})


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("profile", PROFILES)
def test_every_frame_decodes_from_its_closure(profile: ProfileName, interval: int) -> None:
    for length in lengths_of(interval, profile):
        preset = random.Random(f"{profile} {interval} {length}").choice(PRESETS)
        structure = DDRA(profile=profile, interval=interval, preset=preset)
        encoded = encode(structure, moving(length))
        index = index_of(encoded, structure)
        check_ddra(index)
        anchors = sorted(
            frame for frame in range(length) if index.is_reference[index.position_of[frame]]
        )
        assert anchors == sorted({*range(0, length, interval), length - 1}), (preset, length)
        assert index.stream.closure_bound == (3 if len(anchors) < length else 1)
        whole = decoded_in_sequence(encoded)
        assert len(whole) == length
        decoder = ClosureDecoder(encoded.codec, encoded.configuration)
        for frame in random.Random(length).sample(range(length), length):
            closure = index.closure([index.position_of[frame]])
            assert len(closure) <= 3
            found = decoded_closure(encoded, index, decoder, [frame])
            assert found == {frame: whole[frame]}, (preset, length, frame)


@pytest.mark.parametrize("threads", [2, 8])
@pytest.mark.parametrize("profile", PROFILES)
def test_threads_of_the_encoder_keep_the_structure(profile: ProfileName, threads: int) -> None:
    """One slice a picture as well: x264 would cut pictures into one a thread."""
    structure = DDRA(profile=profile, interval=5)
    frames = moving(23, 144, 176)
    encoded = encode(structure, frames, threads=threads)
    index = index_of(encoded, structure)
    check_ddra(index)
    assert all(len(lists) == 2 for lists in _parsed_lists(encoded) if lists)
    whole = decoded_in_sequence(encoded)
    decoder = ClosureDecoder(encoded.codec, encoded.configuration)
    for frame in range(23):
        assert decoded_closure(encoded, index, decoder, [frame]) == {frame: whole[frame]}


def _parsed_lists(encoded: EncodedChunk) -> list[tuple[tuple[int, ...], ...]]:
    units = [unit for _, unit in encoded.access_units]
    pictures = derive_pictures(encoded.codec, encoded.configuration, units)
    return [picture.reference_lists for picture in pictures]


@settings(max_examples=15)
@given(
    st.sampled_from(sorted(PROFILES)),
    st.integers(2, 17),
    st.integers(1, 30),
    st.lists(st.lists(st.integers(0, 29), min_size=1, max_size=6), min_size=1, max_size=4),
)
def test_any_frames_together_decode_exactly(
    profile: Any, interval: int, length: int, requests: list[list[int]]
) -> None:
    """One decoder for all requests, flushed between their groups, jumping back and forth."""
    structure = DDRA(profile=profile, interval=interval)
    encoded = encode(structure, moving(length, seed=interval))
    index = index_of(encoded, structure, first_frame=1000)
    whole = decoded_in_sequence(encoded)
    decoder = ClosureDecoder(encoded.codec, encoded.configuration)
    for request in requests:
        frames = [1000 + frame % length for frame in request]
        found = decoded_closure(encoded, index, decoder, frames)
        assert found == {frame: whole[frame - 1000] for frame in set(frames)}


@pytest.mark.parametrize("profile", PROFILES)
def test_white_noise_and_stills_keep_the_structure(profile: ProfileName) -> None:
    """What no prediction helps, and what needs no bits at all."""
    structure = DDRA(profile=profile, interval=6)
    random_frames = np.random.default_rng(1).integers(0, 256, (14, 32, 48, 3), np.uint8)
    black_and_white = [np.full((32, 48, 3), 255 * (at % 2), np.uint8) for at in range(14)]
    for frames in (list(random_frames), [random_frames[0]] * 14, black_and_white):
        encoded = encode(structure, frames)
        index = index_of(encoded, structure)
        check_ddra(index)
        whole = decoded_in_sequence(encoded)
        decoder = ClosureDecoder(encoded.codec, encoded.configuration)
        found = {}
        for frame in range(14):
            found |= decoded_closure(encoded, index, decoder, [frame])
        assert [found[frame] for frame in range(14)] == whole
