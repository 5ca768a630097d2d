"""Video files made in tests; every frame says which one it is."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

SIDE = 32
TICKS = 512  # of a frame, where times are regular
TIME_BASE = Fraction(1, 30 * TICKS)


def picture(number: int, side: int = SIDE, layout: str = "yuv420p") -> av.VideoFrame:
    """Frame ``number``: 16 blocks of 8x8 that are its bits, over a slope that moves.

    Converted by one thread: with several, swscale's 10-bit output is wrong here and there.
    """
    image = np.zeros((side, side, 3), np.uint8)
    image[:] = (np.arange(side)[:, None, None] + 5 * number) % 64
    for bit in range(16):
        row, column = divmod(bit, 4)
        image[8 * row : 8 * row + 8, 8 * column : 8 * column + 8] += 128 * (number >> bit & 1)
    return av.VideoFrame.from_ndarray(image, format="rgb24").reformat(format=layout, threads=1)


def number_of(frame: av.VideoFrame) -> int:
    """Which frame a decoded one is."""
    gray = frame.reformat(format="gray", threads=1).to_ndarray()
    blocks = gray[:32, :32].reshape(4, 8, 4, 8).mean((1, 3)).ravel()
    return sum(1 << bit for bit in range(16) if blocks[bit] > 96)


def write_video(
    path: Path,
    count: int = 24,
    *,
    codec: str = "libx264",
    params: str = "",
    pts: Sequence[int] | None = None,
    time_base: Fraction = TIME_BASE,
    container: str | None = None,
    first: int = 0,
    side: int = SIDE,
    layout: str = "yuv420p",
    options: dict[str, str] | None = None,
    **encoder_options: str,
) -> Path:
    """Writes frames ``first`` to ``first + count``, at ``pts`` or one every ``TICKS``."""
    with av.open(str(path), "w", format=container, options=options or {}) as file:
        stream: Any = file.add_stream(codec, rate=30, options=encoder_options)
        stream.width = stream.height = side
        stream.pix_fmt = layout
        stream.codec_context.time_base = time_base
        stream.codec_context.thread_count = 1
        if codec in ("libx264", "libx265"):
            quiet = "log-level=none" if codec == "libx265" else "log=-1"
            stream.options = {
                "crf": "12",
                f"{codec[3:]}-params": ":".join(filter(None, [quiet, params])),
                **encoder_options,
            }
        for at in range(count):
            frame = picture(first + at, side, layout)
            frame.pts = TICKS * at if pts is None else pts[at]
            frame.time_base = time_base
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return path


def with_edit(path: Path, start: int, ticks: int) -> Path:
    """Changes a file's edit list (ISO 14496-12, 8.6.6) to begin ``start`` ticks later.

    It ends ``ticks`` thousandths of a second, the movie's unit, after its beginning.
    """
    data = bytearray(path.read_bytes())
    at = data.index(b"elst") + 4
    version, entries = data[at], struct.unpack_from(">I", data, at + 4)[0]
    assert (version, entries) == (0, 1)
    media_time = struct.unpack_from(">i", data, at + 12)[0]
    struct.pack_into(">Ii", data, at + 8, ticks, media_time + start)
    path.write_bytes(data)
    return path
