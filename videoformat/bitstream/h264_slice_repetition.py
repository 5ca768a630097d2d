"""Slices of an H.264 picture that say what its first slice says."""

from __future__ import annotations

from videoformat.bitstream.bits import BitReader
from videoformat.bitstream.h264_slice import SliceHeader
from videoformat.bitstream.nal import unescape

__all__ = ["SliceRepetition"]


class SliceRepetition:
    """Recognizes slices whose headers differ from one that was parsed in nothing that is indexed.

    Encoders write the same header for every slice of a picture but for ``first_mb_in_slice`` and
    what follows the marking: initial CABAC state, quantiser and filter. Comparing its bits is
    several times faster than parsing them once more, and says the same, since the syntax has only
    one way to read a run of bits. ``first_mb_in_slice`` is that of the last slice that was taken.
    """

    __slots__ = ("_bits", "_nal_header", "_prefix", "_sps", "first_mb_in_slice")

    def __init__(self, header: SliceHeader, bits: str) -> None:
        start = _ue_end(bits, 0)
        self._bits = bits[start : header.positions.marking_end]
        self._nal_header = header.nal_ref_idc << 5 | header.nal_unit_type
        # At most 63 bits of first_mb_in_slice, and emulation prevention after every two bytes.
        self._prefix = (len(self._bits) + 63) // 8 * 3 // 2 + 3
        self._sps = header.sps
        self.first_mb_in_slice = header.first_mb_in_slice

    def takes(self, nal_unit: bytes) -> bool:
        """Whether it is a later slice of the same picture with the same header."""
        if nal_unit[0] != self._nal_header:
            return False
        r = BitReader(unescape(nal_unit[1 : self._prefix]), "slice header")
        first_mb_in_slice = r.ue("first_mb_in_slice")
        units = self._sps.frame_size_in_mbs
        if (
            not r.bits.startswith(self._bits, r.position)
            or first_mb_in_slice <= self.first_mb_in_slice
            or first_mb_in_slice << self._sps.mb_adaptive_frame_field_flag >= units
        ):
            return False
        self.first_mb_in_slice = first_mb_in_slice
        return True


def _ue_end(bits: str, start: int) -> int:
    """Where the Exp-Golomb code that begins at ``start`` ends."""
    return 2 * bits.index("1", start) - start + 1
