"""A process that was forked after a read refuses to read; forked before any, it reads."""

import subprocess
import sys
from pathlib import Path

import pytest
import small_dataset

SCRIPT = """
import os, sys, warnings
warnings.filterwarnings("ignore", message="lance is not fork-safe")
import videoformat as vf

uri, when, how = sys.argv[1:]
dataset = vf.open(uri) if when == "after" else None
if dataset is not None:
    dataset.read_frames(0, dataset.cameras[0], [1])
child = os.fork()
if not child:
    try:
        used = dataset if how == "same" and dataset is not None else vf.open(uri)
        print(used.read_frames(0, used.cameras[0], [1]).shape, flush=True)
    except vf.VideoFormatError as error:
        print(type(error).__name__, error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


def run(uri: Path, when: str, how: str) -> str:
    # The watchdog: a child that hangs fails the test.
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(uri), when, how],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("forks") / "small.vf"
    small_dataset.write_dataset(path, lengths=(5,), cameras=small_dataset.CAMERAS[:1])
    return path


def test_a_child_of_a_parent_that_read_nothing_reads(uri: Path) -> None:
    assert run(uri, "before", "anew") == "(1, 32, 48, 3)"


@pytest.mark.parametrize("how", ["same", "anew"])
def test_a_child_of_a_parent_that_read_is_refused_with_what_to_do(uri: Path, how: str) -> None:
    said = run(uri, "after", how)
    assert said.startswith("InvalidArgumentError")
    assert "multiprocessing_context='forkserver' or 'spawn'" in said
