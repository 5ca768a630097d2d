"""Reading: any frames in any order, every dtype and shape, and what is not there refused."""

from __future__ import annotations

import json
import operator
import pickle
import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numbered_dataset import (
    LENGTHS,
    SIZES,
    TOP,
    WRIST,
    number,
    tabular_features,
    value,
    write,
)
from numbered_frames import numbers_of

import videoformat as vf
from videoformat.errors import (
    ColumnNotFoundError,
    DatasetNotFoundError,
    EpisodeNotFoundError,
    FrameNotFoundError,
    InvalidArgumentError,
)

CAMERAS = sorted(SIZES)


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dataset") / "d"
    write(path)
    return path


@pytest.fixture(scope="module")
def ds(uri: Path) -> vf.Dataset:
    return vf.open(uri)


def test_what_a_dataset_says_of_itself(uri: Path, ds: vf.Dataset) -> None:
    assert (ds.uri, ds.version, ds.fps, ds.robot_type) == (str(uri), 4, 10, None)
    assert sorted(ds.cameras) == CAMERAS
    assert (ds.num_episodes, ds.num_frames, len(ds)) == (3, 13, 13)
    assert ds.tasks == ["task 0", "task 1"]
    assert (ds.statistics, ds.info, ds.storage_options) == (None, {}, None)
    declared = {key: item["shape"] for key, item in ds.features.items()}
    assert declared[TOP] == (*SIZES[TOP], 3)
    assert {
        key: item["shape"] for key, item in tabular_features().items()
    }.items() <= declared.items()
    assert repr(ds) == (
        f"Dataset({str(uri)!r}, version=4, episodes=3, frames=13, cameras={ds.cameras})"
    )


def test_episodes_as_a_table(ds: vf.Dataset) -> None:
    table = ds.episodes
    rows = table.to_pydict()
    assert rows["episode_index"] == [0, 1, 2]
    assert rows["length"] == list(LENGTHS)
    assert rows["from_index"] == [0, 7, 8]
    assert rows["chunk_count"] == [3, 1, 2]
    assert rows["tasks"] == [["task 0"], ["task 1"], ["task 0"]]
    assert list(map(json.loads, rows["metadata"])) == [{"episode": n} for n in range(3)]
    assert rows["statistics"] == [None] * 3
    assert len(set(rows["episode_uid"])) == 3
    assert all(isinstance(uid, str) for uid in rows["episode_uid"])


@settings(max_examples=40)
@given(st.integers(-3, 2), st.sampled_from(CAMERAS), st.data())
def test_any_frames_in_any_order(ds: vf.Dataset, episode: int, camera: str, data: Any) -> None:
    """Negative ones count from the end, and what is asked for twice comes twice."""
    length = LENGTHS[episode]
    indices = data.draw(st.lists(st.integers(-length, length - 1), max_size=9))
    frames = ds.read_frames(episode, camera, indices)
    assert frames.shape == (len(indices), *SIZES[camera], 3)
    assert frames.dtype == np.uint8
    assert frames.flags.c_contiguous
    assert frames.flags.writeable
    assert numbers_of(frames) == [number(episode % 3, camera, at % length) for at in indices]


REQUESTS = st.lists(
    st.tuples(st.integers(-3, 2), st.sampled_from(CAMERAS), st.integers(0, 6)).map(
        lambda item: (item[0], item[1], item[2] % LENGTHS[item[0]])
    ),
    max_size=9,
)


@settings(max_examples=40)
@given(REQUESTS, st.booleans())
def test_any_batch_in_any_order(
    ds: vf.Dataset, requests: list[tuple[int, str, int]], negative: bool
) -> None:
    asked = [(e, c, at - LENGTHS[e]) for e, c, at in requests] if negative else requests
    frames = ds.read_batch(iter(asked))
    assert [frame.shape for frame in frames] == [(*SIZES[c], 3) for _, c, _ in requests]
    assert numbers_of(frames) == [number(e % 3, c, at) for e, c, at in requests]


def test_a_batch_equals_frames_one_by_one(ds: vf.Dataset) -> None:
    requests = [(e, c, at) for c in CAMERAS for e in range(3) for at in range(LENGTHS[e])]
    for request, frame in zip(requests, ds.read_batch(requests), strict=True):
        episode, camera, at = request
        np.testing.assert_array_equal(frame, ds.read_frames(episode, camera, [at])[0])


def test_equal_requests_get_arrays_of_their_own(ds: vf.Dataset) -> None:
    frames = ds.read_batch([(0, TOP, 1), (0, TOP, 1), (0, TOP, -6), (0, TOP, 2)])
    frames[0][:] = 0
    frames[3][:] = 0
    assert numbers_of(frames[1:3]) == [number(0, TOP, 1)] * 2
    stacked = ds.read_frames(0, TOP, [1, 1])
    stacked[0] = 0
    assert numbers_of(stacked[1:]) == [number(0, TOP, 1)]
    assert numbers_of(ds.read_frames(0, TOP, [1])) == [number(0, TOP, 1)]


def test_nothing_asked_for_is_nothing_read(ds: vf.Dataset) -> None:
    empties: list[Any] = [[], (), range(0), iter([]), np.array([], int), set()]
    for empty in empties:
        assert ds.read_frames(2, WRIST, empty).shape == (0, *SIZES[WRIST], 3)
    assert ds.read_batch([]) == []
    plan = ds.plan([])
    assert (plan.frame_count, plan.picture_count, plan.byte_count, plan.range_count) == (0, 0, 0, 0)
    assert ds.rows(0, []).num_rows == 0
    assert ds.rows(0, []).schema == ds.rows(0).schema


class Three:
    def __index__(self) -> int:
        return 3


@pytest.mark.parametrize(
    "indices",
    [[3, 0], (3, 0), range(3, -1, -3), iter([3, 0]), (at for at in (3, 0)), np.array([3, 0]),
     np.array([3, 0], np.uint8), [np.int32(3), np.uint64(0)], {3: "x", 0: "y"}, [Three(), 0],
     pa.array([3, 0]).to_numpy()],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_indices_are_any_iterable_of_integers(ds: vf.Dataset, indices: Iterable[int]) -> None:
    assert numbers_of(ds.read_frames(0, TOP, indices)) == [number(0, TOP, 3), number(0, TOP, 0)]


def test_one_index_is_a_list_of_one(ds: vf.Dataset) -> None:
    for index in (3, np.int64(3), -4):
        assert numbers_of(ds.read_frames(0, TOP, index)) == [number(0, TOP, 3)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [True, np.True_, 1.0, np.float32(1), "1", None, 1j, b"x", [0], (0,), np.array([0, 1])],
    ids=repr,
)
def test_what_is_no_integer_is_no_index(ds: vf.Dataset, wrong: Any) -> None:
    reads = [
        lambda: ds.read_frames(0, TOP, [0, wrong]),
        lambda: ds.read_batch([(0, TOP, 0), (0, TOP, wrong)]),
        lambda: ds.rows(0, [wrong]),
        lambda: ds.read_frames(wrong, TOP, [0]),
        lambda: ds.read_batch([(wrong, TOP, 0)]),
        lambda: ds.plan([(0, TOP, wrong)]),
    ]
    for read in reads:
        with pytest.raises(InvalidArgumentError, match=r"(a frame index|an episode) is an integer"):
            read()


@pytest.mark.parametrize(
    "wrong", [None, 1.5, True, object()], ids=["None", "float", "bool", "object"]
)
def test_what_is_no_iterable_is_no_list_of_indices(ds: vf.Dataset, wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"an iterable of integers|is an integer"):
        ds.read_frames(0, TOP, wrong)


@pytest.mark.parametrize("request_", [(0, TOP), (0, TOP, 0, 0), 7, None, "abcd"], ids=repr)
def test_a_request_has_three_parts(ds: vf.Dataset, request_: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=re.escape("(episode, camera, index), got")):
        ds.read_batch([(0, TOP, 0), request_])


@pytest.mark.parametrize("index", [7, -8, 100, 2**70, -(2**70)])
def test_a_frame_that_is_not_there_is_named_with_the_valid_range(
    ds: vf.Dataset, index: int
) -> None:
    said = f"episode 0 has no frame {index}; valid are 0 to 6, or -7 to -1 from the end"
    for read in (
        lambda: ds.read_frames(0, TOP, [0, index]),
        lambda: ds.read_batch([(-3, TOP, index)]),
        lambda: ds.rows(0, [index]),
        lambda: ds.plan([(0, TOP, index)]),
    ):
        with pytest.raises(FrameNotFoundError, match=said):
            read()
        with pytest.raises(IndexError):
            read()


@pytest.mark.parametrize("episode", [3, -4, 2**70])
def test_an_episode_that_is_not_there_is_named_with_the_valid_range(
    ds: vf.Dataset, episode: int
) -> None:
    said = f"there is no episode {episode}; valid are 0 to 2"
    for read in (
        lambda: ds.read_frames(episode, TOP, [0]),
        lambda: ds.read_batch([(episode, TOP, 0)]),
        lambda: ds.rows(episode),
        lambda: ds.pictures(episode, TOP),
        lambda: ds.streams(episode, TOP),
    ):
        with pytest.raises(EpisodeNotFoundError, match=said):
            read()


@pytest.mark.parametrize("camera", ["top", "", "observation/images/top", "text", None, 3, ["x"]])
def test_a_camera_that_is_not_there_is_named_with_those_that_are(
    ds: vf.Dataset, camera: Any
) -> None:
    said = re.escape(f"there is no camera {camera!r}; there are {', '.join(ds.cameras)}")
    for read in (
        lambda: ds.read_frames(0, camera, [0]),
        lambda: ds.read_frames(0, camera, []),
        lambda: ds.read_batch([(0, camera, 0)]),
        lambda: ds.pictures(0, camera),
        lambda: ds.streams(0, camera),
    ):
        with pytest.raises(ColumnNotFoundError, match=said):
            read()
        with pytest.raises(KeyError):
            read()


@pytest.mark.parametrize("key", [TOP, "shape/2d3", "episode_uid", "", "observation"])
def test_a_column_that_is_not_there_is_named_with_those_that_are(ds: vf.Dataset, key: str) -> None:
    said = re.escape(f"there is no tabular feature {key!r}; there are scalar.bool, ")
    for read in (lambda: ds.rows(0, columns=["text", key]), lambda: ds.frames_table([key])):
        with pytest.raises(ColumnNotFoundError, match=said):
            read()
    with pytest.raises(InvalidArgumentError, match="columns is a list of feature keys"):
        ds.frames_table("text")


FEATURES = tabular_features()


def as_array(column: pa.ChunkedArray) -> Any:
    """A column as one array, [frames, …] of the feature's shape."""
    joined = column.combine_chunks()
    if isinstance(joined, pa.ChunkedArray):
        joined = pa.concat_arrays(joined.chunks)
    if isinstance(joined.type, pa.FixedShapeTensorType):
        if joined.type.value_type != pa.bool_():
            return joined.to_numpy_ndarray()
        # Arrow makes no tensors of booleans.
        return np.array(joined.storage.to_pylist()).reshape(-1, *joined.type.shape)
    return np.array(joined.to_pylist())


@pytest.mark.parametrize("key", FEATURES)
def test_values_come_back_with_their_dtype_and_shape(ds: vf.Dataset, key: str) -> None:
    feature = FEATURES[key]
    shape, dtype = feature["shape"], feature["dtype"]
    frames = [(e, at) for e in range(3) for at in range(LENGTHS[e])]
    column = ds.frames_table([key])[key]
    found = as_array(column)
    expected = np.array([value(feature, e, at) for e, at in frames])
    if shape == (1,):
        expected = expected.reshape(len(frames))
    if dtype == "string":
        expected = expected.reshape(len(frames), -1).squeeze()
    np.testing.assert_array_equal(found, expected)
    element = column.type
    if isinstance(element, pa.FixedShapeTensorType):
        assert tuple(element.shape) == shape
        assert len(shape) > 1
        element = element.value_type
    elif pa.types.is_list(element) or pa.types.is_fixed_size_list(element):
        element = element.value_type
    assert element == (pa.string() if dtype == "string" else pa.from_numpy_dtype(np.dtype(dtype)))
    for episode in range(3):
        own = ds.rows(episode, columns=[key])[key]
        begin = sum(LENGTHS[:episode])
        np.testing.assert_array_equal(as_array(own), found[begin : begin + LENGTHS[episode]])


@settings(max_examples=15)
@given(st.integers(0, 2), st.data())
def test_rows_of_any_frames_in_any_order(ds: vf.Dataset, episode: int, data: Any) -> None:
    length = LENGTHS[episode]
    indices = data.draw(st.lists(st.integers(-length, length - 1), max_size=8))
    keys = data.draw(
        st.lists(st.sampled_from(sorted(FEATURES)), unique=True, min_size=1, max_size=4)
    )
    table = ds.rows(episode, indices, keys)
    assert table.column_names == keys
    assert table.num_rows == len(indices)
    everything = ds.rows(episode, columns=keys).to_pylist()
    assert table.to_pylist() == [everything[at] for at in indices]


def test_all_columns_are_those_of_the_features_in_order(ds: vf.Dataset) -> None:
    table = ds.frames_table()
    assert table.column_names == [*FEATURES, "timestamp", "task"]
    assert table.num_rows == 13
    assert table["timestamp"].to_pylist()[:2] == [0.0, float(np.float32(0.1))]
    assert ds.rows(1).to_pylist() == table.slice(7, 1).to_pylist()
    assert ds.rows(0, columns=[]).num_columns == 0


def test_pictures_and_streams_of_an_episode(ds: vf.Dataset) -> None:
    table = ds.pictures(0, WRIST)
    assert table.column_names[:3] == ["chunk_index", "frame_index", "pts"]
    assert sorted(table["frame_index"].to_pylist()) == list(range(7))
    assert table["chunk_index"].to_pylist() == [0, 0, 0, 1, 1, 1, 2]
    assert table["pts"].to_pylist() == table["frame_index"].to_pylist()
    streams = ds.streams(0, WRIST)
    assert len(streams) == 3
    for chunk, stream in enumerate(streams):
        assert (stream["height"], stream["width"]) == SIZES[WRIST]
        assert (stream["decoded_height"], stream["decoded_width"]) == (34, 46)
        assert (stream["structure"], stream["interval"]) == ("ddra", 3)
        sizes = [row["size"] for row in table.to_pylist() if row["chunk_index"] == chunk]
        assert stream["media_size"] == sum(sizes)


@settings(max_examples=25)
@given(REQUESTS)
def test_a_plan_is_what_a_read_then_costs(ds: vf.Dataset, requests: Any) -> None:
    plan = ds.plan(requests)
    distinct = {(e % 3, c, at) for e, c, at in requests}
    assert plan.frame_count == len(distinct)
    assert plan.picture_count <= 3 * len(distinct)
    ds.read_batch(requests)
    report = ds.last_read
    assert report is not None
    assert report.frames == plan.frame_count
    assert report.pictures == plan.picture_count
    assert report.media_bytes == plan.byte_count
    assert report.ranges == plan.range_count
    index = {
        (e, c, row["chunk_index"], row["frame_index"]): row["size"]
        for e, c, _ in distinct
        for row in ds.pictures(e, c).to_pylist()
    }
    planned = sum(
        index[chunk.episode, chunk.camera, chunk.index.key.chunk_index, chunk.index.frame_index[at]]
        for chunk in plan.chunks
        for group in chunk.plan.groups
        for at in group
    )
    assert planned == plan.byte_count


def test_a_dataset_is_read_from_several_threads(uri: Path) -> None:
    shared = vf.open(uri)
    requests = [(e, c, at) for e in range(3) for c in CAMERAS for at in range(LENGTHS[e])] * 3
    with ThreadPoolExecutor(4) as pool:
        frames = list(pool.map(lambda r: shared.read_frames(r[0], r[1], [r[2]])[0], requests))
    assert numbers_of(frames) == [number(*request) for request in requests]


@pytest.mark.parametrize("options", [{"decode_threads": 3}, {"index_cache_bytes": 0},
                                     {"direct_reads": False}], ids=str)  # fmt: skip
def test_frames_are_the_same_however_they_are_read(
    uri: Path, ds: vf.Dataset, options: dict[str, Any]
) -> None:
    other = vf.open(uri, options=vf.ReadOptions(**options))
    requests = [(e, c, at) for e in range(3) for c in CAMERAS for at in range(LENGTHS[e])]
    for one, two in zip(ds.read_batch(requests), other.read_batch(requests), strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_dataset_goes_to_another_process(ds: vf.Dataset) -> None:
    """As its address and version, with nothing of what was read."""
    ds.read_frames(0, TOP, range(7))
    pickled = pickle.dumps(ds)
    assert len(pickled) < 1000
    script = (
        "import pickle, sys; from numbered_frames import numbers_of; "
        "ds = pickle.load(sys.stdin.buffer); "
        f"print(ds.version, ds.num_frames, numbers_of(ds.read_frames(0, {TOP!r}, [6, 0])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=pickled,
        capture_output=True,
        check=True,
        cwd=Path(__file__).parent,
    )
    expected = f"4 13 {[number(0, TOP, 6), number(0, TOP, 0)]}\n"
    assert done.stdout.decode() == expected


def test_a_pickled_version_stays_that_version(tmp_path: Path) -> None:
    write(tmp_path / "d", lengths=(2,))
    before = vf.open(tmp_path / "d")
    pickled = pickle.dumps(before)
    with vf.create(tmp_path / "d", mode="append") as writer:
        writer.add_frame(
            {**{key: np.zeros((*size, 3), np.uint8) for key, size in SIZES.items()},
             **{key: value(item, 0, 0) for key, item in FEATURES.items()}}
        )  # fmt: skip
        writer.save_episode()
    copy = pickle.loads(pickled)
    assert (copy.version, copy.num_episodes) == (before.version, 1)
    assert vf.open(tmp_path / "d").num_episodes == 2


def test_versions_by_number_and_by_tag(tmp_path: Path) -> None:
    uri = tmp_path / "d"
    write(uri, tabular=False, lengths=(2, 3))
    assert [vf.open(uri, version=n).num_episodes for n in (1, 2, 3)] == [0, 1, 2]
    vf.tag(uri, "first", 2)
    tagged = vf.open(uri, version="first")
    assert (tagged.version, tagged.num_frames) == (2, 2)
    assert numbers_of(tagged.read_frames(0, TOP, [1])) == [number(0, TOP, 1)]
    for absent in (0, 4, -1, "second", 2**70):
        with pytest.raises(DatasetNotFoundError, match=re.escape(f"has no version {absent!r}")):
            vf.open(uri, version=absent)
    for wrong in (1.5, True, b"first", [2]):
        with pytest.raises(InvalidArgumentError, match="version is"):
            vf.open(uri, version=wrong)  # type: ignore[arg-type]


def test_what_is_no_dataset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetNotFoundError, match=f"there is no dataset at {tmp_path / 'absent'}"):
        vf.open(tmp_path / "absent")
    with pytest.raises(FileNotFoundError):
        vf.open(str(tmp_path))


def test_a_dataset_without_episodes(tmp_path: Path) -> None:
    write(tmp_path / "d", lengths=())
    ds = vf.open(tmp_path / "d")
    assert (ds.num_episodes, ds.num_frames, ds.tasks) == (0, 0, [])
    assert ds.episodes.num_rows == 0
    full = vf.open(tmp_path / "d").episodes.schema
    assert full.field("tasks").type == pa.list_(pa.string())
    table = ds.frames_table()
    assert table.num_rows == 0
    assert table.column_names == [*FEATURES, "timestamp", "task"]
    assert ds.read_batch([]) == []
    for episode in (0, -1):
        with pytest.raises(EpisodeNotFoundError, match="the dataset has none"):
            ds.read_frames(episode, TOP, [])


def test_a_dataset_without_cameras(tmp_path: Path) -> None:
    with vf.create(
        tmp_path / "d", fps=5, features={"n": {"dtype": "int8"}},
        chunk_bounds=vf.ChunkBounds(frames=2),
    ) as writer:  # fmt: skip
        for at in range(5):
            writer.add_frame({"n": at})
        writer.save_episode()
    ds = vf.open(tmp_path / "d")
    assert (ds.cameras, ds.num_frames) == ([], 5)
    assert ds.frames_table(["n"])["n"].to_pylist() == list(range(5))
    assert ds.rows(0, [4, -5], ["n"])["n"].to_pylist() == [4, 0]
    assert ds.episodes["chunk_count"].to_pylist() == [3]
    with pytest.raises(ColumnNotFoundError, match="there is no camera 'x'; there are none"):
        ds.read_frames(0, "x", [0])


def test_a_dataset_of_pictures_alone(tmp_path: Path) -> None:
    write(tmp_path / "d", tabular=False, lengths=(4,))
    ds = vf.open(tmp_path / "d")
    assert ds.frames_table().column_names == ["timestamp", "task"]
    assert numbers_of(ds.read_frames(0, TOP, range(4))) == [number(0, TOP, at) for at in range(4)]


def test_it_counts_as_an_iterable_of_nothing() -> None:
    """``len`` is defined; indexing is not, so that no loop runs over frames one by one unawares."""
    with pytest.raises(TypeError):
        operator.getitem(object.__new__(vf.Dataset), 0)  # type: ignore[call-overload]
