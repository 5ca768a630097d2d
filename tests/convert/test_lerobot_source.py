"""The six real and synthetic LeRobot datasets, and the face of the source."""

import json
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lerobot_builder import CAMERA, build_v2, build_v3, edit_info, write_json

from videoformat.convert.lerobot_source import LeRobotSource, VideoSlice
from videoformat.errors import (
    ColumnNotFoundError,
    DatasetNotFoundError,
    EpisodeNotFoundError,
    UnsupportedStreamError,
)

REAL = {
    "g1_v21": ("v2.1", 30, [393, 278, 221, 277, 267, 280, 260], 1),
    "g1_v30": ("v3.0", 30, [393, 278, 221, 277, 267, 280, 260], 1),
    "gr00t_v20": ("v2.0", 20, [416, 470, 470, 412, 328], 6),
    "syn_v30_h264": ("v3.0", 30, [23, 17, 31, 12, 40], 2),
    "syn_v30_h264_g30_bframes_drift": ("v3.0", 30, None, 2),
    "syn_v30_image": ("v3.0", 30, [23, 17, 31, 12, 40], 2),
}


@pytest.mark.shared_data
@pytest.mark.parametrize("name", REAL)
def test_every_row_of_the_shared_datasets_is_read_once_and_in_order(
    shared: Path, name: str
) -> None:
    root = shared / "data/lerobot" / name
    version, fps, lengths, tasks = REAL[name]
    source = LeRobotSource(root)
    assert (source.version, source.fps, len(source.tasks)) == (version, fps, tasks)
    episodes = list(source.episodes)
    if lengths is not None:
        assert [episode.length for episode in episodes] == lengths
    index = []
    for episode in episodes:
        table = source.table(episode)
        assert table.num_rows == episode.length
        assert set(table.column("episode_index").to_pylist()) == {episode.episode_index}
        assert table.column_names == source.tabular_keys
        assert {source.tasks[i] for i in set(table["task_index"].to_pylist())} <= set(episode.tasks)
        index += table.column("index").to_pylist()
        for key in ("observation.state", "action"):
            size = source.features[key]["shape"][0]
            value = {"float32": pa.float32(), "float64": pa.float64()}[
                source.features[key]["dtype"]
            ]
            assert table.schema.field(key).type == pa.list_(value, size)
    info = json.loads((root / "meta/info.json").read_text())
    assert index == list(range(info["total_frames"]))


@pytest.mark.shared_data
@pytest.mark.parametrize("name", REAL)
def test_values_are_those_of_the_files(shared: Path, name: str) -> None:
    root = shared / "data/lerobot" / name
    source = LeRobotSource(root)
    mine = pa.concat_tables([source.table(episode) for episode in source.episodes])
    files = [pq.read_table(path) for path in sorted(root.glob("data/*/*.parquet"))]
    theirs = pa.concat_tables(files)
    for key in source.tabular_keys:
        assert mine.column(key).to_pylist() == theirs.column(key).to_pylist()
    assert set(theirs.column_names) == {*source.tabular_keys, *source.image_keys}


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("golden", "name"),
    [
        ("g1_plain_pyav", "g1_v30"),
        ("g1_plain_pyav", "g1_v21"),
        ("syn_h264_pyav", "syn_v30_h264"),
        ("syn_h264_g30_bframes_drift_pyav", "syn_v30_h264_g30_bframes_drift"),
        ("syn_image_pyav", "syn_v30_image"),
    ],
)
def test_rows_are_the_items_of_lerobot(shared: Path, golden: str, name: str) -> None:
    source = LeRobotSource(shared / "data/lerobot" / name)
    mine = pa.concat_tables([source.table(episode) for episode in source.episodes])
    theirs = np.load(shared / f"data/golden/{golden}.npz")
    described = json.loads((shared / f"data/golden/{golden}.json").read_text())
    assert described["num_episodes"] == len(source.episodes)
    for index, item in described["items"].items():
        row = mine.slice(int(index), 1)
        assert source.tasks[row.column("task_index")[0].as_py()] == item["task"][1]
        for key in source.tabular_keys:
            np.testing.assert_array_equal(row.column(key).to_pylist()[0], theirs[f"{index}/{key}"])


@pytest.mark.shared_data
def test_both_versions_of_one_dataset_hold_the_same_rows(shared: Path) -> None:
    old = LeRobotSource(shared / "data/lerobot/g1_v21")
    new = LeRobotSource(shared / "data/lerobot/g1_v30")
    assert old.tasks == new.tasks
    assert old.tabular_keys == new.tabular_keys
    assert not old.notes
    assert not new.notes
    for one, other in zip(old.episodes, new.episodes, strict=True):
        assert old.table(one).equals(new.table(other))
        assert one.tasks == other.tasks
        assert one.stats is not None
        assert other.stats is not None
        assert one.stats.keys() == other.stats.keys()
        mean = "mean"
        for key in ("action", "observation.images.cam_high"):
            np.testing.assert_allclose(one.stats[key][mean], other.stats[key][mean], rtol=1e-6)
    slices = [episode.videos["observation.images.cam_high"] for episode in new.episodes]
    assert [(s.path.name, s.first_frame, s.frame_count, s.file_frame_count) for s in slices] == [
        ("file-000.mp4", 0, 393, 393),
        ("file-001.mp4", 0, 278, 499),
        ("file-001.mp4", 278, 221, 499),
        ("file-002.mp4", 0, 277, 544),
        ("file-002.mp4", 277, 267, 544),
        ("file-003.mp4", 0, 280, 540),
        ("file-003.mp4", 280, 260, 540),
    ]


@pytest.mark.shared_data
def test_the_quirks_of_gr00t_are_noted(shared: Path) -> None:
    root = shared / "data/lerobot/gr00t_v20"
    source = LeRobotSource(root)
    assert source.video_keys == ["observation.images.ego_view"]
    assert "video_info" in source.features["observation.images.ego_view"]
    assert "observation.images.egoview" not in source.features
    assert isinstance(source.fps, float)
    assert source.info_extra["splits"] == {"train": "0:100"}
    tables = [source.table(episode) for episode in source.episodes]
    assert tables[0].column("timestamp")[0].as_py() == pytest.approx(0.05)
    assert tables[0].schema.field("next.done").type == pa.bool_()
    assert "frame_index" not in tables[0].column_names
    paths = [episode.videos["observation.images.ego_view"].path for episode in source.episodes]
    assert paths == sorted(root.glob("videos/*/*/*.mp4"))
    notes = "\n".join(source.notes)
    for word in ("egoview", "frame_index", "0.05 s (1/fps)", "data_path", "video_path"):
        assert word in notes
    assert len(source.notes) == 5


@pytest.mark.shared_data
def test_summed_timestamps_that_drift_do_not_move_the_slices(shared: Path) -> None:
    source = LeRobotSource(shared / "data/lerobot/syn_v30_h264_g30_bframes_drift")
    for key in source.video_keys:
        first = 0
        for episode in source.episodes:
            found = episode.videos[key]
            assert (found.first_frame, found.frame_count) == (first, episode.length)
            assert found.file_frame_count == 351
            first += episode.length
        assert first == 351


@pytest.mark.shared_data
def test_images_come_as_the_png_files_that_are_stored(shared: Path) -> None:
    root = shared / "data/lerobot/syn_v30_image"
    source = LeRobotSource(root)
    assert source.video_keys == []
    stored = pq.read_table(root / "data/chunk-000/file-000.parquet")
    for key in ("observation.images.front", "observation.images.wrist"):
        images = [image for e in source.episodes for image in source.images(e, key)]
        assert images == [value["bytes"] for value in stored.column(key).to_pylist()]


@pytest.mark.parametrize("build", [build_v2, build_v3])
def test_the_face_of_a_small_dataset(tmp_path: Path, build: object) -> None:
    root = build(tmp_path)  # type: ignore[operator]
    source = LeRobotSource(str(root))
    assert source.fps == 10
    assert source.robot_type == "so101"
    assert source.tasks == ["task 0", "task 1"]
    assert source.video_keys == [CAMERA]
    assert source.tabular_keys == [
        "timestamp",
        "frame_index",
        "episode_index",
        "index",
        "task_index",
    ]
    assert source.info_extra.keys() == {"total_tasks", "splits"}
    assert source.stats is None
    assert source.notes == []
    assert source.episodes[1].stats == {"timestamp": {"count": [2]}}
    assert source.episodes[1].metadata == {}
    assert source.episodes[-1] == source.episodes[len(source.episodes) - 1]
    assert source.episodes[:2] == [source.episodes[0], source.episodes[1]]
    assert source.episodes[np.int64(1)].episode_index == 1


def test_a_source_pickles_as_its_folder(tmp_path: Path) -> None:
    source = LeRobotSource(build_v3(tmp_path))
    source.table(source.episodes[0])
    again = pickle.loads(pickle.dumps(source))
    assert again.root == source.root
    assert again.table(source.episodes[2]).equals(source.table(source.episodes[2]))


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    source = LeRobotSource(build_v2(tmp_path))
    with pytest.raises(EpisodeNotFoundError, match="episode 2, the dataset has 2"):
        source.episodes[2]
    with pytest.raises(EpisodeNotFoundError):
        source.episodes[-3]
    (tmp_path / "other").mkdir()
    other = LeRobotSource(build_v2(tmp_path / "other", (1, 1, 1)))
    with pytest.raises(EpisodeNotFoundError, match="episode 2"):
        source.table(other.episodes[2])
    with pytest.raises(ColumnNotFoundError, match="nothing"):
        source.images(source.episodes[0], "nothing")


def test_global_statistics_are_kept_as_they_came(tmp_path: Path) -> None:
    build_v2(tmp_path, version="v2.0")
    write_json(tmp_path / "meta/stats.json", {"action": {"mean": [0.5]}})
    source = LeRobotSource(tmp_path)
    assert source.stats == {"action": {"mean": [0.5]}}
    assert source.episodes[0].stats is None


def test_unknown_keys_of_info_are_kept(tmp_path: Path) -> None:
    build_v3(tmp_path)
    edit_info(tmp_path, tools=[{"name": "say"}], data_files_size_in_mb=100)
    extra = LeRobotSource(tmp_path).info_extra
    assert extra["tools"] == [{"name": "say"}]
    assert extra["data_files_size_in_mb"] == 100


@pytest.mark.parametrize("version", ["v1.6", "v1.4", "v4.0", "v2.2", "3.1", ""])
def test_other_versions_are_refused_by_name(tmp_path: Path, version: str) -> None:
    build_v2(tmp_path)
    edit_info(tmp_path, codebase_version=version)
    with pytest.raises(UnsupportedStreamError) as error:
        LeRobotSource(tmp_path)
    assert error.value.kind == f"LeRobot {version}"


def test_the_layout_of_version_1_is_refused_by_name(tmp_path: Path) -> None:
    write_json(tmp_path / "meta_data/info.json", {"codebase_version": "v1.6", "fps": 30})
    with pytest.raises(UnsupportedStreamError, match=r"LeRobot v1\.6"):
        LeRobotSource(tmp_path)


def test_another_storage_format_is_refused_by_name(tmp_path: Path) -> None:
    build_v3(tmp_path)
    edit_info(tmp_path, storage_format="lance")
    with pytest.raises(UnsupportedStreamError, match="LeRobot storage format 'lance'"):
        LeRobotSource(tmp_path)


def test_a_folder_without_a_dataset_is_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing", __file__, "a\0b"):
        with pytest.raises(DatasetNotFoundError, match="no LeRobot dataset at"):
            LeRobotSource(path)


def test_a_dataset_without_episodes_opens(tmp_path: Path) -> None:
    source = LeRobotSource(build_v2(tmp_path, ()))
    assert len(source.episodes) == 0
    assert source.video_keys == [CAMERA]


def test_a_slice_is_a_value(tmp_path: Path) -> None:
    found = LeRobotSource(build_v2(tmp_path)).episodes[0].videos[CAMERA]
    path = tmp_path / f"videos/chunk-000/{CAMERA}/episode_000000.mp4"
    assert found == VideoSlice(path, 0, 3, 3)
