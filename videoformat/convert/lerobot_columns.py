"""The columns of a LeRobot data file, brought to one Arrow type per feature.

The same feature is stored as a scalar, ``list<T>``, ``fixed_size_list<T>[n]``, nested lists or the
``datasets`` library's ``Array2D`` to ``Array5D`` extension types, by writer and version. Here a
feature of shape ``()`` or ``(1,)`` is a column of scalars, any other is one
``fixed_size_list<T>[n]`` with the values in row-major order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from videoformat.errors import CountMismatchError, DataError

__all__ = ["Column", "infer_feature", "plan_column", "storage_type"]

_VALUE_TYPES: dict[str, pa.DataType] = {
    "bool": pa.bool_(),
    "float16": pa.float16(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "int8": pa.int8(),
    "string": pa.string(),
    "uint16": pa.uint16(),
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
    "uint8": pa.uint8(),
}
_DTYPES = {value_type: dtype for dtype, value_type in _VALUE_TYPES.items()}


@dataclass(frozen=True, slots=True)
class Column:
    """How one feature is stored in the data files and what it becomes.

    ``value_type`` is ``None`` for a feature whose dtype has no normal form: it is kept as it comes,
    with ``arrow_type`` its stored type without extension types.
    """

    key: str
    value_type: pa.DataType | None
    shape: tuple[int, ...]
    arrow_type: pa.DataType

    @property
    def is_scalar(self) -> bool:
        """Whether a row holds one value and no list."""
        return self.shape in {(), (1,)}

    def normalise(self, column: pa.ChunkedArray, where: str) -> pa.ChunkedArray:
        """The column in its normal form; ``where`` names the file for errors.

        Raises ``CountMismatchError`` where a row has another number of values than the shape says,
        and ``DataError`` where a value would change.
        """
        chunks = []
        row = 0
        for chunk in column.chunks:
            chunks.append(self._normalise_chunk(_to_storage(chunk), where, row))
            row += len(chunk)
        return pa.chunked_array(chunks, self.arrow_type)

    def _normalise_chunk(self, array: pa.Array, where: str, row: int) -> pa.Array:
        where = f"{where}: {self.key}"
        if self.value_type is None:
            if array.type != self.arrow_type:
                raise DataError(f"{where} is {array.type}, in other files {self.arrow_type}")
            return _valid(array, where)
        depth, leaf = _peel(array.type)
        if depth == 0 and not self.is_scalar:
            raise DataError(f"{where} is {array.type}, expected lists of shape {self.shape}")
        if depth:
            array = self._flatten(array, depth, where, row)
        values = _cast(array, leaf, self.value_type, where, row, math.prod(self.shape))
        if self.is_scalar:
            return values
        return pa.FixedSizeListArray.from_arrays(values, type=self.arrow_type)

    def _flatten(self, array: pa.Array, depth: int, where: str, row: int) -> pa.Array:
        """The values of lists that are ``depth`` deep, each length checked against the shape."""
        whole = (math.prod(self.shape),)
        sizes = whole if depth == 1 else self.shape
        if depth != len(sizes):
            raise DataError(f"{where} is {depth} lists deep, expected shape {self.shape}")
        lists_per_row = 1
        for size in sizes:
            lengths = pc.fill_null(pc.list_value_length(array), -1)
            wrong = np.flatnonzero(lengths.to_numpy(zero_copy_only=False) != size)
            if wrong.size:
                found = lengths[int(wrong[0])].as_py()
                raise CountMismatchError(
                    f"{where}: row {row + int(wrong[0]) // lists_per_row} holds "
                    f"{'null' if found < 0 else f'a list of {found}'}, expected {size} values "
                    f"of shape {self.shape}"
                )
            array = array.flatten()
            lists_per_row *= size
        return array


def storage_type(stored: pa.DataType) -> pa.DataType:
    """A type with every extension type and dictionary in it reduced to what they hold."""
    if isinstance(stored, pa.BaseExtensionType):
        return storage_type(stored.storage_type)
    if pa.types.is_dictionary(stored):
        return storage_type(stored.value_type)
    if pa.types.is_fixed_size_list(stored):
        return pa.list_(_storage_field(stored.value_field), stored.list_size)
    if pa.types.is_list(stored):
        return pa.list_(_storage_field(stored.value_field))
    if pa.types.is_large_list(stored):
        return pa.large_list(_storage_field(stored.value_field))
    if pa.types.is_struct(stored):
        return pa.struct([_storage_field(stored.field(i)) for i in range(stored.num_fields)])
    return stored


def _storage_field(field: pa.Field) -> pa.Field:
    # An unregistered extension type is its storage already, and its name is left in the metadata.
    return field.with_type(storage_type(field.type)).remove_metadata()


def _to_storage(array: pa.Array) -> pa.Array:
    while isinstance(array, pa.ExtensionArray):
        array = array.storage
    plain = storage_type(array.type)
    return array if array.type == plain else array.cast(plain)


def _peel(stored: pa.DataType) -> tuple[int, pa.DataType]:
    """How many lists deep a stored type is, and what they hold."""
    depth = 0
    while (
        pa.types.is_list(stored)
        or pa.types.is_large_list(stored)
        or pa.types.is_fixed_size_list(stored)
    ):
        stored = stored.value_type
        depth += 1
    return depth, stored


def _is_text(stored: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(stored)
        or pa.types.is_large_string(stored)
        or pa.types.is_string_view(stored)
    )


def _valid(array: pa.Array, where: str) -> pa.Array:
    """The array, if it keeps Arrow's own rules; Parquet's readers do not check UTF-8."""
    try:
        array.validate(full=True)
    except pa.ArrowException as error:
        raise DataError(f"{where}: {error}") from error
    return array


def _cast(
    array: pa.Array, leaf: pa.DataType, target: pa.DataType, where: str, row: int, per_row: int
) -> pa.Array:
    """The values as ``target``, if that changes none of them."""
    if leaf == target:
        return _valid(array, where) if _is_text(leaf) else array
    if not (pa.types.is_null(leaf) or _comparable(leaf, target)):
        raise DataError(f"{where} holds {leaf}, expected {target}")
    try:
        cast = array.cast(target)
        if _is_text(target) or pa.types.is_null(leaf) or _holds(target, leaf):
            return _valid(cast, where)
        before = array.fill_null(0).to_numpy(zero_copy_only=False)
        after = cast.cast(leaf, safe=False).fill_null(0).to_numpy(zero_copy_only=False)
    except pa.ArrowException as error:
        raise DataError(f"{where}: {leaf} does not become {target}: {error}") from error
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    if not same.all():
        first = int(np.flatnonzero(~same)[0])
        raise DataError(
            f"{where}: row {row + first // per_row} holds the {leaf} {before[first]}, "
            f"which no {target} is"
        )
    return cast


def _is_number(stored: pa.DataType) -> bool:
    return bool(pa.types.is_integer(stored) or pa.types.is_floating(stored))


def _comparable(stored: pa.DataType, target: pa.DataType) -> bool:
    return (_is_text(stored) and _is_text(target)) or (_is_number(stored) and _is_number(target))


def _holds(target: pa.DataType, stored: pa.DataType) -> bool:
    """Whether every value of one numeric type is a value of the other."""
    if not (_is_number(target) and _is_number(stored)):
        return False
    wide, narrow = np.dtype(str(_DTYPES[target])), np.dtype(str(_DTYPES[stored]))
    # NumPy calls int64 to float64 safe, which it is not.
    loses = (
        wide.kind == "f" and narrow.kind in "iu" and np.finfo(wide).nmant + 1 < 8 * narrow.itemsize
    )
    return np.can_cast(narrow, wide, "safe") and not loses


def plan_column(
    key: str, feature: Mapping[str, Any], stored: pa.DataType, where: str
) -> tuple[Column, str | None]:
    """How the column of a declared feature is read, and its dtype where that differs.

    The stored type wins over a declared one that cannot hold every value of it, so that nothing is
    rounded; the second value is then the dtype that the feature really has.
    """
    plain = storage_type(stored)
    declared = _VALUE_TYPES.get(feature["dtype"])
    shape = tuple(feature["shape"])
    if declared is None:
        return Column(key, None, shape, plain), None
    depth, leaf = _peel(plain)
    dtype = None
    value_type = declared
    if _is_text(leaf) != _is_text(declared) and not pa.types.is_null(leaf):
        raise DataError(f"{where}: {key} is {stored}, declared as {feature['dtype']}")
    if leaf != declared and not pa.types.is_null(leaf) and not _is_text(leaf):
        if leaf not in _DTYPES:
            raise DataError(f"{where}: {key} is {stored}, declared as {feature['dtype']}")
        if not _holds(declared, leaf):
            value_type, dtype = leaf, _DTYPES[leaf]
    scalar = shape in {(), (1,)}
    if depth not in ({0, 1} if scalar else {1, len(shape)}):
        raise DataError(f"{where}: {key} is {stored}, declared with shape {shape}")
    size = math.prod(shape)
    return Column(
        key, value_type, shape, value_type if scalar else pa.list_(value_type, size)
    ), dtype


def infer_feature(stored: pa.DataType, sample: pa.ChunkedArray) -> dict[str, Any]:
    """The feature that an undeclared column seems to be, from its type and its first rows.

    A column without a normal form (lists of several lengths, structs) gets its Arrow type as dtype
    and is kept as it comes.
    """
    plain = storage_type(stored)
    depth, leaf = _peel(plain)
    dtype = "string" if _is_text(leaf) else _DTYPES.get(leaf)
    shape: list[int] = []
    if dtype is not None and 0 < depth <= 5:
        shape = _common_shape(sample, depth)
    if dtype is None or len(shape) != depth:
        return {"dtype": str(plain), "shape": [1], "names": None}
    return {"dtype": dtype, "shape": shape or [1], "names": None}


def _common_shape(sample: pa.ChunkedArray, depth: int) -> list[int]:
    """The lengths that all lists have, level by level, as far as they agree."""
    level = pa.concat_arrays([_to_storage(chunk) for chunk in sample.chunks])
    shape: list[int] = []
    for _ in range(depth):
        lengths = pc.unique(pc.list_value_length(level)).to_pylist()
        if len(lengths) != 1 or not lengths[0]:
            break
        shape.append(lengths[0])
        level = level.flatten()
    return shape
