"""The eight reference slots of AV1: what they hold, and the lists that are derived from them.

Set frame refs process: AV1 7.8. Reference frame update process: 7.20. Reference frame loading
process: 7.21. Reference frame marking: 5.9.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from videoformat.errors import BitstreamError, UnsupportedStreamError

__all__ = [
    "NUM_REF_FRAMES",
    "REFS_PER_FRAME",
    "ReferenceSlot",
    "ReferenceSlots",
    "relative_dist",
    "set_frame_refs",
]

NUM_REF_FRAMES = 8
REFS_PER_FRAME = 7


@dataclass(frozen=True, slots=True)
class ReferenceSlot:
    """What a later frame header may need of the picture that a slot holds.

    ``position`` is the picture's place in decode order. ``showable`` turns false once the picture
    has been shown: a picture is shown by ``show_existing_frame`` at most once (AV1 6.8.2).
    ``valid`` is ``RefValid``.
    """

    position: int
    frame_id: int
    frame_type: int
    order_hint: int
    upscaled_width: int
    frame_height: int
    render_width: int
    render_height: int
    showable: bool
    valid: bool = True


class ReferenceSlots:
    """The state that the specification carries from frame to frame for references."""

    __slots__ = ("_slots",)

    def __init__(self, slots: Sequence[ReferenceSlot | None] = (None,) * NUM_REF_FRAMES) -> None:
        self._slots = list(slots)

    def copy(self) -> ReferenceSlots:
        """An independent copy, so that a unit that turns out to be broken changes nothing."""
        return ReferenceSlots(self._slots)

    def require(self, index: int, element: str) -> ReferenceSlot:
        """The slot that ``element`` of the current header names; it must hold a valid picture."""
        slot = self._slots[index]
        if slot is None or not slot.valid:
            raise UnsupportedStreamError(
                "missing reference",
                f"{element} names slot {index}, which holds no picture that was seen",
            )
        return slot

    def all_present(self, element: str) -> list[ReferenceSlot]:
        """All eight slots, where ``element`` depends on every one of them (AV1 7.8)."""
        present = [slot for slot in self._slots if slot is not None]
        if len(present) != NUM_REF_FRAMES:
            empty = [index for index, slot in enumerate(self._slots) if slot is None]
            raise UnsupportedStreamError(
                "missing reference", f"{element} depends on all slots, {empty} hold no picture"
            )
        return present

    def mark_by_frame_id(self, current_frame_id: int, id_length: int, diff_length: int) -> None:
        """``mark_ref_frames``: frame ids too far back become invalid (AV1 5.9.4)."""
        reach = 1 << diff_length
        for index, slot in enumerate(self._slots):
            if slot is None:
                continue
            if current_frame_id > reach:
                stale = not current_frame_id - reach <= slot.frame_id <= current_frame_id
            else:
                stale = (
                    current_frame_id < slot.frame_id < (1 << id_length) + current_frame_id - reach
                )
            if stale:
                self._slots[index] = replace(slot, valid=False)

    def expect_order_hint(self, index: int, ref_order_hint: int) -> None:
        """Empties a slot that does not hold what an error resilient header expects in it.

        The specification only clears ``RefValid`` (AV1 5.9.2). Decoders go on differently: libaom
        puts a grey picture of that order hint there, dav1d ignores the field. So nothing may
        depend on the slot any more, not even by its order hint.
        """
        slot = self._slots[index]
        if slot is not None and slot.order_hint != ref_order_hint:
            self._slots[index] = None

    def mark_shown(self, position: int) -> None:
        """Notes that the picture at ``position`` has been shown by ``show_existing_frame``."""
        for index, slot in enumerate(self._slots):
            if slot is not None and slot.position == position:
                self._slots[index] = replace(slot, showable=False)

    def update(self, refresh_frame_flags: int, slot: ReferenceSlot) -> None:
        """The reference frame update process (AV1 7.20)."""
        if refresh_frame_flags == 0xFF:
            self._slots = [slot] * NUM_REF_FRAMES
            return
        for index in range(NUM_REF_FRAMES):
            if refresh_frame_flags >> index & 1:
                self._slots[index] = slot


def relative_dist(a: int, b: int, order_hint_bits: int) -> int:
    """``get_relative_dist`` (AV1 5.9.3): ``a - b``, modulo the range of order hints."""
    if order_hint_bits == 0:
        return 0
    difference = a - b
    sign = 1 << (order_hint_bits - 1)
    return (difference & (sign - 1)) - (difference & sign)


def set_frame_refs(
    order_hints: Sequence[int],
    order_hint: int,
    order_hint_bits: int,
    last_frame_idx: int,
    gold_frame_idx: int,
) -> tuple[int, ...]:
    """The set frame refs process (AV1 7.8): ``ref_frame_idx`` from two explicit slots.

    ``order_hints`` is ``RefOrderHint`` of all eight slots: the answer depends on every one, also
    on those that it does not name.
    """
    distances = [relative_dist(hint, order_hint, order_hint_bits) for hint in order_hints]
    for element, index in (("last_frame_idx", last_frame_idx), ("gold_frame_idx", gold_frame_idx)):
        if distances[index] >= 0:
            raise BitstreamError(
                f"frame header: {element} names slot {index} with order hint {order_hints[index]}, "
                f"expected one before {order_hint}"
            )
    unused = [
        index for index in range(NUM_REF_FRAMES) if index not in (last_frame_idx, gold_frame_idx)
    ]
    backward = [index for index in unused if distances[index] >= 0]
    forward = [index for index in unused if distances[index] < 0]
    # LAST, LAST2, LAST3, GOLDEN, BWDREF, ALTREF2, ALTREF.
    refs: list[int | None] = [last_frame_idx, None, None, gold_frame_idx, None, None, None]
    # Of equals, the latest search keeps the highest slot and the earliest search the lowest.
    if backward:
        refs[6] = farthest = max(backward, key=lambda index: (distances[index], index))
        backward.remove(farthest)
    for place in (4, 5):
        if backward:
            refs[place] = nearest = min(backward, key=lambda index: (distances[index], index))
            backward.remove(nearest)
    for place in (1, 2, 4, 5, 6):
        if refs[place] is None and forward:
            refs[place] = latest = max(forward, key=lambda index: (distances[index], index))
            forward.remove(latest)
    earliest = min(range(NUM_REF_FRAMES), key=lambda index: (distances[index], index))
    return tuple(earliest if ref is None else ref for ref in refs)
