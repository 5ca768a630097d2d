"""LeRobot v3.0: Parquet tables and many episodes in one file."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lerobot_builder import CAMERA, EPISODES_V3, build_v3, edit_info, edit_table, write_parquet

from videoformat.convert import lerobot_parquet
from videoformat.convert.lerobot_source import LeRobotSource
from videoformat.errors import CountMismatchError, DataError

OTHER = "observation.images.wrist"
DATA = "data/chunk-000/file-00{}.parquet"


def edit_episodes(root: Path, **columns: Any) -> None:
    """Columns by name, with ``__`` for the slashes and ``CAM`` for the camera's key."""
    names = {name.replace("__", "/").replace("CAM", CAMERA): v for name, v in columns.items()}
    edit_table(root / EPISODES_V3, **names)


def every_index(source: LeRobotSource) -> list[list[int]]:
    return [source.table(episode).column("index").to_pylist() for episode in source.episodes]


def slices(source: LeRobotSource, key: str = CAMERA) -> list[tuple[str, int, int, int]]:
    found = [episode.videos[key] for episode in source.episodes]
    return [(s.path.name, s.first_frame, s.frame_count, s.file_frame_count) for s in found]


@settings(max_examples=40)
@given(st.data())
def test_slices_and_rows_of_any_layout(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    lengths = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=6))
    count = len(lengths)
    files = st.lists(st.integers(0, 3), min_size=count, max_size=count)
    data_files, video_files = data.draw(files), data.draw(files)
    root = build_v3(
        tmp_path_factory.mktemp("layout"),
        lengths,
        data_files=data_files,
        video_files=video_files,
        row_group_size=data.draw(st.integers(1, 8)),
    )
    source = LeRobotSource(root)
    order = data.draw(st.permutations(range(count)))
    for episode in order:
        found = source.episodes[episode].videos[CAMERA]
        mates = [other for other in range(count) if video_files[other] == video_files[episode]]
        assert found.path.name == f"file-00{video_files[episode]}.mp4"
        assert found.first_frame == sum(lengths[other] for other in mates if other < episode)
        assert found.file_frame_count == sum(lengths[other] for other in mates)
        first = sum(lengths[:episode])
        got = source.table(source.episodes[episode]).column("index").to_pylist()
        assert got == list(range(first, first + lengths[episode]))


def test_cameras_have_files_of_their_own(tmp_path: Path) -> None:
    build_v3(tmp_path, cameras=(CAMERA, OTHER))
    edit_episodes(
        tmp_path,
        **{
            f"videos__{OTHER}__file_index": [4, 4, 4],
            f"videos__{OTHER}__from_timestamp": [0.0, 0.3, 0.5],
        },
    )
    folder = tmp_path / f"videos/{OTHER}/chunk-000"
    (folder / "file-000.mp4").rename(folder / "file-004.mp4")
    source = LeRobotSource(tmp_path)
    assert slices(source) == [
        ("file-000.mp4", 0, 3, 3),
        ("file-001.mp4", 0, 2, 6),
        ("file-001.mp4", 2, 4, 6),
    ]
    assert slices(source, OTHER) == [
        ("file-004.mp4", 0, 3, 9),
        ("file-004.mp4", 3, 2, 9),
        ("file-004.mp4", 5, 4, 9),
    ]


@pytest.mark.parametrize("cached", [True, False])
def test_one_row_group_for_all_episodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cached: bool
) -> None:
    """What the converter wrote before 2026; a group too large to keep is streamed."""
    if not cached:
        monkeypatch.setattr(lerobot_parquet, "KEPT_BYTES", 0)
        monkeypatch.setattr(lerobot_parquet, "_BATCH_ROWS", 2)
    build_v3(tmp_path, (3, 2, 4, 7), data_files=[0] * 4, video_files=[0] * 4)
    source = LeRobotSource(tmp_path)
    assert every_index(source) == [[0, 1, 2], [3, 4], [5, 6, 7, 8], [*range(9, 16)]]
    assert source.table(source.episodes[1]).column("index").to_pylist() == [3, 4]


def test_only_the_row_groups_of_the_episode_are_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_v3(tmp_path, (4, 4, 4), data_files=[0] * 3, row_group_size=4)
    source = LeRobotSource(tmp_path)
    groups = []
    read = pq.ParquetFile.read_row_group

    def spy(file: pq.ParquetFile, group: int, **options: Any) -> pa.Table:
        if "timestamp" in file.schema_arrow.names:
            groups.append(group)
        return read(file, group, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", spy)
    source.table(source.episodes[1])
    assert groups == [1]


def test_a_large_row_group_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_v3(tmp_path, (4, 4, 4), data_files=[0] * 3)
    source = LeRobotSource(tmp_path)
    groups = []
    read = pq.ParquetFile.iter_batches

    def spy(file: pq.ParquetFile, *arguments: Any, row_groups: list[int], **options: Any) -> Any:
        if "timestamp" in file.schema_arrow.names:
            groups.extend(row_groups)
        return read(file, *arguments, row_groups=row_groups, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", spy)
    every_index(source)
    assert groups == [0]


def test_episodes_in_several_tables_in_any_column_order(tmp_path: Path) -> None:
    build_v3(tmp_path)
    path = tmp_path / EPISODES_V3
    table = pq.read_table(path)
    more = table.append_column("success", pa.array([True, False, True]))
    write_parquet(path, table.slice(0, 2).select(sorted(table.column_names)))
    write_parquet(path.parent / "file-001.parquet", more.slice(2))
    (path.parent / "._file-001.parquet").write_bytes(b"what macOS leaves")
    source = LeRobotSource(tmp_path)
    assert [e.metadata for e in source.episodes] == [{}, {}, {"success": True}]
    assert [e.tasks for e in source.episodes] == [("task 0",), ("task 1",), ("task 0",)]
    assert [e.stats for e in source.episodes][2] == {"timestamp": {"count": [4]}}


def test_a_lost_table_of_episodes_is_noticed(tmp_path: Path) -> None:
    build_v3(tmp_path)
    path = tmp_path / EPISODES_V3
    table = pq.read_table(path)
    write_parquet(path, table.take([0, 2]))
    with pytest.raises(CountMismatchError, match="total_episodes is 3, meta/episodes has 2"):
        LeRobotSource(tmp_path)
    edit_info(tmp_path, total_episodes=None, total_frames=None)
    with pytest.raises(CountMismatchError, match="episode 1 is missing, the next is 2"):
        LeRobotSource(tmp_path)
    path.unlink()
    with pytest.raises(DataError, match="meta/episodes: there is no table"):
        LeRobotSource(tmp_path)


def test_values_of_other_columns_are_metadata(tmp_path: Path) -> None:
    build_v3(tmp_path)
    edit_episodes(tmp_path, success=[True, None, False], videos__CAM__note=["a", "b", "c"])
    episode = LeRobotSource(tmp_path).episodes[1]
    assert episode.metadata == {"success": None, f"videos/{CAMERA}/note": "b"}


def test_tasks_by_either_name_of_the_index(tmp_path: Path) -> None:
    build_v3(tmp_path)
    path = tmp_path / "meta/tasks.parquet"
    write_parquet(path, pa.table({"task_index": [0, 1], "task": ["a", "b"]}))
    assert LeRobotSource(tmp_path).tasks == ["a", "b"]
    write_parquet(path, pa.table({"task_index": [1, 0], "__index_level_0__": ["b", "a"]}))
    source = LeRobotSource(tmp_path)
    assert source.tasks == ["a", "b"]
    assert [note for note in source.notes if "not in order" in note]


@pytest.mark.parametrize(
    "columns",
    [
        {"task_index": [0, 1]},
        {"task": ["a", "b"]},
        {"task_index": [0, 0], "task": ["a", "b"]},
        {"task_index": [0, -1], "task": ["a", "b"]},
        {"task_index": [0, 2**40], "task": ["a", "b"]},
        {"task_index": [0, None], "task": ["a", "b"]},
        {"task_index": ["0", "x"], "task": ["a", "b"]},
        {"task_index": [0, 1], "task": ["a", None]},
        {"task_index": [0, 1], "task": [1, 2]},
    ],
)
def test_a_table_of_tasks_that_is_none(tmp_path: Path, columns: dict[str, Any]) -> None:
    build_v3(tmp_path)
    write_parquet(tmp_path / "meta/tasks.parquet", pa.table(columns))
    with pytest.raises(DataError, match=r"meta/tasks\.parquet"):
        LeRobotSource(tmp_path)


@pytest.mark.parametrize("starts", [[0.0, 0.0, 0.0], [0.0, 0.5, 0.3], [0.0, None, 0.3]])
def test_an_unknown_order_within_a_video_file_is_an_error(
    tmp_path: Path, starts: list[float | None]
) -> None:
    build_v3(tmp_path, video_files=(0, 0, 0))
    edit_episodes(tmp_path, videos__CAM__from_timestamp=starts)
    with pytest.raises(DataError, match=r"from_timestamp of episode [12] .* order .* not known"):
        LeRobotSource(tmp_path)


def test_timestamps_that_are_off_are_noted_and_not_used(tmp_path: Path) -> None:
    build_v3(tmp_path, video_files=(0, 0, 0))
    edit_episodes(tmp_path, videos__CAM__from_timestamp=[0.0, 0.2, 0.9])
    source = LeRobotSource(tmp_path)
    assert [s[1] for s in slices(source)] == [0, 3, 5]
    note = next(note for note in source.notes if "from_timestamp" in note)
    assert "2 episodes" in note
    assert "4.0 frames (episode 2" in note


def test_drift_below_half_a_frame_is_not_worth_a_note(tmp_path: Path) -> None:
    build_v3(tmp_path, video_files=(0, 0, 0))
    edit_episodes(tmp_path, videos__CAM__from_timestamp=[0.0, 0.2991, 0.5])
    assert LeRobotSource(tmp_path).notes == []


def test_a_camera_without_pointers_or_files_is_dropped(tmp_path: Path) -> None:
    build_v3(tmp_path, cameras=(CAMERA, OTHER))
    for path in (tmp_path / f"videos/{OTHER}").rglob("*.mp4"):
        path.unlink()
    assert LeRobotSource(tmp_path).video_keys == [CAMERA]
    names = [
        n for n in pq.read_schema(tmp_path / EPISODES_V3).names if n.startswith(f"videos/{OTHER}")
    ]
    edit_table(tmp_path / EPISODES_V3, **dict.fromkeys(names))
    source = LeRobotSource(tmp_path)
    assert source.video_keys == [CAMERA]
    assert [note for note in source.notes if OTHER in note]


def test_a_missing_video_file_is_named(tmp_path: Path) -> None:
    build_v3(tmp_path)
    (tmp_path / f"videos/{CAMERA}/chunk-000/file-001.mp4").unlink()
    source = LeRobotSource(tmp_path)
    assert source.episodes[0].videos
    with pytest.raises(DataError, match=r"episode 1, camera .*no file videos/.*/file-001\.mp4"):
        source.episodes[1]


def test_a_missing_data_file_is_named(tmp_path: Path) -> None:
    build_v3(tmp_path)
    (tmp_path / DATA.format(1)).unlink()
    source = LeRobotSource(tmp_path)
    with pytest.raises(
        DataError, match=r"episode 2: .* points at data/.*/file-001\.parquet, which"
    ):
        source.table(source.episodes[2])


def test_lengths_that_disagree_are_named(tmp_path: Path) -> None:
    build_v3(tmp_path)
    edit_episodes(tmp_path, dataset_to_index=[3, 6, 9])
    with pytest.raises(CountMismatchError, match="episode 1 has length 2, its rows 3 to 6 are 3"):
        LeRobotSource(tmp_path)


def test_a_data_file_with_fewer_rows_is_named(tmp_path: Path) -> None:
    build_v3(tmp_path)
    path = tmp_path / DATA.format(0)
    write_parquet(path, pq.read_table(path).slice(0, 4))
    source = LeRobotSource(tmp_path)
    assert source.table(source.episodes[0]).num_rows == 3
    with pytest.raises(
        CountMismatchError, match=r"episode 1: .* 2 rows, .*file-000\.parquet holds 1"
    ):
        source.table(source.episodes[1])


def test_rows_in_several_places_are_an_error(tmp_path: Path) -> None:
    build_v3(tmp_path)
    edit_table(tmp_path / DATA.format(0), episode_index=[0, 1, 0, 1, 1])
    with pytest.raises(DataError, match="rows of episode 0 are in several places"):
        LeRobotSource(tmp_path)


def test_files_without_an_episode_index_go_by_the_numbers(tmp_path: Path) -> None:
    build_v3(tmp_path)
    for file in range(2):
        edit_table(tmp_path / DATA.format(file), episode_index=None)
    assert every_index(LeRobotSource(tmp_path)) == [[0, 1, 2], [3, 4], [5, 6, 7, 8]]
    edit_episodes(tmp_path, data__file_index=[0, 0, 0])
    with pytest.raises(CountMismatchError, match="9 rows in all; the file holds 5"):
        LeRobotSource(tmp_path)
    edit_episodes(
        tmp_path,
        data__file_index=[0, 0, 1],
        dataset_from_index=[2, 0, 5],
        dataset_to_index=[5, 2, 9],
    )
    with pytest.raises(CountMismatchError, match=r"row 2 of .*, after 0 rows of other episodes"):
        LeRobotSource(tmp_path)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("episode_index", [0, 1, 1]),
        ("episode_index", [-1, 0, 1]),
        ("episode_index", [0, 1, None]),
        ("episode_index", [0, 1, 2.5]),
        ("episode_index", ["a", "b", "c"]),
        ("length", [3, 2, 0]),
        ("length", [3, 2, -4]),
        ("length", [3, 2, 2**62]),
        ("data/chunk_index", [0, 0, -1]),
        ("data/file_index", [0, 0, 2**50]),
        ("data/file_index", [0.0, float("nan"), 1.0]),
        ("dataset_from_index", [-1, 3, 5]),
        (f"videos/{CAMERA}/file_index", [0, None, 1]),
        (f"videos/{CAMERA}/from_timestamp", ["a", "b", "c"]),
        (f"videos/{CAMERA}/from_timestamp", [float("inf"), 0.0, 1.0]),
        ("data/file_index", None),
        (f"videos/{CAMERA}/file_index", None),
        ("tasks", ["a", "b", "c"]),
        ("tasks", [[1], [2], [3]]),
    ],
)
def test_a_bad_pointer_is_named(tmp_path: Path, column: str, values: Any) -> None:
    build_v3(tmp_path)
    edit_info(tmp_path, total_episodes=None, total_frames=None)
    edit_table(tmp_path / EPISODES_V3, **{column: values})
    with pytest.raises(DataError, match=rf"meta/episodes.*{column.rpartition('/')[2][:7]}"):
        LeRobotSource(tmp_path).episodes[0]


def test_integers_that_pandas_wrote_as_floats_are_integers(tmp_path: Path) -> None:
    build_v3(tmp_path)
    edit_episodes(tmp_path, data__file_index=[0.0, 0.0, 1.0], length=[3.0, 2.0, 4.0])
    assert every_index(LeRobotSource(tmp_path)) == [[0, 1, 2], [3, 4], [5, 6, 7, 8]]


@pytest.mark.parametrize("name", ["meta/tasks.parquet", EPISODES_V3, DATA.format(0)])
def test_a_damaged_table_is_named(tmp_path: Path, name: str) -> None:
    build_v3(tmp_path)
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=f"{name}: cannot be read as Parquet"):
        LeRobotSource(tmp_path)


@settings(max_examples=100)
@given(st.data())
def test_flipped_bytes_of_a_table_never_escape(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    root = tmp_path_factory.getbasetemp() / "flipped"
    if not root.exists():
        build_v3(root)
    name = data.draw(st.sampled_from(["meta/tasks.parquet", EPISODES_V3, DATA.format(0)]))
    path = root / name
    good = path.read_bytes()
    damaged = bytearray(good)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(good) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(damaged)
    try:
        source = LeRobotSource(root)
        for episode in source.episodes:
            source.table(episode)
    except DataError:
        pass
    finally:
        path.write_bytes(good)
