"""Colour: which matrix and range pictures are in, and the way from RGB to them and back.

Frames that arrive as RGB are kept in BT.601 (``smpte170m``) at limited range. That is chosen on
purpose: it is what FFmpeg, torchcodec and most players assume of a stream that says nothing, so a
chunk that is exported and met by a tool that ignores tags still looks right. The stream is tagged
with it all the same. Pictures that come from existing video keep their own matrix and range, and
pixels never pass through RGB on the way in; what a source leaves unspecified is stored as the
assumption above.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Final

import av
import numpy as np
from av.video.reformatter import ColorRange, Colorspace, Interpolation, VideoReformatter

from videoformat.errors import DataError, UnsupportedStreamError

__all__ = [
    "RGB_COLOR",
    "Color",
    "coded_side",
    "color_of",
    "picture_of",
    "rgb_to_picture",
    "tag",
    "to_rgb",
]

# The names are FFmpeg's for the code points of ITU-T H.273.
MATRICES: Final = {
    "gbr": 0,
    "bt709": 1,
    "fcc": 4,
    "bt470bg": 5,
    "smpte170m": 6,
    "smpte240m": 7,
    "bt2020nc": 9,
}
RANGES: Final = {"limited": 1, "full": 2}
PRIMARIES: Final = {
    "bt709": 1,
    "unspecified": 2,
    "bt470m": 4,
    "bt470bg": 5,
    "smpte170m": 6,
    "smpte240m": 7,
    "film": 8,
    "bt2020": 9,
    "smpte428": 10,
    "smpte431": 11,
    "smpte432": 12,
    "ebu3213": 22,
}
TRANSFERS: Final = {
    "bt709": 1,
    "unspecified": 2,
    "gamma22": 4,
    "gamma28": 5,
    "smpte170m": 6,
    "smpte240m": 7,
    "linear": 8,
    "log": 9,
    "log_sqrt": 10,
    "iec61966-2-4": 11,
    "bt1361e": 12,
    "iec61966-2-1": 13,
    "bt2020-10": 14,
    "bt2020-12": 15,
    "smpte2084": 16,
    "smpte428": 17,
    "arib-std-b67": 18,
}
_UNSPECIFIED = 2


@dataclass(frozen=True, slots=True)
class Color:
    """The colour of a stream's pictures, by the names of H.273's code points.

    Raises ``UnsupportedStreamError`` for a matrix or a range that conversions do not know.
    """

    matrix: str
    range: str
    primaries: str
    transfer: str

    def __post_init__(self) -> None:
        for what, name, known in (
            ("matrix", self.matrix, MATRICES),
            ("range", self.range, RANGES),
        ):
            if name not in known:
                raise UnsupportedStreamError(
                    f"colour {what}", f"{name!r}, expected one of {', '.join(known)}"
                )


RGB_COLOR = Color("smpte170m", "limited", "smpte170m", "smpte170m")


def _name(names: dict[str, int], code: int, what: str, unspecified: str) -> str:
    if code == _UNSPECIFIED or (code == 0 and names is not MATRICES):
        return unspecified
    for name, value in names.items():
        if value == code:
            return name
    raise UnsupportedStreamError(f"colour {what}", f"code point {code} of ITU-T H.273")


def color_of(frame: av.VideoFrame) -> Color:
    """The colour that a decoded frame is tagged with, or is taken to have where it is not."""
    full = frame.format.name.startswith("yuvj") or frame.color_range == int(ColorRange.JPEG)
    return Color(
        _name(MATRICES, int(frame.colorspace), "matrix", "smpte170m"),
        "full" if full else "limited",
        _name(PRIMARIES, int(frame.color_primaries), "primaries", "unspecified"),
        _name(TRANSFERS, int(frame.color_trc), "transfer", "unspecified"),
    )


def tag(target: Any, color: Color) -> None:
    """Tags a frame or an encoder with a colour."""
    target.colorspace = MATRICES[color.matrix]
    target.color_range = RANGES[color.range]
    target.color_primaries = PRIMARIES[color.primaries]
    target.color_trc = TRANSFERS[color.transfer]


# Accurate on the way in, which is done once; FFmpeg's defaults on the way back, which LeRobot and
# PyAV users get too.
_INWARD = Interpolation.AREA | Interpolation.ACCURATE_RND
_DEEP_GRAY = ("gray9", "gray10", "gray12", "gray14", "gray16", "grayf")
PIXEL_FORMAT: Final = "yuv420p"
# x265 takes no smaller pictures; to H.264 they cost nothing, whose macroblocks are of this size.
MINIMUM_SIDE: Final = 16


def coded_side(side: int) -> int:
    """How long a frame's side is where it is encoded: even, since 4:2:0 is, and not too small."""
    return max(MINIMUM_SIDE, side + (side & 1))


def rgb_to_picture(rgb: np.ndarray[Any, np.dtype[np.uint8]]) -> av.VideoFrame:
    """A frame, uint8 [H, W, 3], as a yuv420p picture in ``RGB_COLOR``.

    Its last row and column are repeated up to ``coded_side``.
    """
    height, width = rgb.shape[:2]
    rows, columns = coded_side(height) - height, coded_side(width) - width
    if rows or columns:
        rgb = np.pad(rgb, ((0, rows), (0, columns), (0, 0)), mode="edge")
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(rgb), format="rgb24")
    return _rgb_frame_to_picture(frame)


def _rgb_frame_to_picture(frame: av.VideoFrame) -> av.VideoFrame:
    picture = frame.reformat(
        format=PIXEL_FORMAT,
        src_color_range=ColorRange.JPEG,
        dst_colorspace=Colorspace.ITU601,
        dst_color_range=ColorRange.MPEG,
        interpolation=_INWARD,
        threads=1,
    )
    tag(picture, RGB_COLOR)
    return picture


def picture_of(frame: av.VideoFrame) -> tuple[av.VideoFrame, Color]:
    """A decoded frame as a yuv420p picture with sides of ``coded_side``, and its colour.

    A yuv420p frame keeps every sample. Other layouts are converted once, in their own matrix and
    range; RGB goes to ``RGB_COLOR``. Raises ``UnsupportedStreamError`` for what 8-bit 4:2:0 cannot
    hold faithfully: single components of more than 8 bits (depth), and transparency.
    """
    layout = frame.format
    if layout.name.startswith(_DEEP_GRAY):
        raise UnsupportedStreamError(
            "depth", f"pixel format {layout.name} holds more than the 8 bits that are encoded"
        )
    if any(component.is_alpha for component in layout.components):
        raise UnsupportedStreamError("alpha channel", f"pixel format {layout.name}")
    if layout.is_rgb or layout.name.startswith("pal"):
        return _padded(_rgb_frame_to_picture(frame)), RGB_COLOR
    color = color_of(frame)
    if color.matrix == "gbr":
        raise UnsupportedStreamError("colour matrix", f"gbr in pixel format {layout.name}")
    if layout.name.startswith("gray"):
        color = Color("smpte170m", "full", color.primaries, color.transfer)
    if layout.name in (PIXEL_FORMAT, "yuvj420p"):
        picture = frame
    else:
        code = RANGES[color.range]
        picture = frame.reformat(
            format=PIXEL_FORMAT, src_color_range=code, dst_color_range=code,
            interpolation=_INWARD, threads=1,
        )  # fmt: skip
    picture = _padded(picture)
    tag(picture, color)
    return picture, color


def _padded(frame: av.VideoFrame) -> av.VideoFrame:
    """The same samples in a yuv420p frame with sides of ``coded_side``; edges are repeated."""
    width, height = coded_side(frame.width), coded_side(frame.height)
    if frame.format.name == PIXEL_FORMAT and (frame.width, frame.height) == (width, height):
        return frame
    padded = av.VideoFrame(width, height, PIXEL_FORMAT)
    for source, target in zip(frame.planes, padded.planes, strict=True):
        samples = _samples(source)
        rows, columns = target.height - source.height, target.width - source.width
        if rows or columns:
            samples = np.pad(samples, ((0, rows), (0, columns)), mode="edge")
        _samples(target)[:] = samples
    padded.pts = frame.pts
    if frame.time_base is not None:
        padded.time_base = frame.time_base
    return padded


def _samples(plane: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """A view of an 8-bit plane's samples, [height, width], without the padding of its lines."""
    lines = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
    return lines[: plane.height, : plane.width]


def luma(frame: av.VideoFrame) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """A view of an 8-bit frame's first plane, [height, width]."""
    return _samples(frame.planes[0])


_REUSED_BYTES = 8 * 2**20


class RgbConverter:
    """Turns decoded pictures into RGB by FFmpeg's default conversion. One thread at a time.

    swscale's tables are set up once for pictures of one layout, not for every picture.
    """

    def __init__(self) -> None:
        # The C library gives memory back to the system, and takes it again page by page, beyond
        # twice the largest block that it has seen freed; pages cost more than the conversion that
        # fills them. A block that is never touched costs nothing and lets frames be reused.
        np.empty(_REUSED_BYTES, np.uint8)
        self._reformatter = VideoReformatter()
        self._scaler = VideoReformatter()
        self._kept: av.VideoFrame | None = None

    def convert(
        self,
        frame: av.VideoFrame,
        color: Color,
        height: int,
        width: int,
        size: tuple[int, int] | None = None,
    ) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """A decoded picture as uint8 [height, width, 3], in memory of its own.

        That is a view of FFmpeg's frame, whose lines may be padded; it keeps the frame alive.

        ``size`` is (height, width) to scale to: in one pass from the coded samples, averaging over
        areas where it gets smaller, bilinear where it grows.

        ``color`` decides, whatever the decoder made of the stream's own tags; the frame is the top
        left part of the picture. Raises ``DataError`` for a matrix or range that is not known.
        """
        try:
            frame.colorspace = MATRICES[color.matrix]
            frame.color_range = RANGES[color.range]
        except KeyError as error:
            raise DataError(f"the stream's colour is {error}, which is not known") from None
        # More threads cost more than they bring at the sizes of robots' cameras.
        if size is None or size == (height, width):
            return self._view(self._plain(frame), height, width)
        if (frame.height, frame.width) != (height, width):
            # The picture is padded: what is scaled is the frame.
            full = np.ascontiguousarray(self._view(self._plain(frame), height, width))
            frame = av.VideoFrame.from_ndarray(full, format="rgb24")
        grows = size[0] * size[1] > height * width
        # Scaled into planes, swscale rounds to the nearest value; into packed RGB it cuts off, which
        # makes frames darker by a level and a half, and takes half as long again.
        scaled = self._scaler.reformat(
            frame,
            width=size[1],
            height=size[0],
            format="gbrp",
            interpolation=Interpolation.BILINEAR if grows else Interpolation.AREA,
            threads=1,
        )
        green, blue, red = map(_samples, scaled.planes)
        rgb = np.empty((*size, 3), np.uint8)
        for channel, samples in enumerate((red, green, blue)):
            rgb[..., channel] = samples
        return rgb

    def _plain(self, frame: av.VideoFrame) -> av.VideoFrame:
        return self._reformatter.reformat(frame, format="rgb24", threads=1)

    def _view(
        self, frame: av.VideoFrame, height: int, width: int
    ) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The top left part of an RGB frame's samples, without a copy.

        The frame is kept until the next one: freed together with a copy of the caller's, its memory
        would go back to the system and come again page by page, which takes longer than the
        conversion.
        """
        self._kept = frame
        plane = frame.planes[0]
        return np.ndarray(
            (height, width, 3), np.uint8, buffer=memoryview(plane), strides=(plane.line_size, 3, 1)
        )


_CONVERTERS = threading.local()


def to_rgb(
    frame: av.VideoFrame,
    color: Color,
    height: int,
    width: int,
    size: tuple[int, int] | None = None,
) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """``RgbConverter.convert`` with a converter of the calling thread's own."""
    converter: RgbConverter | None = getattr(_CONVERTERS, "converter", None)
    if converter is None:
        converter = _CONVERTERS.converter = RgbConverter()
    return converter.convert(frame, color, height, width, size)
