"""Rows of an older version that come back into the newest.

Strategy: a fragment's rows never change, only the list of those that are deleted does. So a list is
written that has what is deleted now, less what comes back; nothing else of an older version is taken
over, since rows may have been deleted, restored or copied elsewhere in any order since.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import lance
import lance.fragment
import pyarrow as pa
import pyarrow.ipc

__all__ = ["fragments_with"]

# Of a row's address; what is above is the number of its fragment.
_OFFSET = 2**32 - 1


def fragments_with(
    dataset: lance.LanceDataset, older: lance.LanceDataset, gone: frozenset[str]
) -> tuple[list[Any], frozenset[str]]:
    """The fragments of the newest version with rows of an older one back in them.

    ``gone`` are the ``episode_uid`` that the older version has and the newest has not; no other row
    comes back, also where one lies in the same fragment. Returns the fragments, and those of ``gone``
    that cannot come back: columns were added since, and what lacks them was compacted; or their rows
    would part, or the first fragment of all would need a list of deleted rows. A fragment that is gone
    altogether comes back at the end, as Lance wants it.
    """
    now = {item.fragment_id: item for item in dataset.get_fragments()}
    then = [(fragment, _rows(fragment)) for fragment in older.get_fragments()]
    then = [(fragment, rows) for fragment, rows in then if gone.intersection(rows.values())]
    lost = _lost(dataset, older, gone, now, then)
    coming = gone - lost
    stay = {number: item.metadata for number, item in now.items()}
    back: list[Any] = []
    for fragment, rows in then:
        wanted = {row for row, uid in rows.items() if uid in coming}
        mine = now.get(fragment.fragment_id)
        if not wanted:
            continue
        if mine is not None:
            # The newest files, which may have columns that the older version lacked.
            stay[fragment.fragment_id] = _with_rows(dataset, mine.metadata, {*_rows(mine), *wanted})
        else:
            back.append(
                replace(
                    _with_rows(dataset, fragment.metadata, wanted),
                    row_id_meta=None,
                    created_at_version_meta=None,
                    last_updated_at_version_meta=None,
                )
            )
    return [*stay.values(), *back], lost


def _lost(
    dataset: lance.LanceDataset,
    older: lance.LanceDataset,
    gone: frozenset[str],
    now: Mapping[int, Any],
    then: list[tuple[Any, dict[int, str]]],
) -> frozenset[str]:
    at_its_place: set[str] = set()
    at_the_end: set[str] = set()
    for fragment, rows in then:
        place = at_its_place if fragment.fragment_id in now else at_the_end
        place.update(gone.intersection(rows.values()))
    # Columns that were added since are missing there; an episode's rows must not part either.
    lost = at_the_end if not dataset.schema.equals(older.schema) else at_the_end & at_its_place
    for fragment, rows in then:
        whole = len(rows) == fragment.metadata.physical_rows and gone - lost >= {*rows.values()}
        if fragment.fragment_id == 0 and 0 not in now and not whole:
            # Lance takes the number 0 for none and gives a new one, under which a list of deleted
            # rows, which is named after the number, is not found.
            lost |= gone.intersection(rows.values())
    return frozenset(lost)


def _rows(fragment: Any) -> dict[int, str]:
    """The ``episode_uid`` of each row that is not deleted, by its place in the fragment."""
    table = fragment.to_table(columns=["episode_uid"], with_row_address=True)
    addresses, uids = table.column("_rowaddr").to_pylist(), table.column("episode_uid").to_pylist()
    return {address & _OFFSET: uid for address, uid in zip(addresses, uids, strict=True)}


def _with_rows(dataset: lance.LanceDataset, metadata: Any, rows: set[int]) -> Any:
    """A fragment's description with these rows in it and no others; writes the list of the others."""
    deleted = sorted({*range(metadata.physical_rows)} - rows)
    if not deleted:
        return replace(metadata, deletion_file=None)
    schema = pa.schema([pa.field("row_id", pa.uint32(), nullable=False)])
    number, version = secrets.randbits(63), dataset.version
    with tempfile.NamedTemporaryFile(suffix=".arrow") as file:
        with pa.ipc.new_file(file.name, schema) as writer:
            writer.write_table(pa.table({"row_id": pa.array(deleted, pa.uint32())}, schema=schema))
        dataset.new_file_session().upload_file(
            str(Path(file.name)), f"_deletions/{metadata.id}-{version}-{number}.arrow"
        )
    listed = lance.fragment.DeletionFile(version, number, "array", len(deleted), None)
    return replace(metadata, deletion_file=listed)
