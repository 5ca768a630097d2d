"""Encoded images as frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

import av
import av.error

from videoformat.errors import DataError, UnsupportedStreamError

if TYPE_CHECKING:
    from av.video.codeccontext import VideoCodecContext

__all__ = ["DecodedImage", "decode_image"]

DecodedImage: TypeAlias = av.VideoFrame

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "mjpeg"),
    (b"II*\0", "tiff"),
    (b"MM\0*", "tiff"),
    (b"RIFF", "webp"),
    (b"BM", "bmp"),
)


def decode_image(data: bytes, where: str) -> av.VideoFrame:
    """Decodes one PNG, JPEG, TIFF, WebP or BMP image; ``where`` names it in errors.

    Raises ``UnsupportedStreamError`` for another format, ``DataError`` where it is damaged.
    """
    codec = next((name for signature, name in _SIGNATURES if data.startswith(signature)), None)
    if codec is None:
        raise UnsupportedStreamError(
            "image format", f"{where}: {len(data)} bytes that begin with {data[:8].hex()}"
        )
    context = cast("VideoCodecContext", av.CodecContext.create(codec, "r"))
    context.thread_count = 1
    try:
        frames = [*context.decode(av.Packet(data)), *context.decode(None)]
    except av.error.FFmpegError as error:
        raise DataError(f"{where}: the {codec} image cannot be decoded: {error.strerror}") from None
    if len(frames) != 1:
        raise DataError(f"{where}: the {codec} image holds {len(frames)} frames, expected 1")
    return frames[0]
