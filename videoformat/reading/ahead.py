"""Work done ahead of the caller, in order, a bounded number of items in advance."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from videoformat.errors import InvalidArgumentError

__all__ = ["run_ahead"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_ahead(
    function: Callable[[Item], Result], items: Iterable[Item], ahead: int
) -> Iterator[Result]:
    """Yields ``function(item)`` for each item, in order, with up to ``ahead`` done in advance.

    One thread of its own runs the function; items are drawn in the caller's thread. An error
    surfaces where its own result is due, and ends the iteration. The thread ends with the iterator:
    exhausted, closed or garbage-collected; what had begun is finished and thrown away.
    """
    if isinstance(ahead, bool) or not isinstance(ahead, int) or ahead < 1:
        raise InvalidArgumentError(f"ahead is {ahead!r}, expected at least 1")
    return _run_ahead(function, iter(items), ahead)


def _run_ahead(
    function: Callable[[Item], Result], items: Iterator[Item], ahead: int
) -> Iterator[Result]:
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(1, thread_name_prefix="videoformat-ahead") as pool:
        try:
            exhausted = False
            while True:
                # One is being waited for; so many more are under way or done.
                while not exhausted and len(pending) <= ahead:
                    try:
                        item = next(items)
                    except StopIteration:
                        exhausted = True
                    else:
                        pending.append(pool.submit(function, item))
                if not pending:
                    return
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
