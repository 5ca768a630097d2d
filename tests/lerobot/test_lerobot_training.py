"""A training script that ran on LeRobot's class runs on ours with its import changed."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch")


@pytest.mark.shared_data
def test_a_training_script_learns(converted: Callable[..., Path]) -> None:
    script = Path(__file__).with_name("train_script.py")
    done = subprocess.run(
        [sys.executable, str(script), str(converted("syn_v30_h264")), "40"],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = re.fullmatch(r"first (\S+) last (\S+) task [01]\n", done.stdout)
    assert found, done.stdout
    first, last = map(float, found.groups())
    assert last < 0.8 * first
