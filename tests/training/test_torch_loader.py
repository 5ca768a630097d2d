"""DataLoader: start methods, workers, map-style and iterable, local and S3; each frame once, no hang.

Some of the combinations are run, for one epoch; ``VIDEOFORMAT_ALL_LOADERS=1`` runs all of them, for
four epochs each, and sees that memory stays flat over the last three.
"""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import small_dataset
from object_store import ObjectStore

pytest.importorskip("torch")

LENGTHS = (40, 33, 27, 19)
CAMERA = small_dataset.CAMERAS[0]
MEBIBYTE = 2**20
# Each start method, worker count, kind and store, and what is most used; forkserver comes below.
SAMPLE = {
    ("fork", 0, "map", "local"),
    ("fork", 0, "iterable", "s3"),
    ("fork", 2, "map", "local"),
    ("fork", 4, "iterable", "local"),
    ("spawn", 2, "map", "s3"),
}
ALL = sorted(
    product(("fork", "forkserver", "spawn"), (0, 2, 4), ("map", "iterable"), ("local", "s3"))
)
IS_WHOLE = bool(os.environ.get("VIDEOFORMAT_ALL_LOADERS"))
RUN = [one for one in ALL if IS_WHOLE or one in SAMPLE]


def write(uri: str | Path, storage_options: dict[str, str] | None = None) -> str:
    small_dataset.write_dataset(
        uri,
        lengths=LENGTHS,
        interval=8,
        chunk_frames=24,
        cameras=(CAMERA,),
        storage_options=storage_options,
    )
    return str(uri)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("loader") / "small.vf")


@pytest.fixture(scope="module")
def remote(s3: ObjectStore) -> str:
    return write(s3.uri("loader/small.vf"), s3.storage_options)


def run(**choices: Any) -> dict[str, Any]:
    script = Path(__file__).with_name("loader_run.py")
    # The watchdog: what hangs is ended and fails.
    done = subprocess.run(
        [sys.executable, str(script), json.dumps({"camera": CAMERA, "epochs": 1, **choices})],
        capture_output=True,
        text=True,
        timeout=120 * choices.get("epochs", 1),
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.object_store
@pytest.mark.parametrize(("method", "workers", "kind", "store"), RUN)
def test_an_epoch_has_every_frame_once_and_ends(
    request: pytest.FixtureRequest, method: str, workers: int, kind: str, store: str
) -> None:
    choices: dict[str, Any] = {"uri": request.getfixturevalue("local")}
    if store == "s3":
        options = request.getfixturevalue("s3").storage_options
        choices = {"uri": request.getfixturevalue("remote"), "storage_options": options}
    epochs = 4 if IS_WHOLE else 1
    result = run(method=method, workers=workers, kind=kind, epochs=epochs, **choices)
    for seen in result["epochs"]:
        assert sorted(seen) == list(range(sum(LENGTHS)))
        assert seen != sorted(seen)
    assert len({tuple(seen) for seen in result["epochs"]}) == epochs
    assert_flat(result["memory"][1:])


def assert_flat(memory: list[int]) -> None:
    """Bytes of all processes after each epoch but the first, which fills caches."""
    if memory:
        assert memory[-1] - memory[0] < 24 * MEBIBYTE, memory


@pytest.mark.parametrize(
    ("method", "kind", "read_first"), [("fork", "map", False), ("forkserver", "iterable", True)]
)
def test_memory_stays_flat_and_epochs_differ_with_workers_that_persist(
    local: str, method: str, kind: str, *, read_first: bool
) -> None:
    """And a dataset that was read in the parent works in a worker that was not forked from it."""
    result = run(method=method, workers=2, kind=kind, uri=local, epochs=4, read_first=read_first)
    assert all(sorted(seen) == list(range(sum(LENGTHS))) for seen in result["epochs"])
    assert len({tuple(seen) for seen in result["epochs"]}) == 4
    assert_flat(result["memory"][1:])


def test_a_dataset_that_was_read_in_the_parent_is_refused_in_a_forked_worker(local: str) -> None:
    with pytest.raises(AssertionError, match="multiprocessing_context='forkserver' or 'spawn'"):
        run(method="fork", workers=2, kind="map", uri=local, read_first=True)
