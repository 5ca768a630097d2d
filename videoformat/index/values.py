"""Values of tabular features as a recorder gives them: checked, collected, turned into Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from videoformat.errors import InvalidArgumentError
from videoformat.index.features import Feature

__all__ = ["FrameValues", "check_image", "check_keys", "check_value"]


def check_keys(given: Mapping[str, Any], required: set[str], optional: set[str]) -> None:
    """Raises ``InvalidArgumentError`` naming every missing and every unknown key of a frame."""
    if not isinstance(given, Mapping):
        raise InvalidArgumentError(f"a frame is a mapping of feature keys, got {given!r:.80}")
    missing = sorted(required - set(given))
    unknown = sorted(map(str, set(given) - required - optional))
    if missing or unknown:
        parts = []
        if missing:
            parts.append(f"missing {', '.join(map(repr, missing))}")
        if unknown:
            parts.append(f"unknown {', '.join(map(repr, unknown))}")
        raise InvalidArgumentError(
            f"frame: {'; '.join(parts)}; expected {', '.join(map(repr, sorted(required)))}"
        )


def check_image(feature: Feature, value: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """A camera's frame as uint8 [H, W, 3]; channels first is turned round."""
    image = np.asarray(value)
    height, width, channels = feature.shape
    expected = f"uint8 of shape {feature.shape} or {(channels, height, width)}"
    if image.dtype != np.uint8:
        raise InvalidArgumentError(f"{feature.key!r}: dtype {image.dtype}, expected {expected}")
    if image.shape == feature.shape:
        return image
    if image.shape == (channels, height, width):
        return image.transpose(1, 2, 0)
    raise InvalidArgumentError(f"{feature.key!r}: shape {image.shape}, expected {expected}")


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray | np.generic):
        return f"{value.dtype} of shape {np.shape(value)}"
    return f"{type(value).__name__} {value!r:.60}"


def check_value(feature: Feature, value: Any) -> Any:
    """One frame's value of a tabular feature: a string, or an array of the feature's dtype.

    Arrays must have the declared dtype and shape; Python numbers and lists are taken where they fit
    without loss of kind (no floats for integers, nothing out of range). Raises
    ``InvalidArgumentError`` naming the feature, what came and what was expected.
    """
    expected = f"expected {feature.dtype} of shape {feature.shape}"
    dtype = feature.numpy_dtype
    if dtype is None:
        return _check_text(feature, value, expected)
    own = getattr(value, "dtype", None)
    if own is None:
        array = _from_python(feature, value, dtype, expected)
    else:
        array = np.asarray(value)
        if array.dtype != dtype:
            raise InvalidArgumentError(f"{feature.key!r}: {_described(array)}, {expected}")
    fits = array.shape in ((), (1,)) if feature.is_scalar else array.shape == feature.shape
    if not fits:
        raise InvalidArgumentError(f"{feature.key!r}: {_described(array)}, {expected}")
    return array


def _from_python(feature: Feature, value: Any, dtype: np.dtype[Any], expected: str) -> Any:
    try:
        raw = np.asarray(value)
    except (ValueError, TypeError):
        raise InvalidArgumentError(
            f"{feature.key!r}: {_described(value)} is no regular array, {expected}"
        ) from None
    if dtype.kind in "iu" and raw.dtype.kind in "fO":
        raw = _exact_integers(value, raw)
    kinds = {"b": "b", "i": "iu", "u": "iu", "f": "fiu"}[dtype.kind]
    if raw.dtype.kind not in kinds and raw.size:
        raise InvalidArgumentError(f"{feature.key!r}: {_described(value)}, {expected}")
    if dtype.kind in "iu" and raw.size:
        limits = np.iinfo(dtype)
        if int(raw.min()) < limits.min or int(raw.max()) > limits.max:
            raise InvalidArgumentError(
                f"{feature.key!r}: {_described(value)} is outside {limits.min} to {limits.max}"
            )
    with np.errstate(over="ignore"):
        array = raw.astype(dtype)
    if dtype.kind == "f" and not np.array_equal(np.isinf(array), np.isinf(raw)):
        raise InvalidArgumentError(
            f"{feature.key!r}: {_described(value)} is outside ±{np.finfo(dtype).max}, {expected}"
        )
    return array


def _exact_integers(value: Any, raw: Any) -> Any:
    """The same as unsigned integers, where that is what they are.

    Small integers beside some of 2^63 and more come out of NumPy as floats or objects.
    """
    items = np.asarray(value, dtype=object)
    if items.dtype == object and all(
        isinstance(item, int | np.integer) and not isinstance(item, bool) and 0 <= item < 2**64
        for item in items.flat
    ):
        return items.astype(np.uint64)
    return raw


def _check_text(feature: Feature, value: Any, expected: str) -> Any:
    if feature.dtype != "string":
        # A dtype without a type of its own (language columns): Arrow checks it.
        return value
    if isinstance(value, np.ndarray):
        value = value.tolist()
    scalar: tuple[int, ...] = () if isinstance(value, str) else (1,)
    texts = _flat_texts(value, scalar if feature.is_scalar else feature.shape)
    if texts is None:
        raise InvalidArgumentError(f"{feature.key!r}: {_described(value)}, {expected}")
    return texts[0] if feature.is_scalar else texts


def _flat_texts(value: Any, shape: tuple[int, ...]) -> list[str] | None:
    """The texts of nested lists of this shape in row-major order; None where they are not."""
    if not shape:
        return [value] if isinstance(value, str) else None
    if not isinstance(value, list | tuple) or len(value) != shape[0]:
        return None
    texts: list[str] = []
    for item in value:
        inner = _flat_texts(item, shape[1:])
        if inner is None:
            return None
        texts += inner
    return texts


class FrameValues:
    """The values of one tabular feature over the frames of an open chunk."""

    def __init__(self, feature: Feature) -> None:
        self.feature = feature
        self._values: list[Any] = []

    def append(self, value: Any) -> None:
        """Keeps a copy of a checked value."""
        self._values.append(value.copy() if isinstance(value, np.ndarray) else value)

    def __len__(self) -> int:
        return len(self._values)

    def take(self) -> pa.Array:
        """All values as one Arrow array of the feature's type; the collection starts anew."""
        values, self._values = self._values, []
        feature = self.feature
        dtype = feature.numpy_dtype
        if dtype is None:
            try:
                return pa.array(values, type=feature.arrow_type)
            except (pa.ArrowException, TypeError, ValueError) as error:
                raise InvalidArgumentError(
                    f"{feature.key!r}: values do not become {feature.arrow_type}: {error}"
                ) from None
        flat = np.concatenate([np.reshape(value, -1) for value in values]).astype(dtype, copy=False)
        if feature.is_scalar:
            return pa.array(flat, type=feature.arrow_type)
        element = pa.array(flat, type=feature.arrow_type.value_type)
        return pa.FixedSizeListArray.from_arrays(element, type=feature.arrow_type)
