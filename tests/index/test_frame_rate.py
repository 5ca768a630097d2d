"""Frame rates as fractions: exact where they are usual, near otherwise, always 32 bits."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoformat.errors import InvalidArgumentError
from videoformat.index.frame_rate import MAXIMUM_FPS, MINIMUM_FPS, check_fps, frame_rate


@pytest.mark.parametrize(
    ("fps", "rate"),
    [
        (30, Fraction(30)), (30.0, Fraction(30)), (1, Fraction(1)), (100_000, Fraction(100_000)),
        (29.97, Fraction(30000, 1001)), (29.97002997, Fraction(30000, 1001)),
        (23.976, Fraction(24000, 1001)), (59.94, Fraction(60000, 1001)),
        (119.88, Fraction(120000, 1001)), (12.5, Fraction(25, 2)), (0.5, Fraction(1, 2)),
        (1 / 3, Fraction(1, 3)), (1e-6, Fraction(1, 10**6)), (14.985, Fraction(15000, 1001)),
        (29.5, Fraction(59, 2)), (33.333, Fraction(33333, 1000)),
    ],
)  # fmt: skip
def test_usual_rates_are_exact(fps: float, rate: Fraction) -> None:
    assert frame_rate(fps) == rate


@given(
    st.floats(MINIMUM_FPS, MAXIMUM_FPS)
    | st.floats(math.log(MINIMUM_FPS), math.log(MAXIMUM_FPS)).map(math.exp)
)
def test_any_rate_is_near_and_fits_a_time_base(fps: float) -> None:
    fps = min(max(fps, MINIMUM_FPS), MAXIMUM_FPS)
    rate = frame_rate(fps)
    assert 1 <= rate.numerator < 2**31
    assert 1 <= rate.denominator < 2**31
    # A tenth of a frame in ten thousand frames.
    assert math.isclose(rate, fps, rel_tol=1e-5)


@given(st.integers(1, 100_000))
def test_whole_rates_are_whole(fps: int) -> None:
    assert frame_rate(fps) == fps


@pytest.mark.parametrize(
    "fps",
    [0, -1, -0.0, 1e-7, 1e-300, 100_001, float("nan"), float("inf"), "30", None, True, 30j,
     np.True_, np.float32(0), Fraction(30), [30]],
    ids=repr,
)  # fmt: skip
def test_what_is_no_rate_is_refused(fps: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"fps is .*expected a number from 1e-06"):
        check_fps(fps)


@pytest.mark.parametrize("fps", [np.int64(30), np.float32(30), np.float64(30), 30, 30.0])
def test_numbers_of_numpy_are_numbers(fps: Any) -> None:
    """As JSON takes them."""
    assert type(check_fps(fps)) in (int, float)
    assert check_fps(fps) == 30
