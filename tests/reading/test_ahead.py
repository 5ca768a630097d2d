"""Reading ahead: order, bounds, errors at their own place, threads that end."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoformat.errors import InvalidArgumentError
from videoformat.reading.ahead import run_ahead


def own_threads() -> int:
    return sum(thread.name.startswith("videoformat-ahead") for thread in threading.enumerate())


@given(st.lists(st.integers(), max_size=20), st.integers(1, 5))
def test_results_come_in_order_and_the_thread_ends(items: list[int], ahead: int) -> None:
    assert list(run_ahead(lambda item: item * 2, items, ahead)) == [item * 2 for item in items]
    assert own_threads() == 0


@given(st.integers(1, 4), st.integers(1, 10))
def test_no_more_than_so_many_are_drawn_in_advance(ahead: int, taken: int) -> None:
    drawn = 0

    def items() -> Iterator[int]:
        nonlocal drawn
        for number in range(50):
            drawn += 1
            yield number

    results = run_ahead(lambda item: item, items(), ahead)
    for number in range(taken):
        assert next(results) == number
        assert drawn <= number + 1 + ahead
    results.close()  # type: ignore[attr-defined]
    assert own_threads() == 0


def test_an_error_surfaces_at_its_own_batch() -> None:
    def half(item: int) -> float:
        return 1 / item

    results = run_ahead(half, [1, 2, 0, 4], 3)
    assert [next(results), next(results)] == [1, 0.5]
    with pytest.raises(ZeroDivisionError):
        next(results)
    with pytest.raises(StopIteration):
        next(results)
    assert own_threads() == 0


def test_an_error_while_drawing_ends_the_thread() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise KeyError("source")

    results = run_ahead(lambda item: item, items(), 1)
    with pytest.raises(KeyError):
        list(results)
    assert own_threads() == 0


def test_the_caller_works_while_the_next_is_read() -> None:
    begun = threading.Event()

    def read(item: int) -> int:
        if item == 1:
            begun.set()
        return item

    results = run_ahead(read, [0, 1], 1)
    assert next(results) == 0
    assert begun.wait(timeout=30)
    assert list(results) == [1]


@pytest.mark.parametrize("ahead", [0, -1, True, 1.5])
def test_ahead_is_a_positive_integer(ahead: object) -> None:
    with pytest.raises(InvalidArgumentError):
        run_ahead(lambda item: item, [1], ahead)  # type: ignore[arg-type]
