"""A disk that is full, a store that may not be written: named errors, and nothing is lost.

A process of its own gets a small disk or a read-only mount in a namespace of its own, or gives up its
rights. It prints what each call raised.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import whole
from small_dataset import write_dataset

from videoformat.verify import verify

TESTS = Path(__file__).resolve().parents[1]
# Each step of a dataset's life, and what it raises; then what can still be read.
CALLS = """
import json, os, sys
import numpy as np
import videoformat as vf
from videoformat import appending
from small_dataset import CAMERAS, scene
import whole
uri, donor, warm, uid = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])

def append(target):
    with vf.create(target, mode="append") as writer:
        for frame in range(3):
            images = {key: scene(7, at, frame) for at, key in enumerate(CAMERAS)}
            writer.add_frame({**images, "action": np.zeros(2, np.float32), "task": "new"})
        writer.save_episode()

calls = {
    "append": append,
    "delete": lambda at: vf.delete_episodes(at, [0]),
    "merge": lambda at: vf.merge([donor], at),
    "vacuum": vf.vacuum,
    "tag": lambda at: vf.tag(at, "name"),
    "add_feature": lambda at: vf.add_feature(
        at, "more", {"dtype": "float32", "shape": (1,)}, [0.0] * vf.open(at).num_frames),
    "metadata": lambda at: vf.set_episode_metadata(at, {0: {"a": 1}}),
    "subset": lambda at: vf.subset(donor, os.path.join(os.path.dirname(at), "new.vf"), [0]),
    "export": lambda at: vf.export(donor, os.path.join(os.path.dirname(at), "out")),
}
# What is imported late is imported now: afterwards it may be out of reach.
for call in calls.values():
    call(warm)
if uid >= 0:
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
said = {}
for name, call in calls.items():
    try:
        call(uri)
        said[name] = "done"
    except vf.VideoFormatError as error:
        said[name] = type(error).__name__
    except Exception as error:
        said[name] = repr(error)
dataset = vf.open(uri)
said["read"] = dataset.read_frames(0, CAMERAS[0], [0, -1]).shape[0]
print(json.dumps(said))
"""
FULL = """
import os, sys
import numpy as np
import videoformat as vf
from videoformat import appending
from small_dataset import CAMERAS
uri, filler, spilled = sys.argv[1], sys.argv[2], sys.argv[3] == "spilled"
random = np.random.default_rng(0)
writer = vf.create(uri, mode="append", video=vf.DDRA(crf=1), chunk_bounds=vf.ChunkBounds(frames=8))
if spilled:
    appending.SPILL_BYTES = 1

def take():
    for frame in range(40):
        image = random.integers(0, 256, (32, 48, 3)).astype(np.uint8)
        writer.add_frame({**dict.fromkeys(CAMERAS, image), "action": [0.0, 0.0], "task": ""})
    writer.save_episode()

file = os.open(filler, os.O_WRONLY | os.O_CREAT)
try:
    while True:
        os.write(file, bytes(512))
except OSError:
    os.close(file)
try:
    take()
    print("saved")
except vf.VideoFormatError as error:
    print(type(error).__name__)
os.unlink(filler)
if spilled:
    # A frame was not taken, so the episode is not whole.
    for call in (take, writer.save_episode):
        try:
            call()
        except vf.VideoFormatError as error:
            print(type(error).__name__)
    writer.clear_episode()
    take()
writer.close()
print(vf.open(uri).num_episodes)
"""


def namespaces_work() -> bool:
    program = shutil.which("unshare")
    return (
        program is not None and not subprocess.run([program, "-rm", "true"], check=False).returncode
    )


needs_namespaces = pytest.mark.skipif(
    not namespaces_work(), reason="this user may not make a mount namespace"
)


@pytest.fixture
def store() -> Iterator[Path]:
    """A folder with a dataset to be worked on, which everyone may enter; beside it, others."""
    with tempfile.TemporaryDirectory(prefix="refusing-") as name:
        root = Path(name)
        root.chmod(0o755)
        folder = root / "store"
        folder.mkdir()
        write_dataset(folder / "d.vf", lengths=(5, 3), chunk_frames=4)
        write_dataset(root / "donor.vf", lengths=(2,))
        (root / "warm").mkdir()
        write_dataset(root / "warm/d.vf", lengths=(3, 2))
        yield folder


def child(script: str, *arguments: object, mount: str | None = None) -> list[str]:
    """What a script prints; ``mount`` is done before, in a namespace of its own."""
    command = [sys.executable, "-W", "ignore", "-c", script, *map(str, arguments)]
    if mount is not None:
        command = ["unshare", "-rm", "sh", "-c", f'{mount} && exec "$0" "$@"', *command]
    paths = os.pathsep.join([str(TESTS), str(TESTS / "life")])
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert not done.returncode, done.stderr
    return done.stdout.split("\n")


def check_refused(said: Mapping[str, object]) -> None:
    assert said.pop("read") == 2
    assert said == dict.fromkeys(said, "StoreError")


@needs_namespaces
def test_a_store_that_is_read_only_is_read_and_refuses_by_name(store: Path) -> None:
    before = whole.episodes(store / "d.vf")
    said = child(
        CALLS, store / "d.vf", store.parent / "donor.vf", store.parent / "warm/d.vf", -1,
        mount=f"mount --bind {store} {store} && mount -o remount,ro,bind {store}",
    )  # fmt: skip
    check_refused(json.loads(said[0]))
    assert whole.episodes(store / "d.vf") == before
    assert verify(store / "d.vf", decode=True).ok


def test_a_store_that_may_not_be_written_is_read_and_refuses_by_name(store: Path) -> None:
    before = whole.episodes(store / "d.vf")
    nobody = 65534 if os.getuid() == 0 else -1
    for path in [store, *store.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        said = child(
            CALLS, store / "d.vf", store.parent / "donor.vf", store.parent / "warm/d.vf", nobody
        )
    finally:
        for path in [store, *store.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
    check_refused(json.loads(said[0]))
    assert whole.episodes(store / "d.vf") == before
    assert verify(store / "d.vf", decode=True).ok


@needs_namespaces
@pytest.mark.parametrize("how", ["whole", "spilled"])
def test_an_episode_survives_a_disk_that_was_full(store: Path, how: str) -> None:
    """What was finished waits in the writer; what was spilled in part is refused and cleared."""
    folder = store.parent / "disk"
    folder.mkdir()
    said = child(
        FULL, folder / "d.vf", folder / "filler", how,
        mount=f"mount -t tmpfs -o size=2m tmpfs {folder} && cp -r {store}/d.vf {folder}",
    )  # fmt: skip
    refused = ["InvalidArgumentError"] * 2 if how == "spilled" else []
    assert said[:-1] == ["StoreError", *refused, "3"]
