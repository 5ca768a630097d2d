"""A writer that is killed leaves whole episodes or nothing, and what it left does no harm."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from numbered_frames import image, numbers_of
from object_store import ObjectStore

import videoformat as vf
from videoformat.verify import verify

# Writes whole episodes, then chunks of another, each to the store at once; then waits to be killed.
SCRIPT = """
import json, sys
from numbered_frames import HEIGHT, WIDTH, image
import videoformat as vf
from videoformat import appending
uri, options, whole, frames = sys.argv[1], json.loads(sys.argv[2]), *map(int, sys.argv[3:])
appending.SPILL_BYTES = 1
features = {"cam": {"dtype": "video", "shape": (HEIGHT, WIDTH, 3)}, "n": {"dtype": "int64"}}
writer = vf.create(uri, fps=10, features=features, video=vf.DDRA(interval=3, crf=12),
                   chunk_bounds=vf.ChunkBounds(frames=2), storage_options=options)
for episode in range(whole):
    for at in range(5):
        writer.add_frame({"cam": image(10 * episode + at), "n": 10 * episode + at})
    writer.save_episode()
for at in range(frames):
    writer.add_frame({"cam": image(900 + at), "n": 900 + at})
print("ready", flush=True)
sys.stdin.readline()
"""


def write_and_kill(uri: str, options: dict[str, str] | None, whole: int, frames: int) -> None:
    arguments = [uri, json.dumps(options), str(whole), str(frames)]
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parent,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.kill()
        assert process.wait() == -signal.SIGKILL


def check(uri: str, options: dict[str, str] | None, whole: int) -> None:
    """The whole episodes are there, nothing else is, and another can be appended."""
    expected = [list(range(10 * episode, 10 * episode + 5)) for episode in range(whole)]
    assert episodes_of(uri, options) == expected
    with vf.create(uri, mode="append", storage_options=options) as writer:
        for number in (70, 71, 72):
            writer.add_frame({"cam": image(number), "n": number})
        writer.save_episode()
    assert episodes_of(uri, options) == [*expected, [70, 71, 72]]
    assert verify(uri, storage_options=options).problems == ()


def episodes_of(uri: str, options: dict[str, str] | None) -> list[Sequence[int]]:
    ds = vf.open(uri, storage_options=options)
    found: list[Sequence[int]] = []
    for episode in range(ds.num_episodes):
        rows = ds.rows(episode, columns=["n"])["n"].to_pylist()
        assert numbers_of(ds.read_frames(episode, "cam", range(len(rows)))) == rows
        found.append(rows)
    return found


@pytest.mark.parametrize(("whole", "frames"), [(0, 7), (2, 1), (2, 8)])
def test_on_a_local_disk(tmp_path: Path, whole: int, frames: int) -> None:
    uri = str(tmp_path / "d")
    write_and_kill(uri, None, whole, frames)
    spilled = list((tmp_path / "d" / "data").rglob("*.lance"))
    # Of the open episode's chunks, the first waits for the end; the others lie there unseen.
    assert len(spilled) == 3 * whole + max(0, (frames + 1) // 2 - 2)
    check(uri, None, whole)


@pytest.mark.object_store
def test_in_an_object_store(s3: ObjectStore) -> None:
    uri = s3.uri("killed")
    write_and_kill(uri, s3.storage_options, 1, 8)
    check(uri, s3.storage_options, 1)
