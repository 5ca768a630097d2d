"""Features and episode facts that come later; media and other columns are not touched."""

from pathlib import Path

import numpy as np
import pytest
import whole
from small_dataset import CAMERAS, scene, write_dataset

import videoformat as vf
from videoformat.errors import (
    ConflictError,
    CountMismatchError,
    EpisodeNotFoundError,
    InvalidArgumentError,
)
from videoformat.table import Table
from videoformat.verify import verify

LENGTHS = (9, 3, 5)
SCALAR = {"dtype": "float32", "shape": (1,), "names": None}


@pytest.fixture
def uri(tmp_path: Path) -> Path:
    path = tmp_path / "d.vf"
    write_dataset(path, lengths=LENGTHS, chunk_frames=4)
    return path


def sizes(uri: Path) -> dict[str, int]:
    return {str(path): path.stat().st_size for path in (uri / "data").rglob("*") if path.is_file()}


def test_a_feature_for_every_frame(uri: Path) -> None:
    before, files = whole.episodes(uri), sizes(uri)
    version = vf.open(uri).version
    values = np.arange(sum(LENGTHS), dtype=np.float32)
    vf.add_feature(uri, "reward", SCALAR, values)
    dataset = vf.open(uri)
    assert dataset.features["reward"]["dtype"] == "float32"
    assert dataset.frames_table(["reward"]).column("reward").to_pylist() == values.tolist()
    assert dataset.rows(1, [-1]).column("reward").to_pylist() == [11.0]
    assert whole.episodes(uri, without=["reward", *whole.PLACES]) == before
    now = sizes(uri)
    assert {name: now[name] for name in files} == files
    added = sum(now.values()) - sum(files.values())
    assert added < 0.2 * sum(files.values())
    assert "reward" not in vf.open(uri, version=version).features
    assert verify(uri, decode=True).ok


def test_values_come_episode_by_episode_also_beside_deleted_ones(uri: Path) -> None:
    vf.vacuum(uri)
    vf.delete_episodes(uri, [1])
    shape = {"dtype": "int64", "shape": (2,), "names": None}
    vf.add_feature(uri, "pair", shape, lambda e: [(e, frame) for frame in range((9, 5)[e])])
    dataset = vf.open(uri)
    pairs = dataset.frames_table(["pair"]).column("pair").to_pylist()
    assert pairs == [[e, f] for e, length in enumerate((9, 5)) for f in range(length)]
    vf.vacuum(uri)
    assert vf.open(uri).frames_table(["pair"]).column("pair").to_pylist() == pairs
    assert verify(uri, decode=True).ok


def test_appending_goes_on_with_the_new_feature(uri: Path) -> None:
    early = vf.create(uri, mode="append")
    vf.add_feature(uri, "reward", SCALAR, np.zeros(17, np.float32))
    frame = {key: scene(0, 0, 0) for key in CAMERAS} | {"action": [0.0, 0.0], "task": "t"}
    # A writer that does not know it would leave it out.
    early.add_frame(frame)
    with pytest.raises(ConflictError):
        early.save_episode()
    with vf.create(uri, mode="append") as writer:
        writer.add_frame({**frame, "reward": 7.0})
        writer.save_episode()
    assert vf.open(uri).rows(-1).column("reward").to_pylist() == [7.0]
    assert vf.open(uri).num_episodes == 4


def test_what_does_not_fit_is_refused_and_nothing_changes(uri: Path) -> None:
    version = vf.open(uri).version
    with pytest.raises(CountMismatchError, match="16 values for the 17 frames"):
        vf.add_feature(uri, "reward", SCALAR, [0.0] * 16)
    with pytest.raises(CountMismatchError, match="2 values for the 9 frames of episode 0"):
        vf.add_feature(uri, "reward", SCALAR, lambda _: [0.0, 0.0])
    with pytest.raises(InvalidArgumentError, match="there is a feature 'action' already"):
        vf.add_feature(uri, "action", SCALAR, [0.0] * 17)
    with pytest.raises(InvalidArgumentError, match="differ at most in case"):
        vf.add_feature(uri, "Action", SCALAR, [0.0] * 17)
    with pytest.raises(InvalidArgumentError, match="is a camera"):
        vf.add_feature(uri, "c", {"dtype": "video", "shape": (32, 48, 3)}, [0] * 17)
    with pytest.raises(InvalidArgumentError, match="reserved"):
        vf.add_feature(uri, "episode_uid", SCALAR, [0.0] * 17)
    with pytest.raises(InvalidArgumentError):
        vf.add_feature(uri, "reward", SCALAR, ["x"] * 17)
    assert vf.open(uri).version == version


def test_facts_of_episodes(uri: Path) -> None:
    before, files = whole.media(uri), sizes(uri)
    uid = vf.open(uri).directory.uids()[2]
    vf.set_episode_metadata(uri, {0: {"success": True, "note": "a"}, uid: {"success": False}})
    vf.set_episode_metadata(uri, {0: {"note": None, "operator": 3}})
    metadata = vf.open(uri).episodes.column("metadata").to_pylist()
    assert metadata == ['{"success": true, "operator": 3}', None, '{"success": false}']
    assert whole.media(uri) == before
    now = sizes(uri)
    assert {name: now[name] for name in files} == files
    assert verify(uri).ok
    with pytest.raises(EpisodeNotFoundError):
        vf.set_episode_metadata(uri, {7: {"a": 1}})
    with pytest.raises(InvalidArgumentError, match="JSON"):
        vf.set_episode_metadata(uri, {0: {"a": {1, 2}}})
    version = vf.open(uri).version
    assert vf.set_episode_metadata(uri, {0: {"operator": 3}}) == version


def test_a_change_that_others_overtook_is_a_conflict(uri: Path) -> None:
    table = Table.open(uri)
    vf.delete_episodes(uri, [0])
    cells = [None] * table.count_rows()
    cells[0] = "{}"  # type: ignore[call-overload]
    with pytest.raises(ConflictError):
        table.replace_column("episode_metadata", cells)
    assert vf.open(uri).num_episodes == 2
