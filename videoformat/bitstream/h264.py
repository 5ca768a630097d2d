"""Indexing an H.264 stream: what each access unit's headers say, without decoding a sample.

Strategy: parameter sets and slice headers are parsed (7.3), the order count (8.2.1), the reference
lists (8.2.4) and the marking (8.2.5) follow from them, and every feature under which a derived list
could be wrong is refused by name. Samples are never touched, so a picture costs microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence

from videoformat.bitstream.h264_order_count import OrderCounter
from videoformat.bitstream.h264_parameter_sets import ParameterSets
from videoformat.bitstream.h264_references import DecodedPictureBuffer
from videoformat.bitstream.h264_sei import parse_sei
from videoformat.bitstream.h264_slice import (
    SLICE_B,
    SLICE_I,
    SliceElements,
)
from videoformat.bitstream.h264_slice_reader import PatternReader, SliceHeaderReader, SliceReader
from videoformat.bitstream.h264_sps import SequenceParameterSet
from videoformat.bitstream.nal import (
    CodecConfiguration,
    parse_avcc,
    split_annexb,
    split_length_prefixed,
)
from videoformat.bitstream.picture import Picture, PictureType
from videoformat.errors import BitstreamError, UnsupportedStreamError

__all__ = ["H264Indexer", "parse_h264_configuration"]

# nal_unit_type (table 7-1).
_SLICE, _SLICE_IDR, _SEI, _SPS, _PPS = 1, 5, 6, 7, 8
_SLICES = frozenset([_SLICE, _SLICE_IDR])
_TYPE_AND_FORBIDDEN_BIT = 0x9F
_REFUSED = {
    2: "data partitioning",
    3: "data partitioning",
    4: "data partitioning",
    14: "scalable or multiview extensions",
    15: "scalable or multiview extensions",
    19: "auxiliary pictures",
    20: "scalable or multiview extensions",
    21: "scalable or multiview extensions",
}


def parse_h264_configuration(configuration: bytes) -> CodecConfiguration:
    """The NAL units of an ``avcC`` record, or of a byte stream of parameter sets, or of nothing."""
    if configuration[:1] == b"\x01":
        return parse_avcc(configuration)
    return CodecConfiguration(tuple(split_annexb(configuration)), 0)


class H264Indexer:
    """Reads access units in decode order and says what each picture references.

    ``configuration`` is an ``avcC`` record, and access units are then length-prefixed; or parameter
    sets in byte stream format, or nothing where they are in band, and access units are then in byte
    stream format. ``Picture.detail`` is the tuple of the picture's ``SliceHeader``, or None with
    ``keep_headers`` off, which takes half the time where pictures have several slices.

    The first picture need not be an IDR picture. Pictures that lead over it, following in decode
    order and preceding in output order, are then not shown: decoders hold back what comes before the
    first picture that they know to be right (D.2.8), and such pictures may refer to others that are
    not in the stream, which are left out of their references. Any other picture that needs one
    before the first is refused with the kind ``"missing reference"``.
    """

    def __init__(self, configuration: bytes = b"", *, keep_headers: bool = True) -> None:
        record = parse_h264_configuration(configuration)
        self._keep_headers = keep_headers
        self._length_size = record.length_size
        self._parameter_sets = ParameterSets()
        kind = SliceHeaderReader if keep_headers else PatternReader
        self._slices: SliceReader = kind(self._parameter_sets)
        self._version_sei: bytes | None = None
        self._sps: SequenceParameterSet | None = None
        self._order_counter = OrderCounter()
        self._buffer = DecodedPictureBuffer()
        self._position = 0
        self.starts_sequence = False  # whether the last picture was an IDR picture
        self._open_start: int | None = None  # the first order count, until an IDR picture comes
        self._incomplete: set[int] = set()  # leading pictures of the start that miss references
        for nal_unit in record.nal_units:
            nal_unit_type = _nal_unit_type(nal_unit)
            if nal_unit_type not in (_SLICE, _SLICE_IDR):
                self._read_side_information(nal_unit_type, nal_unit)

    @property
    def sequence_parameter_set(self) -> SequenceParameterSet | None:
        """The SPS that pictures use; before the first picture the only one that is known."""
        if self._sps is None:
            known = self._parameter_sets.sequence_parameter_sets
            return known[0] if len(known) == 1 else None
        return self._sps

    @property
    def configuration_nal_units(self) -> tuple[bytes, ...]:
        """What a decoder must be given before any picture, wherever the stream carried it.

        The encoder's version SEI where there is one, then sequence and picture parameter sets.
        """
        version = () if self._version_sei is None else (self._version_sei,)
        sets = self._parameter_sets
        return (
            *version,
            *(sps.nal_unit for sps in sets.sequence_parameter_sets),
            *(pps.nal_unit for pps in sets.picture_parameter_sets),
        )

    def push(self, access_unit: bytes) -> list[Picture]:
        """The one picture of an access unit.

        Raises ``BitstreamError`` and ``UnsupportedStreamError``, after which the indexer's state is
        undefined.
        """
        nal_units = (
            split_length_prefixed(access_unit, self._length_size)
            if self._length_size
            else split_annexb(access_unit)
        )
        return [self.push_nal_units(nal_units, len(access_unit))]

    def push_nal_units(self, nal_units: Sequence[bytes], size: int) -> Picture:
        """The one picture of an access unit of ``size`` bytes that is split already."""
        headers: list[SliceElements] = []
        repeated: list[int] = []  # for each header, the slices after it that say the same
        recovers = False
        slices = self._slices
        slices.begin()
        for nal_unit in nal_units:
            if nal_unit[0] & _TYPE_AND_FORBIDDEN_BIT not in _SLICES:
                recovers |= self._read_side_information(_nal_unit_type(nal_unit), nal_unit)
                continue
            previous = slices.first_mb_in_slice
            header = slices.read(nal_unit)
            if header is None:
                repeated[-1] += 1
                continue
            if headers:
                _check_same_picture(headers, header, previous)
            else:
                self._check_first_slice(header)
            headers.append(header)
            repeated.append(0)
        if not headers:
            raise BitstreamError(f"an access unit of {size} bytes without a slice")
        return self._picture(tuple(headers), repeated, size, recovers=recovers)

    def read_parameter_sets(self, nal_units: Sequence[bytes]) -> None:
        """Takes the parameter sets of an access unit that is not indexed."""
        for nal_unit in nal_units:
            nal_unit_type = _nal_unit_type(nal_unit)
            if nal_unit_type in (_SPS, _PPS):
                self._read_side_information(nal_unit_type, nal_unit)

    @property
    def parameter_set_ids(self) -> frozenset[tuple[str, int]]:
        """Which parameter sets are known, whatever they say."""
        sets = self._parameter_sets
        return frozenset(
            [("SPS", sps.seq_parameter_set_id) for sps in sets.sequence_parameter_sets]
            + [("PPS", pps.pic_parameter_set_id) for pps in sets.picture_parameter_sets]
        )

    def _read_side_information(self, nal_unit_type: int, nal_unit: bytes) -> bool:
        """Takes any NAL unit but a slice; whether it says that decoding can begin here."""
        if nal_unit_type == _SPS:
            self._parameter_sets.add_sequence_parameter_set(nal_unit)
        elif nal_unit_type == _PPS:
            self._parameter_sets.add_picture_parameter_set(nal_unit)
        elif nal_unit_type == _SEI:
            sei = parse_sei(nal_unit)
            if sei.has_film_grain:
                # Decoders add it to the frames that they return, by a seed that depends on all
                # pictures since the decoder was made.
                raise UnsupportedStreamError("film grain", "a SEI message describes it")
            if self._version_sei is None and sei.is_encoder_version:
                self._version_sei = nal_unit
            return sei.recovery_frame_cnt == 0
        elif nal_unit_type in _REFUSED:
            raise UnsupportedStreamError(_REFUSED[nal_unit_type], f"nal_unit_type {nal_unit_type}")
        # Delimiters, ends, filler and reserved types are passed over, as 7.4.1 asks of decoders.
        return False

    def _check_first_slice(self, header: SliceElements) -> None:
        if header.first_mb_in_slice:
            raise UnsupportedStreamError(
                "arbitrary slice order",
                f"the first slice starts at macroblock {header.first_mb_in_slice}",
            )
        if self._sps is None:
            self._sps = header.sps
        elif self._sps is not header.sps:
            raise UnsupportedStreamError(
                "parameter sets that change",
                f"SPS {header.sps.seq_parameter_set_id} follows {self._sps.seq_parameter_set_id}",
            )

    def _picture(
        self,
        headers: tuple[SliceElements, ...],
        repeated: Sequence[int],
        size: int,
        *,
        recovers: bool,
    ) -> Picture:
        first = headers[0]
        self.starts_sequence = first.is_idr
        self._buffer.begin(first)
        order_count = self._order_counter.next(first)
        if first.is_idr or not self._position:
            self._open_start = None if first.is_idr else order_count
        leads = self._open_start is not None and order_count < self._open_start
        picture_type = _picture_type(headers)
        reference_lists: tuple[tuple[int, ...], ...] = ()
        references: set[int] = set()
        position = self._position
        if picture_type != "I":
            try:
                for header, more in zip(headers, repeated, strict=True):
                    if header.slice_type != SLICE_I:
                        lists = self._buffer.lists(header, order_count)
                        reference_lists += lists * (1 + more)
                        references.update(*lists)
            except UnsupportedStreamError:
                if not leads:
                    raise
                reference_lists, references = (), set()
                self._incomplete.add(position)
            if not self._incomplete.isdisjoint(references):
                self._check_incomplete(references, leads=leads)
        self._buffer.mark(first, order_count, position)
        self._position += 1
        return Picture(
            position,
            order_count,
            picture_type,
            first.is_idr or (recovers and picture_type == "I"),
            first.nal_ref_idc > 0,
            not leads,
            tuple(sorted(references)),
            reference_lists,
            0,
            size,
            headers if self._keep_headers else None,
        )

    def _check_incomplete(self, references: set[int], *, leads: bool) -> None:
        """What needs a leading picture that misses references misses them too."""
        if not leads:
            raise UnsupportedStreamError(
                "missing reference",
                f"picture {self._position} references {sorted(references & self._incomplete)}, "
                "which lead over the start of the stream and miss references themselves",
            )
        self._incomplete.add(self._position)


def _picture_type(headers: Sequence[SliceElements]) -> PictureType:
    picture_type: PictureType = "I"
    for header in headers:
        if header.slice_type != SLICE_I:
            if header.is_idr:
                raise BitstreamError(f"slice_type of an IDR picture is {header.slice_type}, not 2")
            if header.slice_type == SLICE_B:
                return "B"
            picture_type = "P"
    return picture_type


def _nal_unit_type(nal_unit: bytes) -> int:
    header = nal_unit[0]
    if header & 0x80:
        raise BitstreamError(f"forbidden_zero_bit is set in a NAL unit that starts with {header}")
    return header & 31


def _check_same_picture(headers: list[SliceElements], header: SliceElements, previous: int) -> None:
    """Refuses a second picture (7.4.1.2.4) and slices out of order.

    ``previous`` is the ``first_mb_in_slice`` of the slice before it.
    """
    first = headers[0]
    if (
        header.frame_num != first.frame_num
        or header.pps is not first.pps
        or (header.nal_ref_idc == 0) != (first.nal_ref_idc == 0)
        or header.nal_unit_type != first.nal_unit_type
        or header.idr_pic_id != first.idr_pic_id
        or header.pic_order_cnt_lsb != first.pic_order_cnt_lsb
        or header.delta_pic_order_cnt_bottom != first.delta_pic_order_cnt_bottom
        or header.delta_pic_order_cnt != first.delta_pic_order_cnt
        or header.first_mb_in_slice == 0
    ):
        raise UnsupportedStreamError("two pictures in one access unit")
    if header.first_mb_in_slice <= previous:
        raise UnsupportedStreamError(
            "arbitrary slice order",
            f"a slice at macroblock {header.first_mb_in_slice} follows one at {previous}",
        )
    if (
        header.memory_management_control_operations != first.memory_management_control_operations
        or header.long_term_reference_flag != first.long_term_reference_flag
    ):
        raise BitstreamError("dec_ref_pic_marking differs between the slices of a picture")
