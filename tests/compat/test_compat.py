"""Datasets that older versions wrote are read, verified and written on, for ever."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make_compat import CAMERA, facts

import videoformat as vf
from videoformat import cli
from videoformat.errors import UnsupportedFormatError
from videoformat.table import Table
from videoformat.verify import verify

FOLDERS = sorted(path for path in Path(__file__).parent.iterdir() if (path / "dataset.vf").is_dir())


@pytest.fixture(params=FOLDERS, ids=lambda path: path.name)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(request.param, tmp_path / "kept"))


def test_there_is_one_for_this_format() -> None:
    assert [path.name for path in FOLDERS] == ["1.0"]


def test_everything_is_found(folder: Path) -> None:
    expected: dict[str, Any] = json.loads((folder / "expected.json").read_text())
    found: dict[str, Any] = json.loads(json.dumps(facts(folder / "dataset.vf")))
    for version, values in expected.items():
        for name, value in values.items():
            assert found[version][name] == value, (version, name)
    assert verify(folder / "dataset.vf", decode=True).ok
    assert verify(folder / "dataset.vf", version="four", decode=True).ok


def test_it_is_written_on(folder: Path, tmp_path: Path) -> None:
    uri = folder / "dataset.vf"
    frame = vf.open(uri).read_frames(0, CAMERA, [0])[0]
    with vf.create(uri, mode="append") as writer:
        values = {"action": np.zeros(2, np.float32), "label": "x", "reward": 1.0}
        writer.add_frame({CAMERA: frame, **values, "task": "a new one"})
        writer.save_episode()
    vf.delete_episodes(uri, [0])
    vf.vacuum(uri)
    vf.subset(uri, tmp_path / "copy.vf", [2, 0])
    assert verify(uri, decode=True).ok
    assert verify(tmp_path / "copy.vf", decode=True).ok


def with_facts(uri: Path, **changes: object) -> None:
    table = Table.open(uri)
    changed = {**json.loads(table.info.to_json()), **changes}
    table._dataset.update_schema_metadata({"videoformat": json.dumps(changed)})


def test_a_reader_flag_that_is_not_known_refuses(folder: Path) -> None:
    uri = folder / "dataset.vf"
    with_facts(uri, reader_flags=["later-thing"])
    with pytest.raises(UnsupportedFormatError, match="later-thing"):
        vf.open(uri)
    for command in ("info", "verify", "log", "vacuum"):
        assert cli.main([command, str(uri)]) == 1


def test_a_writer_flag_that_is_not_known_reads_and_refuses_every_write(
    folder: Path, tmp_path: Path
) -> None:
    uri = folder / "dataset.vf"
    with_facts(uri, writer_flags=["later-thing"])
    dataset = vf.open(uri)
    version = dataset.version
    assert dataset.read_frames(0, CAMERA, [0]).shape == (1, 32, 48, 3)
    declaration = {"dtype": "int8", "shape": (1,)}
    for write in (
        lambda: vf.create(uri, mode="append"),
        lambda: vf.delete_episodes(uri, [0]),
        lambda: vf.undelete(uri, "four"),
        lambda: vf.vacuum(uri),
        lambda: vf.tag(uri, "x"),
        lambda: vf.untag(uri, "four"),
        lambda: vf.subset(uri, tmp_path / "copy.vf", [0]),
        lambda: vf.merge([folder / "dataset.vf"], tmp_path / "copy.vf"),
        lambda: vf.add_feature(uri, "f", declaration, [0] * dataset.num_frames),
        lambda: vf.set_episode_metadata(uri, {0: {"a": 1}}),
        lambda: vf.recover(uri),
    ):
        with pytest.raises(UnsupportedFormatError, match="later-thing"):
            write()
    assert vf.open(uri).version == version
    assert not (tmp_path / "copy.vf").exists()


@pytest.mark.parametrize("version", ["1.7", "2.0", "", "x"])
def test_a_later_minor_version_reads_and_another_major_refuses(folder: Path, version: str) -> None:
    with_facts(folder / "dataset.vf", format_version=version)
    if version == "1.7":
        assert vf.open(folder / "dataset.vf").num_episodes == 3
        return
    with pytest.raises(UnsupportedFormatError):
        vf.open(folder / "dataset.vf")


def test_unknown_facts_survive_every_write(folder: Path, tmp_path: Path) -> None:
    uri = folder / "dataset.vf"
    with_facts(uri, later={"a": [1]})
    vf.set_episode_metadata(uri, {0: {"a": 1}})
    vf.add_feature(uri, "f", {"dtype": "int8", "shape": (1,)}, [0] * vf.open(uri).num_frames)
    vf.delete_episodes(uri, [0])
    vf.vacuum(uri)
    vf.subset(uri, tmp_path / "copy.vf", [0])
    for address in (uri, tmp_path / "copy.vf"):
        assert Table.open(address).info.extra == {"later": {"a": [1]}}
