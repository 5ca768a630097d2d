"""Encoding AV1 as root makes no real-time threads: other processes keep their turn."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import contextlib, os, sys, av
from pathlib import Path
from videoformat.media.scheduling import scheduling_kept

os.environ["SVT_LOG"] = "1"
context = av.CodecContext.create("libsvtav1", "w")
context.width = context.height = 64
context.pix_fmt, context.framerate, context.options = "yuv420p", 30, {"preset": "12"}
with scheduling_kept() if sys.argv[1] == "kept" else contextlib.nullcontext():
    context.open()
print(len(list(Path("/proc/self/task").iterdir())))
print(*{os.sched_getscheduler(int(task.name)) for task in Path("/proc/self/task").iterdir()})
"""


def policies(choice: str) -> tuple[int, set[int]]:
    """How many threads there are after an encoder was opened, and their policies."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, choice], capture_output=True, text=True, check=True
    )
    count, found = done.stdout.splitlines()
    return int(count), {int(policy) for policy in found.split()}


@pytest.mark.skipif(not hasattr(os, "sched_getscheduler"), reason="Linux has such policies")
def test_threads_are_scheduled_as_before() -> None:
    own = os.sched_getscheduler(0)
    count, found = policies("kept")
    assert count > 2  # the encoder's
    assert found == {own}
