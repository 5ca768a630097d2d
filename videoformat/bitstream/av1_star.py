"""Stars of AV1: made of pairs, and put into presentation order for a container.

Strategy: an encoder with low delay that is fed anchor, frame 1, frame 2, anchor, frame 3, frame 4, …
with a key frame every third frame codes every frame from a fresh copy of one and the same anchor (of two
frames after a key frame, the second does not reference the first). One copy is kept. What has to
change in the headers has a fixed width: ``order_hint``, which counts the frames of the chunk in
presentation order (modulo its range), and ``refresh_frame_flags`` of the inter frames, which is 0, so
that they fill no slot. All seven references of an inter frame are the anchor, so nothing that a
decoder derives from order hints (signs, distances, skip mode: AV1 7.8, 7.11.3, 5.9.22) depends on
their values.

AV1 shows frames in the order of decoding; there, an anchor precedes the frames before it. In a
container, where times must ascend, it becomes a key frame that is not shown, and a frame header that
shows it follows in its place (AV1 7.21: a delayed random access point).
"""

from __future__ import annotations

from videoformat.bitstream.av1 import Av1Indexer
from videoformat.bitstream.av1_frame import Av1FrameHeader, FrameType, replace_field
from videoformat.bitstream.av1_obu import ObuType, iterate_obus, write_obu
from videoformat.bitstream.av1_sequence import Av1SequenceHeader, parse_sequence_header
from videoformat.bitstream.bits import BitReader, bits_to_bytes, u_bits
from videoformat.bitstream.picture import Picture
from videoformat.bitstream.star import Place
from videoformat.errors import StructureError, UnsupportedStreamError

__all__ = ["SHOW_ANCHOR", "Av1Pairs", "hidden_anchor", "order_hint_range", "wide_sequence_header"]

# OBU_FRAME_HEADER with show_existing_frame 1, frame_to_show_map_idx 0 and its trailing bit: a key
# frame that is not shown here fills all slots, the first among them.
SHOW_ANCHOR = write_obu(ObuType.FRAME_HEADER, b"\x88")
# Coded sides of as many bits as make the header of a hidden anchor longer by whole bytes.
_SIDE_BITS = 15


class Av1Pairs:
    """Reads the packets of one encoder that is fed pairs; a ``PairReader``.

    A unit is one OBU_FRAME; the sequence header is kept apart. Raises ``StructureError`` where a
    packet is not what the pairs ask for.
    """

    def __init__(self) -> None:
        self._indexer = Av1Indexer()
        self._anchor = -1

    @property
    def configuration(self) -> bytes:
        """The sequence header OBU; empty before the first packet."""
        return self._indexer.sequence_header_obu

    def anchor(self, packet: bytes, at: Place) -> bytes:
        """The anchor of the next pair."""
        picture, header = self._read(packet)
        if header.frame_type != FrameType.KEY_FRAME or not header.show_frame:
            raise StructureError(f"a pair begins with {_described(header)}, expected a key frame")
        self._anchor = picture.position
        return self._numbered(packet, header, at.frame)

    def leaf(self, packet: bytes, at: Place) -> bytes:
        """The other frame of the pair."""
        picture, header = self._read(packet)
        if (
            header.frame_type != FrameType.INTER_FRAME
            or not header.show_frame
            or picture.references != (self._anchor,)
            or header.frame_refs_short_signaling
            or header.ref_order_hint
        ):
            raise StructureError(
                f"a pair ends with {_described(header)} that references {picture.references}, "
                f"expected an inter frame from picture {self._anchor} alone"
            )
        edited = replace_field(packet, header.field("refresh_frame_flags"), 0)
        return self._numbered(edited, header, at.frame)

    def _read(self, packet: bytes) -> tuple[Picture, Av1FrameHeader]:
        pictures = self._indexer.push(packet)
        header = pictures[0].detail
        if len(pictures) != 1 or not isinstance(header, Av1FrameHeader) or header.redundant_copies:
            raise StructureError(f"a packet of a pair holds {len(pictures)} pictures, expected 1")
        return pictures[0], header

    def _numbered(self, packet: bytes, header: Av1FrameHeader, frame: int) -> bytes:
        field = header.field("order_hint")
        edited = replace_field(packet, field, frame % (1 << field.size))
        frames = [obu for obu in iterate_obus(edited) if obu.obu_type == ObuType.FRAME]
        if len(frames) != 1:
            raise StructureError(f"a packet of a pair has {len(frames)} frame OBUs, expected 1")
        return edited[frames[0].start : frames[0].end]


def _described(header: Av1FrameHeader) -> str:
    shown = "shown" if header.show_frame else "hidden"
    return f"a {shown} {FrameType(header.frame_type).name.lower().replace('_', ' ')}"


def _sequence(configuration: bytes) -> tuple[Av1SequenceHeader, bytes]:
    for obu in iterate_obus(configuration):
        if obu.obu_type == ObuType.SEQUENCE_HEADER:
            payload = configuration[obu.payload_start : obu.end]
            return parse_sequence_header(payload), payload
    raise StructureError("the configuration of an AV1 stream holds no sequence header")


def order_hint_range(configuration: bytes) -> int:
    """How many values ``order_hint`` has."""
    return 1 << _sequence(configuration)[0].order_hint_bits


def _at_sides(sequence: Av1SequenceHeader, payload: bytes) -> int:
    """The bit at which a header with one plain operating point says how long sides are (5.5.1)."""
    if sequence.timing_info is not None or sequence.decoder_model_info is not None:
        raise UnsupportedStreamError("timing info", "in the sequence header of a star")
    if sequence.frame_id_numbers_present_flag or len(sequence.operating_points) != 1:
        raise UnsupportedStreamError("frame ids or layers", "in the sequence header of a star")
    point = sequence.operating_points[0]
    # seq_profile, still_picture, reduced, timing_info_present_flag, initial_display_delay flag,
    # operating_points_cnt_minus_1, operating_point_idc, seq_level_idx.
    start = 3 + 1 + 1 + 1 + 1 + 5 + 12 + 5 + (point.seq_level_idx > 7)
    if BitReader(payload).bits[6] == "1":
        start += 1 + 4 * (point.initial_display_delay_minus_1 is not None)
    return start


def wide_sequence_header(configuration: bytes) -> bytes:
    """The sequence header for a stream with hidden anchors: coded sides of 15 bits each."""
    sequence, payload = _sequence(configuration)
    if max(sequence.max_frame_width, sequence.max_frame_height) > 1 << _SIDE_BITS:
        raise UnsupportedStreamError(
            "size", f"{sequence.max_frame_width}x{sequence.max_frame_height} in a star"
        )
    start = _at_sides(sequence, payload)
    bits = BitReader(payload).bits
    end = start + 8 + sequence.frame_width_bits + sequence.frame_height_bits
    new = (
        bits[:start]
        + u_bits(_SIDE_BITS - 1, 4) * 2
        + u_bits(sequence.max_frame_width - 1, _SIDE_BITS)
        + u_bits(sequence.max_frame_height - 1, _SIDE_BITS)
        + bits[end:].rstrip("0")
    )
    return write_obu(ObuType.SEQUENCE_HEADER, bits_to_bytes(new + "0" * (-len(new) % 8)))


def hidden_anchor(unit: bytes, configuration: bytes) -> bytes:
    """An anchor's unit, not shown, for a stream with ``wide_sequence_header`` (AV1 5.9.2).

    Such a header says more: ``showable_frame``, ``error_resilient_mode`` (which a shown key frame
    has without saying so), ``refresh_frame_flags``. With the frame size spelled out as well, it is
    longer by exactly five bytes, so the tiles behind it keep their alignment.
    """
    indexer = Av1Indexer(configuration)
    header = indexer.push(unit)[0].detail
    if not isinstance(header, Av1FrameHeader) or header.frame_type != FrameType.KEY_FRAME:
        raise StructureError("an anchor is no key frame")
    if header.frame_size_override_flag or not header.show_frame:
        raise UnsupportedStreamError("an anchor of its own size", "in a star")
    obu, *others = iterate_obus(unit)
    if others or obu.obu_type != ObuType.FRAME:
        raise StructureError(f"an anchor's unit holds {1 + len(others)} OBUs, expected one frame")
    start = 8 * obu.payload_start
    bits = BitReader(unit[obu.payload_start : obu.end]).bits
    hint = header.field("order_hint")
    at, end = hint.position - start, hint.position - start + hint.size
    new = (
        "0000"  # show_existing_frame, frame_type, show_frame
        "11"  # showable_frame, error_resilient_mode
        + bits[4 : at - 1]
        + "1"  # frame_size_override_flag
        + bits[at:end]
        + "1" * 8  # refresh_frame_flags
        + u_bits(header.frame_width - 1, _SIDE_BITS)
        + u_bits(header.frame_height - 1, _SIDE_BITS)
        + bits[end:]
    )
    return write_obu(ObuType.FRAME, bits_to_bytes(new))
