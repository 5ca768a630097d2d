"""Encoding one chunk: pictures in, access units in decode order out."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import av
import av.error
from av.video.frame import PictureType

from videoformat.errors import DataError, InvalidArgumentError
from videoformat.media.color import Color
from videoformat.media.encoder_context import open_encoder
from videoformat.media.gop import DDRA

__all__ = ["ChunkEncoder", "EncodedChunk"]


@dataclass(frozen=True, slots=True)
class EncodedChunk:
    """What an encoder made of one chunk's frames.

    ``access_units`` are in decode order, each with its picture's rank in presentation order.
    ``configuration`` holds the parameter sets.
    """

    codec: str
    width: int
    height: int
    color: Color
    configuration: bytes
    access_units: tuple[tuple[int, bytes], ...]
    framing: str = "annexb"


class ChunkEncoder:
    """Encodes the pictures of one chunk, as they come, in one reference structure.

    The newest picture is held back until the next one or the end, since the last picture of a
    chunk has to be an anchor. ``threads`` are the encoder's own.
    """

    def __init__(
        self,
        structure: DDRA,
        width: int,
        height: int,
        color: Color,
        rate: Fraction,
        threads: int = 1,
    ) -> None:
        self.structure = structure
        self.color = color
        self.frame_count = 0
        self.byte_count = 0
        self._units: list[tuple[int, bytes]] = []
        self._held: av.VideoFrame | None = None
        self._time_base = 1 / rate
        settings = structure.settings
        parameters = structure.encoder_parameters()
        if settings.encoder == "libx265":
            parameters |= {"pools": str(threads) if threads > 1 else "none", "frame-threads": "1"}
        options = {
            "preset": structure.effective_preset,
            "crf": f"{structure.effective_crf:g}",
            f"{settings.encoder[3:]}-params": ":".join(f"{k}={v}" for k, v in parameters.items()),
        }
        self._context = open_encoder(
            settings.encoder, (width, height), color, rate, options, threads=threads
        )

    def push(self, picture: av.VideoFrame) -> None:
        """Takes the next picture in presentation order: yuv420p, of the size that was declared."""
        held, self._held = self._held, picture
        if held is not None:
            self._encode(held)

    def finish(self) -> EncodedChunk:
        """Encodes what is held back and returns the chunk. At least one picture must have come."""
        held, self._held = self._held, None
        if held is None:
            raise InvalidArgumentError("a chunk has at least one frame")
        self._encode(held, last=True)
        self._take(None)
        if len(self._units) != self.frame_count:
            raise DataError(
                f"{self.structure.settings.encoder} made {len(self._units)} pictures of "
                f"{self.frame_count} frames"
            )
        return EncodedChunk(
            codec=self.structure.settings.codec,
            width=self._context.width,
            height=self._context.height,
            color=self.color,
            configuration=bytes(self._context.extradata or b""),
            access_units=tuple(self._units),
        )

    def _encode(self, picture: av.VideoFrame, *, last: bool = False) -> None:
        picture.pts = self.frame_count
        picture.time_base = self._time_base
        # A decoded source frame carries the type it had; only the last one's is asked for.
        picture.pict_type = PictureType.I if last else PictureType.NONE
        self.frame_count += 1
        self._take(picture)

    def _take(self, picture: av.VideoFrame | None) -> None:
        try:
            packets = self._context.encode(picture)
        except av.error.FFmpegError as error:
            raise DataError(
                f"{self.structure.settings.encoder} failed at frame {self.frame_count - 1}: {error}"
            ) from None
        for packet in packets:
            data = bytes(packet)
            if packet.pts is None:
                raise DataError(f"{self.structure.settings.encoder} made a packet without pts")
            self._units.append((packet.pts, data))
            self.byte_count += len(data)
