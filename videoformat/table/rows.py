"""Rows and schemas as Lance takes them: media as its blobs."""

from __future__ import annotations

import lance
import lance.blob
import pyarrow as pa

from videoformat.index.schema import EXTERNAL_MEDIA_TYPE, MEDIA_TYPE

__all__ = ["is_media", "lance_rows", "lance_schema"]


def is_media(field: pa.Field) -> bool:
    """Whether a column of a table that is stored is one of Lance's blobs."""
    return isinstance(field.type, lance.blob.BlobType)


def lance_schema(schema: pa.Schema) -> pa.Schema:
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


def lance_rows(rows: pa.Table) -> pa.Table:
    """Rows with their media as Lance blobs."""
    columns = []
    schema = lance_schema(rows.schema)
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
