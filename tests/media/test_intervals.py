"""Intervals cover every frame, keep their bound, follow what prediction costs, end at cuts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoformat.media.intervals import Interval, IntervalPlanner, cut_into


def pictures(levels: list[int]) -> list[Any]:
    """Grey pictures that know their number."""
    found = []
    for number, level in enumerate(levels):
        frame = av.VideoFrame.from_ndarray(np.full((16, 16), level, np.uint8), format="gray")
        frame.pts = number
        found.append(frame)
    return found


def planned(
    frames: list[Any], bound: int, cost: Callable[[int, int], float], *, leads: bool = False
) -> list[Interval]:
    """All intervals of a chunk, as an encoder asks for them."""

    def sizes(key: Any, other: Any) -> tuple[int, int]:
        return 10**6, round(10**6 * cost(key.pts, other.pts))

    planner = IntervalPlanner(bound, sizes)
    found: list[Interval] = []
    at = given = 0
    while at < len(frames):
        for frame in frames[given : at + bound]:
            planner.add(frame)
        given = min(at + bound, len(frames))
        found.append(planner.choose(leads=leads and not found, is_all=given == len(frames)))
        at += found[-1].count
    return found


@given(
    count=st.integers(1, 90),
    bound=st.integers(2, 64),
    slope=st.floats(0, 1),
    base=st.floats(0, 1.5),
    leads=st.booleans(),
)
def test_intervals_cover_all_frames_within_their_bound(
    count: int, bound: int, slope: float, base: float, leads: bool
) -> None:
    found = planned(
        pictures([100] * count), bound, lambda a, b: base + slope * abs(a - b), leads=leads
    )
    assert sum(interval.count for interval in found) == count
    for number, interval in enumerate(found):
        assert 1 <= interval.count <= bound
        assert 0 <= interval.anchor < interval.count
        if leads and not number:
            assert interval.anchor == 0


def test_what_stays_the_same_gets_the_longest_intervals() -> None:
    found = planned(pictures([100] * 96), 32, lambda a, b: 0.01)
    assert [interval.count for interval in found] == [32, 32, 32]
    assert {interval.anchor for interval in found} == {16}


def test_the_faster_costs_grow_the_shorter_the_intervals() -> None:
    mean = [
        96 / len(planned(pictures([100] * 96), 32, lambda a, b, s=slope: s * abs(a - b)))
        for slope in (0.002, 0.02, 0.2)
    ]
    assert mean == sorted(mean, reverse=True)
    # The length that costs least is twice the root of what one step costs.
    assert mean[1] == pytest.approx(2 * (1 / 0.02) ** 0.5, rel=0.35)


def test_what_cannot_be_predicted_gets_anchors_alone() -> None:
    assert {interval.count for interval in planned(pictures([100] * 9), 8, lambda a, b: 1.5)} == {1}


@pytest.mark.parametrize("cut", [1, 7, 16, 31, 40])
def test_an_interval_ends_before_a_cut(cut: int) -> None:
    levels = [40] * cut + [200] * (48 - cut)
    found = planned(pictures(levels), 32, lambda a, b: 0.01 if (a < cut) == (b < cut) else 1.2)
    ends = np.cumsum([interval.count for interval in found]).tolist()
    assert cut in ends


def test_a_change_of_light_that_is_predicted_is_no_cut() -> None:
    found = planned(pictures([40] * 16 + [200] * 16), 32, lambda a, b: 0.02)
    assert [interval.count for interval in found] == [32]


def test_plain_frames_that_are_not_predicted_get_short_intervals() -> None:
    """They are cheap beside rich frames, and would be cheaper by themselves."""

    def sizes(key: Any, other: Any) -> tuple[int, int]:
        alone = [100 + 50 * frame.pts for frame in (key, other)]
        return alone[0], round(alone[1] * min(1.0, 0.3 + 0.2 * abs(key.pts - other.pts)))

    planner = IntervalPlanner(32, sizes)
    for frame in pictures([100] * 32):
        planner.add(frame)
    assert planner.choose(leads=False, is_all=False).count <= 4


def test_plain_frames_after_a_rich_anchor_get_short_intervals() -> None:
    """They are a tenth of it without any prediction, which saves nothing here."""

    def sizes(key: Any, other: Any) -> tuple[int, int]:
        alone = [1000 if frame.pts else 10000 for frame in (key, other)]
        return alone[0], alone[1]

    planner = IntervalPlanner(32, sizes)
    for frame in pictures([100] * 32):
        planner.add(frame)
    assert planner.choose(leads=True, is_all=False).count <= 4


@pytest.mark.parametrize("cut", [2, 3, 4, 5])
def test_what_a_frame_costs_by_itself_is_not_taken_from_another_scene(cut: int) -> None:
    """The scene after the cut is ten times as rich; in both, prediction saves nine tenths."""

    def sizes(key: Any, other: Any) -> tuple[int, int]:
        alone = [10000 if frame.pts >= cut else 1000 for frame in (key, other)]
        same = (key.pts < cut) == (other.pts < cut)
        return alone[0], alone[1] // 10 if same else 2 * alone[1]

    planner = IntervalPlanner(8, sizes)
    for frame in pictures([40] * cut + [200] * (8 - cut)):
        planner.add(frame)
    first = planner.choose(leads=False, is_all=False)
    assert (first.count, first.ratio) == (cut, pytest.approx(0.1))


@given(frames=st.integers(1, 500), bound=st.integers(1, 64))
def test_frames_are_shared_out_evenly(frames: int, bound: int) -> None:
    parts = cut_into(frames, bound)
    assert sum(parts) == frames
    assert max(parts) <= bound
    assert max(parts) - min(parts) <= 1
    assert len(parts) == -(-frames // bound)
