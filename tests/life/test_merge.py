"""Merge, subset, split: media to the last bit, places rewritten, differences named."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import lance
import numpy as np
import pytest
import whole
from damage import rewritten
from object_store import ObjectStore
from small_dataset import CAMERAS, write_dataset

import videoformat as vf
from videoformat.errors import DataError, InvalidArgumentError
from videoformat.index.statistics import aggregate_statistics
from videoformat.table import Table
from videoformat.verify import verify

Make = Callable[..., Path]


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    one, other = tmp_path / "one.vf", tmp_path / "other.vf"
    write_dataset(one, lengths=(9, 3), chunk_frames=4)
    write_dataset(other, lengths=(5, 2), chunk_frames=4, profile="small")
    return one, other


@pytest.fixture
def converted(tmp_path: Path, make_lerobot: Make) -> list[Path]:
    """Two conversions whose tasks have the same texts under other numbers, and one text more."""
    made = []
    for at, tasks in enumerate((("a", "b"), ("b", "c", "a"))):
        source = make_lerobot(lengths=(5, 7, 4), tasks=tasks, cameras=("front",), seed=at)
        uri = tmp_path / f"{at}.vf"
        vf.convert(source, uri, video="native")
        made.append(uri)
    return made


def test_merge_copies_every_cell_and_all_media(pair: tuple[Path, Path], tmp_path: Path) -> None:
    target = tmp_path / "all.vf"
    report = vf.merge(pair, target)
    assert (report.episodes, report.frames, report.skipped) == (4, 19, 0)
    expected = whole.episodes(pair[0]) | whole.episodes(pair[1])
    assert list(whole.episodes(target).items()) == list(expected.items())
    assert verify(target, decode=True).ok


def test_merge_again_adds_nothing_and_goes_on_where_it_stopped(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    target = tmp_path / "all.vf"
    vf.merge(pair[:1], target)
    report = vf.merge(pair, target)
    assert (report.episodes, report.skipped) == (2, 2)
    version = vf.open(target).version
    again = vf.merge(pair, target)
    assert (again.episodes, again.skipped, again.version) == (0, 4, version)


def test_places_are_rewritten_and_tasks_keep_their_texts(
    converted: list[Path], tmp_path: Path
) -> None:
    target = tmp_path / "all.vf"
    vf.merge(converted, target)
    merged = vf.open(target)
    texts = []
    for uri in converted:
        dataset = vf.open(uri)
        numbers = dataset.frames_table(["task_index"]).column("task_index").to_pylist()
        texts += [dataset.tasks[number] for number in numbers]
    assert len(merged.tasks) == len(set(merged.tasks)) == 3
    table = merged.frames_table(["episode_index", "index", "frame_index", "task_index"])
    assert [merged.tasks[at] for at in table.column("task_index").to_pylist()] == texts
    assert table.column("index").to_pylist() == list(range(merged.num_frames))
    episodes = np.repeat(np.arange(merged.num_episodes), merged.directory.lengths)
    assert table.column("episode_index").to_pylist() == episodes.tolist()
    assert whole.media(target) == whole.media(converted[0]) | whole.media(converted[1])
    expected = whole.episodes(converted[0]) | whole.episodes(converted[1])
    assert whole.episodes(target) == expected


def test_statistics_are_those_of_all_values(converted: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "all.vf"
    vf.merge(converted, target)
    merged = vf.open(target)
    statistics = merged.statistics
    assert statistics is not None
    values = np.array(merged.frames_table(["action"]).column("action").to_pylist())
    stored = statistics["action"]
    np.testing.assert_allclose(stored["min"], values.min(axis=0), rtol=1e-5)
    np.testing.assert_allclose(stored["max"], values.max(axis=0), rtol=1e-5)
    np.testing.assert_allclose(stored["mean"], values.mean(axis=0), rtol=1e-4)
    np.testing.assert_allclose(stored["std"], values.std(axis=0), rtol=1e-3)
    assert stored["count"] == [len(values)]


def test_statistics_that_an_episode_lacks_are_left_out() -> None:
    one = {"a": {"min": [1.0], "max": [2.0], "mean": [1.5], "std": [0.5], "count": [2]}}
    assert aggregate_statistics([]) is None
    assert aggregate_statistics([one, None]) is None
    assert aggregate_statistics([one, {"b": one["a"]}]) is None
    other = {"a": {"min": [0.0], "max": [1.0, 3.0], "count": [2]}}
    assert aggregate_statistics([one, other]) == {"a": {"min": [0.0], "count": [4]}}
    assert aggregate_statistics([one, {"a": 7}]) is None


def test_subset_takes_the_order_that_it_is_given(pair: tuple[Path, Path], tmp_path: Path) -> None:
    source, target = pair[0], tmp_path / "turned.vf"
    before = whole.episodes(source)
    vf.subset(source, target, [1, 0])
    assert list(whole.episodes(target).items()) == list(before.items())[::-1]
    assert verify(target, decode=True).ok


def test_subset_of_an_old_version(pair: tuple[Path, Path], tmp_path: Path) -> None:
    source, target = pair[0], tmp_path / "then.vf"
    before, version = whole.episodes(source), vf.open(source).version
    vf.delete_episodes(source, [0])
    vf.subset(source, target, [0], version=version)
    assert whole.episodes(target) == dict(list(before.items())[:1])


def test_split_and_merge_give_back_the_whole(pair: tuple[Path, Path], tmp_path: Path) -> None:
    vf.merge(pair, tmp_path / "all.vf")
    parts = {tmp_path / "a.vf": [0, 2], tmp_path / "b.vf": [1, 3]}
    assert [report.episodes for report in vf.split(tmp_path / "all.vf", parts)] == [2, 2]
    vf.merge(list(parts), tmp_path / "again.vf")
    assert whole.episodes(tmp_path / "again.vf") == whole.episodes(tmp_path / "all.vf")
    with pytest.raises(InvalidArgumentError, match=r"episode 1 goes to .* and to"):
        vf.split(tmp_path / "all.vf", {tmp_path / "c.vf": [0, 1], tmp_path / "d.vf": [1]})
    assert not (tmp_path / "c.vf").exists()


def test_every_difference_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    one, other, target = (tmp_path / name for name in ("one.vf", "other.vf", "all.vf"))
    write_dataset(one, lengths=(2,), cameras=CAMERAS[:1])
    features = {
        CAMERAS[0]: {"dtype": "video", "shape": (48, 32, 3)},
        CAMERAS[1]: {"dtype": "video", "shape": (32, 48, 3)},
        "action": {"dtype": "float64", "shape": (3,), "names": ["x", "y", "z"]},
    }
    vf.create(other, fps=25, features=features, robot_type="leg").close()
    with pytest.raises(InvalidArgumentError) as caught:
        vf.merge([one, other], target)
    message = str(caught.value)
    for part in (
        "fps 25 and 30",
        "robot_type 'leg' and 'arm'",
        "shape of camera 'observation.images.top' (48, 32, 3) and (32, 48, 3)",
        "camera 'observation.images.wrist' is there and not there",
        "dtype of feature 'action' float64 and float32",
        "shape of feature 'action' (3,) and (2,)",
        "names of feature 'action'",
    ):
        assert part in message
    assert not target.exists()


def test_a_dataset_into_itself_is_refused(pair: tuple[Path, Path]) -> None:
    with pytest.raises(InvalidArgumentError, match="both a source and the target"):
        vf.merge(pair, pair[1])


def test_what_this_version_does_not_know_comes_along(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    dataset = lance.dataset(str(pair[0]))
    dataset.add_columns({"later": "chunk_index + 40"})
    table = Table.open(pair[0])
    table.with_info(replace(table.info, extra={"from_later": [1]}))
    target = tmp_path / "copy.vf"
    vf.subset(pair[0], target, [1, 0])
    assert Table.open(target).info.extra == {"from_later": [1]}
    stored = lance.dataset(str(target)).to_table(columns=["later"])
    assert stored.column("later").to_pylist() == [40, 40, 41, 42]
    # A dataset that lacks the column would lose it, one that has it takes null.
    with pytest.raises(InvalidArgumentError, match="column 'later' is there and not there"):
        vf.merge([pair[0]], pair[1])
    vf.merge([pair[1]], target)
    assert vf.open(target).num_episodes == 4


def test_media_in_source_files_stays_there(make_lerobot: Make, tmp_path: Path) -> None:
    source = shutil.copytree(
        make_lerobot(lengths=(5, 7, 4), cameras=("front",)), tmp_path / "source"
    )
    vf.convert(source, tmp_path / "referring.vf", video="reference")
    target = tmp_path / "copy.vf"
    vf.subset(tmp_path / "referring.vf", target, [2, 0])
    copied = vf.open(target, allowed_sources=[source])
    before = vf.open(tmp_path / "referring.vf", allowed_sources=[source])
    for episode, old in enumerate((2, 0)):
        frames = copied.read_frames(episode, "observation.images.front", [0, -1])
        expected = before.read_frames(old, "observation.images.front", [0, -1])
        assert np.array_equal(frames, expected)
    with pytest.raises(vf.VideoFormatError, match="outside the allowed source locations"):
        vf.open(target).read_frames(0, "observation.images.front", [0])


def test_a_task_index_without_a_text_is_named(converted: list[Path], tmp_path: Path) -> None:
    def change(rows: list[dict[str, object]]) -> None:
        rows[1]["task_index"] = [9] * 7

    damaged = rewritten(converted[0], tmp_path / "damaged.vf", change)
    with pytest.raises(DataError, match="episode 1: task_index is 9, the dataset has 2 tasks"):
        vf.merge([damaged], tmp_path / "all.vf")


@pytest.mark.object_store
def test_from_a_folder_to_a_bucket_and_on(
    pair: tuple[Path, Path], s3: ObjectStore, tmp_path: Path
) -> None:
    options = s3.storage_options
    vf.merge(pair, s3.uri("all.vf"), storage_options=options)
    vf.subset(
        s3.uri("all.vf"),
        s3.uri("some.vf"),
        [3, 0],
        storage_options=options,
        source_options=options,
    )
    vf.merge([s3.uri("some.vf")], tmp_path / "back.vf", source_options=options)
    everything = whole.episodes(pair[0]) | whole.episodes(pair[1])
    stored = whole.episodes(s3.uri("all.vf"), options=options)
    assert list(stored.items()) == list(everything.items())
    back = whole.episodes(tmp_path / "back.vf")
    assert list(back.items()) == [list(everything.items())[at] for at in (3, 0)]
    vf.merge(
        [s3.uri("some.vf"), s3.uri("all.vf")],
        s3.uri("again.vf"),
        storage_options=options,
        source_options=options,
    )
    again = whole.episodes(s3.uri("again.vf"), options=options)
    assert list(again.items()) == [list(everything.items())[at] for at in (3, 0, 1, 2)]
    vf.delete_episodes(s3.uri("some.vf"), [0], storage_options=options)
    vf.vacuum(s3.uri("some.vf"), storage_options=options)
    assert vf.open(s3.uri("some.vf"), options).num_episodes == 1
    assert verify(s3.uri("all.vf"), storage_options=options).ok
