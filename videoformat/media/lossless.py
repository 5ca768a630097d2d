"""Images as video that holds exactly their samples.

H.264 can code RGB without loss (High 4:4:4 Predictive, transform bypass: ITU-T H.264 7.4.2.1.1 and
8.5.15), and any decoder of that profile returns the very samples. Every picture is an IDR picture,
as every image stood alone; so it takes about the bytes of a PNG, and the time of one.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, cast

import av
import av.error
from av.video.frame import PictureType
from av.video.reformatter import ColorRange

from videoformat.errors import DataError, UnsupportedStreamError

if TYPE_CHECKING:
    from av.video.stream import VideoStream

__all__ = ["encode_lossless"]

_ENCODER = "libx264rgb"
# CAVLC: at so many bits a picture, CABAC would take several times as long to decode and save 8 %.
_OPTIONS = {"qp": "0", "g": "1", "bf": "0", "preset": "veryfast", "coder": "0"}
_SINGLE = ("gray", "monob", "monow", "pal8")


def encode_lossless(
    frames: Iterable[av.VideoFrame], path: Path, rate: Fraction, width: int, height: int
) -> None:
    """Writes images of one size as an MP4 file, one picture each; pts count in units of 1/rate.

    Raises ``UnsupportedStreamError`` for images that are not 8-bit RGB, grey or palettes without
    transparency, and where FFmpeg has no encoder; ``DataError`` for an image of another size.
    """
    try:
        with av.open(
            str(path), "w", format="mp4", options={"video_track_timescale": str(rate.numerator)}
        ) as container:
            stream = cast("VideoStream", container.add_stream(_ENCODER, rate=rate))
            stream.width, stream.height, stream.pix_fmt = width, height, "rgb24"
            stream.codec_context.options = dict(_OPTIONS)
            stream.codec_context.thread_count = 1
            for number, image in enumerate(frames):
                if (image.width, image.height) != (width, height):
                    raise DataError(
                        f"an image of {image.width}x{image.height}, the feature's shape is "
                        f"{width}x{height}"
                    )
                frame = _rgb(image)
                frame.pts, frame.time_base = number, 1 / rate
                frame.pict_type = PictureType.NONE
                container.mux(stream.encode(frame))
            container.mux(stream.encode(None))
    except (av.error.FFmpegError, av.codec.codec.UnknownCodecError) as error:
        raise UnsupportedStreamError(
            "images", f"{_ENCODER} does not take {width}x{height} as they are: {error}"
        ) from None


def _rgb(image: av.VideoFrame) -> av.VideoFrame:
    """The same samples as rgb24."""
    layout = image.format
    if any(component.is_alpha for component in layout.components):
        raise UnsupportedStreamError("alpha channel", f"pixel format {layout.name}")
    if any(component.bits > 8 for component in layout.components):
        raise UnsupportedStreamError("depth", f"pixel format {layout.name} holds more than 8 bits")
    if not layout.is_rgb and layout.name not in _SINGLE:
        raise UnsupportedStreamError(
            "images",
            f"images in {layout.name} (JPEG) would take several times their bytes without loss; "
            "they can be re-encoded",
        )
    if layout.name == "rgb24":
        return image
    full = ColorRange.JPEG
    return image.reformat(format="rgb24", src_color_range=full, dst_color_range=full, threads=1)
