"""Four processes append at once: every episode is there, whole, in one order that all see."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from crashing import open_writer
from object_store import ObjectStore

import videoformat as vf
from videoformat.verify import verify

# A request to the server of the tests takes a hundred times as long as a file.
EPISODES = int(os.environ.get("VIDEOFORMAT_LIFE_EPISODES", "200"))
BUCKET_EPISODES = int(os.environ.get("VIDEOFORMAT_LIFE_EPISODES", "40"))
WRITERS = 4
CHILD = """
import json, sys
sys.path.insert(0, sys.argv[1])
from crashing import open_writer, write_episode
uri, number, count, options = sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), json.loads(sys.argv[5])
with open_writer(uri, storage_options=options) as writer:
    for at in range(count):
        print(write_episode(writer, number * 1000 + at, 1 + at % 2), flush=True)
"""


def run_writers(uri: str, options: dict[str, str] | None, count: int) -> list[list[str]]:
    """What each process says that it has appended, in its order."""
    import json

    open_writer(uri, "create", storage_options=options).close()
    children = [
        subprocess.Popen(
            [
                sys.executable,
                *("-W", "ignore", "-c", CHILD, str(Path(__file__).parent), uri, str(number)),
                *(str(count // WRITERS), json.dumps(options)),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(WRITERS)
    ]
    said = [child.communicate()[0].split() for child in children]
    assert [child.returncode for child in children] == [0] * WRITERS
    assert [len(mine) for mine in said] == [count // WRITERS] * WRITERS
    return said


def check(uri: str, options: dict[str, str] | None, said: list[list[str]]) -> None:
    dataset = vf.open(uri, options)
    order = dataset.directory.uids()
    assert len(order) == len(set(order)) == sum(map(len, said))
    assert set(order) == {uid for mine in said for uid in mine}
    for mine in said:
        # Each writer's episodes are in the order in which it saved them.
        assert [uid for uid in order if uid in set(mine)] == mine
        for at, uid in enumerate(mine):
            episode = order.index(uid)
            assert int(dataset.directory.lengths[episode]) == 1 + at % 2
    # Every value of every frame, in that order.
    seed = {
        uid: number * 1000 + at for number, mine in enumerate(said) for at, uid in enumerate(mine)
    }
    expected = [
        seed[uid] * 100 + frame
        for episode, uid in enumerate(order)
        for frame in range(int(dataset.directory.lengths[episode]))
    ]
    assert dataset.frames_table(["value"]).column("value").to_pylist() == expected
    # Every picture: its checksum, its place, and its index derived again.
    report = verify(uri, storage_options=options)
    assert report.ok, report.problems
    # A total order: what a version shows is a beginning of what every later one shows.
    versions = [item.version for item in vf.log(uri, storage_options=options)]
    assert len(versions) >= len(order)
    for version in versions if options is None else versions[:: len(versions) // 5]:
        then = vf.open(uri, options, version=version).directory.uids()
        assert then == order[: len(then)]


def test_on_a_disk(tmp_path: Path) -> None:
    uri = str(tmp_path / "d.vf")
    check(uri, None, run_writers(uri, None, EPISODES))
    shutil.rmtree(uri)


@pytest.mark.object_store
def test_in_a_bucket(s3: ObjectStore) -> None:
    uri = s3.uri("writers.vf")
    check(uri, s3.storage_options, run_writers(uri, s3.storage_options, BUCKET_EPISODES))
