"""The sample datasets hold what they say: numbered frames, aligned rows, true pointers."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import pyarrow.parquet as pq
import pytest
from lerobot_sample.layout_v3 import LayoutV3
from lerobot_sample.scene import Camera, burn_in, trajectory
from make_lerobot import SampleSpec, main, random_lengths, read_burnt_in, write_dataset

Make = Callable[..., Path]
LENGTHS = (7, 4, 9, 1)
FRONT, WRIST = SampleSpec().video_keys


def decoded(path: Path) -> tuple[list[int], list[int]]:
    """The burnt-in numbers and the frame ordinals by timestamp, in presentation order."""
    numbers, ordinals = [], []
    with av.open(path) as container:
        stream = container.streams.video[0]
        for frame in container.decode(stream):
            numbers.append(read_burnt_in(frame.to_ndarray(format="rgb24")))
            ordinals.append(round(frame.pts * stream.time_base * 30))
    return numbers, ordinals


def info(root: Path) -> dict:
    return json.loads((root / "meta/info.json").read_text())


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("number", [0, 1, 0x8000, 0xFFFF, 0x5A5A])
def test_a_burnt_in_number_is_read_back(number: int) -> None:
    image = np.full((64, 128, 3), 77, np.uint8)
    burn_in(image, number)
    assert read_burnt_in(image) == number
    # The blocks are where the recorded sets have them: bit 0 leftmost, white for 1.
    assert (image[8, 0] == (255 if number & 1 else 0)).all()
    assert (image[7] == 77).all()
    assert (image[40] == 77).all()


@pytest.mark.shared_data
def test_the_number_is_where_the_recorded_sets_have_it(shared: Path) -> None:
    video = "data/lerobot/syn_v30_h264/videos/observation.images.wrist/chunk-000/file-000.mp4"
    assert decoded(shared / video)[0] == [1000 + index for index in range(123)]


@pytest.mark.parametrize("version", ["v2.0", "v2.1"])
def test_v2_has_one_table_and_one_video_per_camera_for_each_episode(
    make_lerobot: Make, version: str
) -> None:
    root = make_lerobot(version=version, lengths=LENGTHS)
    described = info(root)
    assert described["codebase_version"] == version
    assert (described["total_episodes"], described["total_frames"]) == (4, sum(LENGTHS))
    assert (described["total_videos"], described["total_chunks"]) == (8, 1)
    first = 0
    for episode, length in enumerate(LENGTHS):
        place = {"episode_chunk": 0, "episode_index": episode}
        table = pq.read_table(root / described["data_path"].format(**place))
        assert table["index"].to_pylist() == list(range(first, first + length))
        assert table["frame_index"].to_pylist() == list(range(length))
        assert set(table["episode_index"].to_pylist()) == {episode}
        for camera, key in enumerate((FRONT, WRIST)):
            video = root / described["video_path"].format(**place, video_key=key)
            numbers, ordinals = decoded(video)
            assert numbers == [1000 * camera + first + frame for frame in range(length)]
            assert ordinals == list(range(length))
        first += length
    assert [line["length"] for line in lines(root / "meta/episodes.jsonl")] == list(LENGTHS)
    tasks = {line["task_index"]: line["task"] for line in lines(root / "meta/tasks.jsonl")}
    assert lines(root / "meta/episodes.jsonl")[1]["tasks"] == [tasks[1]]


def test_v2_statistics_are_global_in_v20_and_per_episode_in_v21(make_lerobot: Make) -> None:
    old = make_lerobot(version="v2.0", lengths=LENGTHS)
    new = make_lerobot(version="v2.1", lengths=LENGTHS)
    assert not (old / "meta/episodes_stats.jsonl").exists()
    assert not (new / "meta/stats.json").exists()
    stats = json.loads((old / "meta/stats.json").read_text())
    states = np.concatenate(
        [
            np.stack(pq.read_table(path)["observation.state"].to_pylist())
            for path in sorted((old / "data").rglob("*.parquet"))
        ]
    )
    np.testing.assert_allclose(stats["observation.state"]["mean"], states.mean(0), rtol=1e-5)
    np.testing.assert_allclose(stats["observation.state"]["std"], states.std(0), rtol=1e-5)
    np.testing.assert_allclose(stats["observation.state"]["max"], states.max(0), rtol=1e-6)
    of_episodes = lines(new / "meta/episodes_stats.jsonl")
    assert [line["stats"]["index"]["min"] for line in of_episodes] == [[0], [7], [11], [20]]
    assert np.shape(of_episodes[0]["stats"][FRONT]["mean"]) == (3, 1, 1)
    assert of_episodes[0]["stats"][FRONT]["count"] == [LENGTHS[0]]
    assert "video_info" in info(old)["features"][FRONT]
    assert "info" in info(new)["features"][FRONT]


@pytest.mark.parametrize(
    ("limits", "front_files"),
    [
        ({}, [0, 0, 0, 0]),
        ({"video_file_mb": 1e-6, "data_file_mb": 1e-6}, [0, 1, 2, 3]),
    ],
)
def test_v30_pointers_lead_to_the_rows_and_frames_of_their_episode(
    make_lerobot: Make, limits: dict[str, float], front_files: list[int]
) -> None:
    root = make_lerobot(lengths=LENGTHS, **limits)
    described = info(root)
    episodes = pq.read_table(root / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    assert [e[f"videos/{FRONT}/file_index"] for e in episodes] == front_files
    first = 0
    for episode, length in zip(episodes, LENGTHS, strict=True):
        place = {name: episode[f"data/{name}"] for name in ("chunk_index", "file_index")}
        table = pq.read_table(root / described["data_path"].format(**place))
        bounds = (episode["dataset_from_index"], episode["dataset_to_index"])
        assert bounds == (first, first + length)
        rows = table.filter(
            [episode["episode_index"] == value for value in table["episode_index"].to_pylist()]
        )
        assert rows["index"].to_pylist() == list(range(*bounds))
        for camera, key in enumerate((FRONT, WRIST)):
            place = {
                name: episode[f"videos/{key}/{name}"] for name in ("chunk_index", "file_index")
            }
            numbers, ordinals = decoded(
                root / described["video_path"].format(**place, video_key=key)
            )
            assert ordinals == list(range(len(numbers)))
            start = round(episode[f"videos/{key}/from_timestamp"] * 30)
            end = round(episode[f"videos/{key}/to_timestamp"] * 30)
            assert numbers[start:end] == [1000 * camera + i for i in range(*bounds)]
        first += length
    tasks = pq.read_table(root / "meta/tasks.parquet")
    assert tasks.column_names == ["task_index", "__index_level_0__"]
    assert json.loads((root / "meta/stats.json").read_text())["index"]["count"] == [sum(LENGTHS)]


def test_v30_tables_have_one_row_group_per_episode_and_fixed_size_vectors(
    make_lerobot: Make,
) -> None:
    file = pq.ParquetFile(make_lerobot(lengths=LENGTHS) / "data/chunk-000/file-000.parquet")
    groups = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    assert groups == list(LENGTHS)
    assert str(file.schema_arrow.field("action").type) == "fixed_size_list<element: float>[6]"
    assert b"huggingface" in file.schema_arrow.metadata


def test_v30_rolls_over_to_the_next_chunk_folder(tmp_path: Path) -> None:
    layout = LayoutV3(tmp_path, SampleSpec())
    files = layout._data
    files.number = 1000
    assert files.place() == {"chunk_index": 1, "file_index": 0}


@pytest.mark.parametrize("settings", [{"gop": 2}, {"gop": 30}, {"codec": "av1"}], ids=str)
def test_joined_videos_keep_every_frame_in_order(make_lerobot: Make, settings: dict) -> None:
    lengths = (17, 1, 2, 3, 27)  # an encoder delays less where there is little to reorder
    root = make_lerobot(lengths=lengths, cameras=("front",), crf=18, **settings)
    numbers, ordinals = decoded(root / f"videos/{FRONT}/chunk-000/file-000.mp4")
    assert ordinals == list(range(50))
    assert numbers == list(range(50))


def test_the_action_is_the_state_that_comes_next(make_lerobot: Make) -> None:
    table = pq.read_table(make_lerobot(lengths=LENGTHS) / "data/chunk-000/file-000.parquet")
    states, actions = table["observation.state"].to_pylist(), table["action"].to_pylist()
    assert actions[:6] == states[1:7]
    assert actions[6] == states[6]


def test_frames_compress_as_video_does(make_lerobot: Make) -> None:
    root = make_lerobot(lengths=(30,), gop=30)
    for key in (FRONT, WRIST):
        with av.open(root / f"videos/{key}/chunk-000/file-000.mp4") as container:
            packets = [p for p in container.demux(container.streams.video[0]) if p.size]
        key_size = max(p.size for p in packets if p.is_keyframe)
        others = sorted(p.size for p in packets if not p.is_keyframe)
        assert others[len(others) // 2] < key_size / 2


@pytest.mark.parametrize("camera", [0, 1])
def test_every_camera_sees_movement(camera: int) -> None:
    spec = SampleSpec(lengths=(15,))
    frames = [f.astype(int) for f in Camera(spec, camera).frames(trajectory(spec, 0), 0)]
    below_number = np.abs(frames[14][40:] - frames[0][40:])
    assert (below_number > 25).mean() > 0.01
    # From one frame to the next only a little of it changes.
    assert np.abs(frames[8][40:] - frames[7][40:]).mean() < 8


def test_the_same_choices_write_the_same_bytes(tmp_path: Path) -> None:
    digests = set()
    for name in ("one", "two"):
        root = write_dataset(tmp_path / name, SampleSpec(lengths=(3, 2), seed=5))
        digest = hashlib.sha256()
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
        digests.add(digest.hexdigest())
    assert len(digests) == 1
    assert not list(tmp_path.glob(".*"))


def test_a_folder_with_content_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")
    with pytest.raises(FileExistsError, match="not an empty folder"):
        write_dataset(tmp_path, SampleSpec())
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"version": "v1.6"}, "v1.6"),
        ({"codec": "vp9"}, "vp9"),
        ({"lengths": (3, 0)}, "lengths"),
        ({"width": 126}, "126x96"),
        ({"height": 97}, "128x97"),
        ({"lengths": (65_000,)}, "16 bits"),
        ({"joints": 1}, "joints 1"),
    ],
    ids=str,
)
def test_a_choice_that_cannot_be_made_is_refused(choice: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SampleSpec(**choice)


def test_lengths_are_drawn_within_their_bounds() -> None:
    lengths = random_lengths(200, 5, 8, seed=1)
    assert set(lengths) == {5, 6, 7, 8}
    assert lengths != random_lengths(200, 5, 8, seed=2)


def test_the_script_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--lengths", "2,3", "--size", "128x96", "--codec", "h264", "--version", "v2.1"]
    assert main([str(tmp_path / "out"), *arguments]) == 0
    assert "LeRobot v2.1, 2 episodes, 5 frames, 2 cameras 128x96 h264" in capsys.readouterr().out
    assert info(tmp_path / "out")["total_frames"] == 5


def test_the_script_runs_by_itself_and_refuses_a_bad_call(tmp_path: Path) -> None:
    script = Path(__file__).parents[2] / "tools/make_lerobot.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "out"), "--size", "64x48"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "64x48: even, and at least 128x64" in done.stderr
