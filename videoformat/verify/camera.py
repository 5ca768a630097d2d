"""Verifying one camera of one chunk, from its index to its last bit."""

from __future__ import annotations

import zlib

from videoformat.errors import CountMismatchError
from videoformat.index.features import Feature
from videoformat.index.pictures import PictureIndex
from videoformat.index.schema import media_columns
from videoformat.reading import Reader
from videoformat.verify.decoding import check_decoding
from videoformat.verify.derived import check_derived
from videoformat.verify.findings import Findings, listed
from videoformat.verify.structure import check_index

__all__ = ["verify_camera"]


def verify_camera(
    reader: Reader, row: int, feature: Feature, findings: Findings, *, decode: bool
) -> None:
    """Runs every check that the ones before it leave meaning to.

    Bytes that are not those that were written are neither parsed nor decoded: what they would give
    says nothing more.
    """
    index = None
    with findings.noting("index"):
        index = reader.indexes([(row, feature.key)])[row, feature.key]
    if index is None:
        return
    check_index(index, feature, findings)
    media = None
    with findings.noting("media"):
        media = _read_media(reader, row, feature, index)
    if media is None or not _check_bytes(index, media, findings):
        return
    with findings.noting("bitstream"):
        check_derived(index, [unit(index, media, at) for at in range(len(index))], findings)
    if decode:
        check_decoding(reader, row, index, media, findings)


def _read_media(reader: Reader, row: int, feature: Feature, index: PictureIndex) -> bytes:
    """The whole media of the chunk, whose size must be what the stream says before it is read."""
    column = media_columns(feature)[0]
    expected = index.stream.media_size
    (size,) = reader.table.media_sizes(column, [row])
    if size != expected:
        raise CountMismatchError(f"{size} bytes are stored, the stream says {expected}")
    (media,) = reader.table.read_ranges(column, [(row, 0, expected)])
    return media


def unit(index: PictureIndex, media: bytes, at: int) -> bytes:
    """One picture's access unit."""
    return media[index.offset[at] : index.offset[at] + index.size[at]]


def _check_bytes(index: PictureIndex, media: bytes, findings: Findings) -> bool:
    damaged = [
        at for at in range(len(index)) if zlib.crc32(unit(index, media, at)) != index.crc32[at]
    ]
    findings.pictures += len(index)
    findings.byte_count += sum(index.size)
    if damaged:
        frames = [index.frame_index[at] for at in damaged]
        findings.add(
            "checksum",
            f"the bytes of pictures {listed(damaged)} do not have the crc32 that the index says; "
            f"their frames are {listed(frames)}; they were not parsed or decoded",
        )
    return not damaged
