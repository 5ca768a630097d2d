"""Selections and windows that the golden files do not cover, against semantics written out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_dataset
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from reference_items import Recording, reference_item, selected  # noqa: E402 - needs torch

import videoformat as vf  # noqa: E402
from videoformat.lerobot import LeRobotDataset  # noqa: E402

LENGTHS = (9, 4, 6)
FPS = small_dataset.FPS
COLUMNS = ["action", "timestamp", "frame_index", "episode_index", "index", "task_index"]
CAMERAS = list(small_dataset.CAMERAS)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> vf.Dataset:
    uri = tmp_path_factory.mktemp("items") / "small.vf"
    small_dataset.write_dataset(uri, lengths=LENGTHS)
    return vf.open(uri)


@pytest.fixture(scope="module")
def recording(source: vf.Dataset) -> Recording:
    rows = []
    index = 0
    for episode, length in enumerate(LENGTHS):
        own = []
        for frame in range(length):
            own.append(
                {
                    "action": [float(episode), float(frame)],
                    "timestamp": frame / FPS,
                    "frame_index": frame,
                    "episode_index": episode,
                    "index": index,
                    "task_index": episode,
                }
            )
            index += 1
        rows.append(own)
    frames = {
        (episode, camera): source.read_frames(episode, camera, range(length))
        for episode, length in enumerate(LENGTHS)
        for camera in CAMERAS
    }
    tasks = [f"task {episode}" for episode in range(len(LENGTHS))]
    return Recording(
        FPS, CAMERAS, COLUMNS, rows, tasks, lambda episode, camera, at: frames[episode, camera][at]
    )


def assert_equal(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert list(ours) == list(theirs)
    for key, value in theirs.items():
        if isinstance(value, str):
            assert ours[key] == value
            continue
        assert (ours[key].dtype, ours[key].shape) == (value.dtype, value.shape), key
        assert torch.equal(ours[key], value), key


deltas = st.lists(st.integers(-12, 12).map(lambda at: at / FPS), min_size=1, max_size=4)
windows = st.none() | st.dictionaries(st.sampled_from([*CAMERAS, *COLUMNS]), deltas, max_size=4)
choices = st.none() | st.lists(st.integers(0, 2), min_size=1, max_size=4)


@settings(max_examples=40)
@given(windows, choices, st.data())
def test_items_follow_the_semantics(
    source: vf.Dataset,
    recording: Recording,
    delta_timestamps: dict[str, list[float]] | None,
    episodes: list[int] | None,
    data: st.DataObject,
) -> None:
    dataset = LeRobotDataset(
        "me/small", root=source, episodes=episodes, delta_timestamps=delta_timestamps
    )
    positions = selected(recording, episodes)
    assert len(dataset) == len(positions)
    indices = data.draw(st.lists(st.integers(0, len(positions) - 1), min_size=1, max_size=3))
    for at, item in zip(indices, dataset.__getitems__(indices), strict=True):
        assert_equal(item, reference_item(recording, at, episodes, delta_timestamps))


def test_episodes_come_in_ascending_order_and_keep_their_index(source: vf.Dataset) -> None:
    dataset = LeRobotDataset("me/small", root=source, episodes=[2, 1])
    assert [int(item["episode_index"]) for item in dataset[:]] == [1] * 4 + [2] * 6
    assert [int(item["index"]) for item in dataset[:]] == list(range(9, 19))
    assert (dataset.num_episodes, dataset.num_frames) == (2, 10)
    assert dataset.episodes == [2, 1]  # as they were given, which is what LeRobot keeps
    assert dataset.absolute_to_relative_idx == {9 + at: at for at in range(10)}
    assert LeRobotDataset("me/small", root=source).absolute_to_relative_idx is None


def test_an_episode_that_is_not_there_is_a_warning(source: vf.Dataset) -> None:
    with pytest.warns(UserWarning, match=r"there are no episodes \[3\]; valid are 0 to 2"):
        dataset = LeRobotDataset("me/small", root=source, episodes=[3, 1])
    assert len(dataset) == LENGTHS[1]


def test_an_episode_filter_sees_the_metadata(source: vf.Dataset) -> None:
    def long(episode: dict[str, Any]) -> bool:
        return bool(episode["length"] > 5 and episode["tasks"] != ["task 0"])

    dataset = LeRobotDataset("me/small", root=source, episode_filter=long)
    assert dataset.episodes == [2]
    assert dataset.num_frames == LENGTHS[2]
    with pytest.raises(ValueError, match="episode_filter is true of none"):
        LeRobotDataset("me/small", root=source, episodes=[0, 1], episode_filter=long)


@pytest.mark.parametrize(
    ("delta", "tolerance", "is_right"),
    [(0.1, 1e-4, True), (0.10005, 1e-4, True), (0.1002, 1e-4, False), (0.1002, 1e-3, True)],
)
def test_deltas_are_on_the_grid(
    source: vf.Dataset, delta: float, tolerance: float, *, is_right: bool
) -> None:
    def make() -> LeRobotDataset:
        return LeRobotDataset(
            "me/small", root=source, delta_timestamps={"action": [delta]}, tolerance_s=tolerance
        )

    if is_right:
        assert make().delta_indices == {"action": (3,)}
        assert LeRobotDataset("me/small", root=source).delta_indices is None
    else:
        with pytest.raises(ValueError, match=r"these are not: {'action': \[0.1002\]}"):
            make()


def test_transforms_get_the_stacked_images_and_nothing_else(source: vf.Dataset) -> None:
    seen = []

    def half(images: Any) -> Any:
        seen.append(tuple(images.shape))
        return images[..., ::2, ::2]

    top, wrist = CAMERAS
    dataset = LeRobotDataset(
        "me/small", root=source, image_transforms=half, delta_timestamps={wrist: [-1 / FPS, 0.0]}
    )
    item = dataset[3]
    height, width = small_dataset.HEIGHT, small_dataset.WIDTH
    assert seen == [(3, height, width), (2, 3, height, width)]
    assert item[wrist].shape == (2, 3, height // 2, width // 2)
    assert item["action"].tolist() == [0, 3]
    dataset.clear_image_transforms()
    assert dataset[3][top].shape == (3, height, width)
    with pytest.raises(ValueError, match="expected a callable"):
        dataset.set_image_transforms("flip")  # type: ignore[arg-type]


def test_bytes_on_request(source: vf.Dataset) -> None:
    as_bytes = LeRobotDataset("me/small", root=source, return_uint8=True)[5][CAMERAS[0]]
    as_float = LeRobotDataset("me/small", root=source)[5][CAMERAS[0]]
    assert as_bytes.dtype == torch.uint8
    assert torch.equal(as_bytes.float() / 255, as_float)


def test_columns_by_row_and_by_key(source: vf.Dataset) -> None:
    dataset = LeRobotDataset("me/small", root=source, episodes=[1])
    table = dataset.hf_dataset
    assert table.column_names == COLUMNS
    assert len(table) == table.num_rows == 4
    assert [value.tolist() for value in table["action"]] == [[1, frame] for frame in range(4)]
    assert table[2]["index"].item() == 11
    assert [value.item() for value in table[1:3]["frame_index"]] == [1, 2]
    assert table.unique("task_index") == [1]
    assert dataset.select_columns("action").column_names == ["action"]
    assert list(dataset.get_raw_item(0)) == COLUMNS
    with pytest.raises(KeyError, match="there is no column 'speed'"):
        _ = table["speed"]


def test_rows_in_any_order_and_number(source: vf.Dataset) -> None:
    dataset = LeRobotDataset("me/small", root=source, episodes=[2, 0])
    table = dataset.hf_dataset.select([14, 0, -1]).select_columns(["index", "action"])
    assert [value.item() for value in table["index"]] == [18, 0, 18]
    assert table[-1]["action"].tolist() == [2, 5]
    assert [value.item() for value in table[np.array([1, 0])]["index"]] == [0, 18]
    assert table[torch.tensor(2)]["index"].item() == 18
    assert list(table.features) == ["index", "action"]
    assert table.features["action"]["shape"] == (2,)
    for row in (3, -4):
        with pytest.raises(IndexError, match=f"there is no row {row}; valid are -3 to 2"):
            _ = table[row]


def test_an_index_counts_from_either_end(source: vf.Dataset) -> None:
    dataset = LeRobotDataset("me/small", root=source, episodes=[1])
    assert int(dataset[-1]["index"]) == int(dataset[3]["index"]) == 12
    assert [int(item["frame_index"]) for item in dataset[-2:]] == [2, 3]
    assert [int(item["frame_index"]) for item in dataset[::-2]] == [3, 1]
    for index in (4, -5):
        with pytest.raises(IndexError, match=f"there is no item {index}"):
            _ = dataset[index]


def test_images_are_floats_and_columns_where_video_is_neither(tmp_path: Path) -> None:
    """LeRobot's ``return_uint8`` is about video, and its rows hold what was recorded as images."""
    still, moving = "observation.images.still", "observation.images.moving"
    features = {
        still: {"dtype": "image", "shape": (32, 48, 3)},
        moving: {"dtype": "video", "shape": (32, 48, 3)},
    }
    with vf.create(tmp_path / "mixed.vf", fps=10, features=features) as writer:
        for at in range(4):
            rgb = np.full((32, 48, 3), 40 * at, np.uint8)
            writer.add_frame({still: rgb, moving: rgb, "task": "wait"})
        writer.save_episode()
    dataset = LeRobotDataset("me/mixed", root=tmp_path / "mixed.vf", return_uint8=True)
    item = dataset[2]
    # Video first, then the columns.
    assert list(item)[:2] == [moving, still]
    assert (item[moving].dtype, item[still].dtype) == (torch.uint8, torch.float32)
    assert torch.equal(item[moving].float() / 255, item[still])
    row = dataset.get_raw_item(2)
    assert moving not in row
    assert torch.equal(row[still], item[still])
    assert (dataset.meta.image_keys, dataset.meta.video_keys) == ([still], [moving])


def test_float64_and_small_integers_come_as_lerobot_has_them(tmp_path: Path) -> None:
    features = {
        "cam": {"dtype": "video", "shape": (32, 48, 3)},
        "force": {"dtype": "float64", "shape": (2,)},
        "mode": {"dtype": "uint8", "shape": (1,)},
        "grid": {"dtype": "int16", "shape": (2, 3)},
        "done": {"dtype": "bool", "shape": (1,)},
        "note": {"dtype": "string", "shape": (1,)},
    }
    with vf.create(tmp_path / "types.vf", fps=10, features=features) as writer:
        for at in range(3):
            writer.add_frame(
                {
                    "cam": np.full((32, 48, 3), 90, np.uint8),
                    "force": np.array([0.1, at], np.float64),
                    "mode": np.array([at], np.uint8),
                    "grid": np.arange(6, dtype=np.int16).reshape(2, 3),
                    "done": np.array([at == 2]),
                    "note": f"note {at}",
                    "task": "rest",
                }
            )
        writer.save_episode()
    item = LeRobotDataset("me/types", root=tmp_path / "types.vf")[2]
    types = {key: str(value.dtype) for key, value in item.items() if not isinstance(value, str)}
    assert types["force"] == "torch.float32"
    assert types["mode"] == types["grid"] == "torch.int64"
    assert types["done"] == "torch.bool"
    assert item["mode"].shape == item["done"].shape == ()
    assert item["grid"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (item["note"], item["task"], bool(item["done"])) == ("note 2", "rest", True)


def test_metadata_under_lerobots_names(source: vf.Dataset) -> None:
    meta = LeRobotDataset("me/small", root=source).meta
    assert (meta.total_episodes, meta.total_frames, meta.total_tasks) == (3, 19, 3)
    assert (meta.fps, meta.robot_type, meta.repo_id) == (FPS, "arm", "me/small")
    assert meta.camera_keys == meta.video_keys == CAMERAS
    assert (meta.image_keys, meta.depth_keys, meta.has_language_columns) == ([], [], False)
    assert meta.shapes["action"] == (2,)
    assert meta.names["action"] == ["x", "y"]
    assert list(meta.features) == [*CAMERAS, *COLUMNS]
    assert meta.info["fps"] == meta.info.fps == FPS
    assert meta.info.get("tools") is None
    assert meta.stats is None
    assert meta.episodes["dataset_from_index"] == [0, 9, 13]
    assert meta.episodes["dataset_to_index"] == [9, 13, 19]
    assert meta.episodes[1] == {
        "episode_index": 1,
        "tasks": ["task 1"],
        "length": 4,
        "dataset_from_index": 9,
        "dataset_to_index": 13,
    }
    assert len(list(meta.episodes)) == 3
    assert meta.tasks.iloc[2].name == "task 2"
    assert meta.tasks.loc["task 1"].task_index == meta.get_task_index("task 1") == 1
    assert meta.get_task_index("fly") is None
    assert meta.tasks["task_index"] == [0, 1, 2]
    assert meta.filter_episodes(lambda episode: episode["length"] < 7) == [1, 2]
    assert meta.filter_episodes(lambda episode: episode["length"] < 7, [2, 0]) == [2]
    assert repr(meta).startswith("LeRobotDatasetMetadata('me/small', root=")
    with pytest.raises(IndexError, match="there is no episode 3"):
        _ = meta.episodes[3]


def test_a_delta_of_what_is_not_there_is_a_key_error(source: vf.Dataset) -> None:
    with pytest.raises(KeyError, match="there is no feature 'speed'"):
        LeRobotDataset("me/small", root=source, delta_timestamps={"speed": [0.0]})
