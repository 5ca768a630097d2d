"""Stars of H.264: made of pairs, and put into presentation order for a container.

Strategy: an encoder with a constant quantiser that is fed anchor, frame 1, anchor, frame 2, … with an
IDR picture every second frame codes every frame from a fresh copy of one and the same anchor. One
copy is kept, and slice headers are written anew in front of the same slice data.

A stored star is one IDR picture an interval, then P pictures with ``nal_ref_idc`` 0 and ``frame_num``
1. A decoder takes what precedes an IDR picture in output order and follows it in decoding order for
broken, so the order counts of an interval begin at its anchor: the anchor has 0 (8.2.1), the frame at
place n of the interval has 2 (n + 1). The place that no frame has is the anchor's.

In a container frames come in presentation order: there, anchors after the first of a chunk are I
pictures that are not IDR, and order counts are twice the frame's number in the chunk.
"""

from __future__ import annotations

from videoformat.bitstream.bits import BitReader, bits_to_bytes, ue_bits
from videoformat.bitstream.h264_parameter_sets import ParameterSets
from videoformat.bitstream.h264_rewrite_slice import PictureHeader, rewrite_slice
from videoformat.bitstream.h264_rewrite_sps import (
    FRAME_NUM_BITS,
    ORDER_COUNT_BITS,
    rewrite_sequence_parameter_set,
)
from videoformat.bitstream.h264_slice import SLICE_I, SLICE_P, parse_slice_header_bits
from videoformat.bitstream.h264_sps import SequenceParameterSet
from videoformat.bitstream.nal import escape, split_annexb, to_annexb, unescape
from videoformat.bitstream.star import Place
from videoformat.errors import StructureError, UnsupportedStreamError

__all__ = ["H264Pairs", "H264Presentation", "leaf_order_count"]

_IDR, _SPS, _PPS = 5, 7, 8
_SLICES = (1, _IDR)
_ANCHOR_REF_IDC = 3


def leaf_order_count(place: int) -> int:
    """The order count of the frame at a place of its interval, which is not the anchor's."""
    return 2 * (place + 1)


def _parameter_sets(configuration: bytes) -> ParameterSets:
    sets = ParameterSets()
    for nal_unit in split_annexb(configuration):
        if nal_unit[0] & 31 == _SPS:
            sets.add_sequence_parameter_set(nal_unit)
        elif nal_unit[0] & 31 == _PPS:
            sets.add_picture_parameter_set(nal_unit)
    return sets


def _slices(unit: bytes) -> list[bytes]:
    return [nal_unit for nal_unit in split_annexb(unit) if nal_unit[0] & 31 in _SLICES]


def _rewritten(
    unit: bytes, sets: ParameterSets, picture: PictureHeader, slice_type: int, anchor: int
) -> bytes:
    """The slices of one picture with their new header; P slices name the anchor's ``frame_num``."""
    found = []
    for nal_unit in _slices(unit):
        header, bits = parse_slice_header_bits(nal_unit, sets)
        if header.slice_type != slice_type:
            raise StructureError(
                f"slice_type is {header.slice_type} in a picture of a star, expected {slice_type}"
            )
        if header.num_ref_idx_active not in ((), (1,)):
            raise StructureError(
                f"a slice of a star has {header.num_ref_idx_active} active references, expected 1"
            )
        lists = [[anchor]] if slice_type == SLICE_P else []
        found.append(rewrite_slice(nal_unit, header, bits, picture, lists))
    if not found:
        raise StructureError("a packet of a pair holds no slice")
    return to_annexb(found)


class H264Pairs:
    """Reads the packets of one encoder that is fed pairs; a ``PairReader``.

    ``extradata`` are the encoder's parameter sets in byte stream format. An access unit holds
    slices and nothing else.
    """

    def __init__(self, extradata: bytes) -> None:
        self._sets = _parameter_sets(extradata)
        self.configuration = to_annexb(
            [
                *map(rewrite_sequence_parameter_set, self._sets.sequence_parameter_sets),
                *(pps.nal_unit for pps in self._sets.picture_parameter_sets),
            ]
        )

    def anchor(self, packet: bytes, at: Place) -> bytes:
        """The anchor of the next pair."""
        if any(nal_unit[0] & 31 != _IDR for nal_unit in _slices(packet)):
            raise StructureError("a pair does not begin with an IDR picture")
        # 7.4.3: two IDR pictures in a row must differ.
        picture = PictureHeader(_ANCHOR_REF_IDC, 0, at.interval % 2, 0, 0, ())
        return _rewritten(packet, self._sets, picture, SLICE_I, 0)

    def leaf(self, packet: bytes, at: Place) -> bytes:
        """The other frame of the pair."""
        count = leaf_order_count(at.place)
        # Above, a decoder would take the order count for a negative one (8.2.1.1).
        if count >= 1 << (ORDER_COUNT_BITS - 1):
            raise UnsupportedStreamError("order counts too far apart", f"{count} after 0")
        picture = PictureHeader(0, 1, None, count, 0, ())
        return _rewritten(packet, self._sets, picture, SLICE_P, 0)


class H264Presentation:
    """Puts the access units of a stored star into presentation order, in decode order."""

    def __init__(self, configuration: bytes) -> None:
        self._sets = _parameter_sets(configuration)
        self._anchors = 0  # of the chunk so far
        self._chunks = 0
        self.configuration = to_annexb(
            [
                *map(_with_reordering, self._sets.sequence_parameter_sets),
                *(pps.nal_unit for pps in self._sets.picture_parameter_sets),
            ]
        )

    def begin_chunk(self) -> None:
        """The next picture is the first of a chunk: an anchor, and the chunk's first frame."""
        self._anchors = 0
        self._chunks += 1

    def anchor(self, unit: bytes, frame: int) -> bytes:
        """An anchor, frame number ``frame`` of the chunk."""
        number, self._anchors = self._anchors, self._anchors + 1
        if not number and frame:
            raise UnsupportedStreamError(
                "frames before the first anchor", f"frame {frame} is the first anchor of a chunk"
            )
        picture = PictureHeader(
            _ANCHOR_REF_IDC,
            number % (1 << FRAME_NUM_BITS),
            None if number else self._chunks % 2,
            2 * frame % (1 << ORDER_COUNT_BITS),
            0,
            (),
        )
        return _rewritten(unit, self._sets, picture, SLICE_I, 0)

    def leaf(self, unit: bytes, frame: int) -> bytes:
        """A frame that references the anchor before it in decode order."""
        picture = PictureHeader(
            0,
            self._anchors % (1 << FRAME_NUM_BITS),
            None,
            2 * frame % (1 << ORDER_COUNT_BITS),
            0,
            (),
        )
        anchor = (self._anchors - 1) % (1 << FRAME_NUM_BITS)
        return _rewritten(unit, self._sets, picture, SLICE_P, anchor)


def _with_reordering(sps: SequenceParameterSet) -> bytes:
    """The SPS of a stored star, announcing that an anchor waits for the frames before it."""
    at = sps.positions.bitstream_restriction_flag
    if at is None:
        raise StructureError("the SPS of a star has no bitstream_restriction")
    bits = BitReader(unescape(sps.nal_unit[1:])).bits
    # Vectors over boundaries, no bound on bytes or bits, the longest vectors; one picture waits,
    # and it and the anchor after it are held.
    limits = (0, 0, 16, 16, 1, 2)
    new = bits[:at] + "11" + "".join(map(ue_bits, limits)) + "1"
    return escape(sps.nal_unit[:1] + bits_to_bytes(new + "0" * (-len(new) % 8)))
