"""The sequence parameter set of a rewritten H.264 closure."""

from __future__ import annotations

from videoformat.bitstream.bits import BitReader, bits_to_bytes, ue_bits
from videoformat.bitstream.h264_sps import SequenceParameterSet
from videoformat.bitstream.nal import escape, unescape

__all__ = ["FRAME_NUM_BITS", "ORDER_COUNT_BITS", "rewrite_sequence_parameter_set"]

# The widest that 7.4.2.1.1 allows, so that neither wraps early in a stream with pictures left out.
FRAME_NUM_BITS = 16
ORDER_COUNT_BITS = 16

# MaxDpbMbs by level_idc (table A-1); level 9 is 1b.
_MAX_DPB_MBS = {
    9: 396, 10: 396, 11: 900, 12: 2376, 13: 2376, 20: 2376, 21: 4752, 22: 8100, 30: 8100,
    31: 18000, 32: 20480, 40: 32768, 41: 32768, 42: 34816, 50: 110400, 51: 184320, 52: 184320,
    60: 696320, 61: 696320, 62: 696320,
}  # fmt: skip


def rewrite_sequence_parameter_set(sps: SequenceParameterSet) -> bytes:
    """The same SPS with order counts of type 0, wide counters, and the reordering announced.

    ``max_num_ref_frames`` stays: of the frames that the original stream held at any time, a closure
    holds some. ``max_num_reorder_frames`` is written where it was missing, since a decoder that has
    to guess it learns it by dropping pictures.
    """
    bits = BitReader(unescape(sps.nal_unit[1:])).bits
    at = sps.positions
    frame_num = ue_bits(FRAME_NUM_BITS - 4)
    order_count = ue_bits(0) + ue_bits(ORDER_COUNT_BITS - 4)
    kept = bits[at.max_num_ref_frames : at.vui_parameters_present_flag]
    if at.bitstream_restriction_flag is None:
        vui = "1" + "0" * 8 + _bitstream_restriction(sps)  # eight flags of absent parts (E.1.1)
    else:
        announced = sps.vui is not None and sps.vui.bitstream_restriction is not None
        vui = bits[at.vui_parameters_present_flag : at.bitstream_restriction_flag]
        vui += (
            bits[at.bitstream_restriction_flag : at.end]
            if announced
            else _bitstream_restriction(sps)
        )
    new = bits[: at.log2_max_frame_num_minus4] + frame_num + order_count + kept + vui + "1"
    return escape(sps.nal_unit[:1] + bits_to_bytes(new + "0" * (-len(new) % 8)))


def _bitstream_restriction(sps: SequenceParameterSet) -> str:
    """``bitstream_restriction_flag`` and what follows, with limits that any stream keeps."""
    capacity = _MAX_DPB_MBS.get(sps.level_idc, 16 * sps.frame_size_in_mbs) // sps.frame_size_in_mbs
    max_dec_frame_buffering = max(min(capacity, 16), sps.max_num_ref_frames, 1)
    # Order counts of type 2 leave nothing to reorder (8.2.1.3).
    max_num_reorder_frames = 0 if sps.pic_order_cnt_type == 2 else max_dec_frame_buffering
    # Vectors over boundaries allowed, no bound on bytes or bits, the longest vectors.
    limits = (0, 0, 16, 16, max_num_reorder_frames, max_dec_frame_buffering)
    return "1" + "1" + "".join(map(ue_bits, limits))
