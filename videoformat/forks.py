"""Lance and forked processes: used before a fork, it must not be used after it.

Lance runs threads of its own, and a fork copies none of them: a read in the child then hangs or
crashes (measured with pylance 14: within a few forks, also where the child opens the dataset anew;
never where the parent had only imported it). So the first use marks the process, and a use in a
process that was forked from a marked one is refused.
"""

from __future__ import annotations

import os

from videoformat.errors import InvalidArgumentError

__all__ = ["enter_lance", "is_lance_used"]

_user: int | None = None  # the process in which Lance was used first, also seen by its forks


def is_lance_used() -> bool:
    """Whether Lance was used in this process or in one that it was forked from."""
    return _user is not None


def enter_lance() -> None:
    """Marks this process as one that uses Lance; to be called before each use.

    Raises ``InvalidArgumentError`` in a process that was forked from one that had used it.
    """
    global _user  # noqa: PLW0603 - a fact of the process
    if _user is None:
        _user = os.getpid()
    elif _user != os.getpid():
        raise InvalidArgumentError(
            f"process {os.getpid()} was forked from process {_user}, which had used a dataset "
            "before: Lance's threads do not survive a fork, and reading here could hang. Start "
            "workers with multiprocessing_context='forkserver' or 'spawn', or read nothing in the "
            "parent before they are forked"
        )
