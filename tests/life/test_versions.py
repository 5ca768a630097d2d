"""Versions by number, tag and time; what vacuum keeps and removes."""

import datetime as dt
import math
from pathlib import Path

import pyarrow as pa
import pytest
import whole
from hypothesis import given
from hypothesis import strategies as st
from small_dataset import CAMERAS, write_dataset

import videoformat as vf
from videoformat.errors import DatasetNotFoundError, InvalidArgumentError
from videoformat.merging.whole_rows import whole_row
from videoformat.table import Table, history
from videoformat.verify import verify

AT_ONCE = dt.timedelta(0)


@pytest.fixture
def uri(tmp_path: Path) -> Path:
    path = tmp_path / "d.vf"
    write_dataset(path, lengths=(5, 4, 3), chunk_frames=4)
    return path


def test_log_says_what_made_each_version(uri: Path) -> None:
    vf.delete_episodes(uri, [0])
    vf.vacuum(uri)
    vf.tag(uri, "good", 4)
    facts = vf.log(uri)
    assert [item.version for item in facts] == list(range(len(facts), 0, -1))
    made = [item.operation for item in reversed(facts)]
    assert made[:5] == ["create", "append", "append", "append", "delete"]
    assert "compact" in made[5:]
    assert [item.version for item in facts if item.tags == ("good",)] == [4]
    assert [item.chunks for item in reversed(facts)][:5] == [0, 2, 3, 4, 2]
    assert vf.log(uri, limit=2) == facts[:2]
    assert all(item.time.tzinfo is not None for item in facts)


def test_a_version_is_opened_by_number_tag_and_time(uri: Path) -> None:
    facts = {item.version: item for item in vf.log(uri)}
    vf.tag(uri, "two", 3)
    assert vf.open(uri, version=3).num_episodes == 2
    assert vf.open(uri, version="two").num_episodes == 2
    assert vf.open(uri, version=facts[3].time).version == 3
    assert vf.open(uri, version=facts[4].time - dt.timedelta(microseconds=1)).version == 3
    with pytest.raises(DatasetNotFoundError, match="as old as"):
        vf.open(uri, version=facts[1].time - dt.timedelta(seconds=1))


def test_a_clock_that_goes_backwards_makes_no_older_version_newer() -> None:
    class Clocks:
        def versions(self) -> list[dict[str, object]]:
            noon = dt.datetime(2026, 1, 1, 12)
            hours = {1: 0, 2: 3, 3: 1, 4: 2}
            return [
                {"version": number, "timestamp": noon + dt.timedelta(hours=hour)}
                for number, hour in hours.items()
            ]

    noon = dt.datetime(2026, 1, 1, 12).astimezone()
    found = [history.version_at(Clocks(), noon + dt.timedelta(hours=hour)) for hour in range(-1, 4)]
    assert found == [None, 1, 3, 4, 4]


def test_tags_are_names_of_one_version_each(uri: Path) -> None:
    assert vf.tag(uri, "good", 2) == 2
    with pytest.raises(InvalidArgumentError, match="good"):
        vf.tag(uri, "good", 3)
    assert vf.tag(uri, "good", 3, move=True) == 3
    assert vf.open(uri, version="good").version == 3
    for name in ("", "12", "a/b", "../x", "a b"):
        with pytest.raises((InvalidArgumentError, DatasetNotFoundError)):
            vf.tag(uri, name)
    vf.untag(uri, "good")
    with pytest.raises(DatasetNotFoundError, match="good"):
        vf.untag(uri, "good")
    with pytest.raises(DatasetNotFoundError):
        vf.open(uri, version="good")


def test_vacuum_keeps_the_newest_and_the_tagged_and_removes_the_rest(uri: Path) -> None:
    vf.tag(uri, "all")
    everything, tagged = whole.episodes(uri), vf.open(uri).version
    vf.delete_episodes(uri, [0])
    kept = whole.episodes(uri)
    report = vf.vacuum(uri, older_than=AT_ONCE)
    assert report.compaction.rows == 2
    assert report.compaction.media_bytes > 0
    assert report.removed.versions >= 3
    assert whole.episodes(uri) == kept
    assert whole.episodes(uri, "all") == everything
    with pytest.raises(DatasetNotFoundError):
        vf.open(uri, version=tagged - 1)
    vf.untag(uri, "all")
    size = sum(path.stat().st_size for path in uri.rglob("*.lance"))
    vf.vacuum(uri, older_than=AT_ONCE)
    assert sum(path.stat().st_size for path in uri.rglob("*.lance")) < size
    assert whole.episodes(uri) == kept
    assert verify(uri, decode=True).ok


def test_within_the_grace_nothing_is_removed(uri: Path) -> None:
    before = whole.episodes(uri)
    reader = vf.open(uri)
    vf.delete_episodes(uri, [1])
    report = vf.vacuum(uri)
    assert report.removed.versions == 0
    assert reader.read_frames(1, CAMERAS[0], [2]).shape == (1, 32, 48, 3)
    assert whole.episodes(uri, reader.version) == before


def test_what_has_reached_the_target_is_not_copied_again(uri: Path) -> None:
    assert vf.vacuum(uri).compaction.fragments == 3
    assert vf.vacuum(uri).compaction.media_bytes == 0
    assert vf.vacuum(uri, target_bytes=1).compaction.media_bytes == 0


def test_what_is_large_stays_where_it_is_and_nothing_changes_its_place(tmp_path: Path) -> None:
    """The first rows share a fragment with the beginning of the second episode."""
    path = tmp_path / "d.vf"
    write_dataset(path, lengths=(80, 9, 2, 2), chunk_frames=4)
    table = Table.open(path)
    rows = [whole_row(table, row) for row in range(table.count_rows())]
    made = Table.create(tmp_path / "parted.vf", table.info)
    for begin, end in ((0, 21), (21, 23), (23, 24), (24, 25)):
        made = made.commit(made.write_rows(pa.concat_tables(rows[begin:end])))
    before = whole.episodes(path)
    assert list(whole.episodes(tmp_path / "parted.vf").items()) == list(before.items())
    report = vf.vacuum(tmp_path / "parted.vf")
    # An episode is compacted with all its rows, or not at all.
    assert report.compaction.rows == 25
    assert list(whole.episodes(tmp_path / "parted.vf").items()) == list(before.items())
    assert verify(tmp_path / "parted.vf").ok


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.integers(0, 3), st.integers(1, 500), st.booleans()),
        max_size=20,
    ),
    st.integers(1, 1000),
)
def test_a_compaction_begins_with_an_episode_and_gets_rid_of_something(
    facts: list[tuple[int, int, int, bool]], target: int
) -> None:
    parts = [
        history.FragmentSize(at, rows, deleted, media, begins_episode=begins or not at)
        for at, (rows, deleted, media, begins) in enumerate(facts)
    ]
    start = history._first_to_compact(parts, target)
    if start < len(parts):
        assert parts[start].begins_episode
        assert len(parts) - start > 1 or parts[start].deleted_rows
    for at, part in enumerate(parts):
        behind = parts[at:]
        deleted = sum(each.deleted_rows for each in behind)
        if part.deleted_rows and deleted * 10 > deleted + sum(each.rows for each in behind):
            assert start <= at


@given(st.lists(st.integers(1, 100), min_size=1, max_size=300))
def test_a_byte_is_copied_a_bounded_number_of_times(sizes: list[int]) -> None:
    """A vacuum after every append, none of which ever reaches the target."""
    fragments: list[int] = []
    copied = 0
    for size in sizes:
        fragments.append(size)
        parts = [history.FragmentSize(at, 1, 0, x, True) for at, x in enumerate(fragments)]
        start = history._first_to_compact(parts, 10**9)
        copied += sum(fragments[start:])
        fragments[start:] = [sum(fragments[start:])] if fragments[start:] else []
    assert sum(fragments) == sum(sizes)
    total = sum(sizes)
    assert copied <= total * (2 + math.log(total, 1.25))
    assert len(fragments) <= 2 + math.log(total, 4)


def test_a_writer_that_was_open_goes_on_after_a_vacuum(uri: Path) -> None:
    writer = vf.create(uri, mode="append")
    vf.vacuum(uri)
    frame = vf.open(uri).read_frames(0, CAMERAS[0], [0])[0]
    with writer:
        writer.add_frame({**dict.fromkeys(CAMERAS, frame), "action": [0.0, 0.0], "task": "t"})
        writer.save_episode()
    assert vf.open(uri).num_episodes == 4
    assert verify(uri).ok


def test_calls_that_cannot_be_right_are_refused(uri: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="older_than"):
        vf.vacuum(uri, older_than=dt.timedelta(days=-1))
    with pytest.raises(InvalidArgumentError, match="limit is 0"):
        vf.log(uri, limit=0)
    with pytest.raises(DatasetNotFoundError):
        vf.log(uri / "nothing")
