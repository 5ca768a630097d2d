"""Writing MP4 from access units as they are: nothing is decoded or encoded.

Strategy: FFmpeg's muxer takes H.264 and HEVC as byte streams and writes lengths in place of the
start codes; AV1 it takes without temporal delimiters. What it must know of a stream (size, profile,
colour, parameter sets) it learns from a demuxer that is shown the first access unit.
"""

from __future__ import annotations

import io
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

import av
import av.error

from videoformat.errors import DataError, StoreError, UnsupportedStreamError

__all__ = ["Mp4Muxer"]

_RAW_FORMATS = {"h264": "h264", "hevc": "hevc", "av1": "obu"}
# OBU_TEMPORAL_DELIMITER with a size of 0 (AV1 5.6): raw streams begin with one, MP4 has none.
_TEMPORAL_DELIMITER = b"\x12\x00"
_LARGEST_TIME = 2**62


class Mp4Muxer:
    """One MP4 file with one video track, its index in front of its media (``faststart``).

    ``configuration`` are the parameter sets, as a byte stream (H.264, HEVC) or OBUs (AV1);
    ``first_unit`` is the access unit that the file begins with. Use it as a context manager.
    Raises ``UnsupportedStreamError`` for a codec that MP4 does not hold, ``DataError`` where FFmpeg
    makes nothing of the bytes, ``StoreError`` where the file cannot be written.
    """

    def __init__(
        self, path: Path, codec: str, configuration: bytes, first_unit: bytes, time_base: Fraction
    ) -> None:
        self.path = path
        self._time_base = time_base
        name = _RAW_FORMATS.get(codec)
        if name is None:
            raise UnsupportedStreamError("codec", f"{codec} is not put into MP4")
        lead = b"" if codec != "av1" else _TEMPORAL_DELIMITER
        head = b"" if configuration and configuration in first_unit else configuration
        try:
            self._template = av.open(io.BytesIO(lead + head + first_unit), format=name)
            source = self._template.streams.video[0]
        except (av.error.FFmpegError, IndexError) as error:
            raise DataError(f"{path}: FFmpeg makes nothing of its first picture: {error}") from None
        try:
            self._container = av.open(
                str(path), "w", format="mp4", options={"movflags": "faststart"}
            )
        except (av.error.FFmpegError, OSError) as error:
            self._template.close()
            raise StoreError(f"{path} cannot be written: {error}") from None
        self._stream = self._container.add_stream_from_template(source, opaque=True)
        self._stream.time_base = time_base

    def add(self, unit: bytes, *, pts: int, dts: int, duration: int, is_sync: bool) -> None:
        """Adds the next access unit, in decode order; times are in units of the time base."""
        if not abs(pts) < _LARGEST_TIME or not abs(dts) < _LARGEST_TIME:
            raise DataError(f"{self.path}: a picture at {pts} (decoded at {dts})")
        packet = av.Packet(unit)
        packet.stream = self._stream
        packet.time_base = self._time_base
        packet.pts, packet.dts, packet.duration = pts, dts, duration
        packet.is_keyframe = is_sync
        try:
            self._container.mux(packet)
        except (av.error.FFmpegError, OSError) as error:
            raise StoreError(f"{self.path} cannot be written: {error}") from None

    def close(self) -> None:
        """Writes the index and ends the file."""
        try:
            self._container.close()
        except (av.error.FFmpegError, OSError) as error:
            raise StoreError(f"{self.path} cannot be written: {error}") from None
        finally:
            self._template.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
