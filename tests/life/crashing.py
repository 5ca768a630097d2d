"""What a process that may die at any moment does to a dataset, and what it has acknowledged."""

import datetime as dt
import os
import signal
from multiprocessing import get_context
from multiprocessing.connection import Connection
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

# A server that has imported everything and used nothing: what it forks starts in milliseconds.
CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(["crashing"])


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


def work(uri: str, steps: list[tuple[str, Any]], say: Connection) -> None:
    """Does the steps; says of each that it begins and that it is done."""
    for kind, value in steps:
        say.send(("begin", kind, value))
        result: Any = None
        if kind == "append":
            with open_writer(uri) as writer:
                result = write_episode(writer, *value)
        elif kind == "abandon":
            with open_writer(uri) as writer:
                writer.add_frame({CAMERA: np.zeros((16, 16, 3), np.uint8), "value": 0, "task": ""})
                writer.clear_episode()
        elif kind == "delete":
            vf.delete_episodes(uri, value)
        elif kind == "vacuum":
            vf.vacuum(uri, older_than=AT_ONCE)
        elif kind == "merge":
            vf.merge([value], uri)
        say.send(("done", kind, result))
    say.close()


def run_and_kill(
    uri: str, steps: list[tuple[str, Any]], seconds: float
) -> list[tuple[str, str, Any]]:
    """Lets a process do the steps, kills it after a time, returns what it said."""
    ours, theirs = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=work, args=(uri, steps, theirs))
    process.start()
    theirs.close()
    said: list[tuple[str, str, Any]] = []
    # The time counts from its first word.
    if ours.poll(60):
        said.append(ours.recv())
    process.join(seconds)
    if process.pid is not None and process.exitcode is None:
        os.kill(process.pid, signal.SIGKILL)
    process.join()
    try:
        while ours.poll(0):
            said.append(ours.recv())
    except EOFError:
        pass
    ours.close()
    return said
