"""How many pictures a request takes by each reference structure, by counting. Pure arithmetic.

The model is that of the DDRA paper: an endless stream with an anchor every ``interval`` frames,
nothing cached, a request of equally spaced frames that is equally likely to start at each of the
``interval`` phases, an anchor included. What two frames of a request share is counted once.

Structures, and what one frame between the anchors ``a`` and ``b`` takes:

``sparse``      both anchors, then the midpoints of the ranges that hold it, halved until it is met:
                the closure in a hierarchy of B-pictures.
``sequential``  the same stream without closures: both anchors, then all that is coded before it,
                which is each range's midpoint, its left half, its right half.
``ddra``        both anchors and itself.
``star``        one anchor, the middle of its interval, and itself.

Closed forms for T = ``interval``, K frames, ``stride`` d ≤ T, as the expected number of pictures:
one frame: sequential (T + 3)/2 − 1/T, sparse h + 3 − 2^(h+1)/T with h = ⌊log₂ T⌋, DDRA 3 − 2/T;
K frames: DDRA K + 2 + ((K − 1)d − K − 1)/T, star K + 1 + ((K − 1)d − K)/T. AV1 with a key frame every
second frame is a star of interval 2: K + ½ where d = 1, 3K/2 for even d. ``expected_pictures`` counts,
phase by phase, and so has an exact answer for any stride.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from videoformat.errors import InvalidArgumentError

__all__ = ["STRUCTURES", "expected_pictures"]

MAXIMUM_COUNT = 10**6  # of pictures that are looked at


def _anchors(frame: int, interval: int) -> tuple[int, int]:
    before = frame - frame % interval
    return before, before if before == frame else before + interval


def _sparse(frame: int, interval: int) -> set[int]:
    before, after = _anchors(frame, interval)
    closure = {before, after}
    while frame not in closure:
        middle = (before + after) // 2
        closure.add(middle)
        before, after = (before, middle) if frame < middle else (middle, after)
    return closure


def _sequential(frame: int, interval: int) -> set[int]:
    before, after = _anchors(frame, interval)
    decoded = {before, after}
    waiting = [(before, after)]
    while frame not in decoded:
        left, right = waiting.pop()
        middle = (left + right) // 2
        if left < middle:
            decoded.add(middle)
            waiting += [(middle, right), (left, middle)]
    return decoded


def _ddra(frame: int, interval: int) -> set[int]:
    return {*_anchors(frame, interval), frame}


def _star(frame: int, interval: int) -> set[int]:
    return {frame - frame % interval + interval // 2, frame}


STRUCTURES: Final[Mapping[str, Callable[[int, int], set[int]]]] = MappingProxyType(
    {"sparse": _sparse, "sequential": _sequential, "ddra": _ddra, "star": _star}
)


def expected_pictures(structure: str, interval: int, frames: int = 1, stride: int = 1) -> Fraction:
    """The expected number of pictures that a request of so many frames decodes.

    Divided by ``frames`` it is the amplification. Raises ``InvalidArgumentError`` for a structure that
    is not in ``STRUCTURES``, numbers below 1, or more than a million pictures to count.
    """
    closure = STRUCTURES.get(structure)
    if closure is None:
        raise InvalidArgumentError(
            f"structure {structure!r}, expected one of {', '.join(STRUCTURES)}"
        )
    for name, value in (("interval", interval), ("frames", frames), ("stride", stride)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidArgumentError(f"{name} is {value!r}, expected a whole number from 1 on")
    if interval * frames * (interval if closure is _sequential else 1) > MAXIMUM_COUNT:
        raise InvalidArgumentError(
            f"interval {interval} and {frames} frames are more than {MAXIMUM_COUNT} pictures to count"
        )
    total = 0
    for phase in range(interval):
        needed: set[int] = set()
        for number in range(frames):
            needed |= closure(phase + number * stride, interval)
        total += len(needed)
    return Fraction(total, interval)
