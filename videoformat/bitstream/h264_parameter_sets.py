"""The parameter sets of an H.264 stream, keyed by their ids (ITU-T H.264 7.4.1.2.1)."""

from __future__ import annotations

from videoformat.bitstream.h264_pps import PictureParameterSet, parse_picture_parameter_set
from videoformat.bitstream.h264_sps import SequenceParameterSet, parse_sequence_parameter_set
from videoformat.errors import BitstreamError, UnsupportedStreamError

__all__ = ["ParameterSets"]


class ParameterSets:
    """Sequence and picture parameter sets by id.

    An id keeps its content for the whole stream: a parameter set that comes again must come with
    the same bytes, because a chunk is stored with one configuration.
    """

    __slots__ = ("_active", "_pps", "_sps")

    def __init__(self) -> None:
        self._sps: dict[int, SequenceParameterSet] = {}
        self._pps: dict[int, PictureParameterSet] = {}
        # (PPS, SPS) by pic_parameter_set_id, once a slice has named it.
        self._active: dict[int, tuple[PictureParameterSet, SequenceParameterSet]] = {}

    def add_sequence_parameter_set(self, nal_unit: bytes) -> None:
        """Takes a NAL unit of type 7."""
        nal_unit = nal_unit.rstrip(b"\0")  # trailing_zero_8bits are no part of it (B.1.1)
        if any(sps.nal_unit == nal_unit for sps in self._sps.values()):
            return
        sps = parse_sequence_parameter_set(nal_unit)
        if sps.seq_parameter_set_id in self._sps:
            raise _changed("SPS", sps.seq_parameter_set_id)
        self._sps[sps.seq_parameter_set_id] = sps

    def add_picture_parameter_set(self, nal_unit: bytes) -> None:
        """Takes a NAL unit of type 8."""
        nal_unit = nal_unit.rstrip(b"\0")
        if any(pps.nal_unit == nal_unit for pps in self._pps.values()):
            return
        pps = parse_picture_parameter_set(nal_unit)
        if pps.pic_parameter_set_id in self._pps:
            raise _changed("PPS", pps.pic_parameter_set_id)
        self._pps[pps.pic_parameter_set_id] = pps

    def activate(
        self, pic_parameter_set_id: int
    ) -> tuple[PictureParameterSet, SequenceParameterSet]:
        """The PPS that a slice names and its SPS."""
        found = self._active.get(pic_parameter_set_id)
        if found is None:
            pps = self._pps.get(pic_parameter_set_id)
            if pps is None:
                raise BitstreamError(
                    f"slice header: pic_parameter_set_id is {pic_parameter_set_id}, "
                    f"the stream has {sorted(self._pps)}"
                )
            sps = self._sps.get(pps.seq_parameter_set_id)
            if sps is None:
                raise BitstreamError(
                    f"PPS {pic_parameter_set_id}: seq_parameter_set_id is "
                    f"{pps.seq_parameter_set_id}, the stream has {sorted(self._sps)}"
                )
            found = self._active[pic_parameter_set_id] = (pps, sps)
        return found

    @property
    def sequence_parameter_sets(self) -> tuple[SequenceParameterSet, ...]:
        """In order of their ids."""
        return tuple(self._sps[key] for key in sorted(self._sps))

    @property
    def picture_parameter_sets(self) -> tuple[PictureParameterSet, ...]:
        """In order of their ids."""
        return tuple(self._pps[key] for key in sorted(self._pps))


def _changed(name: str, identifier: int) -> UnsupportedStreamError:
    return UnsupportedStreamError(
        "parameter sets that change", f"{name} {identifier} comes again with other content"
    )
