"""The vectors that a reader must read, each named by what it shows."""

from __future__ import annotations

from spec_vectors.case import Case
from videoformat.media.gop import DDRA
from videoformat.media.star import Star

__all__ = ["CASES", "LANCE_CASE"]

_HEVC = DDRA(profile="small")
_TWO_CAMERAS = {"observation.images.top": (64, 48), "observation.images.wrist": (48, 32)}

_STAR = Star(interval=8, adaptive=False)
_H264_STAR = Star(codec="h264", interval=8, adaptive=False)

CASES: tuple[Case, ...] = (
    Case("h264-1-frame", "an episode of one frame: one anchor", (1,)),
    Case("h264-2-frames", "two frames, two anchors, nothing between", (2,)),
    Case("h264-3-frames", "two anchors and one picture between them", (3,)),
    Case("h264-17-frames", "one whole interval of 16", (17,)),
    Case("h264-18-frames", "an anchor right after an anchor at the end", (18,)),
    Case("h264-40-frames", "requests that skip an anchor decode in two groups", (40,)),
    Case("h264-cabac-deblocking", "profile balanced", (18,), DDRA(profile="balanced")),
    Case("h264-interval-2", "every second frame an anchor", (9,), DDRA(interval=2)),
    Case("h264-interval-17", "the longest interval of stock encoders", (36,), DDRA(interval=17)),
    Case("h264-odd-size", "63x47 frames in 64x48 pictures", (5,), cameras={"cam": (63, 47)}),
    Case("h264-full-range", "BT.709 at full range, samples 0 to 255", (5,), color="full"),
    Case(
        "h264-three-chunks",
        "episodes of three, one and two chunks, with tabular features of every kind",
        (20, 3, 9),
        DDRA(interval=4),
        frames_per_chunk=8,
        tabular=True,
    ),
    Case("h264-two-cameras", "cameras of two sizes", (6, 4), DDRA(interval=4), _TWO_CAMERAS),
    Case("hevc-1-frame", "an episode of one frame", (1,), _HEVC),
    Case("hevc-40-frames", "open groups of pictures that start at CRA pictures", (40,), _HEVC),
    Case("hevc-odd-size", "63x47 frames in 64x48 pictures", (5,), _HEVC, {"cam": (63, 47)}),
    Case("hevc-full-range", "BT.709 at full range", (5,), _HEVC, color="full"),
    Case("av1-star-1-frame", "an anchor alone", (1,), _STAR),
    Case("av1-star-20-frames", "anchors in the middle of three intervals", (20,), _STAR),
    Case("av1-star-odd-size", "63x47 frames in 64x48 pictures", (5,), _STAR, {"cam": (63, 47)}),
    Case(
        "av1-star-three-chunks",
        "order hints count frames from each chunk's first",
        (20, 3),
        Star(interval=3, adaptive=False),
        frames_per_chunk=8,
    ),
    Case("av1-star-full-range", "BT.709 at full range", (5,), _STAR, color="full"),
    Case("h264-star-1-frame", "an anchor alone", (1,), _H264_STAR),
    Case(
        "h264-star-20-frames",
        "the first interval begins with its anchor; order counts leave out the anchor's place",
        (20,),
        _H264_STAR,
    ),
    Case("h264-star-odd-size", "63x47 frames", (5,), _H264_STAR, {"cam": (63, 47)}),
)

LANCE_CASE = Case(
    "lance-two-episodes",
    "a real Lance dataset: two episodes, two cameras, one of the episodes in two chunks",
    (7, 3),
    DDRA(interval=4),
    _TWO_CAMERAS,
    frames_per_chunk=5,
    tabular=True,
)
