"""The parameter sets of an HEVC stream, keyed by their ids (ITU-T H.265 7.4.2.4.2)."""

from __future__ import annotations

from videoformat.bitstream.hevc_nal import PPS_NUT, SPS_NUT, VPS_NUT, base_layer_units
from videoformat.bitstream.hevc_pps import PictureParameterSet, parse_picture_parameter_set
from videoformat.bitstream.hevc_sps import SequenceParameterSet, parse_sequence_parameter_set
from videoformat.bitstream.nal import CodecConfiguration, parse_hvcc, split_annexb
from videoformat.errors import BitstreamError, UnsupportedStreamError

__all__ = ["ParameterSets", "parse_configuration"]

_START_CODES = (b"\0\0\1", b"\0\0\0\1")


class ParameterSets:
    """Video, sequence and picture parameter sets by id.

    An id keeps its content for the whole stream: an SPS or PPS that comes again must come with the
    same bytes, because a chunk is stored with one configuration. VPSs are kept as they first came;
    nothing in the decoding of the base layer depends on them.
    """

    __slots__ = ("_active", "_pps", "_sps", "_vps")

    def __init__(self) -> None:
        self._vps: dict[int, bytes] = {}
        self._sps: dict[int, SequenceParameterSet] = {}
        self._pps: dict[int, PictureParameterSet] = {}
        # (PPS, SPS) by pps_pic_parameter_set_id, once a slice segment has named it.
        self._active: dict[int, tuple[PictureParameterSet, SequenceParameterSet]] = {}

    def add(self, nal_unit_type: int, nal_unit: bytes) -> None:
        """Takes a parameter set; NAL units of other types are passed over."""
        if nal_unit_type == SPS_NUT:
            self._add_sps(nal_unit.rstrip(b"\0"))
        elif nal_unit_type == PPS_NUT:
            self._add_pps(nal_unit.rstrip(b"\0"))
        elif nal_unit_type == VPS_NUT and len(nal_unit) > 2:
            self._vps.setdefault(nal_unit[2] >> 4, nal_unit.rstrip(b"\0"))

    def _add_sps(self, nal_unit: bytes) -> None:
        if any(sps.nal_unit == nal_unit for sps in self._sps.values()):
            return
        sps = parse_sequence_parameter_set(nal_unit)
        if sps.sps_seq_parameter_set_id in self._sps:
            raise _changed("SPS", sps.sps_seq_parameter_set_id)
        self._sps[sps.sps_seq_parameter_set_id] = sps

    def _add_pps(self, nal_unit: bytes) -> None:
        if any(pps.nal_unit == nal_unit for pps in self._pps.values()):
            return
        pps = parse_picture_parameter_set(nal_unit)
        if pps.pps_pic_parameter_set_id in self._pps:
            raise _changed("PPS", pps.pps_pic_parameter_set_id)
        self._pps[pps.pps_pic_parameter_set_id] = pps

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
                    f"{slice_pic_parameter_set_id}, the stream has {sorted(self._pps)}"
                )
            sps = self._sps.get(pps.pps_seq_parameter_set_id)
            if sps is None:
                raise BitstreamError(
                    f"PPS {slice_pic_parameter_set_id}: pps_seq_parameter_set_id is "
                    f"{pps.pps_seq_parameter_set_id}, the stream has {sorted(self._sps)}"
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
        return tuple(self._sps[key] for key in sorted(self._sps))

    @property
    def picture_parameter_sets(self) -> tuple[PictureParameterSet, ...]:
        """In order of their ids."""
        return tuple(self._pps[key] for key in sorted(self._pps))


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


def _changed(name: str, identifier: int) -> UnsupportedStreamError:
    return UnsupportedStreamError(
        "parameter sets that change", f"{name} {identifier} comes again with other content"
    )
