"""Encodes an episode's frames as LeRobot does, and joins episodes into one file without encoding."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import av

from lerobot_sample.scene import Image
from lerobot_sample.spec import SampleSpec
from videoformat.media.scheduling import scheduling_kept


def encode(path: Path, frames: Iterable[Image], spec: SampleSpec) -> None:
    """Writes frames as one MP4 file with the options of LeRobot 0.4.2 and later.

    One thread, so that the bytes depend on the options and not on the machine's cores.
    """
    options = {"g": str(spec.gop), "crf": str(spec.crf)}
    if spec.codec == "av1":
        # SVT-AV1 greets on standard error otherwise.
        os.environ.setdefault("SVT_LOG", "1")
        encoder = "libsvtav1"
        options |= {"preset": "12", "svtav1-params": "fast-decode=0:lp=1"}
    else:
        encoder = "libx264"
        options |= {"threads": "1"}
    with scheduling_kept(), av.open(path, "w", format="mp4") as output:
        stream = output.add_stream(encoder, rate=spec.fps, options=options)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = spec.width, spec.height, "yuv420p"
        for image in frames:
            output.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        output.mux(stream.encode(None))


def concatenate(path: Path, parts: Sequence[Path], frame_counts: Sequence[int], fps: int) -> None:
    """Joins the videos of episodes in order by stream copy; the index comes first in the file.

    A part starts exactly where the frame counts before it say, not at a sum of durations: FFmpeg
    reports durations that edit lists make a few ticks short. Decoding times count packets, behind
    by the largest delay of any part: an encoder delays less where an episode is very short.
    """
    delay = max(_delay(part) for part in parts)
    with av.open(path, "w", format="mp4", options={"movflags": "faststart"}) as output:
        target = None
        first_frame = 0
        for part, frame_count in zip(parts, frame_counts, strict=True):
            with av.open(part) as source:
                stream = source.streams.video[0]
                assert stream.time_base is not None
                ticks = round(1 / (fps * stream.time_base))
                if target is None:
                    target = output.add_stream_from_template(stream, opaque=True)
                    target.time_base = stream.time_base
                packets = [p for p in source.demux(stream) if p.pts is not None]
                for position, packet in enumerate(packets, first_frame):
                    assert packet.pts is not None
                    packet.pts += first_frame * ticks
                    packet.dts = position * ticks - delay
                    packet.stream = target
                    output.mux(packet)
            first_frame += frame_count


def _delay(path: Path) -> int:
    """How far decoding starts before presentation, in ticks of the file."""
    with av.open(path) as source:
        first = next(source.demux(source.streams.video[0]))
        assert first.dts is not None
        return -first.dts
