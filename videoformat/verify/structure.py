"""What a picture index promises by itself: layout, reference structure, bound. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import MappingProxyType

from videoformat.errors import StructureError
from videoformat.index.build import largest_closure
from videoformat.index.features import Feature
from videoformat.index.pictures import PictureIndex
from videoformat.media.structures import PROMISES
from videoformat.verify.findings import Findings

__all__ = ["STRUCTURES", "check_index"]


def _promise_nothing(index: PictureIndex) -> None:
    """A stream that was stored as it came has the bound on its closures as its only promise."""


STRUCTURES: MappingProxyType[str, Callable[[PictureIndex], None]] = MappingProxyType(
    {**PROMISES, "native": _promise_nothing}
)


def check_index(index: PictureIndex, feature: Feature, findings: Findings) -> None:
    """Every promise that can be checked without the bytes."""
    _check_size(index, feature, findings)
    with findings.noting("layout"):
        _check_layout(index)
    with findings.noting("structure"):
        check = STRUCTURES.get(index.stream.structure)
        if check is None:
            raise StructureError(
                f"the structure {index.stream.structure!r} is not one of {', '.join(STRUCTURES)}"
            )
        check(index)
    with findings.noting("structure"):
        _check_bound(index)


def _check_size(index: PictureIndex, feature: Feature, findings: Findings) -> None:
    stream = index.stream
    if (stream.width, stream.height) != (feature.width, feature.height):
        findings.add(
            "stream",
            f"its frames are {stream.width}x{stream.height}, the feature's shape is "
            f"{feature.width}x{feature.height}",
        )
    if stream.decoded_width < stream.width or stream.decoded_height < stream.height:
        findings.add(
            "stream",
            f"frames of {stream.width}x{stream.height} are no part of decoded pictures of "
            f"{stream.decoded_width}x{stream.decoded_height}",
        )


def _check_layout(index: PictureIndex) -> None:
    """The pictures tile the media: references in decode order, the rest in presentation order.

    Where a picture that is not shown here stands among the rest is not known from the index. Media
    that lies in its source's file is laid out as that file is, with gaps.
    """
    is_ours = index.stream.source_uri is None
    by_offset = sorted(range(len(index)), key=index.offset.__getitem__)
    end = 0
    for at in by_offset:
        if index.offset[at] < end or (is_ours and index.offset[at] > end):
            raise StructureError(
                f"picture {at} lies at byte {index.offset[at]}, the picture before it ends at {end}"
            )
        end = index.offset[at] + index.size[at]
    if not is_ours:
        return
    if end != index.stream.media_size:
        raise StructureError(
            f"{len(index)} pictures take {end} bytes of the media's {index.stream.media_size}"
        )
    places = [(0, at) if index.is_reference[at] else (1, index.frame_index[at]) for at in by_offset]
    known = [(group, number) for group, number in places if number is not None]
    for before, after in itertools.pairwise(known):
        if after < before:
            raise StructureError(
                "the pictures do not lie in the documented order, references first in decode "
                f"order and then the rest in presentation order: {_named(after)} follows "
                f"{_named(before)}"
            )


def _named(place: tuple[int, int]) -> str:
    group, number = place
    return f"the picture of frame {number}" if group else f"reference picture {number}"


def _check_bound(index: PictureIndex) -> None:
    worst = largest_closure(index.references, list(index.position_of.values()))
    if worst != index.stream.closure_bound:
        raise StructureError(
            f"the largest closure has {worst} pictures, the stream says "
            f"{index.stream.closure_bound}"
        )
