"""Measuring what prediction saves, by coding small pictures quickly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import av
import av.error
import numpy as np
from av.video.frame import PictureType
from av.video.reformatter import Interpolation, VideoReformatter

from videoformat.errors import DataError
from videoformat.media.color import MINIMUM_SIDE, PIXEL_FORMAT, Color, luma
from videoformat.media.encoder_context import open_encoder
from videoformat.media.intervals import FrameCost

__all__ = ["PredictionProbe"]

# So many times less wide and high, where that leaves enough.
_SCALE = 4
_ENOUGH = 64


class PredictionProbe:
    """Measures the pictures of a chunk, as they come, with an encoder for every distance.

    Each encoder codes every so many-th picture, from the one that it was fed before, so every coded
    picture is a measurement. Long distances are measured of fewer pictures: at every half of them.
    ``quantiser`` is H.264's QP. One thread at a time.
    """

    def __init__(
        self,
        size: tuple[int, int],
        color: Color,
        rate: Fraction,
        quantiser: int,
        distances: Sequence[int],
    ) -> None:
        self._size = (_reduced(size[0]), _reduced(size[1]))
        self._scaler = VideoReformatter()
        self._count = 0
        self._before: np.ndarray[tuple[int, int], np.dtype[np.int16]] | None = None
        self._alone = _Chain(self._size, color, rate, quantiser, is_intra=True)
        self._chains = {
            (distance, phase): _Chain(self._size, color, rate, quantiser)
            for distance in distances
            for phase in range(0, distance, max(1, distance // 2))
        }
        self._distances = tuple(distances)

    def measure(self, picture: av.VideoFrame) -> FrameCost:
        """The next picture's costs. Raises ``DataError`` where the encoder does not do its work."""
        small = self._scaler.reformat(
            picture,
            width=self._size[0],
            height=self._size[1],
            format=PIXEL_FORMAT,
            interpolation=Interpolation.AREA,
            threads=1,
        )
        samples = luma(small).astype(np.int16)
        changed = 0.0 if self._before is None else float(np.abs(samples - self._before).mean())
        self._before = samples
        predicted = []
        for distance in self._distances:
            chain = self._chains.get((distance, self._count % distance))
            if chain is None:
                continue
            size = chain.code(small)
            if self._count >= distance:
                predicted.append((distance, size))
        self._count += 1
        return FrameCost(self._alone.code(small), tuple(predicted), changed)


class _Chain:
    """An encoder whose pictures are each predicted from the one before, or all intra."""

    def __init__(
        self,
        size: tuple[int, int],
        color: Color,
        rate: Fraction,
        quantiser: int,
        *,
        is_intra: bool = False,
    ) -> None:
        parameters = (
            f"keyint={1 if is_intra else 'infinite'}:scenecut=0:bframes=0:ref=1:rc-lookahead=0:"
            "sync-lookahead=0:mbtree=0:aq-mode=0:weightp=0:sliced-threads=0:force-cfr=1:ipratio=1"
        )
        options = {"preset": "superfast", "qp": str(quantiser), "x264-params": parameters}
        self._time_base = 1 / rate
        self._context = open_encoder("libx264", size, color, rate, options)
        self._coded = 0

    def code(self, picture: av.VideoFrame) -> int:
        """The next picture's bytes."""
        picture.pts = self._coded
        picture.time_base = self._time_base
        picture.pict_type = PictureType.NONE
        self._coded += 1
        try:
            packets = self._context.encode(picture)
        except av.error.FFmpegError as error:
            raise DataError(f"libx264 failed at picture {picture.pts}: {error}") from None
        if len(packets) != 1:
            raise DataError("libx264 holds pictures back that it was told to code at once")
        return len(bytes(packets[0]))


def _reduced(side: int) -> int:
    """The side that is measured, even and not too small."""
    reduced = max(side // _SCALE, min(side, _ENOUGH)) // 2 * 2
    return max(MINIMUM_SIDE, reduced)
