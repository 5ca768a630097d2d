"""Encoder settings that differ in what a picture may reference, or in how it is stored.

Each has a name for tables and tests. x264, x265 and SVT-AV1 are those of PyAV's wheels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

__all__ = ["SETTINGS", "Setting"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to make a video file.

    ``options`` are FFmpeg's, ``parameters`` the encoder's own. ``timing`` is ``constant``,
    ``variable`` (milliseconds between frames vary) or ``late`` (the first pts is not 0). ``trim``
    frames at the beginning are cut away by an edit list, as a cut without re-encoding does.
    """

    encoder: str
    suffix: str = ".mp4"
    pixel_format: str = "yuv420p"
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    parameters: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    timing: str = "constant"
    trim: int = 0


def _x264(
    preset: str = "medium",
    suffix: str = ".mp4",
    pixel_format: str = "yuv420p",
    **parameters: object,
) -> Setting:
    options = {"preset": preset, "crf": "26"}
    return Setting("libx264", suffix, pixel_format, options, _spelled(parameters))


def _x265(
    preset: str = "medium",
    suffix: str = ".mp4",
    pixel_format: str = "yuv420p",
    **parameters: object,
) -> Setting:
    options = {"preset": preset, "crf": "28"}
    return Setting("libx265", suffix, pixel_format, options, _spelled(parameters))


def _svt(suffix: str = ".mp4", gop: int | None = None, **parameters: object) -> Setting:
    options = {"preset": "10", "crf": "35", **({} if gop is None else {"g": str(gop)})}
    return Setting("libsvtav1", suffix, "yuv420p", options, _spelled(parameters))


def _spelled(parameters: Mapping[str, object]) -> dict[str, str]:
    return {name.replace("_", "-"): str(value) for name, value in parameters.items()}


SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {
        # H.264: presets
        "x264 ultrafast": _x264("ultrafast"),
        "x264 superfast": _x264("superfast", ".mov"),
        "x264 veryfast": _x264("veryfast", ".mkv"),
        "x264 medium": _x264(),
        "x264 slow": _x264("slow", ".ts"),
        "x264 veryslow": _x264("veryslow", ".h264"),
        # H.264: pyramids and reference counts
        "x264 pyramid none": _x264(b_pyramid="none", bframes=4),
        "x264 pyramid strict": _x264(b_pyramid="strict", bframes=5, b_adapt=1),
        "x264 pyramid normal": _x264(b_pyramid="normal", bframes=7, b_adapt=0),
        "x264 16 B": _x264("fast", bframes=16, b_adapt=0, ref=4),
        "x264 no B": _x264(bframes=0, ref=3, scenecut=0),
        "x264 ref 1": _x264(ref=1),
        "x264 ref 2": _x264(ref=2, weightp=1),
        "x264 ref 8": _x264("slow", ref=8),
        "x264 ref 1 pyramid": _x264(ref=1, b_pyramid="normal", direct="temporal"),
        # H.264: weights and direct modes
        "x264 weightp 0": _x264(weightp=0, weightb=0),
        "x264 weightp 1": _x264(weightp=1, bframes=8),
        "x264 weightp 2": _x264("slow", weightp=2, ref=8, b_pyramid="strict"),
        "x264 direct spatial": _x264(direct="spatial", bframes=5),
        "x264 direct temporal": _x264("slow", direct="temporal", b_pyramid="strict"),
        "x264 direct auto": _x264("slower", direct="auto"),
        # H.264: slices and entropy coding
        "x264 4 slices": _x264(slices=4),
        "x264 slices temporal strict": _x264(
            "fast", slices=4, direct="temporal", b_pyramid="strict", bframes=5
        ),
        "x264 CAVLC": _x264(suffix=".mkv", cabac=0),
        "x264 CAVLC slices strict": _x264(cabac=0, slices=3, b_pyramid="strict", bframes=5),
        # H.264: sample formats
        "x264 10 bit": _x264("medium", ".mp4", "yuv420p10le", b_pyramid="strict"),
        "x264 4:2:2": _x264("fast", ".mkv", "yuv422p"),
        "x264 4:2:2 10 bit": _x264("fast", ".mp4", "yuv422p10le", ref=1),
        "x264 4:4:4": _x264("fast", ".mp4", "yuv444p", b_pyramid="strict"),
        "x264 4:4:4 CAVLC": _x264("fast", ".mov", "yuv444p", cabac=0, ref=1),
        "x264 lossless": _x264("fast", ".mp4", "yuv444p", qp=0),
        # H.264: where decoding can begin
        "x264 open GOP": _x264(open_gop=1, keyint=16, min_keyint=8, bframes=4),
        "x264 open GOP temporal": _x264(
            "slow", ".ts", open_gop=1, keyint=16, min_keyint=8, bframes=5, direct="temporal"
        ),
        "x264 open GOP pyramid": _x264(
            open_gop=1, keyint=16, min_keyint=16, scenecut=0, bframes=9, b_adapt=0, ref=4
        ),
        "x264 intra refresh": _x264(intra_refresh=1, keyint=16),
        "x264 non-IDR I": _x264(keyint=300, min_keyint=150),
        "x264 g=2": _x264(keyint=2, min_keyint=2),
        "x264 long GOP": _x264("fast", keyint="infinite", scenecut=0),
        "x264 repeated sets": _x264("fast", ".h264", keyint=15, aud=1),
        # H.264: interlaced coding tools in frames
        "x264 tff": _x264(tff=1),
        "x264 tff strict": _x264("slow", tff=1, b_pyramid="strict", bframes=5),
        "x264 bff CAVLC temporal": _x264("slow", ".mkv", bff=1, cabac=0, direct="temporal"),
        "x264 fake interlaced": _x264(fake_interlaced=1),
        # H.264: time
        "x264 variable rate": Setting(
            "libx264", ".mkv", options={"preset": "fast", "crf": "26"}, timing="variable"
        ),
        "x264 late start": Setting(
            "libx264", ".mov", options={"preset": "fast", "crf": "26"}, timing="late"
        ),
        "x264 trimmed": Setting(
            "libx264", options={"preset": "medium", "crf": "26", "g": "20"}, trim=7
        ),
        # HEVC
        "x265 ultrafast": _x265("ultrafast"),
        "x265 medium": _x265(),
        "x265 slow": _x265("slow", ".mkv"),
        "x265 closed GOP": _x265("fast", ".hevc", open_gop=0, keyint=16, min_keyint=8),
        "x265 open GOP": _x265("fast", ".mp4", keyint=16, min_keyint=8, bframes=6),
        "x265 open GOP raw": _x265("fast", ".hevc", keyint=16, min_keyint=8, repeat_headers=1),
        "x265 RADL": _x265(
            "fast", open_gop=0, keyint=16, min_keyint=16, scenecut=0, bframes=6, b_adapt=0, radl=3
        ),
        "x265 temporal layers": _x265("fast", temporal_layers=3, bframes=7, keyint=24),
        "x265 ref 1": _x265("slow", ref=1, weightb=1),
        "x265 ref 6 no pyramid": _x265("fast", ".ts", ref=6, b_pyramid=0),
        "x265 10 bit": _x265("fast", ".mkv", "yuv420p10le"),
        "x265 12 bit 4:4:4": _x265("fast", ".mp4", "yuv444p12le", ref=1),
        "x265 4:2:2": _x265("fast", ".mov", "yuv422p10le"),
        "x265 slices": _x265("ultrafast", slices=3, ctu=16),
        "x265 no B": _x265("fast", bframes=0),
        "x265 intra refresh": _x265("fast", intra_refresh=1, keyint=16, bframes=0),
        "x265 trimmed": Setting(
            "libx265", options={"preset": "fast", "crf": "28", "g": "20"}, trim=5
        ),
        "x265 fields": _x265("fast", ".hevc", interlace="tff", bframes=3),
        # AV1
        "svt-av1 g=2": _svt(gop=2),
        "svt-av1 g=30": _svt(".mkv", gop=30),
        "svt-av1 default": _svt(),
        "svt-av1 low delay": _svt(".ivf", gop=40, pred_struct=1),
        "svt-av1 open GOP": _svt(".obu", gop=17, irefresh_type=1),
        "svt-av1 film grain": _svt(gop=30, film_grain=20),
        "svt-av1 10 bit": Setting(
            "libsvtav1", ".webm", "yuv420p10le", {"preset": "10", "crf": "35", "g": "30"}
        ),
    }
)
