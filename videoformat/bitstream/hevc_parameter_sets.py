"""The parameter sets of an HEVC stream, keyed by their ids (ITU-T H.265 7.4.2.4.2)."""

from __future__ import annotations

from videoformat.bitstream.hevc_nal import PPS_NUT, SPS_NUT, VPS_NUT, base_layer_units
from videoformat.bitstream.hevc_pps import PictureParameterSet, parse_picture_parameter_set
from videoformat.bitstream.hevc_sps import SequenceParameterSet, parse_sequence_parameter_set
from videoformat.bitstream.nal import CodecConfiguration, parse_hvcc, split_annexb
from videoformat.bitstream.parameter_sets import SetsById
from videoformat.errors import BitstreamError

__all__ = ["ParameterSets", "parse_configuration"]

_START_CODES = (b"\0\0\1", b"\0\0\0\1")


class ParameterSets:
    """Video, sequence and picture parameter sets by id.

    An SPS or PPS has one content (``SetsById``). VPSs are kept as they first came; nothing in the
    decoding of the base layer depends on them.
    """

    __slots__ = ("_active", "_pps", "_sps", "_vps")

    def __init__(self) -> None:
        self._vps: dict[int, bytes] = {}
        self._sps: SetsById[SequenceParameterSet] = SetsById(
            "SPS", parse_sequence_parameter_set, lambda sps: sps.sps_seq_parameter_set_id
        )
        self._pps: SetsById[PictureParameterSet] = SetsById(
            "PPS", parse_picture_parameter_set, lambda pps: pps.pps_pic_parameter_set_id
        )
        # (PPS, SPS) by pps_pic_parameter_set_id, once a slice segment has named it.
        self._active: dict[int, tuple[PictureParameterSet, SequenceParameterSet]] = {}

    def add(self, nal_unit_type: int, nal_unit: bytes) -> None:
        """Takes a parameter set; NAL units of other types are passed over."""
        if nal_unit_type == SPS_NUT:
            self._sps.add(nal_unit)
        elif nal_unit_type == PPS_NUT:
            self._pps.add(nal_unit)
        elif nal_unit_type == VPS_NUT and len(nal_unit) > 2:
            self._vps.setdefault(nal_unit[2] >> 4, nal_unit.rstrip(b"\0"))

    def activate(
        self, slice_pic_parameter_set_id: int
    ) -> tuple[PictureParameterSet, SequenceParameterSet]:
        """The PPS that a slice segment names and its SPS."""
        found = self._active.get(slice_pic_parameter_set_id)
        if found is None:
            pps = self._pps.get(slice_pic_parameter_set_id)
            if pps is None:
                raise BitstreamError(
                    f"slice segment header: slice_pic_parameter_set_id is "
                    f"{slice_pic_parameter_set_id}, the stream has {self._pps.ids}"
                )
            sps = self._sps.get(pps.pps_seq_parameter_set_id)
            if sps is None:
                raise BitstreamError(
                    f"PPS {slice_pic_parameter_set_id}: pps_seq_parameter_set_id is "
                    f"{pps.pps_seq_parameter_set_id}, the stream has {self._sps.ids}"
                )
            found = self._active[slice_pic_parameter_set_id] = (pps, sps)
        return found

    @property
    def nal_units(self) -> tuple[bytes, ...]:
        """All of them, in an order in which a decoder can take them."""
        return (
            *self.video_parameter_sets,
            *(sps.nal_unit for sps in self.sequence_parameter_sets),
            *(pps.nal_unit for pps in self.picture_parameter_sets),
        )

    @property
    def video_parameter_sets(self) -> tuple[bytes, ...]:
        """NAL units, in order of their ids."""
        return tuple(self._vps[key] for key in sorted(self._vps))

    @property
    def sequence_parameter_sets(self) -> tuple[SequenceParameterSet, ...]:
        """In order of their ids."""
        return self._sps.in_order

    @property
    def picture_parameter_sets(self) -> tuple[PictureParameterSet, ...]:
        """In order of their ids."""
        return self._pps.in_order


def parse_configuration(configuration: bytes) -> tuple[ParameterSets, int]:
    """The parameter sets of a codec configuration, and the ``length_size`` of access units.

    The configuration is an ``hvcC`` record, which begins with its version, 0 or 1; or parameter
    sets in byte stream format, which begins with a start code; or empty.
    """
    if configuration[:1] in (b"\0", b"\1") and not configuration.startswith(_START_CODES):
        parsed = parse_hvcc(configuration)
    else:
        parsed = CodecConfiguration(tuple(split_annexb(configuration)), 0)
    parameter_sets = ParameterSets()
    for nal_unit_type, unit in base_layer_units(parsed.nal_units):
        parameter_sets.add(nal_unit_type, unit)
    return parameter_sets, parsed.length_size
