"""From access units to a chunk's picture index and media: derived from the bytes themselves."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

from videoformat.bitstream.codecs import byte_stream, make_indexer
from videoformat.bitstream.picture import Picture
from videoformat.errors import StructureError, UnsupportedStreamError
from videoformat.index.pictures import ChunkKey, PictureIndex, Stream, place_pictures
from videoformat.index.rows import ChunkMedia

__all__ = ["build_chunk", "crc32_of", "derive_pictures", "largest_closure"]


def crc32_of(access_unit: bytes) -> int:
    """The checksum of a picture's bytes as the index stores it."""
    return zlib.crc32(access_unit)


def largest_closure(references: Sequence[Sequence[int]], positions: Sequence[int]) -> int:
    """The most pictures that the closure of any one of ``positions`` has.

    Closures are bit sets, so that a chain of thousands of pictures takes no quadratic walk.
    """
    masks: list[int] = []
    for at, earlier in enumerate(references):
        mask = 1 << at
        for reference in earlier:
            mask |= masks[reference]
        masks.append(mask)
    return max((masks[at].bit_count() for at in positions), default=0)


def derive_pictures(
    codec: str, configuration: bytes, access_units: Sequence[bytes], framing: str = "annexb"
) -> list[Picture]:
    """Parses access units of one picture each, in decode order."""
    convert = byte_stream(framing)
    indexer = make_indexer(codec, configuration)
    pictures: list[Picture] = []
    for unit in access_units:
        found = indexer.push(convert(unit))
        if len(found) != 1:
            raise UnsupportedStreamError(
                "pictures of an access unit", f"{len(found)} in access unit {len(pictures)}"
            )
        pictures.append(found[0])
    return pictures


def check_order(pictures: Sequence[Picture], ranks: Sequence[int], where: str) -> None:
    """Presentation order is the order of the bitstream's own order counts.

    The ranks come from the encoder's timestamps, the order counts from the bytes; where they
    disagree, one of them is wrong and frames would be swapped.
    """
    previous: tuple[int, int] | None = None
    sequence = 0
    keys = []
    for picture in pictures:
        # Order counts start anew where nothing before is referenced any more.
        if picture.is_random_access and picture.order_count == 0:
            sequence += 1
        keys.append((sequence, picture.order_count))
    for rank, key in sorted(zip(ranks, keys, strict=True)):
        if previous is not None and key <= previous:
            raise StructureError(
                f"{where}: frame {rank} of the chunk has order count {key[1]}, the frame before it "
                f"{previous[1]}"
            )
        previous = key


def build_chunk(
    key: ChunkKey,
    stream: Stream,
    access_units: Sequence[tuple[int, bytes]],
    pts: Sequence[int],
) -> ChunkMedia:
    """Indexes a chunk from its access units in decode order, each with its presentation rank.

    ``pts`` are by rank. ``stream.closure_bound`` and ``stream.media_size`` are filled in from what
    was found. Raises ``StructureError`` where ranks and bitstream contradict each other.
    """
    where = f"episode {key.episode_uid!r} chunk {key.chunk_index}"
    ranks = [rank for rank, _ in access_units]
    units = [unit for _, unit in access_units]
    if sorted(ranks) != list(range(key.frame_count)):
        raise StructureError(
            f"{where}: {len(ranks)} access units with presentation ranks {min(ranks, default=0)} "
            f"to {max(ranks, default=0)} for {key.frame_count} frames"
        )
    pictures = derive_pictures(stream.codec, stream.configuration, units, stream.framing)
    if stream.structure != "star":
        # What a star's order counts say of its frames is a promise of that structure.
        check_order(pictures, ranks, where)
    is_reference = [picture.is_reference for picture in pictures]
    sizes = [len(unit) for unit in units]
    layout, offsets = place_pictures(sizes, is_reference, ranks)
    index = PictureIndex(
        key=key,
        stream=replace(stream, media_size=sum(sizes), closure_bound=0),
        frame_index=tuple(key.first_frame + rank for rank in ranks),
        pts=tuple(pts[rank] for rank in ranks),
        poc=tuple(picture.order_count for picture in pictures),
        picture_type=tuple(picture.picture_type for picture in pictures),
        is_random_access=tuple(picture.is_random_access for picture in pictures),
        is_reference=tuple(is_reference),
        offset=tuple(offsets),
        size=tuple(sizes),
        references=tuple(picture.references for picture in pictures),
        reference_lists=(None,) * len(pictures),
        crc32=tuple(crc32_of(unit) for unit in units),
    )
    bound = largest_closure(index.references, range(len(index)))
    index = replace(index, stream=replace(index.stream, closure_bound=bound))
    return ChunkMedia(b"".join(units[at] for at in layout), index)
