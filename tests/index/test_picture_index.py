"""The picture index: through Arrow and back, every changed cell noticed, nothing impossible held."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index.reference_graphs import STREAM, ddra_indexes, indexes, lists_of, make_index, reachable

from videoformat.errors import ChecksumError, DataError, StructureError
from videoformat.index.pictures import ChunkKey, PictureIndex, Stream, place_pictures
from videoformat.index.schema import PICTURE_TYPE

ANY_INDEX = st.one_of(indexes(access="direct"), indexes(access="rewrite"), ddra_indexes())


def cells_of(index: PictureIndex) -> list[dict[str, Any]]:
    return index.to_arrow().to_pylist()  # type: ignore[no-any-return]


def read_back(key: ChunkKey, cells: list[dict[str, Any]], stream: dict[str, Any]) -> PictureIndex:
    return PictureIndex.from_arrow(key, pa.array(cells, PICTURE_TYPE), stream)


@settings(max_examples=40)
@given(ANY_INDEX)
def test_an_index_comes_back_from_arrow(index: PictureIndex) -> None:
    array = index.to_arrow()
    assert array.type == PICTURE_TYPE
    assert len(array) == len(index)
    assert PictureIndex.from_arrow(index.key, array, index.stream_value()) == index


@settings(max_examples=40)
@given(ANY_INDEX)
def test_an_index_comes_back_from_a_slice_of_an_array(index: PictureIndex) -> None:
    """A cell of a list column is a slice of all rows' pictures."""
    array = index.to_arrow()
    longer = pa.concat_arrays([array, array, array])
    cut = longer.slice(len(index), len(index))
    assert PictureIndex.from_arrow(index.key, cut, index.stream_value()) == index


POSITIONS = st.lists(st.integers(0, 30), max_size=3)
OTHER_CELLS: dict[str, st.SearchStrategy[Any]] = {
    "frame_index": st.none() | st.integers(0, 2**62),
    "pts": st.none() | st.integers(-(2**62), 2**62),
    "poc": st.none() | st.integers(-(2**31), 2**31 - 1),
    "picture_type": st.sampled_from(["I", "P", "B", "", "I\nP"]),
    "is_random_access": st.booleans(),
    "is_reference": st.booleans(),
    "offset": st.integers(0, 2**62),
    "size": st.integers(0, 2**31 - 1),
    "references": POSITIONS,
    "reference_lists": st.none() | st.lists(POSITIONS, max_size=3),
    "crc32": st.integers(0, 2**32 - 1),
}


@settings(max_examples=50)
@given(ANY_INDEX, st.data())
def test_any_changed_cell_is_noticed(index: PictureIndex, data: st.DataObject) -> None:
    cells = cells_of(index)
    cell = cells[data.draw(st.integers(0, len(cells) - 1))]
    for name in PICTURE_TYPE.names:
        kept = cell[name]
        cell[name] = data.draw(OTHER_CELLS[name])
        if cell[name] != kept:
            with pytest.raises(ChecksumError, match="checksum 0x"):
                read_back(index.key, cells, index.stream_value())
        cell[name] = kept
    assert read_back(index.key, cells, index.stream_value()) == index


@settings(max_examples=30)
@given(ANY_INDEX, st.data())
def test_exchanged_cells_are_noticed(index: PictureIndex, data: st.DataObject) -> None:
    cells = cells_of(index)
    one, other = (cells[data.draw(st.integers(0, len(cells) - 1))] for _ in range(2))
    for name in PICTURE_TYPE.names:
        if one[name] != other[name]:
            one[name], other[name] = other[name], one[name]
            with pytest.raises(ChecksumError):
                read_back(index.key, cells, index.stream_value())
            one[name], other[name] = other[name], one[name]


@settings(max_examples=30)
@given(ANY_INDEX, st.data())
def test_a_lost_or_repeated_picture_is_noticed(index: PictureIndex, data: st.DataObject) -> None:
    cells = cells_of(index)
    at = data.draw(st.integers(0, len(cells) - 1))
    changed = data.draw(
        st.sampled_from([cells[:at] + cells[at + 1 :], cells[: at + 1] + cells[at:]])
    )
    with pytest.raises(ChecksumError):
        read_back(index.key, changed, index.stream_value())


OTHER_FACTS: dict[type, st.SearchStrategy[Any]] = {
    int: st.integers(0, 2**31 - 1),
    str: st.text(max_size=4),
    bytes: st.binary(max_size=4),
}


@settings(max_examples=30)
@given(st.data())
def test_any_changed_fact_of_the_stream_is_noticed(data: st.DataObject) -> None:
    index = make_index([[], [0]], interval=4, encoder="{}", access_reason="a reason",
                       source_uri="file:///a.mp4", source_size=9)  # fmt: skip
    stream = index.stream_value()
    for name in (item.name for item in fields(Stream)):
        other = data.draw(OTHER_FACTS[type(stream[name])])
        if other != stream[name]:
            with pytest.raises(ChecksumError):
                read_back(index.key, cells_of(index), {**stream, name: other})


@pytest.mark.parametrize(
    "name", ["interval", "access_reason", "encoder", "source_uri", "source_size"]
)
def test_an_absent_fact_is_not_an_empty_one(name: str) -> None:
    index = make_index([[]])
    empty: Any = 0 if name in ("interval", "source_size") else ""
    with pytest.raises(ChecksumError):
        read_back(index.key, cells_of(index), {**index.stream_value(), name: empty})


@pytest.mark.parametrize(
    "changed",
    [{"episode_uid": "episode2"}, {"chunk_index": 1}, {"first_frame": 1}, {"frame_count": 3}],
    ids=str,
)
def test_an_index_of_another_chunk_is_noticed(changed: dict[str, Any]) -> None:
    """So that two rows' indexes cannot be exchanged."""
    index = make_index([[], [0]])
    with pytest.raises(ChecksumError):
        read_back(replace(index.key, **changed), cells_of(index), index.stream_value())


@pytest.mark.parametrize(
    "name",
    [name for name in PICTURE_TYPE.names
     if name not in ("frame_index", "pts", "poc", "reference_lists")],
)  # fmt: skip
def test_a_null_cell_is_named(name: str) -> None:
    index = make_index([[], [0]])
    cells = cells_of(index)
    cells[1][name] = None
    with pytest.raises(DataError, match=name):
        read_back(index.key, cells, index.stream_value())


@pytest.mark.parametrize("name", ["references", "reference_lists"])
def test_a_null_within_a_list_is_refused(name: str) -> None:
    index = make_index([[], [0]], reference_lists=[(), ((0,),)])
    cells = cells_of(index)
    cells[1][name] = [None]
    with pytest.raises(DataError):
        read_back(index.key, cells, index.stream_value())


@pytest.mark.parametrize("name", ["codec", "width", "access", "configuration", "checksum"])
def test_a_null_fact_is_named(name: str) -> None:
    index = make_index([[]])
    with pytest.raises(DataError, match=name):
        read_back(index.key, cells_of(index), {**index.stream_value(), name: None})


def test_no_index_at_all_is_refused() -> None:
    index = make_index([[]])
    for pictures, stream in ((None, index.stream_value()), (index.to_arrow(), None)):
        with pytest.raises(DataError, match="null"):
            PictureIndex.from_arrow(index.key, pictures, stream)  # type: ignore[arg-type]


def test_an_unknown_access_is_refused_though_its_checksum_is_right() -> None:
    index = make_index([[]], access="telepathy")
    with pytest.raises(DataError, match="telepathy"):
        read_back(index.key, cells_of(index), index.stream_value())


IMPOSSIBLE: dict[str, dict[str, Any]] = {
    "a reference to itself": {"references": ((), (1,), (0,))},
    "a reference to a later picture": {"references": ((), (2,), ())},
    "a reference before the first": {"references": ((), (-1,), ())},
    "a negative offset": {"offset": (0, -1, 20)},
    "an empty picture": {"size": (10, 0, 12)},
    "a picture of negative size": {"size": (10, -5, 12)},
    "a picture beyond the media": {"size": (10, 11, 13)},
    "a frame twice": {"frame_index": (0, 1, 1)},
    "a frame that is missing": {"frame_index": (0, None, 2)},
    "a frame of the next chunk": {"frame_index": (0, 1, 3)},
    "a frame of the chunk before": {"frame_index": (-1, 1, 2)},
    "columns of other lengths": {"crc32": (0, 0)},
}


@pytest.mark.parametrize("changed", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_what_cannot_be_is_refused(changed: dict[str, Any]) -> None:
    index = make_index([[], [0], []])
    with pytest.raises(StructureError, match="'episode' chunk 0"):
        replace(index, **changed)


@pytest.mark.parametrize(
    "size", [{"width": 65}, {"height": 49}, {"width": 0}, {"decoded_width": 63}], ids=str
)
def test_a_frame_larger_than_its_picture_is_refused(size: dict[str, int]) -> None:
    """Its last columns would be whatever lies behind the lines of the picture."""
    index = make_index([[]])
    with pytest.raises(StructureError, match=r"frames of \d+x\d+ out of pictures"):
        replace(index, stream=replace(STREAM, **size, media_size=index.stream.media_size))


@settings(max_examples=40)
@given(ANY_INDEX, st.data())
def test_a_closure_is_all_that_targets_lead_to(index: PictureIndex, data: st.DataObject) -> None:
    targets = data.draw(st.lists(st.integers(0, len(index) - 1), max_size=5))
    closure = index.closure(targets)
    assert closure == reachable(index.references, targets)
    assert index.closure(sorted(closure)) == closure


@settings(max_examples=40)
@given(ANY_INDEX)
def test_what_an_index_works_out_at_once(index: PictureIndex) -> None:
    for at in range(len(index)):
        assert index.earliest[at] == min(reachable(index.references, [at]))
        assert index.references_before[at] == sum(index.is_reference[:at])
    shown = {frame: at for at, frame in enumerate(index.frame_index) if frame is not None}
    assert index.position_of == shown
    assert sorted(shown) == list(range(index.key.first_frame, index.key.end_frame))


@settings(max_examples=40)
@given(ANY_INDEX)
def test_media_is_tiled_references_first(index: PictureIndex) -> None:
    """References in decode order, then the rest as they are shown, those never shown in front."""
    placed = sorted(range(len(index)), key=lambda at: index.offset[at])
    ends = [index.offset[at] + index.size[at] for at in placed]
    assert [index.offset[at] for at in placed] == [0, *ends[:-1]]
    assert ends[-1] == index.stream.media_size
    references = [at for at in range(len(index)) if index.is_reference[at]]
    rest = [at for at in range(len(index)) if not index.is_reference[at]]
    shown_rest = [at for at in placed[len(references) :] if index.frame_index[at] is not None]
    assert placed[: len(references)] == references
    assert set(placed[len(references) :]) == set(rest)
    assert [index.frame_index[at] for at in shown_rest] == sorted(
        frame for at in rest if (frame := index.frame_index[at]) is not None
    )


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 99), st.booleans(), st.integers(0, 9)), max_size=20))
def test_pictures_are_placed_once_each(pictures: list[tuple[int, bool, int]]) -> None:
    sizes, marks, order = ([item[part] for item in pictures] for part in range(3))
    layout, offsets = place_pictures(sizes, marks, order)
    assert sorted(layout) == list(range(len(pictures)))
    assert [offsets[at] for at in layout] == [
        sum(sizes[before] for before in layout[:n]) for n in range(len(layout))
    ]


def test_the_canonical_bytes_of_facts_are_unambiguous() -> None:
    """Text that moves from one field to the next, or that spells a number, changes them."""
    index = make_index([[]], codec="ab", pixel_format="c")
    moved = make_index([[]], codec="a", pixel_format="bc")
    assert index.stream.canonical_bytes() != moved.stream.canonical_bytes()
    assert index.checksum() != moved.checksum()


@pytest.mark.parametrize(
    ("encoder", "settings_"),
    [(None, {}), ("", {}), ("{", {}), ("[1]", {}), ('{"crf": 20}', {"crf": 20})],
)
def test_encoder_settings_are_for_people(encoder: str | None, settings_: dict[str, Any]) -> None:
    assert replace(STREAM, encoder=encoder).encoder_settings == settings_


def test_an_index_says_what_it_is() -> None:
    index = make_index([[], [0]], first_frame=7, reference_lists=lists_of([[], [0]]))
    assert repr(index) == (
        "PictureIndex(episode 'episode' chunk 0: 2 pictures of h264 native, frames 7 to 8)"
    )
    assert len(index) == 2
