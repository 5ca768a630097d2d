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
_PREFIX_BYTES = 40
# Pictures of a kind alternate between few headers; each comparison costs a hundredth of a parse.
_PATTERNS = 8


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
    """Compares headers with those that were read, and parses the others."""

    def __init__(self, parameter_sets: ParameterSets) -> None:
        self._parameter_sets = parameter_sets
        self._patterns: dict[int, list[_Pattern]] = {}
        self._body: str | None = None  # of the last header, without first_mb_in_slice
        self._nal_header = 0
        self._sps: SequenceParameterSet | None = None
        self.first_mb_in_slice = 0

    def begin(self) -> None:
        """The next slice is the first of a picture."""
        self._body = None

    def read(self, nal_unit: bytes) -> SliceElements | None:
        """See ``SliceReader``."""
        nal_header = nal_unit[0]
        data = unescape(nal_unit[1:_PREFIX_BYTES])
        bits = bin(int.from_bytes(b"\1" + data, "big"))[3:]
        if self._body is None:
            found = self._match(nal_header, bits)
            if found is not None:
                return found
        elif nal_header == self._nal_header and self._repeats(bits):
            return None
        return self._parse(nal_unit)

    def _match(self, nal_header: int, bits: str) -> _Pattern | None:
        patterns = self._patterns.get(nal_header)
        if patterns is None or bits[:1] != "1":  # first_mb_in_slice is 0
            return None
        for at, pattern in enumerate(patterns):
            if pattern.take(bits):
                if at:
                    patterns.insert(0, patterns.pop(at))
                self._keep(nal_header, bits[1 : pattern.end], pattern.sps, 0)
                return pattern
        return None

    def _repeats(self, bits: str) -> bool:
        """Whether it is a later slice of the picture with the same header."""
        one = bits.find("1")
        end = 2 * one + 1
        if not 0 <= one <= 31 or not bits.startswith(self._body or "", end):
            return False
        first_mb_in_slice = int(bits[one:end], 2) - 1
        if first_mb_in_slice <= self.first_mb_in_slice or not _is_in_frame(
            first_mb_in_slice, self._sps
        ):
            return False  # refused by those who parse it
        self.first_mb_in_slice = first_mb_in_slice
        return True

    def _parse(self, nal_unit: bytes) -> SliceHeader:
        header, bits = parse_slice_header_bits(nal_unit, self._parameter_sets)
        start = 2 * bits.index("1") + 1
        body = bits[start : header.positions.marking_end]
        self._keep(nal_unit[0], body, header.sps, header.first_mb_in_slice)
        if _Pattern.fits(header):
            patterns = self._patterns.setdefault(nal_unit[0], [])
            patterns.insert(0, _Pattern(header, bits))
            del patterns[_PATTERNS:]
        return header

    def _keep(
        self, nal_header: int, body: str, sps: SequenceParameterSet, first_mb_in_slice: int
    ) -> None:
        self._nal_header = nal_header
        self._body = body
        self._sps = sps
        self.first_mb_in_slice = first_mb_in_slice


def _is_in_frame(first_mb_in_slice: int, sps: SequenceParameterSet | None) -> bool:
    return sps is not None and (
        first_mb_in_slice << sps.mb_adaptive_frame_field_flag < sps.frame_size_in_mbs
    )


class _Pattern:
    """Headers of first slices that differ in ``frame_num`` and ``pic_order_cnt_lsb`` alone.

    It has the elements of the header that it took last.
    """

    __slots__ = (
        "_lsb",
        "_prefix",
        "_progressive",
        "_tail",
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
        self.sps: SequenceParameterSet = header.sps
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
        self.end = at.marking_end
        self._prefix = bits[: at.frame_num]
        self._progressive = header.sps.frame_mbs_only_flag
        self._lsb = at.order_count_end
        self._tail = bits[at.order_count_end : at.marking_end]

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
            and at.marking_end < 8 * _PREFIX_BYTES // 2
        )

    def take(self, bits: str) -> bool:
        """Reads a header that begins with ``bits``, if it is one of these."""
        if not (bits.startswith(self._tail, self._lsb) and bits.startswith(self._prefix)):
            return False
        start = len(self._prefix)
        end = start + self.sps.log2_max_frame_num
        if not self._progressive:
            if bits[end] == "1":  # field_pic_flag
                return False
            end += 1
        self.frame_num = int(bits[start : start + self.sps.log2_max_frame_num], 2)
        if end < self._lsb:
            self.pic_order_cnt_lsb = int(bits[end : self._lsb], 2)
        return True
