"""Frame indices as the command line takes them."""

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoformat.commands.selection import Indices, joined_negatives

ENDS = st.none() | st.integers(-30, 30)


@given(
    parts=st.lists(
        st.integers(-30, 30) | st.builds(slice, ENDS, ENDS, ENDS.filter(lambda step: step != 0)),
        min_size=1,
        max_size=5,
    ),
    length=st.integers(0, 25),
)
def test_ranges_are_those_of_python(parts: list[int | slice], length: int) -> None:
    def written(part: int | slice) -> str:
        if isinstance(part, int):
            return str(part)
        ends = ["" if end is None else str(end) for end in (part.start, part.stop)]
        return ":".join(ends) + ("" if part.step is None else f":{part.step}")

    expected: list[int] = []
    for part in parts:
        expected += list(range(length))[part] if isinstance(part, slice) else [part]
    assert Indices.parse(",".join(map(written, parts))).of(length) == expected


def test_single_indices_are_left_to_the_dataset_to_judge() -> None:
    assert Indices.parse("0, 5,-1,99").of(10) == [0, 5, -1, 99]


def test_a_huge_range_is_cut_to_what_is_there() -> None:
    assert Indices.parse("0:999999999999999999").of(3) == [0, 1, 2]


@pytest.mark.parametrize(
    "text", ["", "a", "1,", "1.5", "1:2:3:4", "1:2:0", "--1", "1-3", "٣", "9" * 60, "0x10", "1 2"]
)
def test_what_is_no_index_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        Indices.parse(text)


@pytest.mark.parametrize(
    ("given_arguments", "expected"),
    [
        (["--indices", "-3:"], ["--indices=-3:"]),
        (["--indices", "-1,5"], ["--indices=-1,5"]),
        (["--indices", "5,-1"], ["--indices", "5,-1"]),
        (["--indices", "--out"], ["--indices", "--out"]),
        (["--indices=-3:"], ["--indices=-3:"]),
        (["-3:"], ["-3:"]),
        ([], []),
    ],
)
def test_a_value_that_begins_with_a_minus_stays_a_value(
    given_arguments: list[str], expected: list[str]
) -> None:
    assert joined_negatives(given_arguments) == expected
