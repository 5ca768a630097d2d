"""Stars: one anchor an interval, and every other frame predicted from it alone.

A closure has at most two pictures, one of them intra. Stock encoders make it of groups: they are fed
an anchor and one or two frames, the anchor again and the next frames, … with a key frame at the start
of each group, code the same anchor the same way every time, and one copy of it is kept (see
``bitstream.av1_star`` and ``bitstream.h264_star``). That holds only where nothing in an encoder looks
beyond a group: no filtering over time, no look-ahead, no quantiser that follows what came before.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from videoformat.errors import InvalidArgumentError
from videoformat.media.gop import check_interval

__all__ = ["STARS", "STAR_NAMES", "Star", "StarSettings"]

StarCodec = Literal["av1", "h264"]
StarPreset = Literal["default", "faster", "smaller"]
MINIMUM_INTERVAL, MAXIMUM_INTERVAL = 2, 64
# What a caller may say in place of a star.
STAR_NAMES: MappingProxyType[str, StarCodec] = MappingProxyType(
    {"star": "av1", "star-h264": "h264"}
)
MINIMUM_CRF = 1


@dataclass(frozen=True, slots=True)
class StarSettings:
    """Encoder settings of one codec: how a star is made, not what it is.

    ``presets`` are the encoder's own for each of ours: where frames differ much from their anchor, and
    where little. ``maximum_crf`` is its scale's end.
    ``leaves`` is how many frames are coded from each copy of an anchor.
    """

    encoder: str
    crf: int
    maximum_crf: int
    presets: MappingProxyType[str, tuple[str, str]]
    framing: str
    leaves: int


STARS: MappingProxyType[str, StarSettings] = MappingProxyType(
    {
        "av1": StarSettings(
            "libsvtav1", 30, 63,
            MappingProxyType({"default": ("7", "8"), "faster": ("9", "9"), "smaller": ("5", "5")}), "obu", 2,
        ),
        "h264": StarSettings(
            "libx264", 26, 51,
            MappingProxyType(
                {
                    "default": ("medium", "medium"),
                    "faster": ("veryfast", "veryfast"),
                    "smaller": ("slower", "slower"),
                }
            ),
            "annexb", 1,
        ),
    }
)  # fmt: skip

_SVT_AV1 = {
    # An anchor is coded the same way every time only without what looks beyond the group.
    "enable-tf": "0",
    "scd": "0",
    "aq-mode": "0",
    "enable-tpl-la": "0",
    "lp": "1",
    # Tools for screen content double the time and save three per cent of rendered scenes.
    "scm": "0",
    "use-fixed-qindex-offsets": "1",
    # Low delay: of two frames after a key frame, both are predicted from it alone.
    "pred-struct": "1",
}
# Of presets that are as fast, those for real time save a tenth where frames differ much.
_REAL_TIME_PRESET = 7
# What a bit has to save, for key frames and others (of 128), where frames differ little.
_STILL_LAMBDA = "[160,200,200,200,200,200,200]"
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
_ANCHOR_OFFSETS = MappingProxyType({"av1": (-28, -60), "h264": (-1, -4)})


def _joined(parameters: dict[str, str]) -> str:
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

    @property
    def anchor_offsets(self) -> tuple[int, int]:
        """How much finer anchors are than the rest: where frames differ much, and where little.

        In steps of the codec's quantiser (AV1: 256 of them, H.264: 52).
        """
        return _ANCHOR_OFFSETS[self.codec]

    def encoder_options(self, *, still: bool) -> dict[str, str]:
        """The encoder's options: where frames differ little from their anchor, or where much."""
        preset, offset = self.settings.presets[self.preset][still], self.anchor_offsets[still]
        quantiser = str(self.effective_crf)
        parameters = dict(_X264 if self.codec == "h264" else _SVT_AV1)
        if self.codec == "h264":
            parameters["ipratio"] = f"{2 ** (-offset / 6):.4f}"
            return {"preset": preset, "qp": quantiser, "x264-params": _joined(parameters)}
        parameters["key-frame-qindex-offset"] = str(offset)
        if int(preset) >= _REAL_TIME_PRESET:
            parameters["rtc"] = "1"
            if still:
                parameters["lambda-scale-factors"] = _STILL_LAMBDA
        return {"preset": preset, "crf": quantiser, "svtav1-params": _joined(parameters)}

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
