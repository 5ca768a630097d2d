"""Where fuzzing starts from: real streams of a few small pictures."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import av
from coded_video.encode import write_video
from coded_video.settings import SETTINGS

from fuzz.pack import pack
from videoformat.bitstream.codecs import byte_stream, stored_configuration
from videoformat.bitstream.nal import split_annexb, to_annexb

__all__ = ["seeds"]

_PICTURES = 12
# So much of each NAL unit: headers come first, and samples are not read.
_HEAD = 120
_STREAMS = {
    "h264": (
        "x264 CAVLC slices strict",
        "x264 open GOP pyramid",
        "x264 weightp 2",
        "x264 tff strict",
        "x264 10 bit",
        "x264 repeated sets",
    ),
    "hevc": (
        "x265 temporal layers",
        "x265 open GOP raw",
        "x265 slices",
        "x265 ref 1",
        "x265 fields",
    ),
    "av1": ("svt-av1 default", "svt-av1 g=2", "svt-av1 open GOP", "svt-av1 film grain"),
}


@cache
def seeds(target: str) -> tuple[bytes, ...]:
    """Inputs that the target understands."""
    if target == "nal":
        records = tuple(_file(name)[0] for name in (*_STREAMS["h264"], *_STREAMS["hevc"]))
        return (*records, *(unit for _, units in map(_file, _STREAMS["h264"]) for unit in units))
    if target == "obu":
        files = [_file(name) for name in _STREAMS["av1"]]
        return tuple(part for extradata, units in files for part in (extradata, *units))
    found = []
    for name in _STREAMS[target]:
        extradata, units = _file(name)
        configuration, framing = stored_configuration(target, extradata)
        if target == "av1":
            found.append(pack([b"\0", configuration, *units]))
        else:
            convert = byte_stream(framing)
            short = [_shortened(target, convert(unit)) for unit in units]
            found.append(pack([b"\0", configuration, *short]))
    return tuple(found)


def _shortened(codec: str, unit: bytes) -> bytes:
    """An access unit in byte stream format, slices cut short, without the encoder's long story."""
    kept = []
    for nal in split_annexb(unit):
        is_slice = nal[0] & 31 in (1, 5) if codec == "h264" else nal[0] >> 1 < 32
        if is_slice or len(nal) <= _HEAD:
            kept.append(nal[:_HEAD].rstrip(b"\0"))
    return to_annexb(kept)


@cache
def _file(name: str) -> tuple[bytes, tuple[bytes, ...]]:
    """A stream's codec configuration and its access units, both as the container has them."""
    setting = SETTINGS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{setting.suffix}"
        write_video(path, setting, _PICTURES, (64, 64))
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            units = [bytes(packet) for packet in container.demux(stream) if packet.size]
            context = stream.codec_context
            extradata = bytes(context.extradata or b"") if context is not None else b""
    return extradata, tuple(units)
