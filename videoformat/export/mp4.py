"""MP4 files from planned samples: their times, which may start at any of them, their bytes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

from videoformat.bitstream.nal import split_annexb, to_annexb
from videoformat.errors import DataError
from videoformat.export.samples import CameraEpisode, Sample, read_units
from videoformat.media.mux import Mp4Muxer
from videoformat.sources import AllowedSources
from videoformat.table import Table

__all__ = ["exact_times", "write_by_count", "write_exact"]

# FFmpeg gives 30 frames a second 15360 units, 512 each; finer than that helps nobody.
_LEAST_UNITS = 10000


def count_clock(rate: Fraction) -> tuple[Fraction, int]:
    """The time base of a constant rate, one over an integer, and the units that a frame takes."""
    scale = 2 ** max(0, math.ceil(math.log2(_LEAST_UNITS / rate.numerator)))
    return Fraction(1, rate.numerator * scale), rate.denominator * scale


def write_by_count(
    path: Path,
    table: Table,
    videos: Sequence[CameraEpisode],
    rate: Fraction,
    allowed: AllowedSources,
) -> None:
    """One file of episodes one after the other, its frame n at exactly n / rate seconds."""
    time_base, step = count_clock(rate)
    delay = max(video.delay for video in videos)
    counts = [len(video.samples) for video in videos]
    firsts = [sum(counts[:at]) for at in range(len(counts))]
    units = (
        (first + sample.frame, sample, unit)
        for first, video in zip(firsts, videos, strict=True)
        for sample, unit in _led_units(table, video, allowed)
    )
    timed = (
        (unit, rank * step, (at - delay) * step, step, sample.is_sync)
        for at, (rank, sample, unit) in enumerate(units)
    )
    _write(path, videos[0], timed, time_base)


def exact_times(video: CameraEpisode) -> list[int] | None:
    """The frames' own times, from 0; None where they are unknown or do not ascend."""
    times = {sample.frame: sample.pts for sample in video.samples}
    ordered = [times[frame] for frame in sorted(times)]
    known = [time for time in ordered if time is not None]
    if len(known) != len(ordered) or any(b <= a for a, b in itertools.pairwise(known)):
        return None
    return [time - known[0] for time in known]


def write_exact(
    path: Path, table: Table, video: CameraEpisode, rate: Fraction, allowed: AllowedSources
) -> bool:
    """One file of one episode with its own times; whether it has them (by count otherwise)."""
    times = exact_times(video)
    if times is None:
        write_by_count(path, table, [video], rate, allowed)
        return False
    stream = video.stream
    unit_count = stream.time_base_numerator
    time_base = Fraction(1, stream.time_base_denominator)
    ordered = [time * unit_count for time in times]
    # A picture is decoded no later than it is presented, in the same order as all are decoded.
    late = max(ordered[at] - ordered[item.frame] for at, item in enumerate(video.samples))
    last = ordered[-1] - ordered[-2] if len(ordered) > 1 else round(1 / rate / time_base)
    ends = [*ordered[1:], ordered[-1] + max(1, last)]
    timed = (
        (
            unit,
            ordered[sample.frame],
            ordered[at] - late,
            ends[sample.frame] - ordered[sample.frame],
            sample.is_sync,
        )
        for at, (sample, unit) in enumerate(_led_units(table, video, allowed))
    )
    _write(path, video, timed, time_base)
    return True


def _led_units(
    table: Table, video: CameraEpisode, allowed: AllowedSources
) -> Iterator[tuple[Sample, bytes]]:
    """The units; the first is led by the SEI that decoders must see in band (bitstream.md, 4)."""
    lead = b""
    if video.stream.codec == "h264":
        sei = [nal for nal in split_annexb(video.stream.configuration) if nal[0] & 31 == 6]
        lead = to_annexb(sei)
    for sample, unit in read_units(table, video, allowed):
        yield sample, unit if not lead or lead in unit else lead + unit
        lead = b""


def _write(
    path: Path,
    video: CameraEpisode,
    timed: Iterator[tuple[bytes, int, int, int, bool]],
    time_base: Fraction,
) -> None:
    stream = video.stream
    configuration = video.configuration
    muxer: Mp4Muxer | None = None
    try:
        for unit, pts, dts, duration, is_sync in timed:
            if muxer is None:
                if not is_sync:
                    raise DataError(f"{video.where}: its first picture is no place to start at")
                muxer = Mp4Muxer(path, stream.codec, configuration, unit, time_base)
            muxer.add(unit, pts=pts, dts=dts, duration=duration, is_sync=is_sync)
    finally:
        if muxer is not None:
            muxer.close()
