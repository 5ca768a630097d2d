"""Rows of the table: one chunk each, and its tabular values as frames again."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index.reference_graphs import make_index

from videoformat.errors import CountMismatchError, DataError
from videoformat.index.features import parse_features
from videoformat.index.pictures import ChunkKey, PictureIndex
from videoformat.index.rows import (
    ChunkMedia,
    EpisodeFacts,
    ExternalRange,
    chunk_row,
    frame_values,
)
from videoformat.index.schema import (
    EXTERNAL_MEDIA_TYPE,
    MEDIA_TYPE,
    DatasetInfo,
    table_schema,
)

FEATURES = parse_features(
    {
        "camera.top": {"dtype": "video", "shape": (48, 64, 3)},
        "action": {"dtype": "float32", "shape": (2,)},
        "done": {"dtype": "bool"},
    }
)
INFO = DatasetInfo(fps=30, features=FEATURES)
KEY = ChunkKey("episode", 0, 0, 3)
VALUES = {
    "action": pa.array([[1, 2], [3, 4], [5, 6]], FEATURES["action"].arrow_type),
    "done": pa.array([False, False, True]),
}


def row(**changes: Any) -> pa.Table:
    index = make_index([[], [0], [0]])
    cameras = {"camera.top": ChunkMedia(b"\1" * index.stream.media_size, index)}
    given_: dict[str, Any] = {
        "info": INFO, "key": KEY, "values": VALUES, "cameras": cameras, "episode": None, **changes
    }  # fmt: skip
    return chunk_row(**given_)


def test_a_row_has_the_schema_of_the_table() -> None:
    facts = EpisodeFacts(3, ("pick",), {"operator": "ü"}, {"action": {"mean": [1.5]}})
    found = row(episode=facts)
    assert found.schema.equals(table_schema(INFO), check_metadata=True)
    assert found.num_rows == 1
    cells = found.to_pylist()[0]
    assert cells["episode_length"] == 3
    assert cells["tasks"] == ["pick"]
    assert json.loads(cells["episode_metadata"]) == {"operator": "ü"}
    assert json.loads(cells["episode_statistics"]) == {"action": {"mean": [1.5]}}
    assert cells["action"] == [[1, 2], [3, 4], [5, 6]]
    assert cells["done"] == [False, False, True]
    assert cells["camera/top"] == b"\1" * 33
    index = PictureIndex.from_arrow(
        KEY, found["camera/top/pictures"][0].values, cells["camera/top/stream"]
    )
    assert len(index) == 3


def test_a_later_row_says_nothing_of_its_episode() -> None:
    cells = row(key=replace(KEY, chunk_index=1, first_frame=3)).to_pylist()[0]
    assert (cells["chunk_index"], cells["first_frame"], cells["frame_count"]) == (1, 3, 3)
    names = ("episode_length", "tasks", "episode_metadata", "episode_statistics")
    assert [cells[name] for name in names] == [None] * 4


def test_an_episode_without_metadata_has_none() -> None:
    cells = row(episode=EpisodeFacts(3)).to_pylist()[0]
    assert (cells["tasks"], cells["episode_metadata"], cells["episode_statistics"]) == (
        [],
        None,
        None,
    )


def test_media_in_a_file_of_its_own_is_a_range() -> None:
    index = make_index([[], [0], [0]])
    place = ExternalRange("file:///a.mp4", 100, 33)
    found = row(cameras={"camera.top": ChunkMedia(place, index)})
    assert found.schema.field("camera/top").type == EXTERNAL_MEDIA_TYPE
    assert found["camera/top"].to_pylist() == [
        {"uri": "file:///a.mp4", "position": 100, "size": 33}
    ]
    assert table_schema(INFO).field("camera/top").type == MEDIA_TYPE


@pytest.mark.parametrize("count", [0, 2, 4])
def test_values_of_another_count_are_refused(count: int) -> None:
    values = {**VALUES, "done": pa.array([True] * count)}
    with pytest.raises(
        CountMismatchError, match=f"'episode': feature 'done' has {count} values for the 3 frames"
    ):
        row(values=values)


def test_values_of_another_type_are_refused() -> None:
    with pytest.raises(DataError, match="feature 'done' has type int8, expected bool"):
        row(values={**VALUES, "done": pa.array([1, 2, 3], pa.int8())})


DTYPES = ["bool", "int8", "int64", "uint16", "float16", "float32", "float64", "string"]


@settings(max_examples=60)
@given(
    st.sampled_from(DTYPES),
    st.sampled_from([(), (1,), (3,), (2, 2), (1, 2, 1, 2, 1)]),
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.integers(1, 4),
)
def test_frames_come_back_from_rows(
    dtype: str, shape: tuple[int, ...], counts: list[int], parts: int
) -> None:
    """However the rows lie in the chunks of a column, also as slices of longer ones."""
    feature = parse_features({"a": {"dtype": dtype, "shape": shape}})["a"]
    total, size = sum(counts), int(np.prod(shape))
    flat = (np.arange(total * size) % 2).astype(bool if dtype == "bool" else np.int8)
    texts = [str(value) for value in flat]
    entries: list[Any] = texts if dtype == "string" else flat.astype(dtype).tolist()
    if not feature.is_scalar:
        entries = [entries[at * size : at * size + size] for at in range(total)]
    starts = np.cumsum([0, *counts])
    cells = [entries[a:b] for a, b in itertools.pairwise(starts)]
    whole = pa.array([None, *cells, None], pa.list_(feature.arrow_type)).slice(1, len(cells))
    step = -(-len(cells) // parts)
    column = pa.chunked_array(
        [whole.slice(at, step) for at in range(0, len(cells), step)], whole.type
    )
    found = frame_values(feature, column, counts)
    if len(shape) > 1 and dtype != "string":
        assert isinstance(found.type, pa.FixedShapeTensorType)
        assert found.type.shape == list(shape)
        array = pa.concat_arrays([chunk.storage for chunk in found.chunks])
        assert array.to_pylist() == entries
    else:
        assert found.type == feature.arrow_type
        assert found.to_pylist() == entries


@pytest.mark.parametrize("cells", [[[1, 2], [3]], [[1], [2], [3]], [None], [[1, 2], None]], ids=str)
def test_a_row_with_another_number_of_values_is_refused(cells: list[Any]) -> None:
    feature = parse_features({"a": {"dtype": "int8"}})["a"]
    column = pa.chunked_array([pa.array(cells, pa.list_(pa.int8()))])
    with pytest.raises(CountMismatchError, match="feature 'a': a row holds"):
        frame_values(feature, column, [2] * len(cells))


def test_no_rows_are_no_frames() -> None:
    feature = parse_features({"a": {"dtype": "int8", "shape": (2, 2)}})["a"]
    found = frame_values(feature, pa.chunked_array([], pa.list_(feature.arrow_type)), [])
    assert len(found) == 0
    assert found.type.shape == [2, 2]
