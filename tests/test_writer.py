"""Writing: what is refused and what is left then, what several writers make of one dataset."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numbered_frames import HEIGHT, WIDTH, image, numbers_of

import videoformat as vf
from videoformat import appending
from videoformat import writer as writer_module
from videoformat.errors import (
    DatasetNotFoundError,
    InvalidArgumentError,
    StoreError,
    StructureError,
    UnsupportedFormatError,
)
from videoformat.index.features import parse_features
from videoformat.index.schema import DatasetInfo
from videoformat.media import episode as episode_module
from videoformat.table import Table
from videoformat.verify import verify

CAMERA = {"dtype": "video", "shape": (HEIGHT, WIDTH, 3), "names": ["height", "width", "channels"]}
NUMBER = {"dtype": "int64", "shape": (1,), "names": None}
FEATURES = {"cam": CAMERA, "n": NUMBER}
VIDEO = vf.DDRA(interval=3, crf=12)


@pytest.fixture
def uri(tmp_path: Path) -> Path:
    return tmp_path / "d"


def create(uri: Path, features: Any = FEATURES, **choices: Any) -> vf.Writer:
    return vf.create(uri, fps=10, features=features, **{"video": VIDEO, **choices})


def add(writer: vf.Writer, *numbers: int, **values: Any) -> None:
    for number in numbers:
        writer.add_frame({"cam": image(number), "n": number, **values})


def episodes_of(uri: Path) -> list[list[int]]:
    """The numbers of every episode, after comparing them with those of the pictures."""
    ds = vf.open(uri)
    found = []
    for episode in range(ds.num_episodes):
        numbers = ds.rows(episode, columns=["n"])["n"].to_pylist()
        assert numbers_of(ds.read_frames(episode, "cam", range(len(numbers)))) == numbers
        found.append(numbers)
    return found


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"fps": None}, "needs fps and features"),
    ({"features": None}, "needs fps and features"),
    ({"fps": 0}, "fps is 0, expected a number"),
    ({"fps": "30"}, "fps is '30'"),
    ({"features": {}}, "at least one feature"),
    ({"features": []}, "expected a mapping"),
    ({"features": {"a/b": NUMBER}}, "feature key 'a/b'"),
    ({"mode": "overwrite"}, "mode is 'overwrite', expected 'create' or 'append'"),
    ({"video": "fast"}, "video is 'fast', expected vf.DDRA"),
    ({"video": {"crf": 20}}, "expected vf.DDRA"),
    ({"robot_type": 7}, "robot_type is 7, expected a string"),
    ({"episodes_per_append": 0}, "episodes_per_append is 0, expected an integer"),
    ({"episodes_per_append": 1.5}, "episodes_per_append is 1.5"),
    ({"encoder_threads": 0}, "encoder_threads is 0"),
    ({"encoder_threads": True}, "encoder_threads is True"),
    ({"chunk_bounds": 100}, "chunk_bounds is 100, expected vf.ChunkBounds"),
    ({"features": {"task": NUMBER}}, "feature 'task' is int64 .*expected a string"),
    ({"features": {"timestamp": NUMBER}}, "feature 'timestamp' is int64 .*floating point"),
    ({"features": {"index": {"dtype": "string"}}}, "feature 'index' is string .*an integer"),
    ({"features": {"task_index": {**NUMBER, "shape": (2,)}}}, "feature 'task_index'"),
    ({"features": {"timestamp": CAMERA}}, "feature 'timestamp' is video"),
]


@pytest.mark.parametrize(("changes", "said"), WRONG, ids=[str(item[0]) for item in WRONG])
def test_a_call_that_cannot_be_right_makes_nothing(
    uri: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        vf.create(uri, **{"fps": 10, "features": FEATURES, **changes})
    assert not uri.exists()


def test_there_is_one_dataset_at_an_address(uri: Path) -> None:
    with create(uri) as writer:
        add(writer, 1)
        writer.save_episode()
    with pytest.raises(
        InvalidArgumentError, match=re.escape(f"there is a dataset at {uri} already")
    ):
        create(uri)
    assert episodes_of(uri) == [[1]]


def test_of_several_that_create_at_once_one_does(tmp_path: Path) -> None:
    """The others neither overwrite its dataset nor report anything but that it is there."""
    for attempt in range(6):
        uri = tmp_path / f"d{attempt}"
        outcomes = in_threads(4, lambda number, uri=uri: create(uri, {"n": NUMBER}).version)
        assert sorted(map(type, outcomes), key=str) == [int, *[InvalidArgumentError] * 3]
        assert vf.open(uri).version == 1


def in_threads(count: int, act: Callable[[int], Any]) -> list[Any]:
    """What each thread returned or raised; they begin together."""
    barrier = threading.Barrier(count)
    outcomes: list[Any] = [None] * count

    def run(number: int) -> None:
        barrier.wait()
        try:
            outcomes[number] = act(number)
        except Exception as error:  # noqa: BLE001 - returned to the test
            outcomes[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def test_what_is_declared_is_what_there_is(uri: Path) -> None:
    features = {"cam": {**CAMERA, "shape": (3, HEIGHT, WIDTH), "names": ["channels", "h", "w"]},
                "n": {**NUMBER, "unit": "pieces"}}  # fmt: skip
    writer = vf.create(str(uri), fps=29.97, features=features, robot_type="arm")
    assert writer.uri == str(uri)
    writer.close()
    ds = vf.open(uri)
    assert (ds.fps, ds.robot_type, ds.cameras) == (29.97, "arm", ["cam"])
    assert ds.features == {
        "cam": {"dtype": "video", "shape": (HEIGHT, WIDTH, 3), "names": ["h", "w", "channels"]},
        "n": {"dtype": "int64", "shape": (1,), "names": None, "unit": "pieces"},
        "timestamp": {"dtype": "float32", "shape": (1,), "names": None},
        "task": {"dtype": "string", "shape": (1,), "names": None},
    }
    assert (ds.num_episodes, ds.num_frames, len(ds)) == (0, 0, 0)


MISMATCHES: list[tuple[dict[str, Any], str]] = [
    ({"fps": 11}, "fps is 11, the dataset at .* has 10"),
    ({"robot_type": "leg"}, "robot_type is 'leg', the dataset at .* has None"),
    ({"features": {"cam": CAMERA}}, "feature 'n' is None in the call and .*int64"),
    ({"features": {**FEATURES, "x": NUMBER}}, "feature 'x' is .*int64.* and None in the dataset"),
    ({"features": {**FEATURES, "n": {"dtype": "int32"}}}, "feature 'n' is .*int32.*int64"),
    ({"features": {**FEATURES, "n": {**NUMBER, "shape": (2,)}}}, "feature 'n'"),
    ({"features": {**FEATURES, "cam": {**CAMERA, "shape": (16, 16, 3)}}}, "feature 'cam'"),
    ({"features": {**FEATURES, "cam": {**CAMERA, "dtype": "image"}}}, "feature 'cam'"),
]


@pytest.mark.parametrize(("changes", "said"), MISMATCHES, ids=[item[1] for item in MISMATCHES])
def test_appending_what_does_not_belong_there_is_refused(
    uri: Path, changes: dict[str, Any], said: str
) -> None:
    create(uri).close()
    with pytest.raises(InvalidArgumentError, match=said):
        vf.create(uri, mode="append", **changes)


def test_appending_takes_its_facts_from_the_dataset(uri: Path) -> None:
    with create(uri, robot_type="arm") as writer:
        add(writer, 1)
        writer.save_episode()
    same = {"fps": 10, "features": FEATURES, "robot_type": "arm"}
    for numbers, choices in (((2, 3), {}), ((4,), same)):
        with vf.create(uri, mode="append", video=VIDEO, **choices) as writer:
            add(writer, *numbers)
            writer.save_episode()
    assert episodes_of(uri) == [[1], [2, 3], [4]]


def test_appending_to_nothing_makes_nothing(uri: Path) -> None:
    with pytest.raises(DatasetNotFoundError, match="there is no dataset at"):
        vf.create(uri, mode="append")
    assert not uri.exists()


@pytest.mark.parametrize("wrong", [b"/tmp/x", 3, None, ""])
def test_an_address_is_a_path_or_uri(wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="a dataset's address is a path or URI"):
        vf.create(wrong, fps=10, features=FEATURES)


def test_a_file_is_no_place_for_a_dataset(tmp_path: Path) -> None:
    """Named by its path, whatever words are in that."""
    file = tmp_path / "conflict was not found in the object store"
    file.touch()
    with pytest.raises(StoreError, match="Not a directory"):
        create(file / "inside")


def test_a_closed_writer_writes_nothing(uri: Path) -> None:
    writer = create(uri)
    writer.close()
    writer.close()
    for act in (lambda: add(writer, 1), writer.save_episode, writer.clear_episode):
        with pytest.raises(InvalidArgumentError, match="the writer is closed"):
            act()


def test_closing_with_frames_that_were_not_saved_is_refused_and_undone(uri: Path) -> None:
    writer = create(uri, episodes_per_append=5)
    add(writer, 1)
    writer.save_episode()
    add(writer, 2, 3)
    with pytest.raises(InvalidArgumentError, match="2 frames were added and not saved"):
        writer.close()
    assert episodes_of(uri) == [[1]]
    add(writer, 4)
    writer.save_episode()
    writer.close()
    assert episodes_of(uri) == [[1], [2, 3, 4]]


def write_and_fail(writer: vf.Writer) -> None:
    add(writer, 1, 2)
    writer.save_episode()
    add(writer, 3)
    raise ZeroDivisionError


def test_an_exception_in_the_block_keeps_what_was_saved(uri: Path) -> None:
    writer = create(uri, episodes_per_append=5)
    with pytest.raises(ZeroDivisionError), writer:
        write_and_fail(writer)
    assert episodes_of(uri) == [[1, 2]]
    with pytest.raises(InvalidArgumentError, match="closed"):
        add(writer, 4)


def test_episodes_become_visible_together(uri: Path) -> None:
    writer = create(uri, episodes_per_append=3)
    versions = []
    for number in range(7):
        add(writer, number)
        writer.save_episode()
        versions.append((writer.version, vf.open(uri).num_episodes))
    writer.close()
    assert versions == [(1, 0), (1, 0), (2, 3), (2, 3), (2, 3), (3, 6), (3, 6)]
    assert (writer.version, vf.open(uri).num_episodes) == (4, 7)


@pytest.mark.parametrize(
    "wrong",
    [{"metadata": {"x": object()}}, {"metadata": {"x": float("nan")}}, {"metadata": [1]},
     {"metadata": "x"}, {"statistics": {"x": {1, 2}}}, {"statistics": {"x": float("inf")}},
     {"metadata": {(1, 2): 3}}],
    ids=["object", "nan", "list", "string", "set", "infinity", "tuple key"],
)  # fmt: skip
def test_metadata_that_is_no_json_leaves_the_episode_open(uri: Path, wrong: dict[str, Any]) -> None:
    with create(uri) as writer:
        add(writer, 1, 2)
        with pytest.raises(InvalidArgumentError, match=r"^(metadata|statistics) "):
            writer.save_episode(**wrong)
        add(writer, 3)
        writer.save_episode(metadata={"ok": True})
    assert episodes_of(uri) == [[1, 2, 3]]


def test_metadata_and_statistics_are_kept_arrays_as_lists(uri: Path) -> None:
    with create(uri) as writer:
        add(writer, 1)
        uid = writer.save_episode(
            metadata={"operator": "ü", "score": np.float32(0.5), "at": [1, None]},
            statistics={"n": {"mean": np.array([1.5, 2]), "count": np.array([3])}},
        )
        add(writer, 2)
        writer.save_episode(metadata={}, statistics={})
    first, second = vf.open(uri).episodes.to_pylist()
    assert first["episode_uid"] == uid
    assert json.loads(first["metadata"]) == {"operator": "ü", "score": 0.5, "at": [1, None]}
    assert json.loads(first["statistics"]) == {"n": {"mean": [1.5, 2.0], "count": [3]}}
    assert (second["metadata"], second["statistics"]) == (None, None)


def test_a_chunk_that_breaks_its_promise_is_not_appended(
    uri: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(index: object) -> None:
        raise StructureError("episode 'x' chunk 0: not what was promised")

    with create(uri) as writer:
        add(writer, 1, 2)
        with monkeypatch.context() as patched:
            patched.setattr(episode_module, "check_structure", refuse)
            with pytest.raises(StructureError):
                writer.save_episode()
        writer.clear_episode()
        add(writer, 3)
        writer.save_episode()
    assert episodes_of(uri) == [[3]]


def test_an_append_that_failed_can_be_repeated(uri: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise StoreError("the store is full")

    with create(uri) as writer:
        add(writer, 1)
        with monkeypatch.context() as patched:
            patched.setattr(writer_module, "append_episodes", fail)
            with pytest.raises(StoreError, match="full"):
                writer.save_episode()
        assert vf.open(uri).num_episodes == 0
        add(writer, 2)
        writer.save_episode()
    assert episodes_of(uri) == [[1], [2]]


def test_a_dataset_that_this_version_may_not_write_is_refused(uri: Path) -> None:
    features = parse_features({"n": NUMBER})
    Table.create(uri, DatasetInfo(fps=10, features=features, writer_flags=("later",)))
    with pytest.raises(UnsupportedFormatError, match="writing requires flags later"):
        vf.create(uri, mode="append")
    assert vf.open(uri).num_episodes == 0


COUNTED = {
    "n": NUMBER, "index": NUMBER, "episode_index": NUMBER, "frame_index": NUMBER,
    "task_index": NUMBER,
}  # fmt: skip


def test_what_is_filled_in(uri: Path) -> None:
    for mode in ("create", "append"):
        with vf.create(uri, fps=4, features=COUNTED, mode=mode) as writer:
            for length in (2, 1):
                for number in range(length):
                    writer.add_frame({"n": number, "task": f"task {number}"})
                writer.save_episode()
    ds = vf.open(uri)
    rows = ds.frames_table().to_pydict()
    assert rows["index"] == list(range(6))
    assert rows["episode_index"] == [0, 0, 1, 2, 2, 3]
    assert rows["frame_index"] == [0, 1, 0, 0, 1, 0]
    assert rows["timestamp"] == [0.0, 0.25, 0.0, 0.0, 0.25, 0.0]
    assert rows["task_index"] == [0, 1, 0, 0, 1, 0]
    assert ds.tasks == ["task 0", "task 1"]


def test_what_is_given_is_not_filled_in_and_counting_goes_on(uri: Path) -> None:
    with vf.create(uri, fps=4, features=COUNTED) as writer:
        for index in (77, None, 5):
            given = {} if index is None else {"index": index, "timestamp": np.float32(9)}
            writer.add_frame({"n": 0, "task": "", **given})
            writer.save_episode()
    rows = vf.open(uri).frames_table(["index", "timestamp"]).to_pydict()
    assert rows == {"index": [77, 1, 5], "timestamp": [9.0, 0.0, 9.0]}


def test_a_count_beyond_its_dtype_is_refused(uri: Path) -> None:
    features = {"n": NUMBER, "frame_index": {"dtype": "uint8"}}
    with vf.create(uri, fps=4, features=features) as writer:
        for number in range(256):
            writer.add_frame({"n": number})
        with pytest.raises(
            InvalidArgumentError, match="'frame_index': int 256 is outside 0 to 255"
        ):
            writer.add_frame({"n": 256})
        assert writer.num_pending_frames == 256
        writer.save_episode()
    assert vf.open(uri).num_frames == 256


@pytest.mark.parametrize("task", [None, 3, b"x", ["pick"]])
def test_a_task_is_a_text(uri: Path, task: Any) -> None:
    with create(uri) as writer:
        with pytest.raises(InvalidArgumentError, match=r"'task': .*expected a string"):
            add(writer, 1, task=task)
        assert writer.num_pending_frames == 0


def test_writers_that_add_tasks_side_by_side_agree_on_their_numbers(uri: Path) -> None:
    vf.create(uri, fps=4, features=COUNTED).close()

    def write(number: int) -> None:
        with vf.create(uri, mode="append") as writer:
            for task in (f"own {number}", "shared", f"own too {number}"):
                writer.add_frame({"n": number, "task": task})
                writer.save_episode()

    assert in_threads(4, write) == [None] * 4
    ds = vf.open(uri)
    rows = ds.frames_table(["task", "task_index"]).to_pydict()
    assert len(ds.tasks) == len(set(ds.tasks)) == 9
    assert [ds.tasks[index] for index in rows["task_index"]] == rows["task"]


def test_two_writers_append_at_once(uri: Path) -> None:
    create(uri).close()

    def write(number: int) -> list[str]:
        bounds = vf.ChunkBounds(frames=2)
        with vf.create(uri, mode="append", video=VIDEO, chunk_bounds=bounds) as writer:
            uids = []
            for episode in range(4):
                add(writer, *(100 * number + 10 * episode + at for at in range(5)))
                uids.append(writer.save_episode())
            return uids

    outcomes = in_threads(2, write)
    found = dict(
        zip(vf.open(uri).episodes["episode_uid"].to_pylist(), episodes_of(uri), strict=True)
    )
    assert len(found) == 8
    for number, uids in enumerate(outcomes):
        # Each writer's own episodes are whole and in its order.
        assert [uid for uid in found if uid in uids] == uids
        for episode, uid in enumerate(uids):
            first = 100 * number + 10 * episode
            assert found[uid] == list(range(first, first + 5))


def test_an_older_reader_does_not_see_what_is_appended(uri: Path) -> None:
    with create(uri) as writer:
        add(writer, 1)
        writer.save_episode()
        before = vf.open(uri)
        add(writer, 2)
        writer.save_episode()
        assert numbers_of(before.read_frames(0, "cam", [0])) == [1]
        assert (before.num_episodes, vf.open(uri).num_episodes) == (1, 2)
        assert vf.open(uri, version=before.version).num_episodes == 1


@pytest.mark.parametrize("batch", [1, 3])
def test_an_episode_that_is_spilled_is_whole(
    uri: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    """Rows that go to the store before the episode is saved are not seen until then."""
    monkeypatch.setattr(appending, "SPILL_BYTES", 1)
    bounds = vf.ChunkBounds(frames=2)
    with create(uri, chunk_bounds=bounds, episodes_per_append=batch) as writer:
        for episode in range(3):
            add(writer, *range(10 * episode, 10 * episode + 7))
            assert vf.open(uri).num_episodes == episode
            writer.save_episode()
            # What lies in the store already is not kept waiting for a batch.
            assert vf.open(uri).num_episodes == episode + 1
        add(writer, 90, 91, 92, 93, 94)
        writer.clear_episode()
        add(writer, 95)
        writer.save_episode()
    assert episodes_of(uri) == [list(range(n, n + 7)) for n in (0, 10, 20)] + [[95]]
    assert vf.open(uri).episodes["chunk_count"].to_pylist() == [4, 4, 4, 1]
    assert verify(uri).problems == ()


def test_a_batch_that_has_much_waits_for_no_more(
    uri: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with create(uri, episodes_per_append=1000) as writer:
        add(writer, 1)
        writer.save_episode()
        assert vf.open(uri).num_episodes == 0
        monkeypatch.setattr(appending, "SPILL_BYTES", 1)
        add(writer, 2)
        writer.save_episode()
        assert vf.open(uri).num_episodes == 2
    assert episodes_of(uri) == [[1], [2]]


def test_frames_of_any_array_layout(uri: Path) -> None:
    """Views, channels first, lists of lists: the same samples."""
    whole = image(21)
    forms: list[Any] = [
        whole, np.asfortranarray(whole), np.moveaxis(whole, 2, 0),
        np.ascontiguousarray(np.moveaxis(whole, 2, 0)), np.repeat(whole, 2, axis=1)[:, ::2],
        whole[::-1][::-1],
    ]  # fmt: skip
    with create(uri) as writer:
        for form in forms:
            writer.add_frame({"cam": form, "n": 21})
            writer.save_episode()
    ds = vf.open(uri)
    frames = ds.read_batch([(episode, "cam", 0) for episode in range(len(forms))])
    for frame in frames[1:]:
        np.testing.assert_array_equal(frame, frames[0])
    assert numbers_of(frames[:1]) == [21]


def test_rows_have_the_types_of_their_features(uri: Path) -> None:
    with create(uri) as writer:
        add(writer, 1)
        writer.save_episode()
    schema = vf.open(uri).frames_table().schema
    assert schema.field("n").type == pa.int64()
    assert schema.names == ["n", "timestamp", "task"]
