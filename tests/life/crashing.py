"""A process that may die at any moment: what it does to a dataset, and what it has acknowledged.

Strategy: one server process has imported everything and used nothing of it, so what it forks starts in
milliseconds. A child says of each step that it begins and that it is done; the server kills it after
a time and passes on all that it has said.
"""

import datetime as dt
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

import videoformat as vf

CAMERA = "camera"
FEATURES = {
    CAMERA: {"dtype": "video", "shape": (16, 16, 3)},
    "value": {"dtype": "int64", "shape": (1,)},
}
VIDEO = vf.DDRA(profile="fast", interval=3)
BOUNDS = vf.ChunkBounds(frames=3)
AT_ONCE = dt.timedelta(0)
# How long a child may take to its first word, and a server to a whole answer.
PATIENCE_S = 120

# What a child does: "append" (seed, length), "delete" identities, "merge" an address, …
Step = tuple[str, Any]
# ("begin" | "done" | "failed", the step's kind, its value or its result)
Word = tuple[str, str, Any]


def write_episode(writer: vf.Writer, seed: int, length: int) -> str:
    random = np.random.default_rng(seed)
    for frame in range(length):
        image = random.integers(0, 256, (16, 16, 3)).astype(np.uint8)
        writer.add_frame({CAMERA: image, "value": seed * 100 + frame, "task": f"task {seed % 3}"})
    return writer.save_episode()


def open_writer(uri: str, mode: str = "append", **options: Any) -> vf.Writer:
    made = {} if mode == "append" else {"fps": 30, "features": FEATURES}
    return vf.create(
        uri, mode=mode, video=VIDEO, chunk_bounds=BOUNDS, encoder_threads=1, **made, **options
    )  # type: ignore[call-overload]


def do(uri: str, kind: str, value: Any) -> Any:
    """One step; returns what it acknowledges."""
    match kind:
        case "append":
            with open_writer(uri) as writer:
                return write_episode(writer, *value)
        case "abandon":
            with open_writer(uri) as writer:
                writer.add_frame({CAMERA: np.zeros((16, 16, 3), np.uint8), "value": 0, "task": ""})
                writer.clear_episode()
        case "delete":
            present = set(vf.open(uri).directory.uids())
            vf.delete_episodes(uri, [uid for uid in value if uid in present])
        case "vacuum":
            vf.vacuum(uri, older_than=AT_ONCE)
        case "merge":
            vf.merge([value], uri)
        case "tag":
            vf.tag(uri, value, move=True)
        case _:
            raise ValueError(kind)
    return None


class CrashServer:
    """Runs steps in children that are killed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parent,
        )

    def run_and_kill(self, uri: str, steps: list[Step], seconds: float) -> list[Word]:
        """What a process said that did the steps and was killed so long after its first word."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([uri, steps, seconds]).encode() + b"\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE_S)
        answer = self._process.stdout.readline() if ready else b""
        assert answer, f"no answer, exit status {self._process.poll()}"
        return [(word, kind, value) for word, kind, value in json.loads(answer)]

    def close(self) -> None:
        """Ends the server."""
        self._process.kill()
        self._process.communicate()


def _run_and_kill(uri: str, steps: list[Step], seconds: float) -> list[Word]:
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.close(ours)
        _work(uri, steps, theirs)
        os._exit(0)
    os.close(theirs)
    said, end = b"", time.monotonic() + PATIENCE_S / 2
    while select.select([ours], [], [], max(0, end - time.monotonic()))[0]:
        part = os.read(ours, 2**16)
        if not part:
            break
        if not said:
            end = time.monotonic() + seconds
        said += part
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while part := os.read(ours, 2**16):
        said += part
    os.close(ours)
    return [json.loads(line) for line in said.splitlines()]


def _work(uri: str, steps: list[Step], pipe: int) -> None:
    def say(*word: Any) -> None:
        os.write(pipe, json.dumps(word).encode() + b"\n")

    for kind, value in steps:
        say("begin", kind, value)
        try:
            result = do(uri, kind, value)
        except Exception:  # noqa: BLE001 - the parent judges it
            say("failed", kind, traceback.format_exc())
            return
        say("done", kind, result)


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(_run_and_kill(*json.loads(line))), flush=True)
