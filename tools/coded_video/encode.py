"""Making the files."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, cast

import av

from coded_video.scene import SMALL, pictures
from coded_video.settings import Setting
from videoformat.media.scheduling import scheduling_kept

if TYPE_CHECKING:
    from av.container import OutputContainer
    from av.video.stream import VideoStream

__all__ = ["write_video"]

_MILLISECONDS = Fraction(1, 1000)
_RATE = Fraction(30)
# A cycle of frame durations, in milliseconds, for a rate that varies.
_DURATIONS = (33, 34, 5, 61, 33, 120, 40)
_LATE = 2500
# Where the encoder's own parameters go.
_PARAMETERS = {"libx264": "x264-params", "libx265": "x265-params", "libsvtav1": "svtav1-params"}
# What the encoders would say on standard error, and threads that would make output vary.
_QUIET = {
    "libx264": {},
    "libx265": {"log-level": "none", "pools": "1", "frame-threads": "1"},
    "libsvtav1": {"lp": "1"},
}


def write_video(path: Path, setting: Setting, count: int, size: tuple[int, int] = SMALL) -> None:
    """Encodes ``count`` pictures of the scene into a file of the setting's container."""
    with scheduling_kept(), av.open(str(path), "w") as container:
        stream = _stream(container, setting, size)
        for number, picture in enumerate(pictures(count, setting.pixel_format, size)):
            frame = picture.reformat()  # the encoder writes into what it is given
            frame.pts, frame.time_base = _time(number, setting.timing)
            container.mux(_shifted(stream.encode(frame), setting.trim))
        container.mux(_shifted(stream.encode(None), setting.trim))


def _stream(container: OutputContainer, setting: Setting, size: tuple[int, int]) -> VideoStream:
    stream = cast("VideoStream", container.add_stream(setting.encoder, rate=_RATE))
    stream.width, stream.height = size
    stream.pix_fmt = setting.pixel_format
    stream.codec_context.time_base = 1 / _RATE if setting.timing == "constant" else _MILLISECONDS
    parameters = {**_QUIET[setting.encoder], **setting.parameters}
    joined = ":".join(f"{name}={value}" for name, value in parameters.items())
    options: dict[str, object] = dict(setting.options)
    if joined:
        options[_PARAMETERS[setting.encoder]] = joined
    stream.options = options
    stream.thread_count = 1
    return stream


def _time(number: int, timing: str) -> tuple[int, Fraction]:
    if timing == "constant":
        return number, 1 / _RATE
    cycles, rest = divmod(number, len(_DURATIONS))
    if timing == "variable":
        return cycles * sum(_DURATIONS) + sum(_DURATIONS[:rest]), _MILLISECONDS
    return _LATE + 33 * number, _MILLISECONDS


def _shifted(packets: list[av.Packet[VideoStream]], trim: int) -> list[av.Packet[VideoStream]]:
    """Packets so much earlier: the MP4 muxer cuts what comes before 0 away by an edit list."""
    for packet in packets:
        if trim and packet.pts is not None and packet.dts is not None:
            shift = int(trim / _RATE / packet.time_base)
            packet.pts -= shift
            packet.dts -= shift
    return packets
