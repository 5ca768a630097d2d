"""Features: what a dataset holds per frame, in LeRobot's form, and how each becomes a column.

A feature is ``{"dtype": "float32", "shape": (14,), "names": [...]}``. Cameras have dtype ``video``
or ``image``; every other feature is tabular. A feature key with dots becomes a column name with
slashes (Lance forbids dots in names, LeRobot forbids slashes in keys).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from videoformat.errors import InvalidArgumentError

__all__ = ["CAMERA_DTYPES", "MAXIMUM_SIDE", "RESERVED_COLUMNS", "Feature", "parse_features"]

CAMERA_DTYPES = ("video", "image")
# The longest side, in samples, of a frame that is stored, read or scaled to.
MAXIMUM_SIDE = 16384
RESERVED_COLUMNS = (
    "episode_uid",
    "chunk_index",
    "first_frame",
    "frame_count",
    "episode_length",
    "tasks",
    "episode_metadata",
    "episode_statistics",
)
_RESERVED_LAST_PARTS = ("pictures", "stream")
_NUMERIC: dict[str, pa.DataType] = {
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint8": pa.uint8(),
    "uint16": pa.uint16(),
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
    "float16": pa.float16(),
    "float32": pa.float32(),
    "float64": pa.float64(),
}
_MAXIMUM_DIMENSIONS = 5
_MAXIMUM_VALUES = 2**27  # values of one frame of one tabular feature


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature of a dataset, checked.

    ``shape`` is per frame: ``()`` and ``(1,)`` are scalars, as in LeRobot. ``declaration`` is the
    feature as JSON, with whatever other keys it came with. ``arrow_type`` is the type of one
    frame's value, and ``None`` for a camera.
    """

    key: str
    dtype: str
    shape: tuple[int, ...]
    declaration: Mapping[str, Any]
    arrow_type: Any  # pa.DataType, or None for a camera

    @property
    def column(self) -> str:
        """The name of the feature's column."""
        return self.key.replace(".", "/")

    @property
    def is_camera(self) -> bool:
        """Whether the feature is kept as a bitstream."""
        return self.dtype in CAMERA_DTYPES

    @property
    def is_scalar(self) -> bool:
        """Whether one frame's value is a single number, string or boolean."""
        return self.shape in ((), (1,))

    @property
    def numpy_dtype(self) -> np.dtype[Any] | None:
        """The dtype of one frame's value, or None where it is not numeric."""
        return np.dtype(self.dtype) if self.dtype in _NUMERIC else None

    @property
    def height(self) -> int:
        """Rows of a camera's frame."""
        return self.shape[0]

    @property
    def width(self) -> int:
        """Columns of a camera's frame."""
        return self.shape[1]


def _camera_shape(key: str, shape: tuple[int, ...], names: object) -> tuple[int, ...]:
    """Height, width, channels of a camera, whichever way round it was declared."""
    if len(shape) != 3:
        raise InvalidArgumentError(
            f"feature {key!r}: a camera's shape is (height, width, channels), got {shape}"
        )
    channels_first = (
        isinstance(names, list | tuple)
        and len(names) == 3
        and str(names[0]).startswith("channel")
        and not str(names[2]).startswith("channel")
    ) or (shape[0] == 3 and shape[2] != 3)
    if channels_first:
        shape = (shape[1], shape[2], shape[0])
    if shape[2] != 3:
        raise InvalidArgumentError(
            f"feature {key!r}: {shape[2]} channels; cameras hold RGB frames of 3 channels"
        )
    if not all(1 <= side <= MAXIMUM_SIDE for side in shape[:2]):
        raise InvalidArgumentError(
            f"feature {key!r}: {shape[0]}x{shape[1]} is outside 1x1 to "
            f"{MAXIMUM_SIDE}x{MAXIMUM_SIDE}"
        )
    return shape


def _parse_shape(key: str, declared: object) -> tuple[int, ...]:
    if not isinstance(declared, list | tuple) or not all(
        isinstance(side, int) and not isinstance(side, bool) and side >= 1 for side in declared
    ):
        raise InvalidArgumentError(
            f"feature {key!r}: shape is {declared!r}, expected a list of positive integers"
        )
    shape = tuple(declared)
    if len(shape) > _MAXIMUM_DIMENSIONS:
        raise InvalidArgumentError(
            f"feature {key!r}: {len(shape)} dimensions, at most {_MAXIMUM_DIMENSIONS} are kept"
        )
    if math.prod(shape) > _MAXIMUM_VALUES:
        raise InvalidArgumentError(
            f"feature {key!r}: shape {shape} holds {math.prod(shape)} values a frame, "
            f"at most {_MAXIMUM_VALUES}"
        )
    return shape


def _parse_feature(key: str, declaration: object, arrow_type: pa.DataType | None) -> Feature:
    if not isinstance(declaration, Mapping):
        raise InvalidArgumentError(f"feature {key!r}: expected a mapping, got {declaration!r}")
    dtype = declaration.get("dtype")
    if not isinstance(dtype, str):
        raise InvalidArgumentError(f"feature {key!r}: dtype is {dtype!r}, expected a string")
    try:
        json.dumps(dict(declaration))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgumentError(
            f"feature {key!r}: its declaration does not become JSON: {error}"
        ) from None
    shape = _parse_shape(key, declaration.get("shape", (1,)))
    if dtype in CAMERA_DTYPES:
        shape = _camera_shape(key, shape, declaration.get("names"))
        kept = {**declaration, "shape": list(shape)}
        names = declaration.get("names")
        if shape != tuple(declaration["shape"]) and isinstance(names, list | tuple):
            kept["names"] = [names[1], names[2], names[0]]
        return Feature(key, dtype, shape, kept, None)
    if arrow_type is None:
        element = pa.string() if dtype == "string" else _NUMERIC.get(dtype)
        if element is None:
            raise InvalidArgumentError(
                f"feature {key!r}: dtype {dtype!r} is not one of "
                f"{', '.join([*_NUMERIC, 'string', *CAMERA_DTYPES])}"
            )
        if shape in ((), (1,)):
            arrow_type = element
        elif dtype == "string":
            arrow_type = pa.list_(element)
        else:
            arrow_type = pa.list_(element, math.prod(shape))
    return Feature(key, dtype, shape, {**declaration, "shape": list(shape)}, arrow_type)


def parse_features(
    features: Mapping[str, Any], arrow_types: Mapping[str, pa.DataType] | None = None
) -> dict[str, Feature]:
    """Checks features in LeRobot's form and gives each its column and Arrow type.

    ``arrow_types`` states the type of one frame's value for features whose dtype has no type of its
    own (``language`` columns, for example). Raises ``InvalidArgumentError`` naming the feature and
    what was expected.
    """
    if not isinstance(features, Mapping):
        raise InvalidArgumentError(f"features: expected a mapping, got {type(features).__name__}")
    parsed: dict[str, Feature] = {}
    columns: dict[str, str] = {}
    for key, declaration in features.items():
        if not isinstance(key, str) or not key or key.strip() != key or "/" in key or "\0" in key:
            raise InvalidArgumentError(
                f"feature key {key!r}: expected a non-empty string without '/' or outer spaces"
            )
        feature = _parse_feature(key, declaration, (arrow_types or {}).get(key))
        if feature.column in RESERVED_COLUMNS:
            raise InvalidArgumentError(f"feature key {key!r} is reserved by the format")
        if key.rsplit(".", 1)[-1] in _RESERVED_LAST_PARTS and "." in key:
            raise InvalidArgumentError(
                f"feature key {key!r}: the last parts {_RESERVED_LAST_PARTS} are reserved"
            )
        if feature.column.lower() in columns:
            raise InvalidArgumentError(
                f"feature keys {columns[feature.column.lower()]!r} and {key!r} give columns that "
                "differ at most in case"
            )
        columns[feature.column.lower()] = key
        parsed[key] = feature
    return parsed
