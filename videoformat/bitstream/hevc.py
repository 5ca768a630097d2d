"""What each picture of an HEVC stream references, from its headers alone (ITU-T H.265 clause 8).

Strategy: ``push`` splits the access unit, reads the slice segment headers, derives the picture's
order count (8.3.1), applies its reference picture set to the marking of the pictures before it
(8.3.2) and builds the reference picture lists of every slice (8.3.4). No sample is decoded.

What is outside is refused by name (``UnsupportedStreamError.kind``): ``"long-term reference
pictures"``, ``"parameter sets that change"``, ``"several sequence parameter sets"``,
``"field pictures"``, ``"several pictures in an access unit"``, ``"missing reference"``, ``"no random
access point"``, ``"pictures dropped from output"``, ``"screen content coding"``, ``"layered
extension"``, ``"film grain"``. NAL units of higher layers are passed over: the base layer is a stream of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from videoformat.bitstream.hevc_nal import (
    CRA_NUT,
    EOB_NUT,
    EOS_NUT,
    PREFIX_SEI_NUT,
    base_layer_units,
    is_coded_slice_segment,
    is_irap,
    is_leading,
    is_rasl,
    is_sub_layer_non_reference,
)
from videoformat.bitstream.hevc_parameter_sets import parse_configuration
from videoformat.bitstream.hevc_references import ReferencePictures
from videoformat.bitstream.hevc_slice import (
    SliceSegmentHeader,
    parse_slice_segment_header,
)
from videoformat.bitstream.hevc_sps import SequenceParameterSet
from videoformat.bitstream.nal import split_annexb, split_length_prefixed, unescape
from videoformat.bitstream.picture import Picture, PictureType
from videoformat.bitstream.sei import FILM_GRAIN_CHARACTERISTICS, has_film_grain, sei_messages
from videoformat.errors import BitstreamError, UnsupportedStreamError

__all__ = ["HevcIndexer", "HevcPictureDetail"]


@dataclass(frozen=True, slots=True)
class HevcPictureDetail:
    """The codec's own parse of one picture's headers.

    ``is_decodable`` is false of a RASL picture whose associated CRA or BLA picture begins a coded
    video sequence: what it refers to is not in the stream, and decoders drop it (8.1.3). Its
    references are then left empty.
    """

    slice_segments: tuple[SliceSegmentHeader, ...]
    is_decodable: bool

    @property
    def nal_unit_type(self) -> int:
        """The type of all its slice segments."""
        return self.slice_segments[0].nal_unit_type

    @property
    def temporal_id(self) -> int:
        """Its TemporalId."""
        return self.slice_segments[0].temporal_id


class HevcIndexer:
    """Says what each picture of an HEVC stream references; a ``PictureIndexer``.

    ``configuration`` is an ``hvcC`` record, or parameter sets in byte stream format, or empty where
    they come in band. Access units are length-prefixed if an ``hvcC`` was given, else in byte stream
    format. An access unit holds one picture, so ``push`` returns one. ``Picture.detail`` is a
    ``HevcPictureDetail``, or None with ``keep_headers`` off. After an error the indexer's state is
    not defined.
    """

    def __init__(self, configuration: bytes = b"", *, keep_headers: bool = True) -> None:
        self._keep_headers = keep_headers
        self._parameter_sets, self._length_size = parse_configuration(configuration)
        self._sps: SequenceParameterSet | None = None
        self._position = 0
        self._references = ReferencePictures()
        self._previous_order_count = 0  # of prevTid0Pic (8.3.1)
        self._begins_sequence = True  # the next picture is the first, or follows an end of sequence
        self.starts_sequence = False  # whether the last picture began a coded video sequence
        self._rasl_is_decodable = False

    @property
    def sequence_parameter_set(self) -> SequenceParameterSet | None:
        """The SPS that pictures use; before the first picture the only one that is known."""
        if self._sps is None:
            known = self._parameter_sets.sequence_parameter_sets
            return known[0] if len(known) == 1 else None
        return self._sps

    @property
    def configuration_nal_units(self) -> tuple[bytes, ...]:
        """Video, sequence and picture parameter sets, wherever the stream carried them so far."""
        return self._parameter_sets.nal_units

    def push(self, access_unit: bytes) -> list[Picture]:
        """The picture that the access unit holds."""
        nal_units = (
            split_length_prefixed(access_unit, self._length_size)
            if self._length_size
            else split_annexb(access_unit)
        )
        return [self.push_nal_units(nal_units, len(access_unit))]

    def push_nal_units(self, nal_units: Sequence[bytes], size: int) -> Picture:
        """The one picture of an access unit of ``size`` bytes that is split already."""
        segments, ends_sequence = self._slice_segments(nal_units)
        first = segments[0]
        self._activate(first.sps)
        begins_sequence = self._begins_sequence
        self._begins_sequence = ends_sequence
        nal_unit_type = first.nal_unit_type
        # NoRaslOutputFlag (8.1.3): true of an IDR or BLA picture, and of a CRA picture that begins
        # a coded video sequence.
        starts = is_irap(nal_unit_type) and (nal_unit_type != CRA_NUT or begins_sequence)
        self.starts_sequence = starts
        if begins_sequence and not starts:
            raise UnsupportedStreamError(
                "no random access point",
                f"picture {self._position} begins a sequence with NAL type {nal_unit_type}",
            )
        if is_irap(nal_unit_type):
            if starts and self._position:
                _check_prior_pictures_are_output(first, self._position)
            self._rasl_is_decodable = not starts
        order_count = self._order_count(first, starts=starts)
        is_decodable = self._rasl_is_decodable or not is_rasl(nal_unit_type)
        lists: tuple[tuple[int, ...], ...] = ()
        if starts:
            self._references.clear()
        elif is_decodable:
            lists = self._references.lists(self._position, order_count, segments)
        if is_decodable:
            self._references.add(self._position, order_count)
        picture = Picture(
            position=self._position,
            order_count=order_count,
            picture_type=_picture_type(segments),
            is_random_access=is_irap(nal_unit_type),
            # A picture of a lower sub-layer may be used by a higher one, whatever its type says.
            is_reference=not is_sub_layer_non_reference(nal_unit_type)
            or first.temporal_id < first.sps.sps_max_sub_layers_minus1,
            is_shown=first.pic_output_flag and is_decodable,
            references=tuple(sorted(set().union(*lists))),
            reference_lists=lists,
            start=0,
            end=size,
            detail=HevcPictureDetail(segments, is_decodable) if self._keep_headers else None,
        )
        self._position += 1
        return picture

    def read_parameter_sets(self, nal_units: Sequence[bytes]) -> None:
        """Takes the parameter sets of an access unit that is not indexed."""
        for nal_unit_type, unit in base_layer_units(nal_units):
            self._parameter_sets.add(nal_unit_type, unit)

    @property
    def parameter_set_ids(self) -> frozenset[tuple[str, int]]:
        """Which parameter sets are known, whatever they say."""
        sets = self._parameter_sets
        return frozenset(
            [("VPS", unit[2] >> 4) for unit in sets.video_parameter_sets]
            + [("SPS", sps.sps_seq_parameter_set_id) for sps in sets.sequence_parameter_sets]
            + [("PPS", pps.pps_pic_parameter_set_id) for pps in sets.picture_parameter_sets]
        )

    def _slice_segments(
        self, nal_units: Sequence[bytes]
    ) -> tuple[tuple[SliceSegmentHeader, ...], bool]:
        """The headers of the access unit's slice segments, and whether a sequence ends after it."""
        segments: list[SliceSegmentHeader] = []
        ends_sequence = False
        for nal_unit_type, unit in base_layer_units(nal_units):
            if is_coded_slice_segment(nal_unit_type):
                segment, _ = parse_slice_segment_header(nal_unit_type, unit, self._parameter_sets)
                if segment.first_slice_segment_in_pic_flag and segments:
                    raise UnsupportedStreamError(
                        "several pictures in an access unit",
                        f"at the access unit of picture {self._position}",
                    )
                segments.append(segment)
            elif nal_unit_type in (EOS_NUT, EOB_NUT):
                if segments:
                    ends_sequence = True
                else:
                    self._begins_sequence = True
            elif nal_unit_type == PREFIX_SEI_NUT:
                _refuse_film_grain(unit)
            else:
                self._parameter_sets.add(nal_unit_type, unit)
        _check_slice_segments(segments, self._position)
        return tuple(segments), ends_sequence

    def _activate(self, sps: SequenceParameterSet) -> None:
        if sps is self._sps:
            return
        if self._sps is not None:
            raise UnsupportedStreamError(
                "several sequence parameter sets",
                f"picture {self._position} uses SPS {sps.sps_seq_parameter_set_id}, those before it "
                f"SPS {self._sps.sps_seq_parameter_set_id}",
            )
        if sps.vui.field_seq_flag:
            raise UnsupportedStreamError("field pictures", "field_seq_flag is 1")
        self._sps = sps

    def _order_count(self, segment: SliceSegmentHeader, *, starts: bool) -> int:
        """PicOrderCntVal (8.3.1)."""
        lsb = segment.slice_pic_order_cnt_lsb
        order_count = lsb
        if not starts:
            modulus = 1 << segment.sps.log2_max_pic_order_cnt_lsb
            # (8-1) picks the value with that lsb nearest to prevTid0Pic's, upwards where halfway.
            difference = (lsb - self._previous_order_count) % modulus
            if difference > modulus >> 1:
                difference -= modulus
            order_count = self._previous_order_count + difference
            if not -(2**31) <= order_count < 2**31:
                raise BitstreamError(f"PicOrderCntVal {order_count} does not fit in 32 bits")
        nal_unit_type = segment.nal_unit_type
        if (
            segment.temporal_id == 0
            and not is_leading(nal_unit_type)
            and not is_sub_layer_non_reference(nal_unit_type)
        ):
            self._previous_order_count = order_count
        return order_count


def _refuse_film_grain(unit: bytes) -> None:
    """Decoders add it to the frames that they return, by a seed that follows from order counts."""
    for payload_type, payload in sei_messages(unescape(unit[2:])):
        if payload_type == FILM_GRAIN_CHARACTERISTICS and has_film_grain(payload):
            raise UnsupportedStreamError("film grain", "a SEI message describes it")


_PICTURE_TYPES: tuple[PictureType, PictureType, PictureType] = ("B", "P", "I")


def _picture_type(segments: Sequence[SliceSegmentHeader]) -> PictureType:
    # The constants are in the order of precedence: B is 0, P is 1, I is 2.
    return _PICTURE_TYPES[min([segment.slice_type for segment in segments])]


def _check_prior_pictures_are_output(segment: SliceSegmentHeader, position: int) -> None:
    """Refuses a sequence whose start drops pictures that wait for their output (C.5.2.2).

    NoOutputOfPriorPicsFlag is 1 at a CRA picture that begins a sequence, else what the slice says.
    Nothing waits where no picture may precede another in decoding order and follow it in output.
    """
    dropped = segment.no_output_of_prior_pics_flag or segment.nal_unit_type == CRA_NUT
    if dropped and segment.sps.sps_max_num_reorder_pics:
        raise UnsupportedStreamError(
            "pictures dropped from output",
            f"NoOutputOfPriorPicsFlag is 1 at picture {position} and sps_max_num_reorder_pics is "
            f"{segment.sps.sps_max_num_reorder_pics}",
        )


def _check_slice_segments(segments: Sequence[SliceSegmentHeader], position: int) -> None:
    """What all slice segments of one picture share (7.4.2.2, 7.4.7.1)."""
    if not segments:
        raise BitstreamError(f"the access unit of picture {position} holds no slice segment")
    first = segments[0]
    if not first.first_slice_segment_in_pic_flag:
        raise BitstreamError(
            f"picture {position} begins at slice_segment_address {first.slice_segment_address}"
        )
    previous = first
    for segment in segments[1:]:
        if segment.slice_segment_address <= previous.slice_segment_address:
            raise BitstreamError(
                f"picture {position}: slice_segment_address {segment.slice_segment_address} follows "
                f"{previous.slice_segment_address}"
            )
        previous = segment
        for name in _SHARED[:3] if segment.dependent_slice_segment_flag else _SHARED:
            if getattr(segment, name) != getattr(first, name):
                raise BitstreamError(f"{name} differs between slice segments of picture {position}")


_SHARED = (
    "nal_unit_type",
    "temporal_id",
    "pps",
    "pic_output_flag",
    "slice_pic_order_cnt_lsb",
    "short_term_ref_pic_set",
    "slice_temporal_mvp_enabled_flag",
)
