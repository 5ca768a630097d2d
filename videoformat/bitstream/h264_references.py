"""Which frames H.264 slices refer to: reference lists (ITU-T H.264 8.2.4) and marking (8.2.5).

Only short-term reference frames exist here: whatever else a stream could use is refused by name, so
that a list is either right or not given.
"""

from __future__ import annotations

from typing import NamedTuple

from videoformat.bitstream.h264_slice import SLICE_B, SliceElements
from videoformat.errors import BitstreamError, UnsupportedStreamError

__all__ = ["DecodedPictureBuffer", "ReferenceFrame"]


class ReferenceFrame(NamedTuple):
    """A frame marked as used for short-term reference; sorts by its order count."""

    order_count: int
    frame_num: int
    position: int


class DecodedPictureBuffer:
    """The short-term reference frames, in decode order.

    Decode order is the order of ``FrameNumWrap`` (8.2.4.1), since ``frame_num`` grows by one with
    each reference frame and none that is in use may be repeated (7.4.3): both are checked.
    """

    __slots__ = ("_frames", "_previous_frame_num")

    def __init__(self) -> None:
        self._frames: list[ReferenceFrame] = []
        self._previous_frame_num: int | None = None  # PrevRefFrameNum, unknown before any frame

    def begin(self, header: SliceElements) -> None:
        """Starts a picture: an IDR picture empties the buffer, and ``frame_num`` has no gap."""
        if header.is_idr:
            self._frames.clear()
            if header.frame_num:
                raise BitstreamError(f"frame_num of an IDR picture is {header.frame_num}, not 0")
            return
        previous = self._previous_frame_num
        if previous is None:
            return
        following = (previous + 1) % (1 << header.sps.log2_max_frame_num)
        if header.frame_num == following:
            return
        if header.frame_num != previous:
            raise UnsupportedStreamError(
                "frame_num gaps", f"frame_num {header.frame_num} follows {previous}"
            )
        if header.nal_ref_idc:
            raise BitstreamError(f"frame_num {previous} is given to two reference frames (7.4.3)")

    def lists(self, header: SliceElements, order_count: int) -> tuple[tuple[int, ...], ...]:
        """The active reference lists of a P or B slice, as positions (8.2.4)."""
        initial = (
            self._initial_lists_of_b(order_count)
            if header.slice_type == SLICE_B
            else (self._frames[::-1],)  # descending PicNum (8.2.4.2.1)
        )
        lists = []
        for frames, active, modification in zip(
            initial, header.num_ref_idx_active, header.ref_pic_list_modification, strict=True
        ):
            named = (
                self._modified(frames, active, modification, header)
                if modification
                else frames[:active]
            )
            if len(named) < active:
                raise UnsupportedStreamError(
                    "missing reference",
                    f"a list of {active} has only {len(named)} pictures",
                )
            lists.append(tuple([position for _, _, position in named]))
        return tuple(lists)

    def _initial_lists_of_b(
        self, order_count: int
    ) -> tuple[list[ReferenceFrame], list[ReferenceFrame]]:
        """8.2.4.2.3: nearest before, then nearest after; and the other way round."""
        ordered = sorted(self._frames)
        split = 0
        for frame in ordered:
            if frame.order_count >= order_count:
                if frame.order_count == order_count:
                    raise BitstreamError(
                        f"order count {order_count} is that of the reference frame at decode "
                        f"position {frame.position} too"
                    )
                break
            split += 1
        before, after = ordered[:split][::-1], ordered[split:]
        list_0, list_1 = before + after, after + before
        if len(list_1) > 1 and list_0 == list_1:
            list_1[0], list_1[1] = list_1[1], list_1[0]
        return list_0, list_1

    def _modified(
        self,
        initial: list[ReferenceFrame],
        active: int,
        modification: tuple[tuple[int, int], ...],
        header: SliceElements,
    ) -> list[ReferenceFrame]:
        """8.2.4.2 (truncation) and 8.2.4.3.1 (modification for short-term references)."""
        # None stands for "no reference picture": the list is extended before it is modified.
        entries: list[ReferenceFrame | None] = [*initial[:active]]
        entries += [None] * (active - len(entries))
        modulus = 1 << header.sps.log2_max_frame_num
        predicted = header.frame_num  # picNumLXPred, modulo MaxPicNum
        for index, (idc, difference) in enumerate(modification):
            predicted = (predicted - difference if idc == 0 else predicted + difference) % modulus
            frame = self._find(predicted)
            if frame is None:
                raise UnsupportedStreamError(
                    "missing reference",
                    f"a list modification names frame_num {predicted}, the stream has "
                    f"{[frame.frame_num for frame in self._frames]}",
                )
            kept = [entry for entry in entries[index:] if entry is not frame]
            entries = [*entries[:index], frame, *kept][:active]
        return [entry for entry in entries if entry is not None]

    def _find(self, frame_num: int) -> ReferenceFrame | None:
        for frame in self._frames:
            if frame.frame_num == frame_num:
                return frame
        return None

    def mark(self, header: SliceElements, order_count: int, position: int) -> None:
        """Decoded reference picture marking after a picture (8.2.5)."""
        if not header.nal_ref_idc:
            return
        capacity = max(header.sps.max_num_ref_frames, 1)
        if header.is_idr:
            if header.long_term_reference_flag:
                raise UnsupportedStreamError("long-term references", "an IDR picture is long-term")
        elif header.memory_management_control_operations is None:
            if len(self._frames) >= capacity:
                del self._frames[0]  # the smallest FrameNumWrap (8.2.5.3)
        else:
            self._control(header)
        if len(self._frames) >= capacity:
            raise BitstreamError(
                f"{len(self._frames) + 1} reference frames, max_num_ref_frames is {capacity}"
            )
        if self._find(header.frame_num):
            raise BitstreamError(
                f"frame_num {header.frame_num} is that of a reference frame in use (7.4.3)"
            )
        self._frames.append(ReferenceFrame(order_count, header.frame_num, position))
        self._previous_frame_num = header.frame_num

    def _control(self, header: SliceElements) -> None:
        """Adaptive memory control (8.2.5.4)."""
        modulus = 1 << header.sps.log2_max_frame_num
        for operation, *operands in header.memory_management_control_operations or ():
            if operation == 1:
                # picNumX (8-39); a picture that is not there needs no unmarking.
                frame = self._find((header.frame_num - operands[0] - 1) % modulus)
                if frame is not None:
                    self._frames.remove(frame)
            elif operation == 5:
                raise UnsupportedStreamError("memory_management_control_operation 5")
            elif operation != 4:
                # Operation 4 only bounds long-term indices, and there are no long-term frames.
                raise UnsupportedStreamError(
                    "long-term references", f"memory_management_control_operation {operation}"
                )
