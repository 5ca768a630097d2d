"""Values of frames: what fits goes in and comes out of Arrow, what does not is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from videoformat.errors import InvalidArgumentError
from videoformat.index.features import Feature, parse_features
from videoformat.index.values import FrameValues, check_image, check_keys, check_value

NUMERIC = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64",
)  # fmt: skip


def feature_of(dtype: str, shape: tuple[int, ...] = (1,)) -> Feature:
    return parse_features({"key": {"dtype": dtype, "shape": shape}})["key"]


def collected(feature: Feature, values: list[Any]) -> pa.Array:
    frames = FrameValues(feature)
    for value in values:
        frames.append(check_value(feature, value))
    assert len(frames) == len(values)
    array = frames.take()
    assert len(frames) == 0
    return array


@settings(max_examples=100)
@given(st.data(), st.sampled_from(NUMERIC), st.lists(st.integers(1, 3), max_size=5).map(tuple))
def test_arrays_of_every_dtype_and_shape_come_back(
    data: st.DataObject, dtype: str, shape: tuple[int, ...]
) -> None:
    feature = feature_of(dtype, shape)
    frames = data.draw(st.lists(npst.arrays(dtype, shape), min_size=1, max_size=4))
    array = collected(feature, frames)
    assert array.type == feature.arrow_type
    assert array.null_count == 0
    flat = array if feature.is_scalar else array.flatten()
    np.testing.assert_array_equal(
        flat.to_numpy(zero_copy_only=False), np.concatenate([np.reshape(f, -1) for f in frames])
    )


@settings(max_examples=60)
@given(st.data(), st.sampled_from(NUMERIC), st.sampled_from([(), (1,), (3,), (2, 2)]))
def test_python_values_are_taken_where_they_fit(
    data: st.DataObject, dtype: str, shape: tuple[int, ...]
) -> None:
    """Lists of what the array would hold: the same as the array itself."""
    feature = feature_of(dtype, shape)
    array = data.draw(npst.arrays(dtype, shape))
    value = check_value(feature, array.tolist())
    assert value.dtype == feature.numpy_dtype
    np.testing.assert_array_equal(value, array)


def test_integers_are_exact_beside_others_that_are_too_large_for_int64() -> None:
    value = check_value(feature_of("uint64", (3,)), [0, 2**63, 2**64 - 1])
    assert value.tolist() == [0, 2**63, 2**64 - 1]
    for wrong in (
        [0, 2**63, 2**64],
        [-1, 2**63, 0],
        [0, 2**63, 0.5],
        [0.0, 1, 2],
        [True, 2**63, 0],
    ):
        with pytest.raises(InvalidArgumentError, match=r"uint64|outside"):
            check_value(feature_of("uint64", (3,)), wrong)


@pytest.mark.parametrize("dtype", [name for name in NUMERIC if "int" in name])
def test_integers_out_of_range_are_refused(dtype: str) -> None:
    limits = np.iinfo(dtype)
    for value in (int(limits.min), int(limits.max)):
        assert check_value(feature_of(dtype), value) == value
    for value in (int(limits.min) - 1, int(limits.max) + 1):
        with pytest.raises(InvalidArgumentError, match=f"'key': int {value}"):
            check_value(feature_of(dtype), value)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_floats_out_of_range_are_refused(dtype: str) -> None:
    largest = float(np.finfo(dtype).max)
    assert check_value(feature_of(dtype), largest) == largest
    for value in (2 * largest, -2 * largest):
        with pytest.raises(InvalidArgumentError, match=f"'key': float .* is outside ±.*{dtype}"):
            check_value(feature_of(dtype), value)
    with pytest.raises(InvalidArgumentError, match="outside"):
        check_value(feature_of(dtype, (2,)), [0.0, 2 * largest])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("value", [float("inf"), -float("inf"), float("nan")])
def test_infinities_and_nan_are_floats(dtype: str, value: float) -> None:
    np.testing.assert_array_equal(check_value(feature_of(dtype, (2,)), [value, 1]), [value, 1])


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int32", 1.0), ("int32", True), ("int32", "1"), ("int32", None), ("int32", 2**70),
        ("float32", True), ("float32", "1"), ("float32", 1j), ("float32", None),
        ("bool", 1), ("bool", 0.0), ("bool", "true"),
        ("string", 1), ("string", b"x"), ("string", None), ("string", ["x", "y"]),
        ("float32", object()), ("float32", {"x": 1}), ("float32", np.datetime64(0, "s")),
    ],
)  # fmt: skip
def test_a_value_of_another_kind_names_key_and_expectation(dtype: str, value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"^'key': .*expected {dtype} of shape \(1,\)$"):
        check_value(feature_of(dtype), value)


@settings(max_examples=60)
@given(st.sampled_from(NUMERIC), st.sampled_from([*NUMERIC, "<U1", "complex64"]))
def test_arrays_have_exactly_the_declared_dtype(declared: str, given_dtype: str) -> None:
    """An array of another dtype is a mistake, even where its values would fit."""
    array = np.zeros(3, given_dtype)
    feature = feature_of(declared, (3,))
    if given_dtype == declared:
        assert check_value(feature, array) is not None
        return
    with pytest.raises(
        InvalidArgumentError, match=rf"{array.dtype} of shape \(3,\), expected {declared}"
    ):
        check_value(feature, array)
    with pytest.raises(InvalidArgumentError, match=f"expected {declared}"):
        check_value(feature_of(declared), np.dtype(given_dtype).type())


SHAPES = st.lists(st.integers(1, 3), max_size=4).map(tuple)


@settings(max_examples=60)
@given(SHAPES, SHAPES, st.booleans())
def test_only_the_declared_shape_fits(
    declared: tuple[int, ...], given_shape: tuple[int, ...], as_list: bool
) -> None:
    feature = feature_of("int16", declared)
    value = np.zeros(given_shape, np.int16)
    scalars = {(), (1,)}
    if given_shape == declared or {given_shape, declared} <= scalars:
        check_value(feature, value.tolist() if as_list else value)
        return
    with pytest.raises(InvalidArgumentError, match="expected int16 of shape"):
        check_value(feature, value.tolist() if as_list else value)


@pytest.mark.parametrize("value", [[[1], [1, 2]], [1, [2]], [[1, 2], 3]])
def test_ragged_lists_are_refused(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"'key': .*expected int8 of shape \(2, 2\)"):
        check_value(feature_of("int8", (2, 2)), value)


@pytest.mark.parametrize(
    ("shape", "value", "stored"),
    [
        ((), "ü", "ü"), ((), ["x"], "x"), ((1,), "", ""), ((1,), ["x"], "x"), ((1,), np.array(["x"]), "x"),
        ((1,), np.str_("x"), "x"), ((2,), ["x", ""], ["x", ""]), ((2,), ("x", "y"), ["x", "y"]),
        ((2, 2), np.array([["a", "b"], ["c", "d"]]), ["a", "b", "c", "d"]),
        ((2, 2), [["a", "b"], ["c", "d"]], ["a", "b", "c", "d"]),
    ],
)  # fmt: skip
def test_texts(shape: tuple[int, ...], value: Any, stored: Any) -> None:
    feature = feature_of("string", shape)
    assert collected(feature, [value, value]).to_pylist() == [stored, stored]


@pytest.mark.parametrize(
    "value", ["x", ["x"], ["x", 1], list("abcd"), [["x", "y"], ["z"]], [["x", "y"], "zz"], 3, None]
)
def test_texts_of_another_count_are_refused(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"'key': .*expected string of shape \(2, 2\)"):
        check_value(feature_of("string", (2, 2)), value)


def test_a_kept_value_does_not_change_with_the_array_that_it_came_from() -> None:
    """Recorders fill one buffer again and again."""
    feature = feature_of("float32", (2,))
    buffer = np.zeros(2, np.float32)
    frames = FrameValues(feature)
    for value in (1, 2):
        buffer[:] = value
        frames.append(check_value(feature, buffer))
    assert frames.take().to_pylist() == [[1, 1], [2, 2]]


def test_values_of_a_stated_type_are_checked_by_arrow() -> None:
    kind = pa.struct([("role", pa.string())])
    feature = parse_features({"key": {"dtype": "language"}}, {"key": kind})["key"]
    assert collected(feature, [{"role": "user"}, None]).to_pylist() == [{"role": "user"}, None]
    with pytest.raises(InvalidArgumentError, match="'key': values do not become struct"):
        collected(feature, [{"role": 4}])


def camera(height: int, width: int) -> Feature:
    return parse_features({"key": {"dtype": "video", "shape": (height, width, 3)}})["key"]


@given(st.integers(1, 8), st.integers(1, 8), st.booleans())
def test_images_whichever_way_round(height: int, width: int, channels_first: bool) -> None:
    image = np.arange(height * width * 3, dtype=np.uint8).reshape(height, width, 3)
    given_image = np.moveaxis(image, 2, 0) if channels_first else image
    # Where both ways fit (3x?x3), an image is taken as it was declared.
    if given_image.shape == image.shape:
        image = given_image
    np.testing.assert_array_equal(check_image(camera(height, width), given_image), image)


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((4, 6, 3), np.float32), np.zeros((4, 6, 3), np.int64), np.zeros((6, 4, 3), np.uint8),
        np.zeros((4, 6), np.uint8), np.zeros((4, 6, 4), np.uint8), np.zeros((1, 4, 6, 3), np.uint8),
        [[0]], "image", None,
    ],
    ids=lambda value: str(getattr(value, "shape", value)),
)  # fmt: skip
def test_an_image_of_another_form_names_key_and_expectation(image: Any) -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"^'key': .*uint8 of shape \(4, 6, 3\) or \(3, 4, 6\)$"
    ):
        check_image(camera(4, 6), image)


KEYS = st.sets(st.text("abc", min_size=1, max_size=2), max_size=4)


@given(KEYS, KEYS, KEYS)
def test_every_missing_and_unknown_key_is_named(
    given_keys: set[str], required: set[str], optional: set[str]
) -> None:
    missing, unknown = required - given_keys, given_keys - required - optional
    if not missing and not unknown:
        check_keys(dict.fromkeys(given_keys), required, optional)
        return
    with pytest.raises(InvalidArgumentError) as caught:
        check_keys(dict.fromkeys(given_keys), required, optional)
    said = str(caught.value).split("; expected ")[0]
    for word, keys in (("missing", missing), ("unknown", unknown)):
        listed = ", ".join(map(repr, sorted(keys)))
        assert (f"{word} {listed}" in said) if keys else (word not in said)


@pytest.mark.parametrize("frame", [None, 3, [("a", 1)], "a"])
def test_a_frame_is_a_mapping(frame: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="a frame is a mapping"):
        check_keys(frame, {"a"}, set())
