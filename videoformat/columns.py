"""Features and facts that are added to a dataset later, without touching its media."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from videoformat.dataset import Dataset
from videoformat.directory import Directory
from videoformat.editing import check_writable, chosen_episodes, open_table
from videoformat.errors import CountMismatchError, DataError, InvalidArgumentError
from videoformat.index.features import Feature, parse_features
from videoformat.index.schema import FEATURE_KEY, DatasetInfo
from videoformat.index.values import FrameValues, check_value
from videoformat.table import Table
from videoformat.writer import as_json_object

__all__ = ["add_feature", "set_episode_metadata"]

Values = Callable[[int], Any] | Any


def add_feature(
    dataset: str | os.PathLike[str] | Dataset,
    key: str,
    declaration: Mapping[str, Any],
    values: Values,
    *,
    storage_options: Mapping[str, str] | None = None,
) -> int:
    """Adds a tabular feature to every frame; returns the version that has it.

    ``declaration`` has LeRobot's form: dtype, shape, names. ``values`` is called with each episode
    and returns one value a frame; or it has one value for each frame of the dataset, in order.
    Neither media nor any other column is read or written. Raises ``InvalidArgumentError`` where the
    feature is there or a value does not fit, ``CountMismatchError`` for another number of values,
    ``ConflictError`` where others changed or appended something meanwhile.
    """
    table = open_table(dataset, storage_options)
    check_writable(table)
    feature = _new_feature(table.info, key, declaration)
    if feature.column in table.schema.names:
        raise InvalidArgumentError(f"{table.uri} has a column {feature.column!r} already")
    directory = Directory(table.directory())
    cells = _cells(feature, directory, values)
    declared = {**table.info.features, key: feature}
    field = pa.field(feature.column, cells.type, metadata={FEATURE_KEY: key.encode()})
    return table.add_column(field, cells, replace(table.info, features=declared)).version


def _new_feature(info: DatasetInfo, key: str, declaration: Mapping[str, Any]) -> Feature:
    types = {item.key: item.arrow_type for item in info.tabular.values()}
    declared = {name: dict(item.declaration) for name, item in info.features.items()}
    if key in declared:
        raise InvalidArgumentError(f"there is a feature {key!r} already")
    # All together, since a new key must differ from the others by more than letter case.
    feature = parse_features({**declared, key: declaration}, types)[key]
    if feature.is_camera:
        raise InvalidArgumentError(f"feature {key!r} is a camera; only tabular ones can be added")
    return feature


def _cells(feature: Feature, directory: Directory, values: Values) -> pa.Array:
    """One list a row, from one value a frame."""
    total = directory.frame_count
    if not callable(values):
        if len(values) != total:
            raise CountMismatchError(
                f"feature {feature.key!r}: {len(values)} values for the {total} frames"
            )
        starts = [0, *directory.lengths.cumsum().tolist()]
    parts: list[pa.Array] = []
    for episode in range(len(directory)):
        length = directory.episode(episode).length
        given = values(episode) if callable(values) else values[starts[episode] :][:length]
        collected = FrameValues(feature)
        count = 0
        for value in given:
            collected.append(check_value(feature, value))
            count += 1
        if count != length:
            raise CountMismatchError(
                f"feature {feature.key!r}: {count} values for the {length} frames of episode "
                f"{episode}"
            )
        parts.append(collected.take())
    offsets = [0]
    for rows in directory.frame_counts:
        offsets.append(offsets[-1] + rows)
    flat = pa.concat_arrays(parts) if parts else pa.array([], feature.arrow_type)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat)


def set_episode_metadata(
    dataset: str | os.PathLike[str] | Dataset,
    metadata: Mapping[int | str, Mapping[str, Any]],
    *,
    storage_options: Mapping[str, str] | None = None,
) -> int:
    """Sets keys of episodes' metadata, by ordinal or identity; returns the version that has them.

    Other keys stay; a value of None removes a key. Neither media nor any other column is read or
    written. Raises ``EpisodeNotFoundError``, ``InvalidArgumentError`` for what does not become JSON,
    ``ConflictError`` where others changed the same rows meanwhile.
    """
    table = open_table(dataset, storage_options)
    check_writable(table)
    directory = Directory(table.directory())
    cells = _stored(table)
    for name, facts in metadata.items():
        (episode,) = chosen_episodes(directory, [name])
        row = int(directory.first_rows[episode])
        changed = {**_object(cells[row], episode), **as_json_object("metadata", facts)}
        kept = {key: value for key, value in changed.items() if value is not None}
        cells[row] = json.dumps(kept, ensure_ascii=False) if kept else None
    return table.replace_column("episode_metadata", cells).version


def _stored(table: Table) -> list[str | None]:
    return [
        text
        for batch in table.scan(["episode_metadata"])
        for text in batch.column("episode_metadata").to_pylist()
    ]


def _object(text: str | None, episode: int) -> dict[str, Any]:
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError) as error:
        raise DataError(f"episode {episode}: its metadata is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise DataError(f"episode {episode}: its metadata is no JSON object: {text!r:.80}")
    return value
