"""Episodes are deleted without moving anything, and come back."""

import datetime as dt
from pathlib import Path

import numpy as np
import pytest
import whole
from small_dataset import CAMERAS, scene, write_dataset

import videoformat as vf
from videoformat import appending
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


def test_one_of_a_hundred_goes_without_a_byte_of_the_others(tmp_path: Path) -> None:
    """What it costs is what is written: a list of deleted rows, a version. Seconds: tools/bench."""
    uri = tmp_path / "hundred.vf"
    write_dataset(uri, lengths=(1,) * 100, cameras=CAMERAS[:1])
    before, stored = whole.episodes(uri), files(uri)
    everything = {path: path.stat().st_size for path in uri.rglob("*") if path.is_file()}
    vf.delete_episodes(uri, [41])
    assert files(uri) == stored
    new = {path for path in uri.rglob("*") if path.is_file()} - {*everything}
    assert all("data" not in path.relative_to(uri).parts for path in new)
    assert sum(path.stat().st_size for path in new) < sum(everything.values()) / 20
    after = whole.episodes(uri)
    uids = list(before)
    assert list(after.items()) == [(uid, before[uid]) for uid in uids if uid != uids[41]]


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


def test_what_a_compaction_moved_apart_comes_back_without_its_neighbours(uri: Path) -> None:
    vf.vacuum(uri)
    before, version = whole.episodes(uri), vf.open(uri).version
    vf.delete_episodes(uri, [1])
    vf.vacuum(uri)
    assert vf.undelete(uri, version).frames == LENGTHS[1]
    assert whole.episodes(uri) == before
    assert vf.open(uri).num_frames == sum(LENGTHS)
    vf.vacuum(uri, older_than=dt.timedelta(0))
    assert whole.episodes(uri) == before
    assert verify(uri, decode=True).ok


def test_a_row_that_has_been_copied_elsewhere_does_not_come_back_twice(
    uri: Path, tmp_path: Path
) -> None:
    """It lies in the same fragment as what comes back, and in another one since a merge."""
    vf.subset(uri, tmp_path / "donor.vf", [1])
    vf.vacuum(uri)
    before, version = whole.episodes(uri), vf.open(uri).version
    vf.delete_episodes(uri, [0, 1, 2])
    vf.merge([tmp_path / "donor.vf"], uri)
    assert vf.undelete(uri, version).frames == LENGTHS[0] + LENGTHS[2]
    assert sorted(vf.open(uri).directory.uids()) == sorted(before)
    assert whole.episodes(uri) == before
    assert verify(uri, decode=True).ok


def test_what_was_deleted_then_and_is_there_now_stays(uri: Path) -> None:
    """In one fragment: the older version lacks the first, the newest lacks the second."""
    vf.vacuum(uri)
    before = whole.episodes(uri)
    everything = vf.open(uri).version
    vf.delete_episodes(uri, [0])
    then = vf.open(uri).version
    vf.undelete(uri, everything)
    vf.delete_episodes(uri, [1])
    assert vf.undelete(uri, then).episodes == (list(before)[1],)
    assert list(whole.episodes(uri).items()) == list(before.items())
    assert verify(uri, decode=True).ok


def test_a_first_fragment_that_was_deleted_in_two_steps_is_refused_by_name(uri: Path) -> None:
    """Lance would give it another number, under which its list of deleted rows is not found."""
    vf.subset(uri, uri.with_name("one.vf"), [0, 1])
    one = uri.with_name("one.vf")
    before = whole.episodes(one)
    vf.delete_episodes(one, [0])
    version = vf.open(one).version
    vf.delete_episodes(one, [0])
    append(one)
    left = whole.episodes(one)
    with pytest.raises(DataError, match=r"1 episodes of version .* subset copies them"):
        vf.undelete(one, version)
    assert whole.episodes(one) == left
    vf.undelete(one, version - 1)
    assert {**before, **left} == whole.episodes(one)
    assert verify(one, decode=True).ok


def test_what_lacks_a_column_by_now_is_refused_by_name(uri: Path) -> None:
    version = vf.open(uri).version
    vf.delete_episodes(uri, [1])
    vf.add_feature(uri, "reward", {"dtype": "float32", "shape": (1,)}, [0.0] * 18)
    left = whole.episodes(uri)
    with pytest.raises(DataError, match=r"1 episodes of version .* subset copies them"):
        vf.undelete(uri, version)
    assert whole.episodes(uri) == left


def test_an_episode_whose_rows_would_part_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first row shares a fragment with another episode, the others have one of their own."""
    uri = tmp_path / "parted.vf"
    write_dataset(uri, lengths=(2,), chunk_frames=4)
    writer = vf.create(
        uri, mode="append", episodes_per_append=2, chunk_bounds=vf.ChunkBounds(frames=4)
    )
    with writer:
        for length in (3, 12):
            for frame in range(length):
                monkeypatch.setattr(appending, "SPILL_BYTES", 1 if length > 3 else 2**20)
                images = {key: scene(7, at, frame) for at, key in enumerate(CAMERAS)}
                writer.add_frame({**images, "action": np.zeros(2, np.float32), "task": "more"})
            writer.save_episode()
    monkeypatch.undo()
    version, before = vf.open(uri).version, whole.episodes(uri)
    vf.delete_episodes(uri, [2])
    append(uri)
    with pytest.raises(DataError, match=r"1 episodes of version .* subset copies them"):
        vf.undelete(uri, version)
    vf.subset(uri, tmp_path / "copy.vf", [2], version=version)
    assert list(whole.episodes(tmp_path / "copy.vf").values()) == list(before.values())[2:]


def test_undelete_of_a_version_that_is_gone(uri: Path) -> None:
    with pytest.raises(DatasetNotFoundError, match="has no version 99"):
        vf.undelete(uri, 99)
