"""What keeps the episodes of one dataset out of another."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from videoformat.errors import InvalidArgumentError
from videoformat.index.schema import DatasetInfo
from videoformat.table import Table

__all__ = ["check_same_kind"]


def check_same_kind(source: Table, target: Table) -> None:
    """Raises ``InvalidArgumentError`` that names every difference that matters.

    Frame rate, robot, the features and cameras with their types, shapes and names, and the columns.
    How pictures are coded may differ from chunk to chunk, so it is no difference.
    """
    found = [*_facts(source.info, target.info), *_columns(source.schema, target.schema)]
    if found:
        raise InvalidArgumentError(
            f"{source.uri} cannot go into {target.uri}: {'; '.join(found)} (the source's first)"
        )


def _facts(source: DatasetInfo, target: DatasetInfo) -> Iterator[str]:
    if source.fps != target.fps:
        yield f"fps {source.fps} and {target.fps}"
    if source.robot_type != target.robot_type:
        yield f"robot_type {source.robot_type!r} and {target.robot_type!r}"
    for key in sorted(source.features.keys() | target.features.keys()):
        one, other = source.features.get(key), target.features.get(key)
        what = "camera" if (one or other).is_camera else "feature"  # type: ignore[union-attr]
        if one is None or other is None:
            yield f"{what} {key!r} is {'not there' if one is None else 'there'} and " + (
                "not there" if other is None else "there"
            )
            continue
        for name in ("dtype", "shape"):
            mine, theirs = getattr(one, name), getattr(other, name)
            if mine != theirs:
                yield f"{name} of {what} {key!r} {mine} and {theirs}"
        mine, theirs = one.declaration.get("names"), other.declaration.get("names")
        if not one.is_camera and mine is not None and theirs is not None and mine != theirs:
            yield f"names of {what} {key!r} {mine!r:.80} and {theirs!r:.80}"
    # The other way round it may be that the target is empty and has no tasks yet.
    if "task_index" in source.features and target.tasks and not source.tasks:
        yield "no texts for its task_index"


def _columns(source: pa.Schema, target: pa.Schema) -> Iterator[str]:
    """Columns that the target cannot take; those that only the target has become null."""
    for column in source:
        if column.name not in target.names:
            yield f"column {column.name!r} is there and not there"
        elif target.field(column.name).type != column.type:
            yield f"column {column.name!r} {column.type} and {target.field(column.name).type}"
