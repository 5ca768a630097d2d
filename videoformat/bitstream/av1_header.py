"""Reading the frame header of AV1 (clause 5.9), as far as references and frame sizes need it."""

from __future__ import annotations

from videoformat.bitstream.av1_frame import (
    PRIMARY_REF_NONE,
    Av1FrameHeader,
    FrameType,
)
from videoformat.bitstream.av1_frame_size import frame_size, frame_size_with_refs
from videoformat.bitstream.av1_references import (
    NUM_REF_FRAMES,
    REFS_PER_FRAME,
    ReferenceSlots,
    set_frame_refs,
)
from videoformat.bitstream.av1_sequence import SELECT, Av1SequenceHeader
from videoformat.bitstream.bits import BitReader
from videoformat.errors import BitstreamError, UnsupportedStreamError

__all__ = ["parse_frame_header"]

_ALL_FRAMES = 0xFF


class _HeaderReader:
    """Reads one ``uncompressed_header`` (AV1 5.9.2) and notes where its fields lie."""

    def __init__(self, reader: BitReader, origin: int, sequence: Av1SequenceHeader) -> None:
        self.r = reader
        self.origin = origin
        self.sequence = sequence
        self.fields: list[tuple[str, int, int, int]] = []

    def u(self, bits: int, name: str) -> int:
        """``f(n)`` of an element that may be edited later."""
        if bits:
            self.fields.append((name, self.origin + self.r.position, bits, 1))
        return self.r.u(bits, name)

    def array(self, count: int, bits: int, name: str) -> tuple[int, ...]:
        """``count`` elements of ``f(n)`` in a row that may be edited later."""
        self.fields.append((name, self.origin + self.r.position, bits, count))
        packed = self.r.u(count * bits, name)
        mask = (1 << bits) - 1
        return tuple([packed >> shift & mask for shift in range((count - 1) * bits, -1, -bits)])

    def buffer_removal_times(self, temporal_id: int, spatial_id: int) -> None:
        model = self.sequence.decoder_model_info
        if model is None or not self.r.flag("buffer_removal_time_present_flag"):
            return
        for point in self.sequence.operating_points:
            idc = point.operating_point_idc
            in_layers = idc == 0 or (idc >> temporal_id & 1 and idc >> (spatial_id + 8) & 1)
            if point.decoder_model_present_for_this_op and in_layers:
                self.r.skip(model.buffer_removal_time_length_minus_1 + 1, "buffer_removal_time")


def parse_frame_header(
    reader: BitReader,
    origin: int,
    sequence: Av1SequenceHeader,
    slots: ReferenceSlots,
    layer: tuple[int, int] = (0, 0),
) -> Av1FrameHeader:
    """Parses ``uncompressed_header`` (AV1 5.9.2) at the reader's position.

    ``slots`` are the slots before this frame; those that the header shows to be lost are emptied.
    ``origin`` is added to the reader's positions in ``fields``. ``layer`` is ``temporal_id`` and
    ``spatial_id``. The reader is left behind ``use_ref_frame_mvs``, or behind the whole header of
    ``show_existing_frame``.
    """
    r = reader
    h = _HeaderReader(reader, origin, sequence)
    reduced = sequence.reduced_still_picture_header
    if not reduced and r.flag("show_existing_frame"):
        return _show_existing_frame(h, slots)
    frame_type = FrameType.KEY_FRAME
    show_frame = error_resilient_mode = True
    showable_frame = False
    if not reduced:
        frame_type = FrameType(r.u(2, "frame_type"))
        show_frame = r.flag("show_frame")
        if show_frame:
            r.skip(sequence.frame_presentation_time_length, "frame_presentation_time")
            showable_frame = frame_type != FrameType.KEY_FRAME
        else:
            showable_frame = bool(h.u(1, "showable_frame"))
        if frame_type != FrameType.SWITCH_FRAME and not (
            frame_type == FrameType.KEY_FRAME and show_frame
        ):
            error_resilient_mode = bool(h.u(1, "error_resilient_mode"))
    is_intra = frame_type in (FrameType.KEY_FRAME, FrameType.INTRA_ONLY_FRAME)
    disable_cdf_update = bool(h.u(1, "disable_cdf_update"))
    screen_content_tools = sequence.seq_force_screen_content_tools
    if screen_content_tools == SELECT:
        screen_content_tools = r.u(1, "allow_screen_content_tools")
    integer_mv = sequence.seq_force_integer_mv if screen_content_tools else 0
    if integer_mv == SELECT:
        integer_mv = r.u(1, "force_integer_mv")
    current_frame_id = 0
    if sequence.frame_id_numbers_present_flag:
        current_frame_id = h.u(sequence.id_length, "current_frame_id")
        slots.mark_by_frame_id(current_frame_id, sequence.id_length, sequence.delta_frame_id_length)
    override = frame_type == FrameType.SWITCH_FRAME
    if not reduced and not override:
        override = r.flag("frame_size_override_flag")
    order_hint = h.u(sequence.order_hint_bits, "order_hint")
    primary_ref_frame = PRIMARY_REF_NONE
    if not is_intra and not error_resilient_mode:
        primary_ref_frame = h.u(3, "primary_ref_frame")
    h.buffer_removal_times(*layer)
    refresh_frame_flags = _ALL_FRAMES
    if frame_type != FrameType.SWITCH_FRAME and not (
        frame_type == FrameType.KEY_FRAME and show_frame
    ):
        refresh_frame_flags = h.u(8, "refresh_frame_flags")
    if frame_type == FrameType.INTRA_ONLY_FRAME and refresh_frame_flags == _ALL_FRAMES:
        raise r.error("refresh_frame_flags", "0xff", "another value in an intra-only frame")
    ref_order_hint: tuple[int, ...] = ()
    if (
        error_resilient_mode
        and sequence.enable_order_hint
        and not (is_intra and refresh_frame_flags == _ALL_FRAMES)
    ):
        ref_order_hint = h.array(NUM_REF_FRAMES, sequence.order_hint_bits, "ref_order_hint")
        for index, hint in enumerate(ref_order_hint):
            slots.expect_order_hint(index, hint)
    short_signaling = False
    ref_frame_idx: tuple[int, ...] = ()
    use_ref_frame_mvs = False
    if is_intra:
        size = frame_size(r, sequence, override=override)
    else:
        short_signaling = sequence.enable_order_hint and r.flag("frame_refs_short_signaling")
        derived: tuple[int, ...] = ()
        if short_signaling:
            last_frame_idx = h.u(3, "last_frame_idx")
            gold_frame_idx = h.u(3, "gold_frame_idx")
            hints = [slot.order_hint for slot in slots.all_present("frame_refs_short_signaling")]
            derived = set_frame_refs(
                hints, order_hint, sequence.order_hint_bits, last_frame_idx, gold_frame_idx
            )
        ref_frame_idx = _ref_frame_idx(h, slots, derived, current_frame_id)
        if override and not error_resilient_mode:
            size = frame_size_with_refs(r, sequence, slots, ref_frame_idx)
        else:
            size = frame_size(r, sequence, override=override)
        if not integer_mv:
            r.skip(1, "allow_high_precision_mv")
        if not r.flag("is_filter_switchable"):
            r.skip(2, "interpolation_filter")
        r.skip(1, "is_motion_mode_switchable")
        if not error_resilient_mode and sequence.enable_ref_frame_mvs:
            use_ref_frame_mvs = bool(h.u(1, "use_ref_frame_mvs"))
    return Av1FrameHeader(
        show_existing_frame=False,
        frame_to_show_map_idx=None,
        shown=None,
        frame_type=frame_type,
        show_frame=show_frame,
        showable_frame=showable_frame,
        error_resilient_mode=error_resilient_mode,
        disable_cdf_update=disable_cdf_update,
        current_frame_id=current_frame_id,
        frame_size_override_flag=override,
        order_hint=order_hint,
        primary_ref_frame=primary_ref_frame,
        refresh_frame_flags=refresh_frame_flags,
        ref_order_hint=ref_order_hint,
        frame_refs_short_signaling=short_signaling,
        ref_frame_idx=ref_frame_idx,
        frame_width=size.frame_width,
        upscaled_width=size.upscaled_width,
        frame_height=size.frame_height,
        render_width=size.render_width,
        render_height=size.render_height,
        use_ref_frame_mvs=use_ref_frame_mvs,
        fields=tuple(h.fields),
    )


def _show_existing_frame(h: _HeaderReader, slots: ReferenceSlots) -> Av1FrameHeader:
    """The rest of a header with ``show_existing_frame`` (AV1 5.9.2), its trailing bit included."""
    r, sequence = h.r, h.sequence
    index = h.u(3, "frame_to_show_map_idx")
    r.skip(sequence.frame_presentation_time_length, "frame_presentation_time")
    shown = slots.require(index, "frame_to_show_map_idx")
    if sequence.frame_id_numbers_present_flag:
        display_frame_id = h.u(sequence.id_length, "display_frame_id")
        if display_frame_id != shown.frame_id:
            raise _lost(index, "display_frame_id", display_frame_id, shown.frame_id)
    if not r.flag("trailing_one_bit"):
        raise r.error("trailing_one_bit", 0, "1")
    if not shown.showable:
        raise BitstreamError(
            f"{r.where}: frame_to_show_map_idx {index} names picture {shown.position}, which is not "
            "showable or was shown before"
        )
    frame_type = FrameType(shown.frame_type)
    return Av1FrameHeader(
        show_existing_frame=True,
        frame_to_show_map_idx=index,
        shown=shown,
        frame_type=frame_type,
        show_frame=True,
        showable_frame=False,
        error_resilient_mode=False,
        disable_cdf_update=False,
        current_frame_id=shown.frame_id,
        frame_size_override_flag=False,
        order_hint=shown.order_hint,
        primary_ref_frame=PRIMARY_REF_NONE,
        # Showing a key frame restarts the sequence from it (AV1 5.9.2, 7.21).
        refresh_frame_flags=_ALL_FRAMES if frame_type == FrameType.KEY_FRAME else 0,
        ref_order_hint=(),
        frame_refs_short_signaling=False,
        ref_frame_idx=(),
        frame_width=shown.upscaled_width,
        upscaled_width=shown.upscaled_width,
        frame_height=shown.frame_height,
        render_width=shown.render_width,
        render_height=shown.render_height,
        use_ref_frame_mvs=False,
        fields=tuple(h.fields),
    )


def _ref_frame_idx(
    h: _HeaderReader, slots: ReferenceSlots, derived: tuple[int, ...], current_frame_id: int
) -> tuple[int, ...]:
    """``ref_frame_idx``, coded or derived, checked against what the slots hold (AV1 5.9.2)."""
    sequence = h.sequence
    if not sequence.frame_id_numbers_present_flag:
        ref_frame_idx = derived or h.array(REFS_PER_FRAME, 3, "ref_frame_idx")
        for index in ref_frame_idx:
            slots.require(index, "ref_frame_idx")
        return ref_frame_idx
    indices = []
    for place in range(REFS_PER_FRAME):
        index = derived[place] if derived else h.u(3, "ref_frame_idx")
        indices.append(index)
        delta = h.u(sequence.delta_frame_id_length, "delta_frame_id_minus_1") + 1
        expected = (current_frame_id - delta) % (1 << sequence.id_length)
        found = slots.require(index, "ref_frame_idx").frame_id
        if found != expected:
            raise _lost(index, "ref_frame_idx", expected, found)
    return tuple(indices)


def _lost(index: int, element: str, expected: int, found: int) -> UnsupportedStreamError:
    return UnsupportedStreamError(
        "missing reference",
        f"{element} names frame id {expected} in slot {index}, which holds frame id {found}",
    )
