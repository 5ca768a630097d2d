"""Episodes are deleted without moving anything, and come back."""

from pathlib import Path

import numpy as np
import pytest
import whole
from small_dataset import CAMERAS, scene, write_dataset

import videoformat as vf
from videoformat.errors import (
    DataError,
    DatasetNotFoundError,
    EpisodeNotFoundError,
    InvalidArgumentError,
)
from videoformat.table import Table
from videoformat.verify import verify

LENGTHS = (9, 3, 5, 4)


@pytest.fixture
def uri(tmp_path: Path) -> Path:
    path = tmp_path / "d.vf"
    write_dataset(path, lengths=LENGTHS, chunk_frames=4)
    return path


def append(uri: Path, frames: int = 2) -> str:
    with vf.create(uri, mode="append") as writer:
        for frame in range(frames):
            images = {key: scene(7, at, frame) for at, key in enumerate(CAMERAS)}
            writer.add_frame({**images, "action": np.zeros(2, np.float32), "task": "more"})
        return writer.save_episode()


def files(uri: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in (uri / "data").rglob("*")}


def test_a_delete_moves_no_bytes_and_leaves_the_rest_as_it_was(uri: Path) -> None:
    before, stored = whole.episodes(uri), files(uri)
    report = vf.delete_episodes(uri, [1, -1])
    assert report.episodes == (list(before)[1], list(before)[3])
    assert report.frames == LENGTHS[1] + LENGTHS[3]
    assert files(uri) == stored
    after = whole.episodes(uri)
    assert list(after.items()) == [item for at, item in enumerate(before.items()) if at in (0, 2)]
    assert vf.open(uri).version == report.version
    assert verify(uri, decode=True).ok


def test_ordinals_count_in_the_version_that_is_open(uri: Path) -> None:
    opened = vf.open(uri)
    uids = opened.directory.uids()
    vf.delete_episodes(uri, [0])
    assert vf.delete_episodes(opened, [1]).episodes == (uids[1],)
    # It is gone already, which is what was asked for.
    assert vf.delete_episodes(opened, [1]).episodes == (uids[1],)
    assert vf.open(uri).directory.uids() == uids[2:]


def test_what_is_not_there_is_named_and_nothing_is_deleted(uri: Path) -> None:
    version = vf.open(uri).version
    with pytest.raises(EpisodeNotFoundError, match="there is no episode 4; valid are 0 to 3"):
        vf.delete_episodes(uri, [0, 4])
    with pytest.raises(EpisodeNotFoundError, match="no episode with episode_uid"):
        vf.delete_episodes(uri, ["' OR 1=1 --"])
    with pytest.raises(InvalidArgumentError, match="iterable"):
        vf.delete_episodes(uri, "abc")
    assert vf.delete_episodes(uri, []).version == version
    assert vf.open(uri).version == version


def test_an_identity_with_a_quote_is_one_value(uri: Path) -> None:
    uids = vf.open(uri).directory.uids()
    table = Table.open(uri).delete_episodes([f"x' OR episode_uid = '{uids[0]}"])
    assert table.directory().column("episode_uid").to_pylist() == (
        Table.open(uri, version=5).directory().column("episode_uid").to_pylist()
    )


def test_undelete_brings_back_what_a_version_had_and_keeps_what_came_since(uri: Path) -> None:
    before, version = whole.episodes(uri), vf.open(uri).version
    vf.delete_episodes(uri, [0, 2])
    added = append(uri)
    report = vf.undelete(uri, version)
    assert set(report.episodes) == set(list(before)[::2])
    after = whole.episodes(uri)
    assert {**before, added: after[added]} == after
    assert vf.undelete(uri, version).episodes == ()
    assert verify(uri, decode=True).ok


def test_undelete_in_a_fragment_keeps_the_order(uri: Path) -> None:
    vf.vacuum(uri)  # all episodes in one fragment
    before, version = whole.episodes(uri), vf.open(uri).version
    vf.delete_episodes(uri, [1, 2])
    assert vf.undelete(uri, version).frames == LENGTHS[1] + LENGTHS[2]
    assert list(whole.episodes(uri).items()) == list(before.items())


def test_what_a_compaction_moved_apart_is_refused_by_name(uri: Path) -> None:
    vf.vacuum(uri)
    version = vf.open(uri).version
    vf.delete_episodes(uri, [1])
    vf.vacuum(uri)
    left = whole.episodes(uri)
    with pytest.raises(DataError, match=r"1 episodes of version .* subset copies them"):
        vf.undelete(uri, version)
    assert whole.episodes(uri) == left


def test_undelete_of_a_version_that_is_gone(uri: Path) -> None:
    with pytest.raises(DatasetNotFoundError, match="has no version 99"):
        vf.undelete(uri, 99)
