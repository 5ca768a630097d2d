"""The sizes in AV1's frame headers (clauses 5.9.5 to 5.9.8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from videoformat.bitstream.av1_references import ReferenceSlots
from videoformat.bitstream.av1_sequence import Av1SequenceHeader
from videoformat.bitstream.bits import BitReader

__all__ = ["FrameSize", "frame_size", "frame_size_with_refs"]

_SUPERRES_NUM = 8
_SUPERRES_DENOM_MIN = 9


class FrameSize(NamedTuple):
    """Sizes in luma samples; ``frame_width`` is coded, before super-resolution."""

    frame_width: int
    upscaled_width: int
    frame_height: int
    render_width: int
    render_height: int


def frame_size(r: BitReader, sequence: Av1SequenceHeader, *, override: bool) -> FrameSize:
    """``frame_size`` and ``render_size`` (AV1 5.9.5, 5.9.6)."""
    width, height = sequence.max_frame_width, sequence.max_frame_height
    if override:
        width = r.u(sequence.frame_width_bits, "frame_width_minus_1") + 1
        height = r.u(sequence.frame_height_bits, "frame_height_minus_1") + 1
        if width > sequence.max_frame_width or height > sequence.max_frame_height:
            limit = f"at most {sequence.max_frame_width}x{sequence.max_frame_height}"
            raise r.error("frame size", f"{width}x{height}", limit)
    frame_width = _superres(r, sequence, width)
    render_width, render_height = width, height
    if r.flag("render_and_frame_size_different"):
        render_width = r.u(16, "render_width_minus_1") + 1
        render_height = r.u(16, "render_height_minus_1") + 1
    return FrameSize(frame_width, width, height, render_width, render_height)


def frame_size_with_refs(
    r: BitReader, sequence: Av1SequenceHeader, slots: ReferenceSlots, ref_frame_idx: Iterable[int]
) -> FrameSize:
    """``frame_size_with_refs`` (AV1 5.9.7): the size of a reference, or one of its own."""
    for index in ref_frame_idx:
        if r.flag("found_ref"):
            slot = slots.require(index, "found_ref")
            return FrameSize(
                _superres(r, sequence, slot.upscaled_width),
                slot.upscaled_width,
                slot.frame_height,
                slot.render_width,
                slot.render_height,
            )
    return frame_size(r, sequence, override=True)


def _superres(r: BitReader, sequence: Av1SequenceHeader, upscaled_width: int) -> int:
    """``superres_params`` (AV1 5.9.8): the coded width."""
    if not sequence.enable_superres or not r.flag("use_superres"):
        return upscaled_width
    denominator = r.u(3, "coded_denom") + _SUPERRES_DENOM_MIN
    return (upscaled_width * _SUPERRES_NUM + denominator // 2) // denominator
