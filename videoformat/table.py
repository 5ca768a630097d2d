"""The Lance table under a dataset: open, take rows, read ranges, append. The only importer of lance.

Everything that Lance raises leaves here as an error of this package, with the address in it; a
panic of its native code counts as damaged data.
"""

from __future__ import annotations

import datetime as dt
import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import lance
import lance.blob
import lance.fragment
import pyarrow as pa

from videoformat.errors import (
    ColumnNotFoundError,
    ConflictError,
    DataError,
    DatasetNotFoundError,
    InvalidArgumentError,
    StoreError,
    VideoFormatError,
)
from videoformat.index.schema import (
    EXTERNAL_MEDIA_TYPE,
    MEDIA_TYPE,
    METADATA_KEY,
    DatasetInfo,
    table_schema,
)

__all__ = ["Table", "address_of"]

STORAGE_VERSION = "2.2"
DIRECTORY_COLUMNS = ("episode_uid", "chunk_index", "first_frame", "frame_count", "episode_length")


def address_of(uri: str | os.PathLike[str]) -> str:
    """An address as a string; ``~`` is the home directory of a local path."""
    text = os.fspath(uri) if isinstance(uri, str | os.PathLike) else None
    if not isinstance(text, str) or not text:
        raise InvalidArgumentError(f"a dataset's address is a path or URI, got {uri!r}")
    return text if "://" in text else str(Path(text).expanduser())


def _without_address(text: str, uri: str) -> str:
    """What was said without the address, which may hold any word that is looked for."""
    for address in (uri, uri.partition("://")[2] or uri):
        for form in (address, quote(address)):
            text = text.replace(form.strip("/"), "")
    return text


def _translate(error: BaseException, uri: str, doing: str) -> VideoFormatError:
    message = str(error).split(", /home/", maxsplit=1)[0].strip()
    text = _without_address(message.lower(), uri.lower())
    where = f"{uri}: {doing}: {message or type(error).__name__}"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EACCES, errno.EROFS):
        return StoreError(where)
    if "was not found" in text and "dataset" in text:
        return DatasetNotFoundError(f"there is no dataset at {uri}")
    # A tag that does not exist or cannot be one; a version number beyond 64 bits.
    if text.startswith(("ref not found", "ref is invalid")) or isinstance(error, OverflowError):
        return DatasetNotFoundError(where)
    if "already exists" in text:
        return InvalidArgumentError(f"there is a dataset at {uri} already")
    if "conflict" in text or "incompatible with concurrent transaction" in text:
        return ConflictError(where)
    if type(error).__name__ == "PanicException":
        return DataError(where)
    store_signs = ("permission denied", "no space", "read-only", "access denied", "unauthorized")
    if any(sign in text for sign in store_signs):
        return StoreError(where)
    # "Generic S3 error", "Generic LocalFileSystem error": the store itself spoke.
    if "object store" in text or "generic " in text or isinstance(error, TimeoutError):
        return StoreError(where)
    return DataError(where)


@contextmanager
def _lance_errors(uri: str, doing: str) -> Iterator[None]:
    """Turns whatever Lance raises into this package's errors."""
    try:
        yield
    except (VideoFormatError, KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:
        # Lance's native panics derive from BaseException alone.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise _translate(error, uri, doing) from error
        raise


def _lance_schema(schema: pa.Schema) -> pa.Schema:
    """The schema with Lance's blob type for media columns."""
    fields = []
    for column in schema:
        if column.type in (MEDIA_TYPE, EXTERNAL_MEDIA_TYPE):
            blob = lance.blob.blob_field(column.name)
            metadata = {**(blob.metadata or {}), **(column.metadata or {})}
            fields.append(blob.with_metadata(metadata) if metadata else blob)
        else:
            fields.append(column)
    return pa.schema(fields, metadata=schema.metadata)


def _lance_rows(rows: pa.Table) -> pa.Table:
    """Rows with their media as Lance blobs."""
    columns = []
    schema = _lance_schema(rows.schema)
    for column, values in zip(rows.schema, rows.columns, strict=True):
        if column.type == MEDIA_TYPE:
            columns.append(lance.blob.blob_array(values.to_pylist()))
        elif column.type == EXTERNAL_MEDIA_TYPE:
            columns.append(
                lance.blob.blob_array(
                    [
                        lance.blob.Blob.from_uri(item["uri"], item["position"], item["size"])
                        for item in values.to_pylist()
                    ]
                )
            )
        else:
            columns.append(values)
    return pa.Table.from_arrays(columns, schema=schema)


class Table:
    """One version of the table of a dataset.

    Rows are addressed by their position in this version, which never changes for a version.
    """

    def __init__(self, dataset: lance.LanceDataset, uri: str, options: dict[str, str] | None):
        self._dataset = dataset
        self.uri = uri
        self.storage_options = options
        self.version: int = dataset.version
        self.schema: pa.Schema = dataset.schema
        self.info = DatasetInfo.from_schema(self.schema)

    @staticmethod
    def open(
        uri: str | os.PathLike[str],
        *,
        storage_options: Mapping[str, str] | None = None,
        version: int | str | None = None,
    ) -> Table:
        """Opens a version (a number or a tag; the newest where None).

        Raises ``DatasetNotFoundError``, ``UnsupportedFormatError`` for a format that this version
        does not know, ``DataError`` where the table is damaged or is not a videoformat dataset.
        """
        address = address_of(uri)
        options = dict(storage_options) if storage_options else None
        if isinstance(version, bool) or not isinstance(version, int | str | None):
            raise InvalidArgumentError(f"version is {version!r}, expected a number or a tag")
        with _lance_errors(address, "opening"):
            dataset = lance.dataset(address, storage_options=options)
        if version is not None:
            try:
                with _lance_errors(address, f"opening version {version!r}"):
                    dataset = dataset.checkout_version(version)
            except DatasetNotFoundError as error:
                raise DatasetNotFoundError(f"{address} has no version {version!r}") from error
        return Table(dataset, address, options)

    @staticmethod
    def exists(
        uri: str | os.PathLike[str], *, storage_options: Mapping[str, str] | None = None
    ) -> bool:
        """Whether there is a table at the address."""
        address = address_of(uri)
        try:
            with _lance_errors(address, "opening"):
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
    ) -> Table:
        """Makes an empty table. Raises ``InvalidArgumentError`` where there is one already."""
        address = address_of(uri)
        options = dict(storage_options) if storage_options else None
        taken = InvalidArgumentError(f"there is a dataset at {address} already")
        if Table.exists(address, storage_options=options):
            raise taken
        operation = lance.LanceOperation.Overwrite(_lance_schema(table_schema(info)), [])
        try:
            with _lance_errors(address, "creating"):
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

    def latest(self) -> Table:
        """The newest version of the same table."""
        return Table.open(self.uri, storage_options=self.storage_options)

    def count_rows(self) -> int:
        """Rows, which are chunks."""
        with _lance_errors(self.uri, "counting rows"):
            return int(self._dataset.count_rows())

    def local_size(self) -> int | None:
        """Bytes of every file of the dataset, older versions' too; None in an object store."""
        if "://" in self.uri:
            return None
        return sum(path.stat().st_size for path in Path(self.uri).rglob("*") if path.is_file())

    def scan(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows in order, some columns, a bounded number of rows at a time."""
        self._check_columns(columns)
        with _lance_errors(self.uri, f"reading columns {', '.join(columns)}"):
            yield from self._dataset.to_batches(columns=list(columns), batch_readahead=2)

    def directory(self) -> pa.Table:
        """One row per chunk: which frames of which episode it holds."""
        batches = list(self.scan(DIRECTORY_COLUMNS))
        schema = pa.schema([self.schema.field(name) for name in DIRECTORY_COLUMNS])
        return pa.Table.from_batches(batches, schema=schema) if batches else schema.empty_table()

    def take(self, rows: Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Some rows, in the order asked for."""
        self._check_columns(columns)
        with _lance_errors(self.uri, f"reading columns {', '.join(columns)}"):
            return self._dataset.take(list(rows), columns=list(columns))

    def read_ranges(self, column: str, requests: Sequence[tuple[int, int, int]]) -> list[bytes]:
        """Byte ranges ``(row, offset, size)`` of a media column, by one planned read, in order.

        Raises ``DataError`` where a range lies outside the media or comes back short.
        """
        self._check_columns((column,))
        with _lance_errors(self.uri, f"reading media of {column}"):
            answers = self._dataset.read_blob_ranges(column, list(requests), selector="indices")
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
        with _lance_errors(self.uri, "writing"):
            return list(
                lance.fragment.write_fragments(
                    _lance_rows(rows),
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

    def commit(self, fragments: Sequence[Any], message: str | None = None) -> Table:
        """Makes written rows visible, all of them in one step, after whatever others appended."""
        with _lance_errors(self.uri, "committing"):
            dataset = lance.LanceDataset.commit(
                self.uri,
                lance.LanceOperation.Append(list(fragments)),
                read_version=self.version,
                storage_options=self.storage_options,
                commit_message=message,
                commit_timeout=dt.timedelta(minutes=10),
            )
        return Table(dataset, self.uri, self.storage_options)

    def with_info(self, info: DatasetInfo) -> Table:
        """Writes new dataset-wide facts as a new version."""
        with _lance_errors(self.uri, "writing the dataset's metadata"):
            self._dataset.update_schema_metadata({METADATA_KEY.decode(): info.to_json().decode()})
        return self.latest()
