"""Which pictures a temporal unit of AV1 holds, and what each of them references.

Strategy: only headers are read. Every coded frame is one picture, and so is every
``show_existing_frame`` header, because a decoder must be given it to output the frame that it names.
The slots of the reference update process hold positions in decode order; a picture's references are
the positions in the slots that its header names.

What decoding a frame depends on (AV1 7.20 lists what a slot saves): samples, motion fields, order
hints, global motion and film grain parameters of the seven ``ref_frame_idx`` slots; CDFs, loop filter
deltas, segmentation of slot ``ref_frame_idx[primary_ref_frame]``, one of the seven. With
``frame_refs_short_signaling``, the seven are computed from the order hints of all eight slots, so all
eight are references: a decoder whose slots hold other pictures would compute other references.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from videoformat.bitstream.av1_frame import Av1FrameHeader
from videoformat.bitstream.av1_header import parse_frame_header
from videoformat.bitstream.av1_obu import Obu, ObuType, config_obus, iterate_obus, write_obu
from videoformat.bitstream.av1_patterns import HeaderPatterns
from videoformat.bitstream.av1_references import ReferenceSlot, ReferenceSlots
from videoformat.bitstream.av1_sequence import Av1SequenceHeader, parse_sequence_header
from videoformat.bitstream.bits import BitReader
from videoformat.bitstream.picture import Picture
from videoformat.errors import BitstreamError, UnsupportedStreamError

__all__ = ["Av1Indexer"]

# At most this much of a frame header is read: 32 buffer removal times of 32 bits, 9 frame ids of 17
# bits and some 40 bytes more; without the first two, 48 bytes are more than enough.
_HEADER_BYTES = 256
_SHORT_HEADER_BYTES = 48


@dataclass(slots=True)
class _State:
    """What the specification carries from unit to unit; a copy works until the unit is through."""

    position: int
    slots: ReferenceSlots
    payload: bytes
    sequence: Av1SequenceHeader | None


@dataclass(slots=True)
class _OpenFrame:
    """A frame whose header was read and whose tile groups are still coming."""

    picture: Picture
    header: Av1FrameHeader
    tile_groups: int
    redundant_copies: int


class Av1Indexer:
    """Reads temporal units in decode order; a ``PictureIndexer``.

    ``configuration`` is an ``av1C`` record, bare OBUs, or empty where the sequence header comes in
    the first unit. A sequence header in the first unit replaces that of the configuration. A unit
    that raises leaves the indexer as it was before. ``Picture.detail`` is the ``Av1FrameHeader``, or
    None with ``keep_headers`` off.

    The byte ranges of a unit's pictures tile it: what precedes a frame (temporal delimiter, sequence
    header, metadata, padding) belongs to it, and what follows the last frame to that one.

    ``is_random_access`` is set for every intra frame: the key frame and delayed random access points
    of AV1 7.6.2, apart from their demand for a sequence header in the same unit, which a reader
    supplies from ``sequence_header_obu``; and intra-only frames, which 7.6.1 leaves to decoders
    (dav1d and libaom start there). Pictures between such a frame and its showing may reference
    earlier ones: only closures can be decoded from it, not all that follows.

    A picture of a ``show_existing_frame`` header has the type and order hint of the picture that it
    shows, which is its only reference. Where that is a key frame, all slots are refreshed (AV1 7.21)
    and later pictures reference the showing picture, not the shown one.
    """

    def __init__(self, configuration: bytes = b"", *, keep_headers: bool = True) -> None:
        self._keep_headers = keep_headers
        self._patterns = None if keep_headers else HeaderPatterns()
        self._state = _State(0, ReferenceSlots(), b"", None)
        obus = config_obus(configuration)
        for obu in iterate_obus(obus):
            if obu.obu_type == ObuType.SEQUENCE_HEADER:
                _accept_sequence_header(self._state, obus[obu.payload_start : obu.end])

    @property
    def sequence_header(self) -> Av1SequenceHeader | None:
        """The sequence header; before the first picture, it is only what the configuration says."""
        return self._state.sequence

    @property
    def sequence_header_obu(self) -> bytes:
        """The sequence header as a unit of its own, to start a decoder with; empty before one."""
        if self._state.sequence is None:
            return b""
        return write_obu(ObuType.SEQUENCE_HEADER, self._state.payload)

    def push(self, access_unit: bytes) -> list[Picture]:
        """The pictures of a temporal unit, in decode order.

        Raises ``BitstreamError`` where the bytes break the syntax or hold no frame, and
        ``UnsupportedStreamError`` of kind ``"missing reference"``, ``"spatial layers"``, ``"dropped
        layers"``, ``"large scale tile"`` or ``"sequence header change"``.
        """
        before = self._state
        state = _State(before.position, before.slots.copy(), before.payload, before.sequence)
        pictures: list[Picture] = []
        frame: _OpenFrame | None = None
        # Where the last frame ended so far: what follows belongs to the next one.
        boundary = 0
        for obu in iterate_obus(access_unit):
            kind = obu.obu_type
            if kind == ObuType.SEQUENCE_HEADER:
                _accept_sequence_header(state, access_unit[obu.payload_start : obu.end])
                continue
            if obu.obu_extension_flag:
                _require_layer(state.sequence, obu)
            if kind in (ObuType.FRAME, ObuType.FRAME_HEADER):
                if frame is not None:
                    pictures.append(self._close(frame, boundary))
                frame = _open_frame(state, access_unit, obu, boundary, self._patterns)
                boundary = obu.end
            elif kind in (ObuType.TILE_GROUP, ObuType.REDUNDANT_FRAME_HEADER):
                if frame is None or frame.header.show_existing_frame:
                    raise BitstreamError(
                        f"{ObuType(kind).name} at byte {obu.start} follows no frame header"
                    )
                if kind == ObuType.TILE_GROUP:
                    frame.tile_groups += 1
                else:
                    frame.redundant_copies += 1
                boundary = obu.end
            elif kind == ObuType.TILE_LIST:
                raise UnsupportedStreamError("large scale tile", f"tile list at byte {obu.start}")
        if frame is None:
            raise BitstreamError(f"no frame header in a temporal unit of {len(access_unit)} bytes")
        pictures.append(self._close(frame, len(access_unit)))
        shown = sum(picture.is_shown for picture in pictures)
        if shown > 1:
            # AV1 7.5: exactly one; its time stamp could not be told from the others'.
            raise BitstreamError(f"a temporal unit shows {shown} frames, expected 1")
        self._state = state
        return pictures

    def _close(self, frame: _OpenFrame, end: int) -> Picture:
        """The picture, now that all of the frame that ends at byte ``end`` was seen."""
        picture, header = frame.picture, frame.header
        if not header.show_existing_frame and not frame.tile_groups:
            raise BitstreamError(
                f"picture {picture.position} at byte {picture.start} has no tile group"
            )
        if picture.end != end:
            picture = picture._replace(end=end)
        if self._keep_headers:
            if frame.redundant_copies:
                header = replace(header, redundant_copies=frame.redundant_copies)
            picture = picture._replace(detail=header)
        return picture


def _accept_sequence_header(state: _State, payload: bytes) -> None:
    if payload == state.payload:
        return
    sequence = parse_sequence_header(payload)
    # Before the first picture the latest header counts, as it does for decoders: SVT-AV1's av1C
    # denies coding tools that its stream uses, and only the header in the stream is right.
    if state.position and sequence != state.sequence:
        raise UnsupportedStreamError(
            "sequence header change",
            f"after {state.position} pictures, {state.sequence} became {sequence}",
        )
    # A decoder that is not told otherwise takes operating point 0 (AV1 6.4.1).
    spatial_layers = sequence.operating_points[0].operating_point_idc >> 8
    if spatial_layers.bit_count() > 1:
        raise UnsupportedStreamError(
            "spatial layers", f"operating point 0 decodes spatial layers {spatial_layers:#06b}"
        )
    state.payload = payload
    state.sequence = sequence


def _require_layer(sequence: Av1SequenceHeader | None, obu: Obu) -> None:
    """Refuses a unit that operating point 0 drops (AV1 5.3.1, ``drop_obu``)."""
    if sequence is None or obu.obu_type == ObuType.TEMPORAL_DELIMITER:
        return
    idc = sequence.operating_points[0].operating_point_idc
    if idc and not (idc >> obu.temporal_id & 1 and idc >> (obu.spatial_id + 8) & 1):
        raise UnsupportedStreamError(
            "dropped layers",
            f"OBU at byte {obu.start} of temporal layer {obu.temporal_id} and spatial layer "
            f"{obu.spatial_id} is outside operating point 0 ({idc:#05x})",
        )


def _open_frame(
    state: _State, unit: bytes, obu: Obu, start: int, patterns: HeaderPatterns | None
) -> _OpenFrame:
    """Reads a frame header and updates the slots for the pictures after it.

    Without ``patterns``, the header's own fields are kept for editing.
    """
    sequence = state.sequence
    if sequence is None:
        raise BitstreamError(f"frame header at byte {obu.start} precedes any sequence header")
    long = sequence.decoder_model_info is not None or sequence.frame_id_numbers_present_flag
    limit = _HEADER_BYTES if long else _SHORT_HEADER_BYTES
    payload = unit[obu.payload_start : min(obu.end, obu.payload_start + limit)]
    r = BitReader(payload, "frame header")
    known = patterns.find(r.bits, sequence) if patterns is not None else None
    if known is not None:
        header, order_hint = known
    else:
        origin = 8 * (obu.payload_start - start) if patterns is None else 0
        layer = (obu.temporal_id, obu.spatial_id)
        header = parse_frame_header(r, origin, sequence, state.slots, layer)
        order_hint = header.order_hint
        if patterns is not None:
            patterns.add(header, r.bits[: r.position], sequence)
    if header.show_existing_frame and obu.obu_type == ObuType.FRAME:
        raise BitstreamError(f"OBU_FRAME at byte {obu.start} has show_existing_frame 1, expected 0")
    references, lists = _references(state.slots, header)
    picture = Picture(
        position=state.position,
        order_count=order_hint,
        picture_type="I" if header.is_intra else "P",
        is_random_access=header.is_intra and header.shown is None,
        is_reference=header.refresh_frame_flags != 0,
        is_shown=header.show_frame,
        references=references,
        reference_lists=lists,
        start=start,
        end=obu.end,
    )
    if header.shown is not None:
        state.slots.mark_shown(header.shown.position)
    if header.refresh_frame_flags:
        slot = ReferenceSlot(
            position=state.position,
            frame_id=header.current_frame_id,
            frame_type=header.frame_type,
            order_hint=order_hint,
            upscaled_width=header.upscaled_width,
            frame_height=header.frame_height,
            render_width=header.render_width,
            render_height=header.render_height,
            showable=header.showable_frame,
        )
        state.slots.update(header.refresh_frame_flags, slot)
    state.position += 1
    return _OpenFrame(picture, header, int(obu.obu_type == ObuType.FRAME), 0)


def _references(
    slots: ReferenceSlots, header: Av1FrameHeader
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    if header.shown is not None:
        shown = (header.shown.position,)
        return shown, (shown,)
    if header.is_intra:
        return (), ()
    listed = tuple(
        [slots.require(index, "ref_frame_idx").position for index in header.ref_frame_idx]
    )
    needed = set(listed)
    if header.frame_refs_short_signaling:
        needed.update(slot.position for slot in slots.all_present("frame_refs_short_signaling"))
    return tuple(sorted(needed)), (listed,)
