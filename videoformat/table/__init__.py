"""The Lance table under a dataset. The only importer of lance."""

from videoformat.table.errors import address_of
from videoformat.table.history import CleanUp, CompactionCost, VersionFacts
from videoformat.table.media import MediaPlace, RowMedia, blob_file, place_of
from videoformat.table.table import Table

__all__ = [
    "CleanUp",
    "CompactionCost",
    "MediaPlace",
    "RowMedia",
    "Table",
    "VersionFacts",
    "address_of",
    "blob_file",
    "place_of",
]
