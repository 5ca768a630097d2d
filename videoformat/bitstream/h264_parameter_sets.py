"""The parameter sets of an H.264 stream, keyed by their ids (ITU-T H.264 7.4.1.2.1)."""

from __future__ import annotations

from videoformat.bitstream.h264_pps import PictureParameterSet, parse_picture_parameter_set
from videoformat.bitstream.h264_sps import SequenceParameterSet, parse_sequence_parameter_set
from videoformat.bitstream.parameter_sets import SetsById
from videoformat.errors import BitstreamError

__all__ = ["ParameterSets"]


class ParameterSets:
    """Sequence and picture parameter sets by id, each with one content (``SetsById``)."""

    __slots__ = ("_active", "_pps", "_sps")

    def __init__(self) -> None:
        self._sps: SetsById[SequenceParameterSet] = SetsById(
            "SPS", parse_sequence_parameter_set, lambda sps: sps.seq_parameter_set_id
        )
        self._pps: SetsById[PictureParameterSet] = SetsById(
            "PPS", parse_picture_parameter_set, lambda pps: pps.pic_parameter_set_id
        )
        # (PPS, SPS) by pic_parameter_set_id, once a slice has named it.
        self._active: dict[int, tuple[PictureParameterSet, SequenceParameterSet]] = {}

    def add_sequence_parameter_set(self, nal_unit: bytes) -> None:
        """Takes a NAL unit of type 7."""
        self._sps.add(nal_unit)

    def add_picture_parameter_set(self, nal_unit: bytes) -> None:
        """Takes a NAL unit of type 8."""
        self._pps.add(nal_unit)

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
                    f"the stream has {self._pps.ids}"
                )
            sps = self._sps.get(pps.seq_parameter_set_id)
            if sps is None:
                raise BitstreamError(
                    f"PPS {pic_parameter_set_id}: seq_parameter_set_id is "
                    f"{pps.seq_parameter_set_id}, the stream has {self._sps.ids}"
                )
            found = self._active[pic_parameter_set_id] = (pps, sps)
        return found

    @property
    def sequence_parameter_sets(self) -> tuple[SequenceParameterSet, ...]:
        """In order of their ids."""
        return self._sps.in_order

    @property
    def picture_parameter_sets(self) -> tuple[PictureParameterSet, ...]:
        """In order of their ids."""
        return self._pps.in_order
