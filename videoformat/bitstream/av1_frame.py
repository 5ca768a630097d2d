"""What a frame header of AV1 says (clause 5.9), and the editing of its fixed-width elements."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from videoformat.bitstream.av1_references import ReferenceSlot
from videoformat.errors import InvalidArgumentError

__all__ = ["PRIMARY_REF_NONE", "Av1FrameHeader", "BitField", "FrameType", "replace_field"]

PRIMARY_REF_NONE = 7


class FrameType(IntEnum):
    """``frame_type`` (AV1 6.8.2)."""

    KEY_FRAME = 0
    INTER_FRAME = 1
    INTRA_ONLY_FRAME = 2
    SWITCH_FRAME = 3


class BitField(NamedTuple):
    """Where a fixed-width syntax element lies: its first bit, counted from the picture's first."""

    name: str
    position: int
    size: int


@dataclass(frozen=True, slots=True)
class Av1FrameHeader:
    """A frame header up to ``use_ref_frame_mvs``, in the spelling of the specification.

    Where ``show_existing_frame`` is set, ``shown`` is what the named slot held, and the elements
    that such a header does not have are those of the shown picture (order hint, sizes) or empty.
    ``ref_frame_idx`` is empty for intra frames. Sizes are in luma samples; ``frame_width`` is the
    coded width, before super-resolution.

    ``fields`` are the elements that are coded in the header with a fixed width and may be edited in
    place: name, position of the first bit, size in bits, and how many follow each other. ``field``
    picks one for ``replace_field``.
    ``redundant_copies`` counts the redundant frame headers that repeat this one within the picture.
    """

    show_existing_frame: bool
    frame_to_show_map_idx: int | None
    shown: ReferenceSlot | None
    frame_type: FrameType
    show_frame: bool
    showable_frame: bool
    error_resilient_mode: bool
    disable_cdf_update: bool
    current_frame_id: int
    frame_size_override_flag: bool
    order_hint: int
    primary_ref_frame: int
    refresh_frame_flags: int
    ref_order_hint: tuple[int, ...]
    frame_refs_short_signaling: bool
    ref_frame_idx: tuple[int, ...]
    frame_width: int
    upscaled_width: int
    frame_height: int
    render_width: int
    render_height: int
    use_ref_frame_mvs: bool
    fields: tuple[tuple[str, int, int, int], ...]
    redundant_copies: int = 0

    @property
    def is_intra(self) -> bool:
        """``FrameIsIntra``."""
        return self.frame_type in (FrameType.KEY_FRAME, FrameType.INTRA_ONLY_FRAME)

    def field(self, name: str, index: int = 0) -> BitField:
        """The coded element ``name``, the ``index``-th of those that repeat."""
        place = index
        for found, position, size, count in self.fields:
            if found != name:
                continue
            if place < count:
                return BitField(name, position + place * size, size)
            place -= count
        raise InvalidArgumentError(
            f"{name}[{index}] is not coded in this frame header, which has "
            f"{sorted({found for found, *_ in self.fields})}"
        )


def replace_field(data: bytes, field: BitField, value: int) -> bytes:
    """The picture's bytes with one fixed-width element replaced.

    Nothing else changes, neither sizes nor what a decoder derives from the element. Redundant
    copies of the header are not edited: do not use it where there are any.
    """
    if not 0 <= value < 1 << field.size:
        raise InvalidArgumentError(f"{field.name}: {value} does not fit in f({field.size})")
    end = field.position + field.size
    first, last = field.position // 8, (end + 7) // 8
    if last > len(data):
        raise InvalidArgumentError(f"{field.name} ends at bit {end}, the data at {8 * len(data)}")
    shift = 8 * last - end
    mask = ((1 << field.size) - 1) << shift
    window = int.from_bytes(data[first:last], "big") & ~mask | value << shift
    return data[:first] + window.to_bytes(last - first, "big") + data[last:]
