"""Behind a LeRobot that has a registry of readers; a stand-in keeps its contract."""

import importlib
import importlib.metadata
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import small_dataset

torch = pytest.importorskip("torch")

from videoformat.errors import DatasetNotFoundError  # noqa: E402 - needs torch
from videoformat.lerobot import LeRobotDataset, backend, write_meta  # noqa: E402

# What LeRobot's lerobot/datasets/storage.py promises to modules that are registered.
STORAGE = """
import importlib
MODULES = {}
def register_dataset_reader(storage_format, module):
    if MODULES.get(storage_format, module) != module:
        raise ValueError(f"storage_format {storage_format!r} is already registered.")
    MODULES[storage_format] = module
def make_dataset_reader(storage_format, **kwargs):
    return importlib.import_module(MODULES[storage_format]).DATASET_READER(**kwargs)
def localize(storage_format, repo_id, root, **kwargs):
    module = importlib.import_module(MODULES[storage_format])
    return module.localize_root(repo_id, root, None, token=None, force_cache_sync=False)
"""
LENGTHS = (5, 4)


@pytest.fixture
def uri(tmp_path: Path) -> Path:
    path = tmp_path / "small.vf"
    small_dataset.write_dataset(path, lengths=LENGTHS)
    return path


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    package = tmp_path / "site/lerobot/datasets"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").touch()
    (package / "storage.py").write_text(STORAGE)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    names = ("lerobot", "lerobot.datasets", "lerobot.datasets.storage")
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert backend.register()
    yield importlib.import_module("lerobot.datasets.storage")
    for name in names:
        sys.modules.pop(name, None)


def reader(registry: Any, root: Path, **more: Any) -> Any:
    info = json.loads((root / "meta/info.json").read_text())
    arguments: dict[str, Any] = {
        "meta": None, "root": root, "episodes": None, "tolerance_s": 1e-4, "revision": None,
        "delta_timestamps": None, "image_transforms": None, "return_uint8": False,
        "depth_output_unit": "mm", "token": None, "video_backend": "pyav",
    }  # fmt: skip
    return registry.make_dataset_reader(info["storage_format"], **(arguments | more))


def test_without_lerobot_there_is_nothing_to_register() -> None:
    assert not backend.register()


def test_the_entry_point_names_the_module() -> None:
    (point,) = importlib.metadata.entry_points(group="lerobot.dataset_readers", name="videoformat")
    module = point.load()
    assert module.DATASET_READER is backend.VideoformatReader
    assert callable(module.localize_root)


def test_a_registered_reader_returns_our_items(registry: Any, uri: Path) -> None:
    root = write_meta(uri)
    assert root == uri
    windows = {"action": [0.0, 1 / 30]}
    made = reader(registry, root, episodes=[1], delta_timestamps=windows)
    ours = LeRobotDataset("me/small", root=uri, episodes=[1], delta_timestamps=windows)
    assert len(made) == made.num_frames == LENGTHS[1]
    assert (made.num_episodes, made.episodes) == (1, [1])
    assert made.absolute_to_relative_idx == {5: 0, 6: 1, 7: 2, 8: 3}
    for item, expected in zip(made.get_items([0, 3]), ours.__getitems__([0, 3]), strict=True):
        assert list(item) == list(expected)
        assert torch.equal(item["action"], expected["action"])
        camera = small_dataset.CAMERAS[0]
        assert torch.equal(item[camera], expected[camera])
    made.set_image_transforms(lambda images: images[..., :2])
    assert made.get_item(0)[small_dataset.CAMERAS[0]].shape[-1] == 2
    made.clear_image_transforms()
    assert made.get_item(0)[small_dataset.CAMERAS[0]].shape[-1] == small_dataset.WIDTH
    assert made.hf_dataset.column_names[0] == "action"


def test_a_uri_is_localized(
    registry: Any, uri: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = registry.localize("videoformat", "me/small", uri.as_uri())
    assert (tmp_path / "cache") in root.parents
    assert len(reader(registry, root)) == sum(LENGTHS)
    with pytest.raises(FileNotFoundError):
        registry.localize("videoformat", "me/small", (tmp_path / "nothing").as_uri())
    with pytest.raises(DatasetNotFoundError):
        registry.localize("videoformat", "me/small", (tmp_path / "nothing").as_uri())


@pytest.mark.shared_data
def test_metadata_says_what_lerobots_own_says(
    shared: Path, converted: Callable[..., Path], tmp_path: Path
) -> None:
    root = write_meta(converted("syn_v30_h264"), tmp_path)
    source = shared / "data/lerobot/syn_v30_h264"
    ours = json.loads((root / "meta/info.json").read_text())
    theirs = json.loads((source / "meta/info.json").read_text())
    for key in (
        "codebase_version",
        "fps",
        "robot_type",
        "total_episodes",
        "total_frames",
        "splits",
    ):
        assert ours[key] == theirs[key], key
    assert {key: item["dtype"] for key, item in ours["features"].items()} == {
        key: item["dtype"] for key, item in theirs["features"].items()
    }
    episodes = pq.read_table(root / "meta/episodes")
    expected = pq.read_table(source / "meta/episodes")
    for name in ("episode_index", "length", "tasks", "dataset_from_index", "dataset_to_index"):
        assert episodes.column(name).to_pylist() == expected.column(name).to_pylist()
    tasks = pq.read_table(root / "meta/tasks.parquet").to_pydict()
    assert tasks == {"task_index": [0, 1], "task": ["task 0", "task 1"]}
    stats = json.loads((root / "meta/stats.json").read_text())
    assert set(stats) == set(json.loads((source / "meta/stats.json").read_text()))
