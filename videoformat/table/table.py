"""The Lance table under a dataset: open, take rows, read ranges, append. The only importer of lance.

Everything that Lance raises leaves here as an error of this package, with the address in it; a
panic of its native code counts as damaged data.
"""

from __future__ import annotations

import bisect
import datetime as dt
import itertools
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import lance
import lance.fragment
import lance.schema
import pyarrow as pa

from videoformat.errors import (
    ColumnNotFoundError,
    ConflictError,
    DataError,
    DatasetNotFoundError,
    InvalidArgumentError,
)
from videoformat.index.schema import (
    EXTERNAL_MEDIA_TYPE,
    METADATA_KEY,
    DatasetInfo,
    table_schema,
)
from videoformat.table import columns, history, recovery, returning, unfinished
from videoformat.table.errors import address_of, lance_errors
from videoformat.table.media import MediaPlace, RowMedia, StoreFiles, blob_file
from videoformat.table.rows import is_media, lance_rows, lance_schema

__all__ = ["Table"]

STORAGE_VERSION = "2.2"
DIRECTORY_COLUMNS = ("episode_uid", "chunk_index", "first_frame", "frame_count", "episode_length")


class Table:
    """One version of the table of a dataset.

    Rows are addressed by their position in this version, which never changes for a version.
    """

    def __init__(self, dataset: lance.LanceDataset, uri: str, options: dict[str, str] | None):
        self._dataset = dataset
        self.uri = uri
        self.storage_options = options
        with lance_errors(uri, "reading the schema"):
            self.version: int = dataset.version
            self.schema: pa.Schema = dataset.schema
        self._fragments: tuple[list[int], list[tuple[str, ...]]] | None = None
        self._by_gap: dict[int, lance.LanceDataset] = {}
        self._files: StoreFiles | None = None
        self._gap_lock = threading.Lock()
        self.info = DatasetInfo.from_schema(self.schema)

    @staticmethod
    def open(
        uri: str | os.PathLike[str],
        *,
        storage_options: Mapping[str, str] | None = None,
        version: int | str | dt.datetime | None = None,
    ) -> Table:
        """Opens a version: a number, a tag, or a time (the newest made by then); None: the newest.

        Raises ``DatasetNotFoundError``, ``UnsupportedFormatError`` for a format that this version
        does not know, ``DataError`` where the table is damaged or is not a videoformat dataset.
        """
        address = address_of(uri)
        options = dict(storage_options) if storage_options else None
        if isinstance(version, bool) or not isinstance(version, int | str | dt.datetime | None):
            raise InvalidArgumentError(
                f"version is {version!r}, expected a number, a tag or a time"
            )
        if isinstance(version, int):
            # Straight from its own manifest: a newest one that is damaged is not looked at.
            dataset = Table._numbered(address, options, version)
            return Table(dataset, address, options)
        with lance_errors(address, "opening"):
            dataset = lance.dataset(address, storage_options=options)
            if isinstance(version, dt.datetime):
                time = version.astimezone()
                version = history.version_at(dataset, time)
                if version is None:
                    raise DatasetNotFoundError(f"{address} has no version that is as old as {time}")
        if version is not None:
            try:
                with lance_errors(address, f"opening version {version!r}"):
                    dataset = dataset.checkout_version(version)
            except DatasetNotFoundError as error:
                raise DatasetNotFoundError(f"{address} has no version {version!r}") from error
        return Table(dataset, address, options)

    @staticmethod
    def _numbered(address: str, options: dict[str, str] | None, version: int) -> lance.LanceDataset:
        try:
            with lance_errors(address, f"opening version {version}"):
                return lance.dataset(address, version=version, storage_options=options)
        except (DatasetNotFoundError, InvalidArgumentError) as error:
            # Where there is no dataset at all, that is what is said.
            with lance_errors(address, "opening"):
                lance.dataset(address, storage_options=options)
            raise DatasetNotFoundError(f"{address} has no version {version!r}") from error

    @staticmethod
    def exists(
        uri: str | os.PathLike[str], *, storage_options: Mapping[str, str] | None = None
    ) -> bool:
        """Whether there is a table at the address."""
        address = address_of(uri)
        try:
            with lance_errors(address, "opening"):
                options = dict(storage_options) if storage_options else None
                lance.dataset(address, storage_options=options)
        except DatasetNotFoundError:
            return False
        return True

    @staticmethod
    def create(
        uri: str | os.PathLike[str],
        info: DatasetInfo,
        *,
        storage_options: Mapping[str, str] | None = None,
        like: pa.Schema | None = None,
    ) -> Table:
        """Makes an empty table. Raises ``InvalidArgumentError`` where there is one already.

        ``like`` is the schema of a table of the same features, whose columns it gets, also those
        that this version does not know.
        """
        address = address_of(uri)
        options = dict(storage_options) if storage_options else None
        taken = InvalidArgumentError(f"there is a dataset at {address} already")
        if Table.exists(address, storage_options=options):
            raise taken
        schema = lance_schema(table_schema(info))
        if like is not None:
            schema = like.with_metadata({**(like.metadata or {}), METADATA_KEY: info.to_json()})
        operation = lance.LanceOperation.Overwrite(schema, [])
        try:
            with lance_errors(address, "creating"):
                # Retried, it would overwrite what another process made in the meantime.
                dataset = lance.LanceDataset.commit(
                    address,
                    operation,
                    enable_stable_row_ids=True,
                    storage_options=options,
                    max_retries=0,
                )
        except (ConflictError, DatasetNotFoundError) as error:
            # Not found is version 0, on which a first version is built where there is one already.
            raise taken from error
        if dataset.data_storage_version != STORAGE_VERSION:
            raise AssertionError(f"Lance made storage version {dataset.data_storage_version}")
        return Table(dataset, address, options)

    @property
    def local_root(self) -> Path | None:
        """The folder of a table on a local disk, None for one in an object store."""
        if self.uri.startswith("file://"):
            return Path(unquote(urlsplit(self.uri).path))
        return None if "://" in self.uri else Path(self.uri)

    def data_files_of(self, row: int) -> tuple[str, ...]:
        """The names of the data files that hold a row, under ``data/`` of the table."""
        if self._fragments is None:
            with lance_errors(self.uri, "listing fragments"):
                fragments = self._dataset.get_fragments()
                ends = list(itertools.accumulate(each.count_rows() for each in fragments))
                files = [tuple(file.path for file in each.data_files()) for each in fragments]
            self._fragments = (ends, files)
        ends_of, files_of = self._fragments
        at = bisect.bisect_right(ends_of, row)
        return files_of[at] if at < len(files_of) else ()

    def latest(self) -> Table:
        """The newest version of the same table."""
        return Table.open(self.uri, storage_options=self.storage_options)

    @property
    def media_columns(self) -> frozenset[str]:
        """The names of all columns of media, also of those that no camera of this version has."""
        return frozenset(item.name for item in self.schema if is_media(item))

    def count_rows(self) -> int:
        """Rows, which are chunks."""
        with lance_errors(self.uri, "counting rows"):
            return int(self._dataset.count_rows())

    def local_size(self) -> int | None:
        """Bytes of every file of the dataset, older versions' too; None in an object store."""
        if "://" in self.uri:
            return None
        return sum(path.stat().st_size for path in Path(self.uri).rglob("*") if path.is_file())

    def scan(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows in order, some columns, a bounded number of rows at a time."""
        self._check_columns(columns)
        with lance_errors(self.uri, f"reading columns {', '.join(columns)}"):
            yield from self._dataset.to_batches(columns=list(columns), batch_readahead=2)

    def directory(self) -> pa.Table:
        """One row per chunk: which frames of which episode it holds."""
        batches = list(self.scan(DIRECTORY_COLUMNS))
        schema = pa.schema([self.schema.field(name) for name in DIRECTORY_COLUMNS])
        return pa.Table.from_batches(batches, schema=schema) if batches else schema.empty_table()

    def take(self, rows: Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Some rows, in the order asked for."""
        self._check_columns(columns)
        with lance_errors(self.uri, f"reading columns {', '.join(columns)}"):
            return self._dataset.take(list(rows), columns=list(columns))

    def read_ranges(
        self,
        column: str,
        requests: Sequence[tuple[int, int, int]],
        *,
        gap_bytes: int | None = None,
    ) -> list[bytes]:
        """Byte ranges ``(row, offset, size)`` of a media column, by one planned read, in order.

        In an object store, ranges that are less than ``gap_bytes`` apart are one request, with what
        lies between them; None is Lance's own choice, 64 KiB. Raises ``DataError`` where a range
        lies outside the media or comes back short.
        """
        self._check_columns((column,))
        with lance_errors(self.uri, f"reading media of {column}"):
            dataset = self._with_gap(gap_bytes)
            answers = dataset.read_blob_ranges(column, list(requests), selector="indices")
        parts: list[bytes | None] = [None] * len(requests)
        for position, _, data in answers:
            parts[position] = data
        for (row, offset, size), data in zip(requests, parts, strict=True):
            if data is None or len(data) != size:
                raise DataError(
                    f"{self.uri}: {column} of row {row}: {0 if data is None else len(data)} bytes "
                    f"at {offset}, expected {size}"
                )
        return [data for data in parts if data is not None]

    def row_media(
        self,
        column: str,
        row: int,
        *,
        place: MediaPlace | None = None,
        gap_bytes: int | None = None,
    ) -> RowMedia:
        """One row's media, for reads that touch no other row; ``gap_bytes`` as in ``read_ranges``.

        ``place`` is where the column says that it lies, where that is known.
        """
        self._check_columns((column,))
        return RowMedia(
            self.uri,
            column,
            row,
            partial(self._with_gap, gap_bytes),
            partial(self._read_by_place, row),
            place if self.local_root is None else None,
        )

    def _read_by_place(
        self, row: int, place: MediaPlace, ranges: Sequence[tuple[int, int]]
    ) -> list[bytes] | None:
        """Ranges of a blob from its file, None where it is not found so."""
        names = self.data_files_of(row)
        if len(names) != 1:
            return None  # which of them has the blob is for Lance to say
        with self._gap_lock:
            if self._files is None:
                self._files = StoreFiles(self._dataset.new_file_session())
        path = f"data/{blob_file(names[0], place.blob_id)}"
        return self._files.read(path, [(place.position + offset, size) for offset, size in ranges])

    def store_reads(self) -> tuple[int, int]:
        """Requests and bytes that Lance has read from the store through this object so far."""
        counts = [
            item.io_stats_snapshot() for item in (self._dataset, *list(self._by_gap.values()))
        ]
        files = (0, 0) if self._files is None else (self._files.requests, self._files.byte_count)
        return (
            files[0] + sum(item.read_iops for item in counts),
            files[1] + sum(item.read_bytes for item in counts),
        )

    def _with_gap(self, gap_bytes: int | None) -> lance.LanceDataset:
        """Lance's object for reading media with a gap; made once, by one small request.

        Lance has one size (``block_size``) for two things: how far apart the ranges are that it joins,
        and how much of a file's end it reads to find the rest. Small is right for media, large for the
        tables beside it, where it saves round trips. So there are two objects of one version, which
        share what they have read of the files' ends (their session).
        """
        if gap_bytes is None or self.local_root is not None:
            return self._dataset
        with self._gap_lock:
            dataset = self._by_gap.get(gap_bytes)
            if dataset is None:
                dataset = self._by_gap[gap_bytes] = lance.dataset(
                    self.uri,
                    version=self.version,
                    block_size=gap_bytes,
                    storage_options=self.storage_options,
                    session=self._dataset.session(),
                )
            return dataset

    def media_sizes(self, column: str, rows: Sequence[int]) -> list[int | None]:
        """The bytes that the store holds of some rows' media, None for a null, without reading any.

        What Lance returns for a blob column that is taken is where each blob lies.
        """
        cells = self.take(rows, [column]).column(column).to_pylist()
        return [None if cell is None else int(cell["size"]) for cell in cells]

    def _check_columns(self, columns: Sequence[str]) -> None:
        for name in columns:
            if name not in self.schema.names:
                raise ColumnNotFoundError(
                    f"{self.uri} has no column {name!r}; it has {', '.join(self.schema.names)}"
                )

    def write_rows(self, rows: pa.Table) -> list[Any]:
        """Writes rows to the store without making them visible; ``commit`` does that.

        What is written and never committed is invisible and is removed by a clean-up.
        """
        with lance_errors(self.uri, "writing"):
            return list(
                lance.fragment.write_fragments(
                    lance_rows(rows),
                    self._dataset,
                    mode="append",
                    data_storage_version=STORAGE_VERSION,
                    enable_stable_row_ids=True,
                    storage_options=self.storage_options,
                    # Which of them a reader follows is the reader's decision (allowed_sources).
                    allow_external_blob_outside_bases=any(
                        column.type == EXTERNAL_MEDIA_TYPE for column in rows.schema
                    ),
                )
            )

    def discard(self, fragments: Sequence[Any]) -> None:
        """Removes rows that were written and not committed, and never will be."""
        if fragments:
            with lance_errors(self.uri, "removing what was not committed"):
                unfinished.remove_files(self._dataset, fragments, self.local_root)

    def commit(self, fragments: Sequence[Any], message: str | None = None) -> Table:
        """Makes written rows visible, all of them in one step, after whatever others appended."""
        append = lance.LanceOperation.Append(list(fragments))
        try:
            dataset = self._append(append, self.version, message)
        except DatasetNotFoundError:
            # A clean-up without a grace removed the version that these rows were written against. On
            # the newest they mean the same, unless columns have changed.
            newest = self.latest()
            if not newest.schema.equals(self.schema):
                raise ConflictError(
                    f"{self.uri}: committing: version {self.version} is gone, and version "
                    f"{newest.version} has other columns"
                ) from None
            dataset = self._append(append, newest.version, message)
        return Table(dataset, self.uri, self.storage_options)

    def _append(self, operation: Any, version: int, message: str | None) -> lance.LanceDataset:
        with lance_errors(self.uri, "committing"):
            return lance.LanceDataset.commit(
                self.uri,
                operation,
                read_version=version,
                storage_options=self.storage_options,
                commit_message=message,
                commit_timeout=dt.timedelta(minutes=10),
            )

    def delete_episodes(self, uids: Sequence[str]) -> Table:
        """A new version without some episodes; nothing is moved.

        Against the newest version, whatever others do meanwhile: episodes that are not in it any
        more are no error. Raises ``ConflictError`` where others keep rewriting the same rows.
        """
        with lance_errors(self.uri, "deleting episodes"):
            dataset = self._newest()
            dataset.delete(history.uid_filter(uids))
        return self.latest()

    def bring_back(self, version: int, uids: frozenset[str]) -> tuple[Table, frozenset[str]]:
        """A new version with episodes that an older one had; returns it and those that stay away.

        Raises ``ConflictError`` where another writer committed in the meantime.
        """
        with lance_errors(self.uri, f"bringing back episodes of version {version}"):
            older = self._newest().checkout_version(version)
            fragments, lost = returning.fragments_with(self._dataset, older, uids)
            if lost == uids:
                return self, lost
            # A merge conflicts with every other change, so that no append can be overlooked.
            merge = lance.LanceOperation.Merge(fragments, self._dataset.lance_schema)
            return self._commit(merge), lost

    def add_column(self, field: pa.Field, cells: pa.Array, info: DatasetInfo) -> Table:
        """A new version with one more column, and the facts that go with it, in one step.

        ``cells`` has one entry a row. No other column is read or written. Raises ``ConflictError``
        where others changed the dataset, or appended to it, since this version.
        """
        with lance_errors(self.uri, f"adding column {field.name}"):
            fragments, schema = columns.with_column(self._dataset, field, cells)
            if schema is None:
                raise InvalidArgumentError(f"{self.uri} has no rows that could get a column")
            facts = {**(self.schema.metadata or {}), METADATA_KEY: info.to_json()}
            schema = lance.schema.LanceSchema.from_pyarrow(schema.to_pyarrow().with_metadata(facts))
            return self._commit(lance.LanceOperation.Merge(fragments, schema))

    def replace_column(self, column: str, cells: Sequence[Any]) -> Table:
        """A new version with other cells in a column; no other column is read or written.

        Raises ``ConflictError`` where others changed the same rows since this version.
        """
        with lance_errors(self.uri, f"writing column {column}"):
            kind = self.schema.field(column).type
            fragments, fields = columns.with_values(self._dataset, column, cells, kind)
            if not fragments:
                return self
            return self._commit(
                lance.LanceOperation.Update(
                    updated_fragments=fragments,
                    fields_modified=fields,
                    update_mode="rewrite_columns",
                )
            )

    def _commit(self, operation: Any) -> Table:
        dataset = lance.LanceDataset.commit(
            self.uri,
            operation,
            read_version=self.version,
            storage_options=self.storage_options,
            max_retries=0,
        )
        return Table(dataset, self.uri, self.storage_options)

    def readable_directory(
        self,
    ) -> tuple[list[tuple[int, pa.Table]], Mapping[int, tuple[int, str]]]:
        """The directory as far as it can be read, and the fragments that cannot be (``recovery``)."""
        with lance_errors(self.uri, "looking for rows that can be read"):
            return recovery.readable_rows(self._dataset, DIRECTORY_COLUMNS)

    def drop_fragments(self, fragments: Sequence[int]) -> Table:
        """A new version without some fragments, whose files need not be there."""
        with lance_errors(self.uri, "dropping damaged fragments"):
            return self._commit(recovery.without_fragments(list(fragments)))

    def versions(self, limit: int | None = None) -> list[history.VersionFacts]:
        """The newest versions (None: all), newest first."""
        with lance_errors(self.uri, "listing versions"):
            return history.version_facts(self._newest(), limit)

    def tags(self) -> dict[str, int]:
        """The version of each tag."""
        with lance_errors(self.uri, "listing tags"):
            return {name: int(item["version"]) for name, item in self._dataset.tags.list().items()}

    def set_tag(self, name: str, *, move: bool = False) -> None:
        """Names this version; with ``move``, a tag that there is already names it from now on."""
        with lance_errors(self.uri, f"tagging version {self.version} as {name!r}"):
            tags = self._dataset.tags
            if move and name in tags.list():
                tags.update(name, self.version)
            else:
                tags.create(name, self.version)

    def remove_tag(self, name: str) -> None:
        """Forgets a name; raises ``DatasetNotFoundError`` where there is none."""
        with lance_errors(self.uri, f"removing tag {name!r}"):
            self._dataset.tags.delete(name)

    def compact(self, target_bytes: int) -> history.CompactionCost:
        """Joins small fragments and drops deleted rows, in a version of its own."""
        with lance_errors(self.uri, "compacting"):
            dataset = self._newest()
            current = Table(dataset, self.uri, self.storage_options)
            return history.compact(dataset, current._fragment_sizes(), target_bytes)

    def _fragment_sizes(self) -> list[history.FragmentSize]:
        streams = [f"{feature.column}/stream" for feature in self.info.cameras.values()]
        media: list[int] = []
        chunks: list[int | None] = []
        for batch in self.scan(["chunk_index", *streams]):
            chunks += batch.column("chunk_index").to_pylist()
            sums = [0] * batch.num_rows
            for stream in streams:
                for at, size in enumerate(batch.column(stream).field("media_size").to_pylist()):
                    sums[at] += size or 0
            media += sums
        sizes, start = [], 0
        for fragment in self._dataset.get_fragments():
            rows = fragment.count_rows()
            sizes.append(
                history.FragmentSize(
                    fragment.fragment_id,
                    rows,
                    fragment.num_deletions,
                    sum(media[start : start + rows]),
                    begins_episode=not rows or chunks[start] == 0,
                )
            )
            start += rows
        return sizes

    def clean_up(self, older_than: dt.timedelta, *, unfinished: bool = False) -> history.CleanUp:
        """Removes versions older than that without a tag, and files that no other version needs."""
        with lance_errors(self.uri, "cleaning up"):
            return history.clean_up(self._newest(), older_than, unfinished=unfinished)

    def _newest(self) -> lance.LanceDataset:
        return lance.dataset(self.uri, storage_options=self.storage_options)

    def with_info(self, info: DatasetInfo) -> Table:
        """Writes new dataset-wide facts as a new version."""
        with lance_errors(self.uri, "writing the dataset's metadata"):
            self._dataset.update_schema_metadata({METADATA_KEY.decode(): info.to_json().decode()})
        return self.latest()
