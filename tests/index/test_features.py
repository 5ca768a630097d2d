"""Features: every dtype and shape, keys and their columns, what is refused and how."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from videoformat.errors import InvalidArgumentError
from videoformat.index.features import RESERVED_COLUMNS, parse_features

NUMERIC = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64",
)  # fmt: skip
SHAPES = st.lists(st.integers(1, 6), max_size=5).map(tuple)
PARTS = st.text(st.characters(blacklist_characters="./\0", blacklist_categories=["Cs"]), max_size=5)


@settings(max_examples=50)
@given(st.sampled_from([*NUMERIC, "string"]), SHAPES)
def test_every_tabular_dtype_and_shape(dtype: str, shape: tuple[int, ...]) -> None:
    declaration = {"dtype": dtype, "shape": shape, "names": None, "unit": "rad"}
    feature = parse_features({"a": declaration})["a"]
    assert (feature.dtype, feature.shape) == (dtype, shape)
    assert feature.is_scalar == (shape in ((), (1,)))
    assert not feature.is_camera
    assert feature.numpy_dtype == (None if dtype == "string" else np.dtype(dtype))
    assert feature.declaration == {**declaration, "shape": list(shape)}
    element = pa.string() if dtype == "string" else pa.from_numpy_dtype(np.dtype(dtype))
    count = int(np.prod(shape))
    vector = pa.list_(element) if dtype == "string" else pa.list_(element, count)
    assert feature.arrow_type == (element if feature.is_scalar else vector)


@settings(max_examples=50)
@given(st.lists(PARTS, min_size=1, max_size=4).map(".".join))
def test_a_key_with_dots_is_a_column_with_slashes(key: str) -> None:
    reserved = key.replace(".", "/") in RESERVED_COLUMNS or (
        "." in key and key.rsplit(".", 1)[1] in ("pictures", "stream")
    )
    if not key or key.strip() != key or reserved:
        with pytest.raises(InvalidArgumentError, match="feature key"):
            parse_features({key: {"dtype": "bool"}})
        return
    feature = parse_features({key: {"dtype": "bool"}})[key]
    assert "." not in feature.column
    assert feature.column.replace("/", ".") == key
    assert feature.shape == (1,)


@pytest.mark.parametrize("key", [*RESERVED_COLUMNS, "a.pictures", "a.b.stream", "episode.x.stream"])
def test_names_of_the_format_are_reserved(key: str) -> None:
    with pytest.raises(InvalidArgumentError, match=re.escape(repr(key)) + ".*reserved"):
        parse_features({key: {"dtype": "bool"}})


@pytest.mark.parametrize("key", ["pictures", "stream", "a.picture", "pictures.a", "taskss"])
def test_names_like_those_of_the_format_are_free(key: str) -> None:
    assert key in parse_features({key: {"dtype": "bool"}})


@pytest.mark.parametrize("key", ["", " a", "a ", "\ta", "a/b", "a\0b", 7, None, ("a",)])
def test_what_is_no_key_is_refused(key: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=re.escape(f"feature key {key!r}")):
        parse_features({key: {"dtype": "bool"}})


def test_columns_that_a_store_may_take_for_one_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"'State' and 'state' give columns"):
        parse_features({"State": {"dtype": "bool"}, "state": {"dtype": "bool"}})


@pytest.mark.parametrize("dtype", ["video", "image"])
@pytest.mark.parametrize(
    ("shape", "names"),
    [
        ((48, 64, 3), None),
        ((48, 64, 3), ["height", "width", "channels"]),
        ((48, 64, 3), ["height", "width", "channel"]),
        ([48, 64, 3], ("a", "b", "c")),
        ((3, 48, 64), None),
        ((3, 48, 64), ["channels", "height", "width"]),
        ((3, 48, 64), ["channel", "height", "width"]),
    ],
)
def test_a_camera_whichever_way_round(dtype: str, shape: Any, names: Any) -> None:
    feature = parse_features({"c": {"dtype": dtype, "shape": shape, "names": names}})["c"]
    assert feature.is_camera
    assert feature.arrow_type is None
    assert feature.shape == (feature.height, feature.width, 3) == (48, 64, 3)
    assert feature.declaration["shape"] == [48, 64, 3]
    if names is not None and shape[0] == 3:
        assert feature.declaration["names"] == ["height", "width", names[0]]
    else:
        assert feature.declaration["names"] == names


@pytest.mark.parametrize(
    ("shape", "names", "expected"),
    [
        ((3, 64, 3), None, (3, 64, 3)),
        ((3, 64, 3), ["channels", "height", "width"], (64, 3, 3)),
        ((3, 3, 3), None, (3, 3, 3)),
        ((3, 1, 3), ["height", "width", "channels"], (3, 1, 3)),
    ],
)
def test_a_camera_of_three_rows(shape: Any, names: Any, expected: tuple[int, ...]) -> None:
    feature = parse_features({"c": {"dtype": "video", "shape": shape, "names": names}})["c"]
    assert feature.shape == expected


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((48, 64), r"\(height, width, channels\)"),
        ((2, 3, 48, 64), r"\(height, width, channels\)"),
        ((48, 64, 1), "1 channels"),
        ((48, 64, 4), "4 channels"),
        ((1, 48, 64), "64 channels"),
        ((16385, 64, 3), "16385x64"),
        ((48, 16385, 3), "48x16385"),
    ],
)
def test_a_camera_of_another_form_is_refused(shape: Any, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"feature 'c': .*{said}"):
        parse_features({"c": {"dtype": "video", "shape": shape}})


@pytest.mark.parametrize(
    "shape",
    [None, 3, "3", {"x": 1}, [1.0], [True], [-1], [0], [2, 0, 3], [[3]], ["3"], [None]],
    ids=repr,
)
def test_what_is_no_shape_is_refused(shape: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"feature 'a': shape is .*positive integers"):
        parse_features({"a": {"dtype": "float32", "shape": shape}})


def test_shapes_are_bounded() -> None:
    with pytest.raises(InvalidArgumentError, match="6 dimensions, at most 5"):
        parse_features({"a": {"dtype": "int8", "shape": (1, 1, 1, 1, 1, 1)}})
    parse_features({"a": {"dtype": "int8", "shape": (2**27,)}})
    with pytest.raises(InvalidArgumentError, match=f"{2**27 + 1} values a frame"):
        parse_features({"a": {"dtype": "int8", "shape": (2**27 + 1,)}})
    with pytest.raises(InvalidArgumentError, match="at most"):
        parse_features({"a": {"dtype": "int8", "shape": (2**40, 2**40)}})


@pytest.mark.parametrize("dtype", ["float", "float128", "object", "complex64", "language", ""])
def test_an_unknown_dtype_is_named_with_those_that_are_known(dtype: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"feature 'a': dtype {dtype!r} is not one of"):
        parse_features({"a": {"dtype": dtype}})


def test_a_dtype_without_a_type_of_its_own_takes_the_one_that_is_stated() -> None:
    kind = pa.struct([("role", pa.string()), ("text", pa.string())])
    feature = parse_features({"a": {"dtype": "language"}}, {"a": kind})["a"]
    assert feature.arrow_type == kind
    assert feature.numpy_dtype is None


@pytest.mark.parametrize("dtype", [None, 4, np.float32, ["float32"]])
def test_a_dtype_is_a_string(dtype: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"feature 'a': dtype is .*expected a string"):
        parse_features({"a": {"dtype": dtype}})


@pytest.mark.parametrize("declaration", ["float32", None, ["float32", (3,)]])
def test_a_declaration_is_a_mapping(declaration: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="feature 'a': expected a mapping"):
        parse_features({"a": declaration})


@pytest.mark.parametrize("features", [None, [], "a", [("a", {"dtype": "bool"})]])
def test_features_are_a_mapping(features: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="features: expected a mapping"):
        parse_features(features)


@pytest.mark.parametrize(
    "names", [np.array(["x"]), {"x"}, b"x", object()], ids=lambda v: str(type(v))
)
def test_a_declaration_becomes_json(names: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="feature 'a': its declaration does not become"):
        parse_features({"a": {"dtype": "float32", "names": names}})
