"""The index derived from the bytes once more, compared with the stored one."""

from __future__ import annotations

from collections.abc import Sequence

from videoformat.bitstream.codecs import nal_unit_splitter, resets_decoding
from videoformat.errors import CountMismatchError, StructureError
from videoformat.index.native import CodedPicture, CodedUnit, StreamIndexer
from videoformat.index.pictures import PictureIndex
from videoformat.verify.findings import Findings, listed

__all__ = ["check_derived"]

_COMPARED = ("poc", "picture_type", "is_random_access", "is_reference", "references")


def check_derived(index: PictureIndex, units: Sequence[bytes], findings: Findings) -> None:
    """Parses a chunk's access units, in decode order, and compares what they say with the index.

    A native chunk may begin in mid-sequence, where its parser cannot know what the pictures before
    held; and a sequence that is decoded as a chain was not understood in the first place. Such
    pictures are not counted as derived. Raises ``BitstreamError``, ``UnsupportedStreamError`` or a
    ``DataError`` where nothing can be compared.
    """
    stream = index.stream
    indexer = StreamIndexer(stream.codec, stream.configuration, stream.framing)
    is_star = stream.structure == "star"
    for unit, pts in zip(units, index.pts, strict=True):
        # Decoders return a star in decode order, which is not that of its times.
        indexer.push(CodedUnit(unit, None if is_star else pts))
    derived = indexer.finish().pictures
    if len(derived) != len(index):
        raise CountMismatchError(
            f"the bytes hold {len(derived)} pictures, the index has {len(index)}"
        )
    restart = _first_restart(index, units)
    known = _understood(index, derived, restart)
    findings.derived += len(known)
    _compare(index, _counted_alike(index, derived, known, restart), known, findings)
    if not is_star:
        # A star's frames are told by its order counts, which its promise is about.
        _check_order(index, derived)


def _first_restart(index: PictureIndex, units: Sequence[bytes]) -> int:
    """The first picture from which on a parser needs to know of nothing before the chunk."""
    if index.stream.structure in ("ddra", "star"):
        return 0
    codec, framing = index.stream.codec, index.stream.framing
    if framing == "obu":
        # Order hints and reference slots of AV1 mean the same wherever parsing begins.
        return 0
    split = nal_unit_splitter(framing)
    return next(
        (at for at, unit in enumerate(units) if resets_decoding(codec, split(unit))), len(units)
    )


def _understood(index: PictureIndex, derived: Sequence[CodedPicture], restart: int) -> list[int]:
    """The pictures that both the stored index and the parser make a statement about."""
    chained = {at for at, picture in enumerate(derived) if picture.poc is None}
    contradicted = [at for at in sorted(chained) if at >= restart and index.poc[at] is not None]
    if contradicted:
        raise StructureError(
            f"the references of pictures {listed(contradicted)} cannot be known from their bytes, "
            "the index states them"
        )
    return [at for at, poc in enumerate(index.poc) if poc is not None and at not in chained]


def _counted_alike(
    index: PictureIndex, derived: Sequence[CodedPicture], known: Sequence[int], restart: int
) -> list[CodedPicture]:
    """The derived pictures with order counts from the stored index's origin.

    In mid-sequence the high part of order counts follows from pictures before the chunk (H.264
    8.2.1.1, H.265 8.3.1): up to the first restart they are known but for a constant.
    """
    first = next((at for at in known if at < restart), None)
    if first is None:
        return list(derived)
    shift = (index.poc[first] or 0) - (derived[first].poc or 0)
    return [
        picture._replace(poc=(picture.poc or 0) + shift) if at < restart else picture
        for at, picture in enumerate(derived)
    ]


def _compare(
    index: PictureIndex,
    derived: Sequence[CodedPicture],
    known: Sequence[int],
    findings: Findings,
) -> None:
    # What leads over the chunk's start references pictures that are not here; no frame needs it.
    needed = index.closure(list(index.position_of.values()))
    for name in _COMPARED:
        stored = getattr(index, name)
        differing = [
            at
            for at in known
            if stored[at] != getattr(derived[at], name) and (name != "references" or at in needed)
        ]
        if differing:
            at = differing[0]
            findings.add(
                "bitstream",
                f"{name} of pictures {listed(differing)}: stored {stored[at]!r} for picture {at}, "
                f"its bytes say {getattr(derived[at], name)!r}",
            )
    differing = [
        at
        for at in known
        if index.reference_lists[at] is not None
        and at in needed
        and index.reference_lists[at] != derived[at].reference_lists
    ]
    if differing:
        findings.add(
            "bitstream",
            f"reference_lists of pictures {listed(differing)} are not those that their bytes say",
        )


def _check_order(index: PictureIndex, derived: Sequence[CodedPicture]) -> None:
    """Frames follow each other in the order in which the bytes and timestamps present pictures."""
    previous = -1
    for frame in sorted(index.position_of):
        at = index.position_of[frame]
        rank = derived[at].frame
        if derived[at].poc is None:
            continue  # only a decoder knows
        if rank is None:
            raise StructureError(f"frame {frame} is picture {at}, which its bytes do not show")
        if rank <= previous:
            raise StructureError(
                f"frame_index: frame {frame} is picture {at}, which is presented before the "
                "picture of the frame before it"
            )
        previous = rank
