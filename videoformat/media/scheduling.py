"""How this process's threads are scheduled, which SVT-AV1 changes where it may.

Run by root, SVT-AV1 (4.1) makes its threads, and the thread that opens it, real-time threads of the
highest priority (SCHED_FIFO 99) and leaves the latter so for good; what that thread starts later is
real-time too. Nothing else on the machine then gets a core that such threads want.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["scheduling_kept"]

_TASKS = Path("/proc/self/task")


@contextmanager
def scheduling_kept() -> Iterator[None]:
    """Puts every thread of this process back to how the calling one is scheduled, if that changed.

    For opening an encoder. Where there are no such policies (macOS, Windows) it does nothing.
    """
    if not hasattr(os, "sched_getscheduler") or not _TASKS.is_dir():
        yield
        return
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        yield
    finally:
        if os.sched_getscheduler(0) != policy:
            for task in _TASKS.iterdir():
                with suppress(OSError):  # a thread that has ended by now
                    if os.sched_getscheduler(int(task.name)) != policy:
                        os.sched_setscheduler(int(task.name), policy, parameters)
