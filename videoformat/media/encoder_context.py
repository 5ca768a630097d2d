"""Opening stock encoders of video."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import av
import av.error
from av.codec.context import Flags

from videoformat.errors import InvalidArgumentError
from videoformat.media.color import PIXEL_FORMAT, Color, tag
from videoformat.media.scheduling import scheduling_kept

if TYPE_CHECKING:
    from av.video.codeccontext import VideoCodecContext

__all__ = ["open_encoder"]


def open_encoder(
    encoder: str,
    size: tuple[int, int],
    color: Color,
    rate: Fraction,
    options: Mapping[str, str],
    *,
    threads: int = 1,
    gop_size: int | None = None,
    headers_apart: bool = True,
) -> VideoCodecContext:
    """An open encoder of yuv420p pictures of a size (width, height), whose time base is 1/rate.

    ``threads`` are its own; ``headers_apart``: parameter sets go into its extradata. Raises
    ``InvalidArgumentError`` where the encoder does not take the size or the options.
    """
    # Only names of video codecs come here; the stubs cannot know.
    context = cast("VideoCodecContext", av.CodecContext.create(encoder, "w"))
    context.width, context.height = size
    context.pix_fmt = PIXEL_FORMAT
    context.time_base = 1 / rate
    context.framerate = rate
    if gop_size is not None:
        context.gop_size = gop_size
    context.thread_count = threads
    if headers_apart:
        context.flags |= int(Flags.global_header)
    tag(context, color)
    context.options = dict(options)
    try:
        with scheduling_kept():
            context.open()
    except av.error.FFmpegError as error:
        raise InvalidArgumentError(
            f"{encoder} does not take {size[0]}x{size[1]} with {dict(options)}: {error}"
        ) from None
    return context
