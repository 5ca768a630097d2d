"""Reference structures: what a chunk's pictures may reference, and the encoder settings for it.

DDRA (dual-anchor, depth-bounded random access): intra anchors every ``interval`` frames, and every
frame between two anchors predicted from those two alone. So any frame decodes from at most three
pictures, whatever the interval. Stock encoders make it: one mini-GOP of B pictures between two
intra pictures of an open GOP, without a pyramid.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from videoformat.errors import InvalidArgumentError, StructureError
from videoformat.index.pictures import PictureIndex

__all__ = ["DDRA", "PROFILES", "Profile", "check_ddra"]

ProfileName = Literal["fast", "balanced", "small"]
# The stock encoders allow at most 16 consecutive B pictures.
MINIMUM_INTERVAL, MAXIMUM_INTERVAL = 2, 17
DDRA_CLOSURE_BOUND = 3
# Below, x264 goes lossless, without B pictures.
MINIMUM_CRF = 1
_PRESETS = [
    "ultrafast",
    "superfast",
    "veryfast",
    "faster",
    "fast",
    "medium",
    "slow",
    "slower",
    "veryslow",
    "placebo",
]


@dataclass(frozen=True, slots=True)
class Profile:
    """Encoder settings that only the encoder sees: how a DDRA stream is made, not what it is."""

    name: str
    codec: str
    encoder: str
    crf: float
    preset: str
    parameters: MappingProxyType[str, str]


# Measured over five clips (tools/bench/profiles.py shows the result): in DDRA only anchors are
# referenced, so a constant quantiser (qcomp=1) with anchors as fine as the rate factor says
# (ipratio=1) and B pictures twice as coarse (pbratio) takes the fewest bytes at equal PSNR; what
# looks ahead along chains of references (mbtree, cutree) or shifts bits for the eye (aq-mode, psy)
# costs 6 to 16 %. CAVLC without the loop filter decides decoding time.
_X264 = {
    "mbtree": "0",
    "aq-mode": "0",
    "no-psy": "1",
    "qcomp": "1",
    "ipratio": "1",
    "pbratio": "2",
    "no-weightb": "1",
    "chroma-qp-offset": "-2",
    "me": "umh",
}
_X265 = {
    "aq-mode": "0",
    "cutree": "0",
    "psy-rd": "0",
    "psy-rdoq": "0",
    "qcomp": "1",
    "ipratio": "1",
    "pbratio": "1.7",
    "rect": "1",
    "rdoq-level": "2",
    "me": "star",
    "tu-inter-depth": "2",
    "tu-intra-depth": "2",
}

PROFILES: MappingProxyType[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            Profile(
                "fast", "h264", "libx264", 23.0, "medium",
                MappingProxyType({"cabac": "0", "no-deblock": "1", **_X264}),
            ),
            Profile("balanced", "h264", "libx264", 23.0, "medium", MappingProxyType(_X264)),
            Profile("small", "hevc", "libx265", 24.0, "medium", MappingProxyType(_X265)),
        )
    }
)  # fmt: skip


def check_interval(interval: object, minimum: int, maximum: int) -> None:
    """Raises ``InvalidArgumentError`` for what is no interval of a structure."""
    if (
        isinstance(interval, bool)
        or not isinstance(interval, int)
        or not minimum <= interval <= maximum
    ):
        raise InvalidArgumentError(
            f"interval is {interval!r}, expected an integer from {minimum} to {maximum}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DDRA:
    """How to encode: any frame from at most three pictures.

    ``profile``: ``fast`` (H.264 that decodes quickly), ``balanced`` (H.264, CABAC) or ``small``
    (HEVC). ``interval``: frames from one anchor to the next, 2 to 17; larger is smaller on disk.
    ``crf``: constant rate factor, lower is better; ``preset``: the encoder's own name for its
    effort. None takes the profile's default (see ``PROFILES``). Raises ``InvalidArgumentError``.
    """

    profile: ProfileName = "fast"
    interval: int = 16
    crf: float | None = None
    preset: str | None = None

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise InvalidArgumentError(
                f"profile is {self.profile!r}, expected one of {', '.join(PROFILES)}"
            )
        check_interval(self.interval, MINIMUM_INTERVAL, MAXIMUM_INTERVAL)
        if self.crf is not None and not (
            isinstance(self.crf, int | float)
            and not isinstance(self.crf, bool)
            and MINIMUM_CRF <= self.crf <= 51
        ):
            raise InvalidArgumentError(
                f"crf is {self.crf!r}, expected a number from {MINIMUM_CRF} to 51"
            )
        if self.preset is not None and self.preset not in _PRESETS:
            raise InvalidArgumentError(
                f"preset is {self.preset!r}, expected one of {', '.join(_PRESETS)}"
            )

    @property
    def settings(self) -> Profile:
        """The profile's encoder settings."""
        return PROFILES[self.profile]

    @property
    def effective_crf(self) -> float:
        """The constant rate factor that is used."""
        return self.settings.crf if self.crf is None else float(self.crf)

    @property
    def effective_preset(self) -> str:
        """The encoder preset that is used."""
        return self.preset or self.settings.preset

    def encoder_parameters(self) -> dict[str, str]:
        """What the encoder is told in its own words: the structure, then the profile's tuning."""
        between = self.interval - 1
        common = {
            "keyint": str(self.interval),
            # An intra picture that is forced (the last frame) becomes a random access point only
            # where min-keyint allows one.
            "min-keyint": "1",
            "scenecut": "0",
            "open-gop": "1",
            "bframes": str(between),
            "b-adapt": "0",
            "ref": "1",
            # The lookahead must see past the mini-GOP, or the encoder shortens it.
            "rc-lookahead": str(self.interval + 1),
        }
        if self.settings.encoder == "libx264":
            structure = {"b-pyramid": "none", "weightp": "0", "sliced-threads": "0"}
        else:
            structure = {
                "b-pyramid": "0",
                "weightp": "0",
                # Two anchors may be decoded that lie far apart: PicOrderCntMsb needs the room.
                "log2-max-poc-lsb": "16",
                "log-level": "none",
                "info": "0",
            }
        return {**common, **structure, **self.settings.parameters}

    def describe(self) -> dict[str, object]:
        """What is stored about how the pictures were made."""
        return {
            "profile": self.profile,
            "interval": self.interval,
            "crf": self.effective_crf,
            "preset": self.effective_preset,
            "encoder": self.settings.encoder,
            "parameters": self.encoder_parameters(),
        }


def check_ddra(index: PictureIndex) -> None:
    """Raises ``StructureError`` unless the chunk keeps DDRA's promise.

    Every closure has at most three pictures; the first and the last frame are anchors, and so is
    one at least every ``interval`` frames; anchors are intra random access points; every other
    picture is referenced by none and references both anchors around it, so that no closure leaves
    out an anchor that its pictures were coded after.
    """
    where = f"episode {index.key.episode_uid!r} chunk {index.key.chunk_index}"
    interval = index.stream.interval
    if interval is None or interval < 1:
        raise StructureError(f"{where}: a ddra chunk with interval {interval}")
    if None in index.frame_index:
        raise StructureError(f"{where}: a ddra chunk holds a picture that is never shown")
    anchors: list[int] = []
    for frame in range(index.key.first_frame, index.key.end_frame):
        at = index.position_of[frame]
        if index.is_reference[at]:
            if index.references[at] or not index.is_random_access[at]:
                raise StructureError(
                    f"{where}: frame {frame} is referenced but is no intra random access point "
                    f"(type {index.picture_type[at]}, references {index.references[at]})"
                )
            if anchors and frame - anchors[-1] > interval:
                raise StructureError(
                    f"{where}: frames {anchors[-1]} and {frame} are neighbouring anchors, the "
                    f"interval is {interval}"
                )
            anchors.append(frame)
    ends = (index.key.first_frame, index.key.end_frame - 1)
    if not anchors or anchors[0] != ends[0] or anchors[-1] != ends[1]:
        raise StructureError(
            f"{where}: anchors {anchors[:1]} to {anchors[-1:]}, expected the chunk's first and last "
            f"frame, {ends[0]} and {ends[1]}"
        )
    _check_between(index, anchors, where)


def _check_between(index: PictureIndex, anchors: list[int], where: str) -> None:
    for before, after in itertools.pairwise(anchors):
        allowed = {index.position_of[before], index.position_of[after]}
        for frame in range(before + 1, after):
            references = index.references[index.position_of[frame]]
            if set(references) != allowed:
                raise StructureError(
                    f"{where}: frame {frame} references pictures {references}, expected those of "
                    f"the anchors {before} and {after}, {sorted(allowed)}"
                )
