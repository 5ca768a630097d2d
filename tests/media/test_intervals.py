"""Intervals cover every frame, keep their bound, follow what prediction costs, end at cuts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoformat.media.intervals import (
    FrameCost,
    Interval,
    IntervalPlanner,
    anchor_place,
    cut_into,
    distances,
)

ALONE = 10_000
Cost = Callable[[int, int], float]


def measured(
    count: int,
    bound: int,
    cost: Cost,
    *,
    alone: Callable[[int], int] = lambda at: ALONE,
    cuts: tuple[int, ...] = (),
) -> list[FrameCost]:
    """What a probe would find where frame b, from frame a, costs a part of what it does by itself."""
    return [
        FrameCost(
            alone(at),
            tuple(
                (distance, round(alone(at) * cost(at - distance, at)))
                for distance in distances(bound)
                if at >= distance and not at % max(1, distance // 2)
            ),
            160.0 if at in cuts else 0.0,
        )
        for at in range(count)
    ]


def planned(
    frames: list[FrameCost],
    bound: int,
    *,
    leads: bool = False,
    anchor_cost: tuple[float, float] = (1.0, 1.0),
) -> list[Interval]:
    """All intervals of a chunk, as an encoder asks for them."""
    planner = IntervalPlanner(bound, anchor_cost)
    found: list[Interval] = []
    at = given = 0
    while at < len(frames):
        for frame in frames[given : at + bound]:
            planner.add(frame)
        given = max(given, min(at + bound, len(frames)))
        found.append(planner.choose(leads=leads and not found, is_all=given == len(frames)))
        at += found[-1].count
    return found


def counts(found: list[Interval]) -> list[int]:
    return [interval.count for interval in found]


@given(
    count=st.integers(1, 90),
    bound=st.integers(2, 64),
    slope=st.floats(0, 1),
    base=st.floats(0, 1.5),
    leads=st.booleans(),
    cuts=st.sets(st.integers(0, 90)),
)
def test_intervals_cover_all_frames_within_their_bound(
    count: int, bound: int, slope: float, base: float, leads: bool, cuts: set[int]
) -> None:
    frames = measured(count, bound, lambda a, b: base + slope * abs(a - b), cuts=tuple(cuts))
    found = planned(frames, bound, leads=leads)
    assert sum(counts(found)) == count
    for number, interval in enumerate(found):
        assert 1 <= interval.count <= bound
        assert interval.anchor == anchor_place(interval.count, leads=leads and not number)
        assert 0 <= interval.ratio <= 1.2


def test_what_stays_the_same_gets_the_longest_intervals() -> None:
    found = planned(measured(96, 32, lambda a, b: 0.01), 32)
    assert counts(found) == [32, 32, 32]
    assert {interval.anchor for interval in found} == {16}
    assert found[0].ratio == pytest.approx(0.01)
    assert found[0].taken == pytest.approx(31 * 0.99)


def test_the_faster_costs_grow_the_shorter_the_intervals() -> None:
    mean = [
        96 / len(planned(measured(96, 32, lambda a, b, s=slope: s * abs(a - b)), 32))
        for slope in (0.002, 0.02, 0.2)
    ]
    assert mean == sorted(mean, reverse=True)
    # The length that costs least is twice the root of what one step costs.
    assert mean[1] == pytest.approx(2 * (1 / 0.02) ** 0.5, rel=0.35)


def test_what_cannot_be_predicted_gets_anchors_alone() -> None:
    assert set(counts(planned(measured(9, 8, lambda a, b: 1.5), 8))) == {1}


def test_a_dear_anchor_serves_more_frames() -> None:
    frames = measured(96, 32, lambda a, b: 0.05 * abs(a - b))
    mean = [96 / len(planned(frames, 32, anchor_cost=(cost, cost))) for cost in (0.5, 1.0, 2.0)]
    assert mean == sorted(set(mean))


@given(
    part=st.integers(1, 40),
    alone=st.lists(st.integers(1, 20), min_size=2, max_size=12),
    bound=st.sampled_from([2, 4, 8, 16]),
)
def test_no_other_way_to_cut_costs_less(part: int, alone: list[int], bound: int) -> None:
    """All frames are at hand; each costs the same part of itself from any anchor.

    Half of these bounds is among the distances that are measured: nothing is extrapolated.
    """
    count = len(alone)
    sizes = [1000 * each for each in alone]
    frames = [
        FrameCost(size, tuple((d, size * part // 40) for d in distances(bound) if d <= at))
        for at, size in enumerate(sizes)
    ]

    def spent(first: int, size: int) -> float:
        anchor = sizes[first + size // 2]
        return anchor + (sum(sizes[first : first + size]) - anchor) * part / 40

    @cache
    def least(first: int) -> float:
        if first == count:
            return 0.0
        return min(
            spent(first, size) + least(first + size)
            for size in range(1, min(bound, count - first) + 1)
        )

    planner = IntervalPlanner(bound, (1.0, 1.0))
    for frame in frames:
        planner.add(frame)
    total, at = 0.0, 0
    while at < count:
        chosen = planner.choose(leads=False, is_all=True)
        total += spent(at, chosen.count)
        at += chosen.count
    assert total == pytest.approx(least(0))


@pytest.mark.parametrize("cut", [1, 7, 16, 31, 40])
def test_an_interval_ends_before_a_cut(cut: int) -> None:
    frames = measured(48, 32, lambda a, b: 0.01 if (a < cut) == (b < cut) else 1.2, cuts=(cut,))
    assert cut in np.cumsum(counts(planned(frames, 32))).tolist()


@pytest.mark.parametrize("cut", [3, 9, 20])
def test_what_crosses_a_cut_says_nothing_of_either_side(cut: int) -> None:
    """Both scenes stand still; of long distances, most that was measured lies across the cut."""
    frames = measured(40, 32, lambda a, b: 0.01 if (a < cut) == (b < cut) else 1.2, cuts=(cut,))
    found = planned(frames, 32)
    assert found[0].count == cut
    assert all(interval.ratio < 0.05 for interval in found)


def test_a_change_of_light_that_is_predicted_is_no_cut() -> None:
    frames = measured(32, 32, lambda a, b: 0.02, cuts=(16,))
    assert counts(planned(frames, 32)) == [32]


def test_slow_frames_after_fast_ones_get_an_anchor_of_their_own() -> None:
    """The fast ones cost the same with any length; they do not swallow those that are predicted well."""

    def cost(a: int, b: int) -> float:
        return 0.98 if min(a, b) < 20 else 0.01

    found = planned(measured(32, 32, cost), 32, anchor_cost=(0.95, 0.95))
    assert 10 <= found[-1].count <= 16
    assert set(counts(found[:-1])) == {1}


@pytest.mark.parametrize("scene", [2, 3, 4, 5])
def test_what_a_frame_costs_by_itself_is_not_taken_from_another_scene(scene: int) -> None:
    """The scene after the cut is ten times as rich; in both, prediction saves nine tenths."""
    frames = measured(
        8,
        8,
        lambda a, b: 0.1 if (a < scene) == (b < scene) else 2.0,
        alone=lambda at: 10_000 if at >= scene else 1000,
        cuts=(scene,),
    )
    planner = IntervalPlanner(8)
    for frame in frames:
        planner.add(frame)
    first = planner.choose(leads=False, is_all=False)
    assert (first.count, first.ratio) == (scene, pytest.approx(0.1))


@given(frames=st.integers(1, 500), bound=st.integers(1, 64))
def test_frames_are_shared_out_evenly(frames: int, bound: int) -> None:
    parts = cut_into(frames, bound)
    assert sum(parts) == frames
    assert max(parts) <= bound
    assert max(parts) - min(parts) <= 1
    assert len(parts) == -(-frames // bound)


@given(bound=st.integers(2, 64))
def test_distances_reach_half_an_interval(bound: int) -> None:
    found = distances(bound)
    assert found[0] == 1
    assert found == tuple(2**power for power in range(len(found)))
    assert found[-1] <= max(1, bound // 2) < 2 * found[-1] + 1
