"""Expected pictures by counting: values worked by hand, closed forms, and what real plans take."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import small_dataset
from hypothesis import given, settings
from hypothesis import strategies as st

import videoformat as vf
from videoformat.errors import InvalidArgumentError
from videoformat.index.amplification import STRUCTURES, expected_pictures


@pytest.mark.parametrize(
    ("structure", "interval", "phases"),
    [
        # Pictures for one frame at each phase of an interval of four or five, counted on paper.
        ("sequential", 4, [1, 4, 3, 5]),
        ("sparse", 4, [1, 4, 3, 4]),
        ("sparse", 5, [1, 4, 3, 4, 5]),
        ("ddra", 4, [1, 3, 3, 3]),
        ("star", 4, [2, 2, 1, 2]),
        ("star", 2, [2, 1]),
    ],
)
def test_one_frame_by_hand(structure: str, interval: int, phases: list[int]) -> None:
    assert expected_pictures(structure, interval) == Fraction(sum(phases), interval)


@pytest.mark.parametrize(
    ("structure", "interval", "frames", "stride", "phases"),
    [
        # T = 4, frames p and p + 3. p = 0: 0, 3 and the anchor 4. p = 1: 1, 4, the anchor 0.
        # p = 2: 2, 5 between 0, 4, 8. p = 3: 3, 6 between 0, 4, 8.
        ("ddra", 4, 2, 3, [3, 3, 5, 5]),
        # p = 0: 0, 3 from 2. p = 1: 1, 4 from 2, 6. p = 2: 2, 5 and 6. p = 3: 3, 6 and 2.
        ("star", 4, 2, 3, [3, 4, 3, 3]),
        # Coded 4, 2, 1, 3. p = 0: all. p = 1: 0, 4, 2, 1. p = 2: 0, 4, 2, then 8, 6, 5. p = 3: 0, 4, 2,
        # 1, 3, then 8, 6.
        ("sequential", 4, 2, 3, [5, 4, 6, 7]),
        # p = 0: 0, 4, 2, 3. p = 1: 0, 4, 2, 1. p = 2: 0, 4, 2, 8, 6, 5. p = 3: 0, 4, 2, 3, 8, 6.
        ("sparse", 4, 2, 3, [4, 4, 6, 6]),
    ],
)
def test_two_frames_by_hand(
    structure: str, interval: int, frames: int, stride: int, phases: list[int]
) -> None:
    expected = Fraction(sum(phases), interval)
    assert expected_pictures(structure, interval, frames, stride) == expected


def test_the_papers_numbers() -> None:
    """Ten frames at stride 30, interval 32, per frame."""
    found = {name: float(expected_pictures(name, 32, 10, 30) / 10) for name in STRUCTURES}
    rounded = {name: round(value, 2) for name, value in found.items()}
    assert rounded == {"sequential": 16.40, "sparse": 5.04, "ddra": 2.01, "star": 1.91}


@settings(max_examples=50)
@given(st.integers(2, 40), st.integers(1, 12), st.data())
def test_closed_forms(interval: int, frames: int, data: st.DataObject) -> None:
    stride = data.draw(st.integers(1, interval))
    reach = (frames - 1) * stride
    single = Fraction(interval + 3, 2) - Fraction(1, interval)
    assert expected_pictures("sequential", interval) == single
    halvings = interval.bit_length() - 1
    sparse = halvings + 3 - Fraction(2 ** (halvings + 1), interval)
    assert expected_pictures("sparse", interval) == sparse
    ddra = frames + 2 + Fraction(reach - frames - 1, interval)
    assert expected_pictures("ddra", interval, frames, stride) == ddra
    star = frames + 1 + Fraction(reach - frames, interval)
    assert expected_pictures("star", interval, frames, stride) == star


@given(st.integers(1, 20), st.integers(1, 20).map(lambda half: 2 * half))
def test_a_key_frame_every_second_frame(frames: int, stride: int) -> None:
    assert expected_pictures("star", 2, frames, 1) == frames + Fraction(1, 2)
    assert expected_pictures("star", 2, frames, stride) == Fraction(3 * frames, 2)


@pytest.fixture(scope="module")
def ddra(tmp_path_factory: pytest.TempPathFactory) -> vf.Dataset:
    path = tmp_path_factory.mktemp("amplification") / "d.vf"
    camera = small_dataset.CAMERAS[:1]
    small_dataset.write_dataset(path, lengths=(73,), interval=8, chunk_frames=100, cameras=camera)
    return vf.open(path)


@pytest.mark.parametrize(
    ("frames", "stride"),
    [(1, 1), (2, 8), (3, 1), (4, 3), (5, 7), (10, 1), (3, 13), (4, 16), (3, 24)],
)
def test_real_plans_take_what_is_expected(ddra: vf.Dataset, frames: int, stride: int) -> None:
    """Every phase of a written dataset's second interval, planned, against the model."""
    camera = ddra.cameras[0]
    taken = 0
    for phase in range(8):
        first = 8 + phase
        wanted = range(first, first + frames * stride, stride)
        taken += ddra.plan([(0, camera, frame) for frame in wanted]).picture_count
    assert Fraction(taken, 8) == expected_pictures("ddra", 8, frames, stride)


@pytest.mark.parametrize(
    "choice",
    [
        ("hierarchy", 4, 1, 1),
        ("ddra", 0, 1, 1),
        ("ddra", 4, 0, 1),
        ("ddra", 4, 1, -1),
        ("ddra", True, 1, 1),
        ("ddra", 4.0, 1, 1),
        ("ddra", 10**4, 10**3, 1),
    ],
)
def test_what_cannot_be_counted_is_refused(choice: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidArgumentError):
        expected_pictures(*choice)
