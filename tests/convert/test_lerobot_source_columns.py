"""Every dtype and shape of a feature, however its column is stored."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lerobot_builder import build_v2, build_v3, edit_info, edit_table, feature

from videoformat.convert.lerobot_source import LeRobotSource
from videoformat.errors import CountMismatchError, DataError, VideoFormatError

KEY = "observation.x"
NUMERIC = [
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
]
DATA = "data/chunk-000/episode_00000{}.parquet"


def arrow(dtype: str) -> pa.DataType:
    return {"bool": pa.bool_(), "string": pa.string()}.get(dtype) or pa.from_numpy_dtype(dtype)


def values(dtype: str, rows: int, shape: tuple[int, ...]) -> np.ndarray:
    count = rows * math.prod(shape)
    if dtype == "string":
        return np.array([f"text {i} é" for i in range(count)], object).reshape(rows, *shape)
    if dtype == "bool":
        return (np.arange(count) % 3 == 0).reshape(rows, *shape)
    kind = np.dtype(dtype)
    edges = [np.iinfo(kind).min, np.iinfo(kind).max] if kind.kind in "iu" else [-1.5, np.inf]
    return np.resize(np.array([*edges, 1, 2, 3], kind), (rows, *shape))


def nested(array: np.ndarray, dtype: str, store: str) -> pa.Array:
    """The array as lists, fixed-size lists, or the extension type of the ``datasets`` library."""
    stored = arrow(dtype)
    if store == "flat":
        size = math.prod(array.shape[1:])
        return pa.array(array.reshape(len(array), size).tolist(), pa.list_(stored))
    for size in reversed(array.shape[1:]):
        stored = pa.list_(stored, size) if store == "fixed" else pa.list_(stored)
    return pa.array(array.tolist(), stored)


def open_with(
    root: Path, dtype: str, shape: tuple[int, ...], columns: list[pa.Array], build: Any = build_v2
) -> LeRobotSource:
    lengths = [len(column) for column in columns]
    return LeRobotSource(
        build(
            root,
            lengths,
            features={KEY: feature(dtype, *shape)},
            columns=lambda episode, _: {KEY: columns[episode]},
        )
    )


@pytest.mark.parametrize("dtype", [*NUMERIC, "bool", "string"])
@pytest.mark.parametrize("shape", [(), (1,)])
def test_scalars(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    array = values(dtype, 4, ())
    plain = pa.array(array.tolist(), arrow(dtype))
    for number, column in enumerate([plain, nested(array.reshape(4, 1), dtype, "list")]):
        source = open_with(tmp_path / str(number), dtype, shape, [column])
        got = source.table(source.episodes[0]).column(KEY)
        assert got.type == arrow(dtype)
        assert got.to_pylist() == plain.to_pylist()
        assert source.notes == []


@pytest.mark.parametrize("dtype", [*NUMERIC, "bool", "string"])
@pytest.mark.parametrize("store", ["list", "fixed", "flat"])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (1, 1), (2, 1, 2, 1, 3)])
def test_lists(tmp_path: Path, dtype: str, shape: tuple[int, ...], store: str) -> None:
    array = values(dtype, 3, shape)
    source = open_with(tmp_path, dtype, shape, [nested(array, dtype, store)])
    got = source.table(source.episodes[0]).column(KEY)
    assert source.arrow_types[KEY] == got.type
    size = math.prod(shape)
    assert got.type == pa.list_(arrow(dtype), size)
    assert got.to_pylist() == array.reshape(3, size).tolist()
    assert source.features[KEY]["shape"] == list(shape)


class Array2D(pa.ExtensionType):
    """What the ``datasets`` library registers under this name, as far as Arrow sees it."""

    def __init__(self) -> None:
        super().__init__(
            pa.list_(pa.list_(pa.float32())), "datasets.features.features.Array2DExtensionType"
        )

    def __arrow_ext_serialize__(self) -> bytes:
        return b"[[2, 2], 'float32']"

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, data: bytes) -> "Array2D":
        return cls()


@pytest.mark.parametrize("registered", [False, True])
@pytest.mark.parametrize("declared", [False, True])
def test_extension_types_of_the_datasets_library(
    tmp_path: Path, registered: bool, declared: bool
) -> None:
    rows = [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]
    storage = pa.array(rows, pa.list_(pa.list_(pa.float32())))
    column = pa.ExtensionArray.from_storage(Array2D(), storage)
    build_v2(
        tmp_path,
        (2,),
        features={KEY: feature("float32", 2, 2)} if declared else {},
        columns=lambda *_: {KEY: column},
    )
    if registered:
        pa.register_extension_type(Array2D())
    try:
        source = LeRobotSource(tmp_path)
        got = source.table(source.episodes[0]).column(KEY)
    finally:
        if registered:
            pa.unregister_extension_type("datasets.features.features.Array2DExtensionType")
    assert got.type == pa.list_(pa.float32(), 4)
    assert got.to_pylist() == [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]
    assert source.features[KEY]["shape"] == [2, 2]


def test_language_columns_are_kept_as_they_come(tmp_path: Path) -> None:
    call = pa.list_(pa.json_()) if hasattr(pa, "json_") else pa.list_(pa.string())
    said = pa.struct([("role", pa.string()), ("timestamp", pa.float32()), ("tool_calls", call)])
    rows = [[{"role": "user", "timestamp": 0.5, "tool_calls": ['{"a": 1}']}], [], None]
    plain = pa.list_(
        pa.struct(
            [
                ("role", pa.string()),
                ("timestamp", pa.float32()),
                ("tool_calls", pa.list_(pa.string())),
            ]
        )
    )
    column = pa.array(rows, plain).cast(pa.list_(said))
    source = open_with(tmp_path, "language", (1,), [column])
    got = source.table(source.episodes[0]).column(KEY)
    assert "extension" not in str(got.type)
    assert got.to_pylist() == rows
    assert source.features[KEY]["dtype"] == "language"


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2], pa.timestamp("us")),
        pa.array([b"a", b"b"], pa.large_binary()),
        pa.array([{"a": 1}, {"a": None}]),
        pa.array([[1], [2, 3]], pa.list_(pa.int8())),
    ],
)
def test_unknown_dtypes_are_kept_as_they_come(tmp_path: Path, column: pa.Array) -> None:
    source = open_with(tmp_path, "something", (7,), [column])
    got = source.table(source.episodes[0]).column(KEY)
    assert got.to_pylist() == column.to_pylist()


@pytest.mark.parametrize(
    ("build", "stored", "row"),
    [
        (build_v2, pa.list_(pa.float32()), 3),
        (build_v2, pa.list_(pa.float32(), 2), 0),
        (build_v3, pa.list_(pa.float32()), 3),
    ],
)
def test_a_row_of_another_length_is_named(
    tmp_path: Path, build: Any, stored: pa.DataType, row: int
) -> None:
    good = pa.array([[1.0, 2.0, 3.0]] * 2, pa.list_(pa.float32()))
    bad = pa.array([[1.0, 2.0, 3.0]] * row + [[1.0, 2.0]] * (4 - row), stored)
    source = open_with(tmp_path, "float32", (3,), [good, bad], build)
    source.table(source.episodes[0])
    with pytest.raises(CountMismatchError, match=rf"{KEY}: row {row} holds a list of 2, expected"):
        source.table(source.episodes[1])


def test_the_row_of_a_wrong_inner_list_is_named(tmp_path: Path) -> None:
    rows = [[[1, 2], [3, 4]], [[1, 2], [3, 4]], [[1, 2], [3]]]
    column = pa.array(rows, pa.list_(pa.list_(pa.int8())))
    source = open_with(tmp_path, "int8", (2, 2), [column])
    with pytest.raises(CountMismatchError, match="row 2 holds a list of 1, expected 2 values"):
        source.table(source.episodes[0])


@pytest.mark.parametrize("stored", [pa.list_(pa.int8()), pa.list_(pa.int8(), 2)])
def test_a_null_list_is_named(tmp_path: Path, stored: pa.DataType) -> None:
    source = open_with(tmp_path, "int8", (2,), [pa.array([[1, 2], None], stored)])
    with pytest.raises(CountMismatchError, match="row 1 holds null, expected 2 values"):
        source.table(source.episodes[0])


def test_nulls_within_rows_stay_nulls(tmp_path: Path) -> None:
    source = open_with(tmp_path, "string", (1,), [pa.array(["a", None])])
    assert source.table(source.episodes[0]).column(KEY).to_pylist() == ["a", None]
    column = pa.array([[1, None], [None, 4]], pa.list_(pa.int32()))
    source = open_with(tmp_path / "lists", "int32", (2,), [column])
    assert source.table(source.episodes[0]).column(KEY).to_pylist() == [[1, None], [None, 4]]


@pytest.mark.parametrize(
    ("declared", "stored", "kept"),
    [
        ("float32", pa.float64(), "float64"),
        ("float64", pa.float32(), "float64"),
        ("int64", pa.int32(), "int64"),
        ("int32", pa.uint32(), "uint32"),
        ("float64", pa.int64(), "int64"),
        ("float64", pa.int32(), "float64"),
        ("float32", pa.int32(), "int32"),
        ("float16", pa.int8(), "float16"),
        ("bool", pa.int64(), "int64"),
        ("int64", pa.bool_(), "bool"),
        ("string", pa.large_string(), "string"),
        ("string", pa.dictionary(pa.int8(), pa.string()), "string"),
    ],
)
def test_the_stored_type_wins_over_a_declared_one_that_cannot_hold_it(
    tmp_path: Path, declared: str, stored: pa.DataType, kept: str
) -> None:
    rows: list[Any] = ["a", "b"] if declared == "string" else [False, True]
    plain = pa.array(rows)
    column = plain.dictionary_encode() if pa.types.is_dictionary(stored) else plain.cast(stored)
    source = open_with(tmp_path, declared, (1,), [column])
    got = source.table(source.episodes[0]).column(KEY)
    assert got.type == arrow(kept)
    assert source.features[KEY]["dtype"] == kept
    assert got.to_pylist() == rows
    noted = [note for note in source.notes if f"declares {KEY} as {declared}" in note]
    assert len(noted) == (declared != kept)


@pytest.mark.parametrize(
    ("first", "second", "bad"),
    [
        (pa.float32(), [1.5, 0.1], "0.1"),
        (pa.int32(), [1.0, 2.5], None),
        (pa.int8(), [1, 300], None),
        (pa.float32(), [1, 2**24 + 1], str(2**24 + 1)),
    ],
)
def test_a_later_file_may_not_change_values(
    tmp_path: Path, first: pa.DataType, second: list[Any], bad: str | None
) -> None:
    columns = [pa.array([1, 2], first), pa.array(second)]
    dtype = "float32" if pa.types.is_floating(first) else str(first)
    source = open_with(tmp_path, dtype, (1,), columns)
    source.table(source.episodes[0])
    with pytest.raises(DataError, match=rf"episode_000001\.parquet: {KEY}.*{bad or ''}"):
        source.table(source.episodes[1])


def test_a_later_file_of_another_type_with_the_same_values_is_read(tmp_path: Path) -> None:
    columns = [pa.array([1.5, 2.5], pa.float32()), pa.array([0.5, np.nan, np.inf], pa.float64())]
    source = open_with(tmp_path, "float32", (1,), columns)
    got = source.table(source.episodes[1]).column(KEY)
    assert got.type == pa.float32()
    np.testing.assert_array_equal(got.to_numpy(), [0.5, np.nan, np.inf])


def test_a_column_of_nothing_takes_the_declared_type(tmp_path: Path) -> None:
    source = open_with(tmp_path, "float32", (1,), [pa.nulls(2)])
    got = source.table(source.episodes[0]).column(KEY)
    assert (got.type, got.to_pylist()) == (pa.float32(), [None, None])


@pytest.mark.parametrize(
    ("dtype", "shape", "column"),
    [
        ("float32", (1,), pa.array(["a", "b"])),
        ("string", (1,), pa.array([1, 2])),
        ("float32", (1,), pa.array([{"a": 1}] * 2)),
        ("float32", (3,), pa.array([1.0, 2.0], pa.float32())),
        ("float32", (2, 2, 2), pa.array([[[1.0]]] * 2, pa.list_(pa.list_(pa.float32())))),
        ("float32", (1,), pa.array([[[1.0]]] * 2, pa.list_(pa.list_(pa.float32())))),
    ],
)
def test_a_column_of_another_kind_is_refused(
    tmp_path: Path, dtype: str, shape: tuple[int, ...], column: pa.Array
) -> None:
    with pytest.raises(DataError, match=rf"episode_000000\.parquet: {KEY} is .*, declared"):
        open_with(tmp_path, dtype, shape, [column])


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    raw = pa.array([b"ok", b"\xff\xfe"], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 2, raw.buffers())
    source = open_with(tmp_path, "string", (1,), [text])
    with pytest.raises(DataError, match=KEY):
        source.table(source.episodes[0])


@pytest.mark.parametrize(
    ("column", "dtype", "shape"),
    [
        (pa.array([1, 2], pa.int16()), "int16", [1]),
        (pa.array(["a", "b"], pa.large_string()), "string", [1]),
        (pa.array([True, False]), "bool", [1]),
        (pa.array([[1.0, 2.0]] * 2, pa.list_(pa.float32())), "float32", [2]),
        (pa.array([[[1], [2]]] * 2, pa.list_(pa.list_(pa.uint8()))), "uint8", [2, 1]),
        (pa.array([[1.0], [1.0, 2.0]], pa.list_(pa.float32())), "list<element: float>", [1]),
        (pa.array([[], []], pa.list_(pa.int8())), "list<element: int8>", [1]),
        (pa.array([{"a": 1}] * 2), "struct<a: int64>", [1]),
        (pa.nulls(2), "null", [1]),
    ],
)
def test_a_column_that_is_not_declared_is_kept(
    tmp_path: Path, column: pa.Array, dtype: str, shape: list[int]
) -> None:
    source = LeRobotSource(build_v2(tmp_path, (2,), columns=lambda *_: {KEY: column}))
    assert source.features[KEY] == {"dtype": dtype, "shape": shape, "names": None}
    assert KEY in source.tabular_keys
    flat = [np.ravel(row).tolist() if len(shape) > 1 else row for row in column.to_pylist()]
    assert source.table(source.episodes[0]).column(KEY).to_pylist() == flat
    assert [note for note in source.notes if KEY in note]


def test_a_column_with_a_slash_in_its_name_is_refused(tmp_path: Path) -> None:
    build_v2(tmp_path, columns=lambda _, length: {"a/b": pa.array(range(length))})
    with pytest.raises(DataError, match="a/b"):
        LeRobotSource(tmp_path)


def test_a_declared_feature_without_a_column_is_dropped(tmp_path: Path) -> None:
    build_v2(tmp_path, features={KEY: feature("float32", 3), "sound": feature("audio", 1)})
    source = LeRobotSource(tmp_path)
    assert not {KEY, "sound"} & source.features.keys()
    assert len(source.notes) == 2
    assert source.table(source.episodes[0]).num_rows == 3


def test_columns_that_come_and_go_between_files(tmp_path: Path) -> None:
    build_v2(tmp_path, features={KEY: feature("int64", 1), "late": feature("int64", 1)})
    edit_table(tmp_path / DATA.format(0), **{KEY: [1, 2, 3]})
    edit_table(tmp_path / DATA.format(1), late=[1, 2])
    source = LeRobotSource(tmp_path)
    with pytest.raises(DataError, match=r"000001\.parquet has the column late, which .* declares"):
        source.table(source.episodes[1])
    edit_table(tmp_path / DATA.format(1), late=None)
    with pytest.raises(DataError, match=rf"000001\.parquet: there is no column {KEY}"):
        LeRobotSource(tmp_path).table(source.episodes[1])
    edit_table(tmp_path / DATA.format(1), **{KEY: [1, 2], "more": [1, 2]})
    source = LeRobotSource(tmp_path)
    assert "more" not in source.table(source.episodes[1]).column_names
    assert [note for note in source.notes if "more" in note and "left out" in note]


def test_a_name_that_begins_like_another_selects_only_itself(tmp_path: Path) -> None:
    names = {name: feature("int64", 1) for name in ("a", "a.b", "a.b.c")}
    build_v2(
        tmp_path,
        (2,),
        features=names,
        columns=lambda *_: {"a.b.c": pa.array([5, 6]), "a": pa.array([1, 2]), "a.b": [3, 4]},
    )
    source = LeRobotSource(tmp_path)
    table = source.table(source.episodes[0]).select(list(names))
    assert table.to_pydict() == {"a": [1, 2], "a.b": [3, 4], "a.b.c": [5, 6]}


@pytest.mark.parametrize(
    "shape",
    [None, 3, "3", [0], [-1], [1.5], [True], [[3]], [1] * 6, [2**31], [2**16, 2**16], {}],
)
def test_shapes_that_are_none(tmp_path: Path, shape: object) -> None:
    build_v2(tmp_path)
    features = {KEY: {"dtype": "float32", "shape": shape, "names": None}}
    edit_info(tmp_path, features=features)
    with pytest.raises(DataError, match=rf"meta/info\.json: features: {KEY}: shape is"):
        LeRobotSource(tmp_path)


@settings(max_examples=60)
@given(st.data())
def test_any_row_lengths_are_read_whole_or_named(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Chunked and sliced by row groups; the error names the first wrong row."""
    size = data.draw(st.integers(1, 3))
    lengths = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    total = sum(lengths)
    sizes = data.draw(
        st.lists(st.one_of(st.just(size), st.integers(0, 4)), min_size=total, max_size=total)
    )
    rows = [list(range(row, row + count)) for row, count in enumerate(sizes)]
    starts = np.cumsum([0, *lengths])

    def column(episode: int, length: int) -> dict[str, pa.Array]:
        part = rows[starts[episode] : starts[episode] + length]
        return {KEY: pa.array(part, pa.list_(pa.int32()))}

    root = tmp_path_factory.mktemp("rows")
    build_v3(
        root,
        lengths,
        data_files=[0] * 3,
        video_files=[0] * 3,
        features={KEY: feature("int32", size)},
        columns=column,
        row_group_size=data.draw(st.integers(1, 5)),
    )
    source = LeRobotSource(root)
    for episode in source.episodes:
        part = rows[starts[episode.episode_index] : starts[episode.episode_index + 1]]
        wrong = [row for row, values in enumerate(part) if len(values) != size]
        if not wrong:
            got = source.table(episode).column(KEY).to_pylist()
            assert got == ([values[0] for values in part] if size == 1 else part)
        else:
            with pytest.raises(VideoFormatError, match=f"row {wrong[0]} holds a list"):
                source.table(episode)
