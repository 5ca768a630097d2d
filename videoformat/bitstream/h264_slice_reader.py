"""Reading the slice headers of H.264 pictures one after the other, fast where they resemble.

Strategy: indexing needs few elements of a slice header, and encoders write the same header over and
over: for every slice of a picture but for ``first_mb_in_slice`` and what follows the marking, and for
most pictures of a kind but for ``frame_num`` and the order count, which have fixed places. Comparing
bits with those of headers that were parsed is several times faster than parsing, and says the same,
since the syntax has only one way to read a run of bits.
"""

from __future__ import annotations

from typing import Protocol

from videoformat.bitstream.h264_parameter_sets import ParameterSets
from videoformat.bitstream.h264_pps import PictureParameterSet
from videoformat.bitstream.h264_slice import (
    SliceElements,
    SliceHeader,
    parse_slice_header,
    parse_slice_header_bits,
)
from videoformat.bitstream.h264_sps import SequenceParameterSet
from videoformat.bitstream.nal import unescape

__all__ = ["PatternReader", "SliceHeaderReader", "SliceReader"]

# Enough for all but headers with many weights or modifications; those are parsed.
_PREFIX_BYTES = 39
_PREFIX_BITS = 8 * _PREFIX_BYTES
# Pictures of a kind alternate between few headers; each comparison costs a hundredth of a parse.
_PATTERNS = 16
# The longest ue(v) that is read here has 31 leading zeros, 9.1.
_MAXIMUM_LEADING_ZEROS = 31


class SliceReader(Protocol):
    """Reads the slices of one picture after the other.

    ``first_mb_in_slice`` is that of the last slice that was read.
    """

    first_mb_in_slice: int

    def begin(self) -> None:
        """The slices of another picture follow."""
        ...

    def read(self, nal_unit: bytes) -> SliceElements | None:
        """What the slice's header says, valid until the next picture begins.

        None where that is what the header before it said, but for a later ``first_mb_in_slice``.
        """
        ...


class SliceHeaderReader:
    """Parses every header in full."""

    def __init__(self, parameter_sets: ParameterSets) -> None:
        self._parameter_sets = parameter_sets
        self.first_mb_in_slice = 0

    def begin(self) -> None:
        """Nothing is kept from picture to picture."""

    def read(self, nal_unit: bytes) -> SliceHeader:
        """The whole header; never None."""
        header = parse_slice_header(nal_unit, self._parameter_sets)
        self.first_mb_in_slice = header.first_mb_in_slice
        return header


class PatternReader:
    """Compares headers with those that were read, and parses the others.

    What follows the marking is not read where a header is one of those.
    """

    def __init__(self, parameter_sets: ParameterSets) -> None:
        self._parameter_sets = parameter_sets
        self._patterns: dict[int, list[_Pattern]] = {}
        self._nal_header: int | None = None  # of the picture's last header; None at its beginning
        self._body = 0  # that header's bits, without first_mb_in_slice, up to the marking's end
        self._body_length = 0
        self._body_mask = 0
        self._slice_limit = 0  # first_mb_in_slice is less, 7.4.3
        self.first_mb_in_slice = 0

    def begin(self) -> None:
        """The next slice is the first of a picture."""
        self._nal_header = None

    def read(self, nal_unit: bytes) -> SliceElements | None:
        """See ``SliceReader``."""
        data = unescape(nal_unit[1 : 1 + _PREFIX_BYTES])
        size = 8 * len(data)
        # As one integer of a fixed width; what is beyond the end is never taken for the header's.
        bits = int.from_bytes(data, "big") << _PREFIX_BITS - size
        nal_header = nal_unit[0]
        if self._nal_header is None:
            found = self._match(nal_header, bits, size)
            if found is not None:
                return found
        elif nal_header == self._nal_header and self._repeats(bits, size):
            return None
        return self._parse(nal_unit)

    def _match(self, nal_header: int, bits: int, size: int) -> _Pattern | None:
        for at, pattern in enumerate(self._patterns.get(nal_header, ())):
            if pattern.end <= size and pattern.take(bits):
                if at:
                    patterns = self._patterns[nal_header]
                    patterns.insert(0, patterns.pop(at))
                self._nal_header = nal_header
                self._body_length = pattern.end - 1
                self._body_mask = pattern.body_mask
                self._body = bits >> _PREFIX_BITS - pattern.end & self._body_mask
                self._slice_limit = pattern.slice_limit
                self.first_mb_in_slice = 0
                return pattern
        return None

    def _repeats(self, bits: int, size: int) -> bool:
        """Whether it is a later slice of the picture with the same header."""
        leading_zeros = _PREFIX_BITS - bits.bit_length()
        start = 2 * leading_zeros + 1
        end = start + self._body_length
        if leading_zeros > _MAXIMUM_LEADING_ZEROS or end > size:
            return False
        header = bits >> _PREFIX_BITS - end
        if header & self._body_mask != self._body:
            return False
        first_mb_in_slice = (header >> self._body_length) - 1
        if not self.first_mb_in_slice < first_mb_in_slice < self._slice_limit:
            return False  # refused by those who parse it
        self.first_mb_in_slice = first_mb_in_slice
        return True

    def _parse(self, nal_unit: bytes) -> SliceHeader:
        header, bits = parse_slice_header_bits(nal_unit, self._parameter_sets)
        body = bits[2 * bits.index("1") + 1 : header.positions.marking_end]
        self._nal_header = nal_unit[0]
        self._body = int(body, 2)
        self._body_length = len(body)
        self._body_mask = (1 << len(body)) - 1
        self._slice_limit = _slice_limit(header.sps)
        self.first_mb_in_slice = header.first_mb_in_slice
        if _Pattern.fits(header):
            patterns = self._patterns.setdefault(nal_unit[0], [])
            patterns.insert(0, _Pattern(header, bits))
            del patterns[_PATTERNS:]
        return header


def _slice_limit(sps: SequenceParameterSet) -> int:
    """What ``first_mb_in_slice`` is less than; it counts pairs of macroblocks in MBAFF frames."""
    return sps.frame_size_in_mbs >> sps.mb_adaptive_frame_field_flag


class _Pattern:
    """Headers of first slices that differ in ``frame_num`` and ``pic_order_cnt_lsb`` alone.

    It has the elements of the header that it took last.
    """

    __slots__ = (
        "_frame_num_mask",
        "_frame_num_shift",
        "_lsb_mask",
        "_lsb_shift",
        "_mask",
        "_shift",
        "_value",
        "body_mask",
        "delta_pic_order_cnt",
        "delta_pic_order_cnt_bottom",
        "end",
        "first_mb_in_slice",
        "frame_num",
        "idr_pic_id",
        "is_idr",
        "long_term_reference_flag",
        "memory_management_control_operations",
        "nal_ref_idc",
        "nal_unit_type",
        "num_ref_idx_active",
        "pic_order_cnt_lsb",
        "pps",
        "ref_pic_list_modification",
        "slice_limit",
        "slice_type",
        "sps",
    )

    def __init__(self, header: SliceHeader, bits: str) -> None:
        at = header.positions
        self.nal_ref_idc = header.nal_ref_idc
        self.nal_unit_type = header.nal_unit_type
        self.first_mb_in_slice = 0
        self.slice_type = header.slice_type
        self.pps: PictureParameterSet = header.pps
        self.sps = sps = header.sps
        self.frame_num = header.frame_num
        self.idr_pic_id = 0
        self.pic_order_cnt_lsb = header.pic_order_cnt_lsb
        self.delta_pic_order_cnt_bottom = 0
        self.delta_pic_order_cnt = (0, 0)
        self.num_ref_idx_active = header.num_ref_idx_active
        self.ref_pic_list_modification = header.ref_pic_list_modification
        self.long_term_reference_flag = False
        self.memory_management_control_operations = header.memory_management_control_operations
        self.is_idr = False
        self.slice_limit = _slice_limit(sps)
        self.end = at.marking_end
        self._frame_num_mask, self._frame_num_shift = _field(at.frame_num, sps.log2_max_frame_num)
        lsb = sps.log2_max_pic_order_cnt_lsb if sps.pic_order_cnt_type == 0 else 0
        self._lsb_mask, self._lsb_shift = _field(at.order_count_end - lsb, lsb)
        # Both fields are left out of what is compared; field_pic_flag is in it.
        self._shift = _PREFIX_BITS - self.end
        varying = self._frame_num_mask << self._frame_num_shift | self._lsb_mask << self._lsb_shift
        self.body_mask = (1 << self.end - 1) - 1  # of all but first_mb_in_slice, which is one bit
        self._mask = ((1 << self.end) - 1) & ~(varying >> self._shift)
        self._value = int(bits[: self.end], 2) & self._mask

    @staticmethod
    def fits(header: SliceHeader) -> bool:
        """Whether nothing but ``frame_num`` and the order count may differ in such a header."""
        at, sps = header.positions, header.sps
        width = sps.log2_max_frame_num + (not sps.frame_mbs_only_flag)
        if sps.pic_order_cnt_type == 0:
            width += sps.log2_max_pic_order_cnt_lsb
        return (
            not header.is_idr
            and not header.first_mb_in_slice
            and at.order_count_end - at.frame_num == width
            and at.marking_end < _PREFIX_BITS // 2
        )

    def take(self, bits: int) -> bool:
        """Reads a header that begins with ``bits``, if it is one of these."""
        if bits >> self._shift & self._mask != self._value:
            return False
        self.frame_num = bits >> self._frame_num_shift & self._frame_num_mask
        if self._lsb_mask:
            self.pic_order_cnt_lsb = bits >> self._lsb_shift & self._lsb_mask
        return True


def _field(start: int, width: int) -> tuple[int, int]:
    """The mask, and the shift to it, of an element at a bit position."""
    return (1 << width) - 1, _PREFIX_BITS - start - width
