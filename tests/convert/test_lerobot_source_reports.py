"""Failures that users of LeRobot reported, as far as reading a source can meet them.

The number is that of the issue or pull request in huggingface/lerobot, where there is one.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lerobot_builder import (
    CAMERA,
    EPISODES_V3,
    FPS,
    build_v2,
    build_v3,
    default_columns,
    edit_info,
    edit_table,
    feature,
    write_parquet,
)

from videoformat.convert.lerobot_source import LeRobotSource
from videoformat.errors import CountMismatchError, DataError

DATA = "data/chunk-000/file-00{}.parquet"


def indices(source: LeRobotSource) -> list[list[int]]:
    return [source.table(episode).column("index").to_pylist() for episode in source.episodes]


def firsts(source: LeRobotSource) -> list[int]:
    return [episode.videos[CAMERA].first_frame for episode in source.episodes]


def test_3177_sums_of_float_durations_drift(tmp_path: Path) -> None:
    """Durations that are short by up to ten ticks add up over a file of many episodes."""
    lengths = [10] * 200
    build_v3(tmp_path, lengths, data_files=[0] * 200, video_files=[0] * 200)
    short = np.arange(200) * (10 / FPS - 10 / 15360)
    edit_table(tmp_path / EPISODES_V3, **{f"videos/{CAMERA}/from_timestamp": short})
    source = LeRobotSource(tmp_path)
    assert firsts(source) == list(range(0, 2000, 10))
    # 199 episodes of 10/15360 s: 1.3 frames at 10 frames a second.
    assert [note for note in source.notes if "at most 1.3 frames" in note]


def test_rates_that_differ_between_table_and_video(tmp_path: Path) -> None:
    """FastWAM issue 17: rows at 29 a second beside a video of 30; counting is right for both."""
    build_v2(tmp_path, cameras=())
    camera = feature("video", 4, 6, 3, info={"video.fps": 30})
    edit_info(tmp_path, fps=29, features={"a": camera, "timestamp": feature("float32", 1)})
    for episode in range(2):
        path = tmp_path / f"videos/chunk-000/a/episode_00000{episode}.mp4"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    source = LeRobotSource(tmp_path)
    assert [note for note in source.notes if "fps is 29, video.fps of a is 30" in note]
    assert [note for note in source.notes if "timestamps advance by 0.1 s" in note]
    assert source.episodes[0].videos["a"].frame_count == 3


def test_3513_a_clock_of_hardware_is_kept_as_it_is(tmp_path: Path) -> None:
    build_v2(tmp_path, (400,))
    steps = 1 / FPS + np.random.default_rng(0).normal(0, 0.003, 400)
    clock = np.cumsum(steps).astype(np.float32)
    edit_table(tmp_path / "data/chunk-000/episode_000000.parquet", timestamp=clock)
    source = LeRobotSource(tmp_path)
    episode = source.episodes[0]
    got = source.table(episode).column("timestamp").to_numpy()
    assert round(float(got[-1]) * FPS) == 400
    np.testing.assert_array_equal(got, clock)
    assert episode.videos[CAMERA].frame_count == 400


def test_timestamps_of_gr00t_start_one_frame_late(tmp_path: Path) -> None:
    build_v2(tmp_path)
    late = [(frame + 1) / FPS for frame in range(3)]
    edit_table(
        tmp_path / "data/chunk-000/episode_000000.parquet", timestamp=np.array(late, np.float32)
    )
    source = LeRobotSource(tmp_path)
    assert source.episodes[0].videos[CAMERA].first_frame == 0
    assert [note for note in source.notes if "timestamps start at 0.1 s (1/fps)" in note]


def test_2438_offsets_of_merged_videos_are_not_reset(tmp_path: Path) -> None:
    """The first episode of a second file is said to start where the file before it ended."""
    build_v3(tmp_path, (3, 2, 4), video_files=(0, 1, 1))
    edit_table(tmp_path / EPISODES_V3, **{f"videos/{CAMERA}/from_timestamp": [0.0, 0.3, 0.5]})
    source = LeRobotSource(tmp_path)
    assert firsts(source) == [0, 0, 2]
    assert [e.videos[CAMERA].file_frame_count for e in source.episodes] == [3, 6, 6]
    assert [note for note in source.notes if "2 episodes is half a frame or more" in note]


def test_2550_merged_episodes_all_point_at_the_last_video(tmp_path: Path) -> None:
    """Two files of a source became one in the tables: their timestamps start over."""
    build_v3(tmp_path, (3, 2, 4), video_files=(0, 1, 1))
    edit_table(tmp_path / EPISODES_V3, **{f"videos/{CAMERA}/file_index": [1, 1, 1]})
    with pytest.raises(DataError, match=r"episode 1 is 0\.0 after 0\.0 of episode 0 in .*file-001"):
        LeRobotSource(tmp_path)


def test_2550_with_timestamps_that_happen_to_ascend(tmp_path: Path) -> None:
    """Then the count of the file's frames says that something is wrong: 9 where there are 6."""
    build_v3(tmp_path, (3, 2, 4), video_files=(0, 1, 1))
    edit_table(
        tmp_path / EPISODES_V3,
        **{
            f"videos/{CAMERA}/file_index": [1, 1, 1],
            f"videos/{CAMERA}/from_timestamp": [0.0, 0.1, 0.2],
        },
    )
    source = LeRobotSource(tmp_path)
    assert {e.videos[CAMERA].file_frame_count for e in source.episodes} == {9}


def test_2799_merged_episodes_point_beyond_the_last_file(tmp_path: Path) -> None:
    """Rows are found by their episode_index, as LeRobot finds them; videos have no such column."""
    build_v3(tmp_path)
    edit_table(tmp_path / EPISODES_V3, **{"data/file_index": [0, 0, 7]})
    source = LeRobotSource(tmp_path)
    assert indices(source) == [[0, 1, 2], [3, 4], [5, 6, 7, 8]]
    note = next(note for note in source.notes if "episode 2" in note)
    assert "file-007.parquet, which is not there; its rows are in data/chunk-000/file-001" in note
    edit_table(tmp_path / EPISODES_V3, **{f"videos/{CAMERA}/file_index": [0, 1, 7]})
    source = LeRobotSource(tmp_path)
    with pytest.raises(DataError, match=r"episode 2, camera .* no file videos/.*/file-007\.mp4"):
        source.episodes[2]


def test_4025_no_frame_belongs_to_two_episodes(tmp_path: Path) -> None:
    build_v3(tmp_path, (3, 2, 4), video_files=(0, 0, 0))
    taken: list[int] = []
    for episode in LeRobotSource(tmp_path).episodes:
        found = episode.videos[CAMERA]
        taken += range(found.first_frame, found.first_frame + found.frame_count)
    assert taken == list(range(9))


@pytest.mark.parametrize("pointers", [[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
def test_2401_stale_data_pointers_are_resolved(tmp_path: Path, pointers: list[int]) -> None:
    """The converter's boundary episode points at the file before its own; so might others."""
    build_v3(tmp_path)
    edit_table(tmp_path / EPISODES_V3, **{"data/file_index": pointers})
    source = LeRobotSource(tmp_path)
    assert indices(source) == [[0, 1, 2], [3, 4], [5, 6, 7, 8]]
    stale = [
        e for e, (good, bad) in enumerate(zip([0, 0, 1], pointers, strict=True)) if good != bad
    ]
    note = next(note for note in source.notes if "points at" in note)
    assert f"episode {stale[0]}" in note


def test_2401_rows_that_are_nowhere_or_twice_are_an_error(tmp_path: Path) -> None:
    build_v3(tmp_path)
    edit_table(tmp_path / EPISODES_V3, **{"data/file_index": [0, 0, 0]})
    other = tmp_path / DATA.format(1)
    table = pq.read_table(other)
    write_parquet(tmp_path / DATA.format(2), table)
    source = LeRobotSource(tmp_path)
    with pytest.raises(DataError, match=r"episode 2: .*file-000.*file-001.* and .*file-002.* have"):
        source.table(source.episodes[2])
    (tmp_path / DATA.format(2)).unlink()
    write_parquet(other, table.slice(0, 3))
    source = LeRobotSource(tmp_path)
    with pytest.raises(CountMismatchError, match=r"episode 2: .*holds 3 rows of it, expected 4"):
        source.table(source.episodes[2])
    other.unlink()
    source = LeRobotSource(tmp_path)
    with pytest.raises(
        DataError, match=r"episode 2: .*file-000.*no other data file has rows of it"
    ):
        source.table(source.episodes[2])


def test_2401_stale_video_pointers_are_an_error(tmp_path: Path) -> None:
    """A boundary episode that points at the file after its own breaks that file's order."""
    build_v3(tmp_path, (3, 2, 4), video_files=(0, 0, 1))
    edit_table(tmp_path / EPISODES_V3, **{f"videos/{CAMERA}/file_index": [0, 1, 1]})
    with pytest.raises(DataError, match=r"episode 2 is 0\.0 after 0\.3 of episode 1 in .*file-001"):
        LeRobotSource(tmp_path)


def test_rows_that_a_wrong_index_points_at_are_not_returned(tmp_path: Path) -> None:
    """The numbers of episodes 0 and 1 are exchanged; the rows say whose they are."""
    build_v3(tmp_path, (2, 2, 4))
    edit_table(tmp_path / EPISODES_V3, dataset_from_index=[2, 0, 4], dataset_to_index=[4, 2, 8])
    source = LeRobotSource(tmp_path)
    assert indices(source) == [[0, 1], [2, 3], [4, 5, 6, 7]]
    assert [note for note in source.notes if "dataset_from_index" in note]


def test_3786_absent_optional_metadata_is_no_error(tmp_path: Path) -> None:
    """No names, no statistics, neither global nor per episode."""
    build_v3(tmp_path)
    camera = {"dtype": "video", "shape": [4, 6, 3]}
    edit_info(
        tmp_path,
        "robot_type",
        features={CAMERA: camera, "index": {"dtype": "int64", "shape": [1], "names": None}},
    )
    edit_table(tmp_path / EPISODES_V3, **{"stats/timestamp/count": None})
    source = LeRobotSource(tmp_path)
    assert source.features[CAMERA] == camera
    assert source.stats is None
    assert source.robot_type is None
    assert [e.stats for e in source.episodes] == [None] * 3


def test_2643_a_converter_that_left_no_data_is_named(tmp_path: Path) -> None:
    build_v3(tmp_path)
    for path in (tmp_path / "data").rglob("*.parquet"):
        path.unlink()
    with pytest.raises(
        DataError, match=r"episode 0: .*data/chunk-000/file-000\.parquet, which is not"
    ):
        LeRobotSource(tmp_path)


def test_2283_pointers_that_became_nan_are_named(tmp_path: Path) -> None:
    build_v3(tmp_path)
    name = f"videos/{CAMERA}/chunk_index"
    edit_table(tmp_path / EPISODES_V3, **{name: [0.0, float("nan"), 0.0]})
    with pytest.raises(DataError, match=f"meta/episodes: {name}"):
        LeRobotSource(tmp_path)


def test_4143_a_length_of_nothing_is_named(tmp_path: Path) -> None:
    """Summed up, it gives the frames of one episode to the next."""
    build_v3(tmp_path)
    edit_info(tmp_path, total_frames=None)
    edit_table(tmp_path / EPISODES_V3, length=[3, 0, 4])
    with pytest.raises(DataError, match="episode 1 has length 0"):
        LeRobotSource(tmp_path)


def test_3900_episodes_in_disorder_are_sorted(tmp_path: Path) -> None:
    build_v3(tmp_path)
    path = tmp_path / EPISODES_V3
    write_parquet(path, pq.read_table(path).take([2, 0, 1]))
    source = LeRobotSource(tmp_path)
    assert indices(source) == [[0, 1, 2], [3, 4], [5, 6, 7, 8]]
    assert firsts(source) == [0, 0, 2]
    assert [e.tasks for e in source.episodes] == [("task 0",), ("task 1",), ("task 0",)]


def test_970_an_empty_table_in_a_complete_dataset_is_named(tmp_path: Path) -> None:
    build_v2(tmp_path)
    (tmp_path / "data/chunk-000/episode_000001.parquet").write_bytes(b"")
    source = LeRobotSource(tmp_path)
    assert source.table(source.episodes[0]).num_rows == 3
    with pytest.raises(DataError, match=r"data/chunk-000/episode_000001\.parquet"):
        source.table(source.episodes[1])


def test_2404_video_columns_that_some_episodes_lack_are_named(tmp_path: Path) -> None:
    build_v3(tmp_path)
    path = tmp_path / EPISODES_V3
    table = pq.read_table(path)
    videos = [name for name in table.column_names if name.startswith("videos/")]
    write_parquet(path, table.slice(0, 2))
    write_parquet(path.with_name("file-001.parquet"), table.slice(2).drop_columns(videos))
    with pytest.raises(DataError, match=r"file-001\.parquet: there is no column videos/"):
        LeRobotSource(tmp_path)
    write_parquet(path.with_name("file-001.parquet"), table.slice(2))
    edit_table(path, **{videos[1]: pa.array([0, None], pa.int64())})
    with pytest.raises(DataError, match=f"meta/episodes: {videos[1]}: null in 1 of 3 rows"):
        LeRobotSource(tmp_path)


def test_436_datasets_of_images_alone(tmp_path: Path) -> None:
    rows = [{"bytes": b"\x89PNG 16 bits", "path": "frame_000000.png"}] * 3
    stored = pa.struct([("bytes", pa.binary()), ("path", pa.string())])

    def columns(episode: int, length: int) -> dict[str, Any]:
        return {"depth": pa.array(rows[:length], stored)}

    build_v3(
        tmp_path,
        (3, 2, 3),
        cameras=(),
        features={"depth": feature("image", 4, 6, 1)},
        columns=columns,
    )
    edit_info(tmp_path, video_path=None)
    source = LeRobotSource(tmp_path)
    assert source.video_keys == []
    assert source.episodes[0].videos == {}
    assert [len(list(source.images(e, "depth"))) for e in source.episodes] == [3, 2, 3]
    assert source.notes == []


def test_indices_of_data_and_videos_differ(tmp_path: Path) -> None:
    """starVLA issue 279: a camera's file index is its own, not that of the rows."""
    build_v3(tmp_path, (3, 2, 4), data_files=(0, 0, 0), video_files=(5, 6, 7))
    source = LeRobotSource(tmp_path)
    assert [e.videos[CAMERA].path.name for e in source.episodes] == [
        "file-005.mp4",
        "file-006.mp4",
        "file-007.mp4",
    ]
    assert indices(source)[2] == [5, 6, 7, 8]


def test_index_columns_of_a_merge_may_start_over(tmp_path: Path) -> None:
    """The global index of merged rows is data, not an address."""
    build_v3(tmp_path)
    table = pa.table(default_columns(2, 4, 0))
    write_parquet(tmp_path / DATA.format(1), table)
    source = LeRobotSource(tmp_path)
    assert indices(source) == [[0, 1, 2], [3, 4], [0, 1, 2, 3]]
