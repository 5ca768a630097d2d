"""A conversion that dies at any moment leaves whole episodes, and a second run makes the rest."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import videoformat as vf
from videoformat.errors import DatasetNotFoundError
from videoformat.verify import verify

ROUNDS = int(os.environ.get("VIDEOFORMAT_KILLS", "20"))
CHILD = """
import sys, videoformat as vf
from videoformat.convert import run
run.BATCH_EPISODES = 2
print("ready", flush=True)
vf.convert(sys.argv[1], sys.argv[2], video=vf.DDRA(preset="veryfast"), workers=2)
"""


def start(source: Path, out: Path) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", CHILD, str(source), str(out)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def test_killed_and_continued(make_lerobot: Callable[..., Path], tmp_path: Path) -> None:
    lengths = (40, 7, 25, 60, 1, 33, 52, 18)
    source = make_lerobot(version="v3.0", lengths=lengths, width=160, height=128, codec="h264")
    complete = tmp_path / "complete"
    begin = time.monotonic()
    child = start(source, complete)
    begin = time.monotonic()
    child.communicate()
    duration = time.monotonic() - begin
    assert child.returncode == 0
    expected = vf.open(complete)
    rng = random.Random(0)
    interrupted = 0
    for turn in range(ROUNDS):
        out = tmp_path / f"killed-{turn}"
        child = start(source, out)
        try:
            child.communicate(timeout=rng.uniform(0, duration))
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.communicate()
            interrupted += 1
        try:
            stored = vf.open(out).num_episodes
            assert verify(out).problems == ()
        except DatasetNotFoundError:
            stored = 0
        report = vf.convert(source, out, video=vf.DDRA(preset="veryfast"))
        assert report.skipped_episodes == stored
        ds = vf.open(out)
        assert ds.episodes.column("length").to_pylist() == list(lengths)
        assert ds.episodes.column("episode_uid") == expected.episodes.column("episode_uid")
        assert ds.frames_table() == expected.frames_table()
        assert verify(out).problems == ()
    assert interrupted > ROUNDS // 4
