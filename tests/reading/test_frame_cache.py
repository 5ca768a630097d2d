"""Frames that are kept: the same frames, within their bound, and only what is missing is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import small_dataset
from hypothesis import given
from hypothesis import strategies as st

import videoformat as vf
from videoformat.reading.frame_cache import FrameCache

CAMERAS = small_dataset.CAMERAS
FRAME = small_dataset.HEIGHT * small_dataset.WIDTH * 3


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kept") / "d.vf"
    small_dataset.write_dataset(path)
    return path


@given(
    st.integers(0, 60),
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 12)), max_size=40),
)
def test_the_bound_holds_and_the_oldest_go(capacity: int, puts: list[tuple[int, int]]) -> None:
    """Against a list that is searched: frames of some bytes, looked at in between."""
    cache = FrameCache(capacity)
    expected: list[tuple[int, int]] = []
    for number, size in puts:
        cache.put((number, "c", 0, None), np.full((size, 1, 1), number, np.uint8))
        if size <= capacity:
            expected = [item for item in expected if item[0] != number] + [(number, size)]
        while sum(held for _, held in expected) > capacity:
            expected.pop(0)
        assert cache.byte_count == sum(held for _, held in expected) <= capacity
        for candidate in range(6):
            kept = cache.get((candidate, "c", 0, None))
            assert (kept is not None) == any(held == candidate for held, _ in expected)
        # Looking touched them in this order.
        expected.sort()


def test_a_window_that_moves_reads_what_is_new(uri: Path) -> None:
    plain = vf.open(uri)
    kept = vf.open(uri, options=vf.ReadOptions(frame_cache_bytes=64 * FRAME))
    for start in range(4):
        window = range(start, start + 5)
        frames = kept.read_frames(0, CAMERAS[0], window)
        assert np.array_equal(frames, plain.read_frames(0, CAMERAS[0], window))
        report = kept.last_read
        assert report is not None
        assert (report.frames, report.frame_hits) == (5, 4 if start else 0)
        frames[:] = 0  # the caller's own: what is kept does not change
    batch = [(0, CAMERAS[0], 4), (1, CAMERAS[1], 2), (0, CAMERAS[0], 4)]
    found = kept.read_batch(batch)
    assert all(
        np.array_equal(one, other)
        for one, other in zip(found, plain.read_batch(batch), strict=True)
    )
    assert not np.shares_memory(found[0], found[2])
    last = kept.last_read
    assert last is not None
    assert (last.frames, last.frame_hits) == (2, 1)


def test_all_of_them_kept_reads_nothing(uri: Path) -> None:
    ds = vf.open(uri, options=vf.ReadOptions(frame_cache_bytes=64 * FRAME, decode_threads=2))
    first = ds.read_frames(1, CAMERAS[0], range(6))
    again = ds.read_frames(1, CAMERAS[0], range(6))
    assert np.array_equal(first, again)
    report = ds.last_read
    assert report is not None
    assert (report.pictures, report.ranges, report.takes, report.frame_hits) == (0, 0, 0, 6)


def test_sizes_are_kept_apart(uri: Path) -> None:
    ds = vf.open(uri, options=vf.ReadOptions(frame_cache_bytes=64 * FRAME))
    plain = vf.open(uri)
    for size in (None, (16, 24), None, (16, 24)):
        found = ds.read_frames(0, CAMERAS[1], [3], size=size)
        assert np.array_equal(found, plain.read_frames(0, CAMERAS[1], [3], size=size))
    report = ds.last_read
    assert report is not None
    assert report.frame_hits == 1


def test_none_are_kept_unless_asked_for(uri: Path) -> None:
    ds = vf.open(uri)
    for _ in range(2):
        ds.read_frames(0, CAMERAS[0], [3])
        report = ds.last_read
        assert report is not None
        assert (report.frame_hits, report.pictures) == (0, 3)
