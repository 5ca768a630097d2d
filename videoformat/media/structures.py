"""The reference structures that frames are encoded in: their encoders, and what they promise."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, cast

from videoformat.errors import InvalidArgumentError
from videoformat.media.encoder import ChunkEncoder
from videoformat.media.gop import DDRA, DDRA_CLOSURE_BOUND, PROFILES, ProfileName, check_ddra
from videoformat.media.star import STAR_NAMES, Star
from videoformat.media.star_encoder import StarEncoder
from videoformat.media.star_promise import STAR_CLOSURE_BOUND, check_star

if TYPE_CHECKING:
    from videoformat.index.pictures import PictureIndex
    from videoformat.media.color import Color

__all__ = [
    "PROMISES",
    "STRUCTURE_NAMES",
    "Structure",
    "check_structure",
    "make_encoder",
    "name_of",
    "named_structure",
    "promised_bound",
]

Structure: TypeAlias = DDRA | Star

# By the name that a stream bears: what raises where its index breaks the promise.
PROMISES: MappingProxyType[str, Callable[[PictureIndex], None]] = MappingProxyType(
    {"ddra": check_ddra, "star": check_star}
)
# What a caller may say in place of a structure.
STRUCTURE_NAMES = (*PROFILES, *STAR_NAMES)


def name_of(structure: Structure) -> str:
    """The structure's registered name."""
    return "ddra" if isinstance(structure, DDRA) else "star"


def promised_bound(structure: Structure) -> int:
    """The most pictures that a closure has."""
    return DDRA_CLOSURE_BOUND if isinstance(structure, DDRA) else STAR_CLOSURE_BOUND


def named_structure(name: str) -> Structure:
    """A profile of DDRA or a star, by name. Raises ``InvalidArgumentError`` for another name."""
    if name in PROFILES:
        return DDRA(profile=cast("ProfileName", name))
    codec = STAR_NAMES.get(name)
    if codec is None:
        raise InvalidArgumentError(
            f"video is {name!r}, expected one of {', '.join(STRUCTURE_NAMES)}"
        )
    return Star(codec=codec)


def make_encoder(
    structure: Structure, width: int, height: int, color: Color, rate: Fraction, threads: int
) -> ChunkEncoder | StarEncoder:
    """An encoder of one chunk."""
    if isinstance(structure, DDRA):
        return ChunkEncoder(structure, width, height, color, rate, threads)
    return StarEncoder(structure, width, height, color, rate, threads)


def check_structure(index: PictureIndex) -> None:
    """Raises ``StructureError`` unless an encoded chunk keeps its structure's promise."""
    PROMISES[index.stream.structure](index)
