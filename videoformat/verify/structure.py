"""What a picture index promises by itself: layout, reference structure, bound. Pure."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from videoformat.errors import StructureError
from videoformat.index.features import Feature
from videoformat.index.pictures import PictureIndex, place_pictures
from videoformat.media.gop import check_ddra
from videoformat.verify.findings import Findings, listed

__all__ = ["STRUCTURES", "check_index"]


def _promise_nothing(index: PictureIndex) -> None:
    """A stream that was stored as it came has the bound on its closures as its only promise."""


STRUCTURES: MappingProxyType[str, Callable[[PictureIndex], None]] = MappingProxyType(
    {"ddra": check_ddra, "native": _promise_nothing}
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


def presentation_ranks(index: PictureIndex) -> list[int]:
    """Each picture's rank in presentation order; one that is never shown ranks after the rest."""
    after = index.key.end_frame
    order = [after + at if frame is None else frame for at, frame in enumerate(index.frame_index)]
    ranks = [0] * len(order)
    for rank, at in enumerate(sorted(range(len(order)), key=order.__getitem__)):
        ranks[at] = rank
    return ranks


def _check_layout(index: PictureIndex) -> None:
    """The pictures tile the media in the order that ``place_pictures`` documents."""
    layout, offsets = place_pictures(index.size, index.is_reference, presentation_ranks(index))
    if sum(index.size) != index.stream.media_size:
        raise StructureError(
            f"{len(index)} pictures take {sum(index.size)} bytes of the media's "
            f"{index.stream.media_size}"
        )
    for at in layout:
        if index.offset[at] != offsets[at]:
            raise StructureError(
                f"picture {at} lies at byte {index.offset[at]}; references first in decode order, "
                f"then the rest in presentation order, put it at {offsets[at]}"
            )


def _check_bound(index: PictureIndex) -> None:
    sizes = [len(index.closure([at])) for at in range(len(index))]
    bound = index.stream.closure_bound
    worst = max(sizes, default=0)
    if worst != bound:
        raise StructureError(
            f"the largest closure has {worst} pictures (of pictures "
            f"{listed([at for at, size in enumerate(sizes) if size == worst])}), the stream says "
            f"{bound}"
        )
