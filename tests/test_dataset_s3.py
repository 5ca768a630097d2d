"""The same on an object store: written, appended side by side, read by another process."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from numbered_dataset import LENGTHS, SIZES, TOP, WRIST, number, tabular_features, value, write
from numbered_frames import numbers_of
from object_store import ObjectStore

import videoformat as vf
from videoformat.errors import DatasetNotFoundError, InvalidArgumentError, StoreError
from videoformat.verify import verify

pytestmark = pytest.mark.object_store


@pytest.fixture(scope="module")
def stored(s3: ObjectStore) -> str:
    uri = s3.uri("numbered")
    write(uri, storage_options=s3.storage_options)
    return uri


def test_every_frame_comes_back(s3: ObjectStore, stored: str) -> None:
    ds = vf.open(stored, s3.storage_options)
    assert (ds.num_episodes, ds.num_frames, ds.version) == (3, 13, 4)
    requests = [(e, c, at) for c in (TOP, WRIST) for e in range(3) for at in range(LENGTHS[e])]
    assert numbers_of(ds.read_batch(requests)) == [number(*request) for request in requests]
    assert numbers_of(ds.read_frames(0, TOP, [-1, 0, 0])) == [
        number(0, TOP, at) for at in (6, 0, 0)
    ]
    assert ds.read_frames(0, WRIST, []).shape == (0, *SIZES[WRIST], 3)


def test_a_batch_is_one_read_a_camera(s3: ObjectStore, stored: str) -> None:
    ds = vf.open(stored, s3.storage_options)
    ds.read_batch([(e, c, 0) for c in (TOP, WRIST) for e in range(3)])
    report = ds.last_read
    assert report is not None
    assert (report.takes, report.range_reads, report.direct_reads) == (1, 2, 0)


def test_rows_come_back(s3: ObjectStore, stored: str) -> None:
    ds = vf.open(stored, storage_options=s3.storage_options)
    features = tabular_features()
    table = ds.rows(2, [3, -5], ["matrix.float16", "texts"])
    texts = [list(value(features["texts"], 2, at)) for at in (3, 0)]
    assert table["texts"].to_pylist() == texts
    np.testing.assert_array_equal(
        table["matrix.float16"].combine_chunks().to_numpy_ndarray(),
        np.stack([value(features["matrix.float16"], 2, at) for at in (3, 0)]),
    )
    assert ds.frames_table(["task"])["task"].to_pylist() == (
        ["task 0"] * 7 + ["task 1"] + ["task 0"] * 5
    )


def test_what_is_stored_is_verified(s3: ObjectStore, stored: str) -> None:
    assert verify(stored, storage_options=s3.storage_options, decode=True).problems == ()


def test_a_dataset_goes_to_another_process(s3: ObjectStore, stored: str) -> None:
    pickled = pickle.dumps(vf.open(stored, s3.storage_options))
    script = (
        "import pickle, sys; from numbered_frames import numbers_of; "
        "ds = pickle.load(sys.stdin.buffer); "
        f"print(numbers_of(ds.read_frames(0, {TOP!r}, [6, 0])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=pickled,
        capture_output=True,
        check=True,
        cwd=Path(__file__).parent,
    )
    assert done.stdout.decode() == f"{[number(0, TOP, 6), number(0, TOP, 0)]}\n"


def test_versions_and_tags(s3: ObjectStore) -> None:
    uri, options = s3.uri("versions"), s3.storage_options
    write(uri, tabular=False, lengths=(2, 1), storage_options=options)
    vf.tag(uri, "one", 2, storage_options=options)
    assert vf.open(uri, options, "one").num_episodes == 1
    assert vf.open(uri, options, 3).num_episodes == 2
    with pytest.raises(DatasetNotFoundError, match="has no version 'two'"):
        vf.open(uri, options, "two")


def test_writers_append_at_once(s3: ObjectStore) -> None:
    uri, options = s3.uri("appended"), s3.storage_options
    features = {"n": {"dtype": "int64"}, "task_index": {"dtype": "int64"}}
    vf.create(uri, fps=5, features=features, storage_options=options).close()
    uids: list[list[str]] = [[], [], []]

    def append(writer_number: int) -> None:
        with vf.create(
            uri, mode="append", storage_options=options, chunk_bounds=vf.ChunkBounds(frames=2)
        ) as writer:
            for episode in range(3):
                for at in range(5):
                    n = 100 * writer_number + 10 * episode + at
                    writer.add_frame({"n": n, "task": f"task {writer_number}"})
                uids[writer_number].append(writer.save_episode())

    threads = [threading.Thread(target=append, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ds = vf.open(uri, options)
    order = ds.episodes["episode_uid"].to_pylist()
    assert sorted(order) == sorted(uid for own in uids for uid in own)
    assert len(order) == 9
    for writer_number, own in enumerate(uids):
        assert [uid for uid in order if uid in own] == own
        for episode, uid in enumerate(own):
            rows = ds.rows(order.index(uid)).to_pydict()
            first = 100 * writer_number + 10 * episode
            assert rows["n"] == list(range(first, first + 5))
            assert {ds.tasks[index] for index in rows["task_index"]} == {f"task {writer_number}"}


def test_of_several_that_create_at_once_one_does(s3: ObjectStore) -> None:
    uri, options = s3.uri("created"), s3.storage_options
    barrier = threading.Barrier(3)
    outcomes: list[object] = []

    def create() -> None:
        barrier.wait()
        try:
            vf.create(uri, fps=5, features={"n": {"dtype": "int64"}}, storage_options=options)
            outcomes.append("made")
        except InvalidArgumentError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=create) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, outcomes)) == ["made", *[f"there is a dataset at {uri} already"] * 2]
    assert vf.open(uri, options).version == 1


def test_what_is_not_there_and_who_is_not_let_in(s3: ObjectStore, stored: str) -> None:
    with pytest.raises(DatasetNotFoundError, match=re.escape(s3.uri("absent"))):
        vf.open(s3.uri("absent"), s3.storage_options)
    wrong = s3.storage_options | {"aws_secret_access_key": "guessed"}
    with pytest.raises(StoreError, match=re.escape(stored)):
        vf.open(stored, wrong)
