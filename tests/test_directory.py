"""Which rows hold which frames: every frame in one row, contradictions named where they matter."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoformat.directory import Directory, as_index
from videoformat.errors import (
    CountMismatchError,
    EpisodeNotFoundError,
    FrameNotFoundError,
    InvalidArgumentError,
)

EPISODES = st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=4), max_size=5)
Row = dict[str, Any]


def rows_of(episodes: list[list[int]]) -> list[Row]:
    rows = []
    for number, counts in enumerate(episodes):
        for chunk, count in enumerate(counts):
            rows.append(
                {
                    "episode_uid": f"uid {number}",
                    "chunk_index": chunk,
                    "first_frame": sum(counts[:chunk]),
                    "frame_count": count,
                    "episode_length": None if chunk else sum(counts),
                }
            )
    return rows


SCHEMA = pa.schema(
    [("episode_uid", pa.string()), ("chunk_index", pa.int32()), ("first_frame", pa.int64()),
     ("frame_count", pa.int32()), ("episode_length", pa.int64())]
)  # fmt: skip


def directory_of(rows: list[Row], *, parts: int = 1) -> Directory:
    table = pa.Table.from_pylist(rows, SCHEMA)
    size = max(1, -(-len(rows) // parts))
    slices = [table.slice(at, size) for at in range(0, max(1, len(rows)), size)]
    return Directory(pa.concat_tables(slices))


@given(EPISODES, st.integers(1, 4))
def test_every_frame_is_in_one_row(episodes: list[list[int]], parts: int) -> None:
    directory = directory_of(rows_of(episodes), parts=parts)
    assert len(directory) == len(episodes)
    assert directory.lengths.tolist() == [sum(counts) for counts in episodes]
    assert directory.frame_count == sum(map(sum, episodes))
    assert directory.frame_counts == [count for counts in episodes for count in counts]
    assert directory.chunk_counts.tolist() == [len(counts) for counts in episodes]
    assert directory.uids() == [f"uid {number}" for number in range(len(episodes))]
    assert directory.row_count == sum(map(len, episodes))
    row = 0
    for number, counts in enumerate(episodes):
        found = directory.episode(number)
        assert (found.episode, found.uid, found.length) == (number, f"uid {number}", sum(counts))
        assert found.rows == range(row, row + len(counts))
        expected = [row + chunk for chunk, count in enumerate(counts) for _ in range(count)]
        assert [found.row_of(frame) for frame in range(found.length)] == expected
        assert directory.episode(number - len(episodes)) == found
        row += len(counts)


@given(EPISODES.filter(len), st.data())
def test_indices_as_python_takes_them(episodes: list[list[int]], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(episodes) - 1))
    rows = directory_of(rows_of(episodes)).episode(number)
    valid = st.integers(-rows.length, rows.length - 1)
    indices = data.draw(st.lists(valid, max_size=6))
    assert rows.resolve(indices) == [range(rows.length)[index] for index in indices]
    assert rows.resolve(np.array(indices, int)) == rows.resolve(iter(indices))
    outside = data.draw(st.integers().filter(lambda at: not -rows.length <= at < rows.length))
    said = f"episode {number} has no frame {outside}; valid are 0 to {rows.length - 1}, or "
    with pytest.raises(FrameNotFoundError, match=re.escape(said)):
        rows.resolve([*indices, outside])


@given(st.integers(0, 3), st.integers(-9, 9))
def test_episodes_as_python_takes_them(count: int, episode: int) -> None:
    directory = directory_of(rows_of([[1]] * count))
    if -count <= episode < count:
        assert directory.resolve(episode) == range(count)[episode]
        return
    valid = f"valid are 0 to {count - 1}" if count else "the dataset has none"
    with pytest.raises(EpisodeNotFoundError, match=f"there is no episode {episode}; {valid}"):
        directory.episode(episode)


@pytest.mark.parametrize("value", [True, np.False_, 1.0, np.float64(2), "1", None, [1]], ids=repr)
def test_what_is_no_index(value: Any) -> None:
    with pytest.raises(
        InvalidArgumentError, match=re.escape(f"a thing is an integer, got {value!r}")
    ):
        as_index(value, "a thing")


@pytest.mark.parametrize("value", [7, np.int8(7), np.uint64(7), np.array(7), np.array([7])[0]])
def test_what_is_an_index(value: Any) -> None:
    index = as_index(value, "a thing")
    assert (index, type(index)) == (7, int)


BROKEN: dict[str, dict[str, Any]] = {
    "a chunk that is missing": {"chunk_index": 2},
    "a chunk of another episode": {"episode_uid": "uid 9"},
    "a gap": {"first_frame": 4},
    "an overlap": {"first_frame": 2},
    "an empty chunk": {"frame_count": 0},
    "a negative chunk": {"frame_count": -1},
    "a count that is null": {"frame_count": None},
    "a first frame that is null": {"first_frame": None},
    "an index that is null": {"chunk_index": None},
    "a uid that is null": {"episode_uid": None},
}


@pytest.mark.parametrize("changes", BROKEN.values(), ids=BROKEN)
def test_rows_that_contradict_each_other_harm_their_episode_alone(changes: dict[str, Any]) -> None:
    """Episode 1 has the rows 1 and 2; the second of them is wrong."""
    rows = rows_of([[2], [3, 4], [5, 1]])
    rows[2] |= changes
    directory = directory_of(rows)
    assert len(directory) == 3
    assert directory.episode(0).length == 2
    assert directory.episode(2).length == 6
    with pytest.raises(CountMismatchError, match=r"episode 1 \('uid 1'\)"):
        directory.episode(1)


@pytest.mark.parametrize("length", [None, 6, 8, 0])
def test_a_length_that_its_rows_do_not_have_is_named(length: int | None) -> None:
    rows = rows_of([[3, 4], [1]])
    rows[0]["episode_length"] = length
    directory = directory_of(rows)
    shown = -1 if length is None else length
    with pytest.raises(CountMismatchError, match=f"its rows hold 7 frames, its length is {shown}"):
        directory.episode(0)
    assert directory.episode(1).length == 1


@pytest.mark.parametrize("first", [1, -1, None])
def test_rows_that_begin_in_the_middle_of_an_episode_are_refused(first: int | None) -> None:
    rows = rows_of([[3], [1]])
    rows[0]["chunk_index"] = first
    with pytest.raises(CountMismatchError, match="the table's first row is chunk"):
        directory_of(rows)
