"""What a probe measures: which frames from which, and that prediction costs what content says."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from media.encoded_chunks import moving

from videoformat.media.color import RGB_COLOR, rgb_to_picture
from videoformat.media.intervals import FrameCost, distances
from videoformat.media.probe import PredictionProbe


def measured(frames: list[Any], bound: int = 16, quantiser: int = 28) -> list[FrameCost]:
    height, width, _ = frames[0].shape
    probe = PredictionProbe((width, height), RGB_COLOR, Fraction(30), quantiser, distances(bound))
    return [probe.measure(rgb_to_picture(frame)) for frame in frames]


def noise(seed: int, height: int = 96, width: int = 128) -> Any:
    """A picture of coarse squares, which leave something to measure when it is made smaller."""
    levels = np.random.default_rng(seed).integers(0, 255, (height // 8, width // 8, 3), np.uint8)
    return levels.repeat(8, axis=0).repeat(8, axis=1)


@given(count=st.integers(1, 24), bound=st.integers(2, 16))
def test_every_distance_is_measured_at_every_half_of_it(count: int, bound: int) -> None:
    found = measured(list(moving(count, height=48, width=64)), bound)
    for at, cost in enumerate(found):
        assert cost.alone > 0
        assert [distance for distance, _ in cost.predicted] == [
            distance
            for distance in distances(bound)
            if distance <= at and not at % max(1, distance // 2)
        ]


def test_what_stays_the_same_costs_next_to_nothing_from_any_distance() -> None:
    for cost in measured([noise(1)] * 17)[1:]:
        assert cost.changed == 0
        assert all(size < 0.05 * cost.alone for _, size in cost.predicted)


def test_prediction_saves_nothing_across_a_cut_and_all_after_it() -> None:
    found = measured([noise(1)] * 9 + [noise(2)] * 9)
    across = dict(found[9].predicted)
    assert across[1] > 0.8 * found[9].alone
    assert found[9].changed > 12
    # From before the cut, at any distance; from after it, again next to nothing.
    for at, cost in enumerate(found[10:], start=10):
        for distance, size in cost.predicted:
            assert (size < 0.05 * cost.alone) == (at - distance >= 9)


def test_each_measurement_is_of_the_frame_so_far_before() -> None:
    """Frames that come back every fourth time cost nothing from there, and much from between."""
    cycle = [noise(seed) for seed in range(4)]
    for cost in measured(cycle * 6)[16:]:
        for distance, size in cost.predicted:
            assert (size < 0.05 * cost.alone) == (distance % 4 == 0)


@pytest.mark.parametrize(("width", "height"), [(16, 16), (18, 34), (64, 48), (640, 16)])
def test_small_pictures_can_be_measured(width: int, height: int) -> None:
    rng = np.random.default_rng(0)
    frames = [rng.integers(0, 255, (height, width, 3), np.uint8) for _ in range(3)]
    assert len(measured(frames)[2].predicted) == 2
