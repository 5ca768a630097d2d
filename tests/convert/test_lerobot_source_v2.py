"""LeRobot v2.0 and v2.1: JSON Lines and one file per episode."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from lerobot_builder import (
    CAMERA,
    build_v2,
    default_columns,
    edit_info,
    edit_table,
    write_lines,
    write_parquet,
    write_video,
)

from videoformat.convert.lerobot_source import LeRobotSource
from videoformat.errors import CountMismatchError, DataError

OTHER = "observation.images.wrist"


def data_path(root: Path, episode: int) -> Path:
    return root / f"data/chunk-000/episode_{episode:06d}.parquet"


def video_path(root: Path, episode: int, camera: str = CAMERA) -> Path:
    return root / f"videos/chunk-000/{camera}/episode_{episode:06d}.mp4"


def edit_episodes(root: Path, *lines: object) -> None:
    write_lines(root / "meta/episodes.jsonl", lines)


def test_episodes_may_stand_in_any_order(tmp_path: Path) -> None:
    build_v2(tmp_path, (1, 2, 3))
    path = tmp_path / "meta/episodes.jsonl"
    path.write_text("\n".join(reversed(path.read_text().splitlines())) + "\n\n")
    source = LeRobotSource(tmp_path)
    assert [(e.episode_index, e.length) for e in source.episodes] == [(0, 1), (1, 2), (2, 3)]
    assert [e.tasks for e in source.episodes] == [("task 0",), ("task 1",), ("task 0",)]


def test_missing_episodes_are_left_out_and_noted(tmp_path: Path) -> None:
    build_v2(tmp_path, (1, 2, 3))
    path = tmp_path / "meta/episodes.jsonl"
    lines = path.read_text().splitlines()
    path.write_text(f"{lines[0]}\n{lines[2]}\n")
    edit_info(tmp_path, total_episodes=2, total_frames=4)
    source = LeRobotSource(tmp_path)
    assert [e.episode_index for e in source.episodes] == source.episode_indices == [0, 2]
    assert source.table(source.episodes[1]).column("episode_index").to_pylist() == [2, 2, 2]
    assert source.episodes[1].stats == {"timestamp": {"count": [3]}}
    assert any("left out" in note for note in source.notes)


def test_unknown_keys_of_an_episode_are_kept(tmp_path: Path) -> None:
    build_v2(tmp_path, (1,))
    line = {"episode_index": 0, "length": 1, "tasks": [], "action_config": [{"skill": "pick"}]}
    edit_episodes(tmp_path, line | {"success": True})
    episode = LeRobotSource(tmp_path).episodes[0]
    assert episode.metadata == {"action_config": [{"skill": "pick"}], "success": True}
    assert episode.tasks == ()


def test_integers_that_pandas_wrote_as_floats_are_integers(tmp_path: Path) -> None:
    build_v2(tmp_path, (1,))
    edit_episodes(tmp_path, {"episode_index": 0.0, "length": 1.0, "tasks": []})
    assert LeRobotSource(tmp_path).episodes[0].length == 1


@pytest.mark.parametrize(("total", "value"), [("total_episodes", 3), ("total_frames", 4)])
def test_totals_that_disagree_are_named(tmp_path: Path, total: str, value: int) -> None:
    build_v2(tmp_path)
    edit_info(tmp_path, **{total: value})
    found = {"total_episodes": 2, "total_frames": 5}[total]
    with pytest.raises(CountMismatchError, match=rf"{total} is {value}, .* has {found}"):
        LeRobotSource(tmp_path)
    edit_info(tmp_path, **{total: None})
    assert len(LeRobotSource(tmp_path).episodes) == 2


def test_an_episode_that_is_there_twice_is_named(tmp_path: Path) -> None:
    build_v2(tmp_path)
    edit_episodes(tmp_path, *[{"episode_index": 1, "length": 2, "tasks": []}] * 2)
    with pytest.raises(DataError, match="episode 1 is there twice"):
        LeRobotSource(tmp_path)


def test_a_table_of_another_length_is_named_with_both_counts(tmp_path: Path) -> None:
    build_v2(tmp_path, (3, 60))
    table = pa.table(default_columns(1, 58, 3))
    write_parquet(data_path(tmp_path, 1), table)
    source = LeRobotSource(tmp_path)
    with pytest.raises(
        CountMismatchError, match=r"episode 1: .* 60 frames, .*01\.parquet holds 58"
    ):
        source.table(source.episodes[1])


def test_rows_of_another_episode_are_never_returned(tmp_path: Path) -> None:
    build_v2(tmp_path, (2, 2))
    data_path(tmp_path, 0).replace(tmp_path / "x")
    data_path(tmp_path, 1).replace(data_path(tmp_path, 0))
    (tmp_path / "x").replace(data_path(tmp_path, 1))
    with pytest.raises(DataError, match=r"episode 0: .* holds rows of the episodes \[1\]"):
        LeRobotSource(tmp_path)


def test_rows_without_an_episode_index_go_by_the_file(tmp_path: Path) -> None:
    build_v2(tmp_path)
    for episode in range(2):
        edit_table(data_path(tmp_path, episode), episode_index=None)
    source = LeRobotSource(tmp_path)
    assert source.table(source.episodes[1]).column("index").to_pylist() == [3, 4]
    assert "episode_index" not in source.features


def test_a_wrong_data_path_falls_back_to_the_standard_layout(tmp_path: Path) -> None:
    build_v2(tmp_path)
    edit_info(
        tmp_path,
        data_path="data/chunk-{episode_index:03d}/episode_{episode_index:06d}.parquet",
        video_path="videos/chunk-{episode_index:03d}/{video_key}/episode_{episode_index:06d}.mp4",
    )
    source = LeRobotSource(tmp_path)
    assert [source.table(e).num_rows for e in source.episodes] == [3, 2]
    assert [e.videos[CAMERA].path for e in source.episodes] == [
        video_path(tmp_path, 0),
        video_path(tmp_path, 1),
    ]
    assert len([note for note in source.notes if "the standard layout is used" in note]) == 2
    data_path(tmp_path, 1).unlink()
    with pytest.raises(DataError) as error:
        source.table(source.episodes[1])
    assert "data/chunk-001/episode_000001.parquet" in str(error.value)
    assert "data/chunk-000/episode_000001.parquet" in str(error.value)


def test_chunks_of_episodes(tmp_path: Path) -> None:
    build_v2(tmp_path, (1, 1, 1))
    edit_info(tmp_path, chunks_size=2)
    for old, new in (
        (data_path(tmp_path, 2), tmp_path / "data/chunk-001/episode_000002.parquet"),
        (
            video_path(tmp_path, 2),
            tmp_path / f"videos/chunk-001/{CAMERA}/episode_000002.mp4",
        ),
    ):
        new.parent.mkdir(parents=True)
        old.replace(new)
    source = LeRobotSource(tmp_path)
    assert source.table(source.episodes[2]).column("index").to_pylist() == [2]
    assert "chunk-001" in str(source.episodes[2].videos[CAMERA].path)
    assert source.notes == []


def test_templates_of_the_first_datasets(tmp_path: Path) -> None:
    build_v2(tmp_path, version="v2.0")
    edit_info(
        tmp_path,
        "chunks_size",
        data_path="data/train-{episode_index:05d}-of-{total_episodes:05d}.parquet",
        video_path="videos/{video_key}_episode_{episode_index:06d}.mp4",
    )
    for episode in range(2):
        new = tmp_path / f"data/train-0000{episode}-of-00002.parquet"
        data_path(tmp_path, episode).replace(new)
        write_video(tmp_path / f"videos/{CAMERA}_episode_00000{episode}.mp4")
    source = LeRobotSource(tmp_path)
    assert [source.table(e).num_rows for e in source.episodes] == [3, 2]
    assert "_episode_000001" in source.episodes[1].videos[CAMERA].path.name
    assert [note for note in source.notes if "chunks_size" in note]


def test_templates_that_are_missing_are_the_standard_ones(tmp_path: Path) -> None:
    build_v2(tmp_path)
    edit_info(tmp_path, "data_path", video_path=None)
    source = LeRobotSource(tmp_path)
    assert source.episodes[1].videos[CAMERA].path == video_path(tmp_path, 1)
    assert source.table(source.episodes[1]).num_rows == 2
    assert len(source.notes) == 2


def test_a_camera_without_any_file_is_dropped_and_noted(tmp_path: Path) -> None:
    build_v2(tmp_path, cameras=(CAMERA, OTHER))
    for episode in range(2):
        video_path(tmp_path, episode, OTHER).unlink()
    source = LeRobotSource(tmp_path)
    assert source.video_keys == [CAMERA]
    assert source.episodes[0].videos.keys() == {CAMERA}
    assert [note for note in source.notes if OTHER in note]


@pytest.mark.parametrize("missing", [0, 1])
def test_a_camera_without_some_files_is_an_error(tmp_path: Path, missing: int) -> None:
    build_v2(tmp_path, cameras=(CAMERA, OTHER))
    path = video_path(tmp_path, missing, OTHER)
    path.unlink()
    source = LeRobotSource(tmp_path)
    assert source.video_keys == [CAMERA, OTHER]
    assert len(source.episodes[1 - missing].videos) == 2
    with pytest.raises(
        DataError, match=f"episode {missing}, camera {OTHER}: there is no file"
    ) as e:
        source.episodes[missing]
    assert path.relative_to(tmp_path).as_posix() in str(e.value)


def test_statistics_are_found_in_any_order_and_may_be_missing(tmp_path: Path) -> None:
    build_v2(tmp_path, (1, 2, 3))
    lines = [{"episode_index": e, "stats": {"x": {"max": [e]}}} for e in (2, 0)]
    write_lines(tmp_path / "meta/episodes_stats.jsonl", lines)
    source = LeRobotSource(tmp_path)
    assert [e.stats for e in source.episodes] == [{"x": {"max": [0]}}, None, {"x": {"max": [2]}}]
    (tmp_path / "meta/episodes_stats.jsonl").unlink()
    source = LeRobotSource(tmp_path)
    assert source.episodes[0].stats is None
    assert [note for note in source.notes if "episodes_stats" in note]


def test_statistics_that_are_there_twice_are_named(tmp_path: Path) -> None:
    build_v2(tmp_path)
    write_lines(tmp_path / "meta/episodes_stats.jsonl", [{"episode_index": 0, "stats": {}}] * 2)
    source = LeRobotSource(tmp_path)
    with pytest.raises(DataError, match=r"episodes_stats\.jsonl: line .* episode 0 is there twice"):
        source.episodes[1]


def test_tasks_are_by_index_and_not_by_line(tmp_path: Path) -> None:
    build_v2(tmp_path)
    lines = [{"task_index": i, "task": f"t{i}"} for i in (3, 0, 1)]
    write_lines(tmp_path / "meta/tasks.jsonl", lines)
    source = LeRobotSource(tmp_path)
    assert source.tasks == ["t0", "t1", "", "t3"]
    assert len(source.notes) == 2


@pytest.mark.parametrize("index", [-1, 2**30, "1", None, 0.5])
def test_a_task_index_that_is_none_is_named(tmp_path: Path, index: object) -> None:
    build_v2(tmp_path)
    write_lines(tmp_path / "meta/tasks.jsonl", [{"task_index": index, "task": "t"}])
    with pytest.raises(DataError, match=r"meta/tasks\.jsonl: .*task_index is"):
        LeRobotSource(tmp_path)


@pytest.mark.parametrize("index", [-1, 2])
def test_a_row_with_an_unknown_task_is_named(tmp_path: Path, index: int) -> None:
    build_v2(tmp_path)
    edit_table(data_path(tmp_path, 1), task_index=[0, index])
    source = LeRobotSource(tmp_path)
    with pytest.raises(DataError, match=f"episode 1.*task_index is {index} in row 1, there are 2"):
        source.table(source.episodes[1])


def test_rows_out_of_order_are_named(tmp_path: Path) -> None:
    build_v2(tmp_path)
    edit_table(data_path(tmp_path, 0), frame_index=[0, 2, 1])
    source = LeRobotSource(tmp_path)
    with pytest.raises(DataError, match="frame_index is 1 in row 2 after 2"):
        source.table(source.episodes[0])


def test_a_frame_index_with_gaps_is_kept_and_noted(tmp_path: Path) -> None:
    build_v2(tmp_path)
    edit_table(data_path(tmp_path, 0), frame_index=[5, 6, 9])
    source = LeRobotSource(tmp_path)
    assert source.table(source.episodes[0]).column("frame_index").to_pylist() == [5, 6, 9]
    assert [note for note in source.notes if "from 5 to 9 over 3 rows" in note]


@pytest.mark.parametrize("name", ["meta/episodes.jsonl", "meta/tasks.jsonl"])
def test_a_missing_table_is_named(tmp_path: Path, name: str) -> None:
    build_v2(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(DataError, match=f"there is no file {name}"):
        LeRobotSource(tmp_path)


@pytest.mark.parametrize("cut", [0, 10, 400])
def test_a_damaged_data_file_is_named(tmp_path: Path, cut: int) -> None:
    build_v2(tmp_path)
    source = LeRobotSource(tmp_path)
    path = data_path(tmp_path, 1)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(DataError, match=r"data/chunk-000/episode_000001\.parquet: cannot be read"):
        source.table(source.episodes[1])


def test_a_hundred_thousand_episodes_open_without_their_files(tmp_path: Path) -> None:
    """Opening reads three integers an episode, and one data file."""
    build_v2(tmp_path, (3, 2))
    count = 100_000
    with (tmp_path / "meta/episodes.jsonl").open("w") as file:
        for episode in range(count):
            line = {
                "episode_index": episode,
                "tasks": ["task 0"],
                "length": 3 if episode < 1 else 2,
            }
            file.write(json.dumps(line) + "\n")
    edit_info(tmp_path, total_episodes=count, total_frames=2 * count + 1)
    source = LeRobotSource(tmp_path)
    assert len(source.episodes) == count
    assert source.episodes[1].episode_index == 1
    with pytest.raises(DataError, match=r"episode 99999, camera .* no file videos/chunk-099/"):
        source.episodes[-1]
