"""Stars: one anchor an interval, and every other frame predicted from it alone.

A closure has at most two pictures, one of them intra. Stock encoders make it of groups: they are fed
an anchor and one or two frames, the anchor again and the next frames, … with a key frame at the start
of each group, code the same anchor the same way every time, and one copy of it is kept (see
``bitstream.av1_star`` and ``bitstream.h264_star``). That holds only where nothing in an encoder looks
beyond a group: no filtering over time, no look-ahead, no quantiser that follows what came before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from videoformat.errors import InvalidArgumentError
from videoformat.media.gop import check_interval

__all__ = ["STARS", "STAR_NAMES", "Star", "StarSettings", "Tuning"]

StarCodec = Literal["av1", "h264"]
StarPreset = Literal["default", "faster", "smaller"]
MINIMUM_INTERVAL, MAXIMUM_INTERVAL = 2, 64
# What a caller may say in place of a star.
STAR_NAMES: MappingProxyType[str, StarCodec] = MappingProxyType(
    {"star": "av1", "star-h264": "h264"}
)
MINIMUM_CRF = 1


@dataclass(frozen=True, slots=True)
class Tuning:
    """How an encoder is told to code the intervals of one kind.

    ``preset`` is the encoder's own. ``anchor_offset``: how much finer anchors are than the rest, in steps
    of the codec's quantiser (AV1: 256 of them, H.264: 52). ``parameters``: the encoder's own, beside
    those of the codec.
    """

    preset: str
    anchor_offset: int
    parameters: tuple[tuple[str, str], ...] = ()


Tunings: TypeAlias = tuple[Tuning, Tuning]


@dataclass(frozen=True, slots=True)
class StarSettings:
    """Encoder settings of one codec: how a star is made, not what it is.

    ``presets``: by our name, for intervals whose frames take little from their anchor, and for those that
    take much. ``maximum_crf`` is its scale's end. ``leaves`` is how many frames are coded from each copy
    of an anchor. ``anchor_cost``: see ``intervals.IntervalPlanner``.
    """

    encoder: str
    crf: int
    maximum_crf: int
    presets: MappingProxyType[str, Tunings]
    framing: str
    leaves: int
    anchor_cost: tuple[float, float]


_SVT_AV1 = {
    # An anchor is coded the same way every time only without what looks beyond the group.
    "enable-tf": "0",
    "scd": "0",
    "aq-mode": "0",
    "enable-tpl-la": "0",
    "lp": "1",
    "use-fixed-qindex-offsets": "1",
    # Low delay: of two frames after a key frame, both are predicted from it alone. The slower presets do
    # that only with as many levels.
    "pred-struct": "1",
    "hierarchical-levels": "5",
    # The deblocking filter takes a tenth of the decoding time and saves no bytes at these qualities.
    "enable-dlf": "0",
}
_X264 = {
    "keyint": "2",
    "min-keyint": "1",
    "scenecut": "0",
    "bframes": "0",
    "ref": "1",
    "rc-lookahead": "0",
    "mbtree": "0",
    "aq-mode": "0",
    # Any psychovisual weight, here as good as none, keeps x264 from I_PCM macroblocks. Their samples
    # are aligned to bytes, and CAVLC slice data is not where it was behind a header of another length.
    "psy-rd": "0.01,0",
    "weightp": "0",
    "sliced-threads": "0",
    "cabac": "0",
    "no-deblock": "1",
    "chroma-qp-offset": "-1",  # x264 takes one more away where the weight is not 0
}


def _svt_av1(preset: int, offset: int, anchors: int, leaves: int, **parameters: str) -> Tuning:
    """``anchors`` and ``leaves``: what a bit has to save there, of 128 (SVT-AV1's own measure)."""
    factors = ",".join(map(str, (anchors, *[leaves] * 6)))
    factors_of = ("lambda-scale-factors", f"[{factors}]")
    return Tuning(str(preset), offset, (factors_of, *parameters.items()))


def _x264(preset: str) -> Tunings:
    return Tuning(preset, -1), Tuning(preset, -4)


# Measured by tools/bench/star_settings.py. Of SVT-AV1's presets that are fast, those for real time make the
# smallest chunks; of the slow ones, the third is by far smaller than the fourth and the fifth. Its loop
# restoration would take a third of the decoding time and save next to nothing. Tools for screen content
# save a tenth of rendered scenes where they are looked for (2), and slow the encoder down by as much.
_REAL_TIME = {"rtc": "1", "scm": "0"}
_LOOKING = {"rtc": "1", "scm": "2"}
_SLOW = {"scm": "0", "enable-restoration": "0"}
STARS: MappingProxyType[str, StarSettings] = MappingProxyType(
    {
        "av1": StarSettings(
            "libsvtav1", 33, 63,
            MappingProxyType(
                {
                    "default": (
                        _svt_av1(7, -44, 128, 64, **_REAL_TIME),
                        _svt_av1(8, -60, 128, 128, **_LOOKING),
                    ),
                    "faster": (
                        _svt_av1(8, -44, 128, 100, **_REAL_TIME),
                        _svt_av1(8, -60, 128, 128, **_REAL_TIME),
                    ),
                    "smaller": (
                        _svt_av1(3, -32, 90, 64, **_SLOW),
                        _svt_av1(3, -36, 128, 140, **_SLOW),
                    ),
                }
            ),
            "obu", 2, (0.85, 1.0),
        ),
        "h264": StarSettings(
            "libx264", 26, 51,
            MappingProxyType(
                {
                    "default": _x264("medium"),
                    "faster": _x264("veryfast"),
                    "smaller": _x264("slower"),
                }
            ),
            "annexb", 1, (1.0, 1.0),
        ),
    }
)  # fmt: skip


def _joined(parameters: Mapping[str, str]) -> str:
    return ":".join(f"{name}={value}" for name, value in parameters.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Star:
    """How to encode: any frame from at most two pictures.

    ``codec``: ``av1`` (small) or ``h264`` (decodes quickest; without CABAC and loop filter).
    ``interval``: the most frames that one anchor serves, 2 to 64; where prediction from the anchor
    stops paying, the next interval begins earlier, unless ``adaptive`` is false. ``crf``: the
    quantiser on the codec's own scale (AV1: 1 to 63, H.264: 1 to 51), lower is better; None takes
    the codec's default (see ``STARS``). ``preset``: ``default``, ``faster`` or ``smaller``. Raises
    ``InvalidArgumentError``.
    """

    codec: StarCodec = "av1"
    interval: int = 32
    crf: int | None = None
    preset: StarPreset = "default"
    adaptive: bool = True

    def __post_init__(self) -> None:
        if self.codec not in STARS:
            raise InvalidArgumentError(
                f"codec is {self.codec!r}, expected one of {', '.join(STARS)}"
            )
        check_interval(self.interval, MINIMUM_INTERVAL, MAXIMUM_INTERVAL)
        if self.crf is not None and not (
            isinstance(self.crf, int)
            and not isinstance(self.crf, bool)
            and MINIMUM_CRF <= self.crf <= self.settings.maximum_crf
        ):
            raise InvalidArgumentError(
                f"crf is {self.crf!r}, expected an integer from {MINIMUM_CRF} to "
                f"{self.settings.maximum_crf}"
            )
        if self.preset not in self.settings.presets:
            raise InvalidArgumentError(
                f"preset is {self.preset!r}, expected one of {', '.join(self.settings.presets)}"
            )

    @property
    def settings(self) -> StarSettings:
        """The codec's encoder settings."""
        return STARS[self.codec]

    @property
    def effective_crf(self) -> int:
        """The quantiser that is used."""
        return self.settings.crf if self.crf is None else self.crf

    def encoder_options(self, *, still: bool) -> dict[str, str]:
        """The encoder's options: where frames take much from their anchor, or where little."""
        tuning = self.settings.presets[self.preset][still]
        quantiser = str(self.effective_crf)
        if self.codec == "h264":
            parameters = {
                **_X264,
                "ipratio": f"{2 ** (-tuning.anchor_offset / 6):.4f}",
                **dict(tuning.parameters),
            }
            return {"preset": tuning.preset, "qp": quantiser, "x264-params": _joined(parameters)}
        parameters = {
            **_SVT_AV1,
            "key-frame-qindex-offset": str(tuning.anchor_offset),
            **dict(tuning.parameters),
        }
        return {"preset": tuning.preset, "crf": quantiser, "svtav1-params": _joined(parameters)}

    @property
    def probe_quantiser(self) -> int:
        """The QP of H.264 that is about as coarse."""
        if self.codec == "h264":
            return self.effective_crf
        return min(51, round(0.6 * self.effective_crf + 11))

    def describe(self) -> dict[str, object]:
        """What is stored about how the pictures were made."""
        return {
            "structure": "star",
            "codec": self.codec,
            "interval": self.interval,
            "adaptive": self.adaptive,
            "crf": self.effective_crf,
            "preset": self.preset,
            "encoder": self.settings.encoder,
            "options": [self.encoder_options(still=still) for still in (False, True)],
        }
