"""Encoding one chunk as a star: pictures in, access units in decode order out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from videoformat.bitstream.av1_star import Av1Pairs
from videoformat.bitstream.h264_star import H264Pairs
from videoformat.bitstream.star import PairReader, Place
from videoformat.errors import InvalidArgumentError, StructureError
from videoformat.media.encoder import EncodedChunk
from videoformat.media.intervals import Interval, IntervalPlanner, anchor_place, cut_into
from videoformat.media.pairs import PairEncoder, Probe
from videoformat.media.proof import ProvenPair, prove_star

if TYPE_CHECKING:
    import av

    from videoformat.media.color import Color
    from videoformat.media.star import Star

__all__ = ["StarEncoder"]

# Where a predicted frame takes less than this part of its anchor's bytes, the anchor is worth more.
_FOLLOWS_WELL = 0.35
_Finished: TypeAlias = tuple[Place, bytes, bytes]


@dataclass(slots=True)
class _OpenInterval:
    """An interval whose pictures are being encoded; ``leaves`` are by place."""

    first: int
    count: int
    anchor_at: int
    anchor: bytes | None = None
    leaves: dict[int, bytes] = field(default_factory=dict)


class _Lane:
    """One encoder and the reader of its packets."""

    def __init__(self, structure: Star, offset: int, size: tuple[int, int], color: Color,
                 rate: Fraction) -> None:  # fmt: skip
        self.encoder: PairEncoder[Place] = PairEncoder(
            structure.settings.encoder, structure.encoder_options(offset), size, color, rate
        )
        self.reader: PairReader = (
            Av1Pairs() if structure.codec == "av1" else H264Pairs(self.encoder.extradata)
        )


class StarEncoder:
    """Encodes the pictures of one chunk, as they come, as a star.

    Holds at most ``interval`` pictures, until it is known where their interval ends; pairs are then
    fed to ``threads`` encoders in turn, which work beside each other. One thread at a time.
    """

    def __init__(
        self,
        structure: Star,
        width: int,
        height: int,
        color: Color,
        rate: Fraction,
        threads: int = 1,
    ) -> None:
        self.structure = structure
        self.color = color
        self.frame_count = 0
        self.byte_count = 0
        self._size = (width, height)
        self._rate = rate
        # x264 codes what it is given before it returns: a second encoder would only wait.
        self._lane_count = threads if structure.codec == "av1" else 1
        self._lanes: dict[tuple[int, int], _Lane] = {}
        self._waiting: deque[av.VideoFrame] = deque()
        self._intervals: list[_OpenInterval] = []
        self._pair_count = 0
        self._leaf_count = 0
        self._kept: list[tuple[Place, bytes, bytes, bytes]] = []
        self._planner: IntervalPlanner | None = None
        self._probe: Probe | None = None
        self._prepared: deque[av.VideoFrame] = deque()
        # Opened at once, so that what the encoder does not take is refused before frames come.
        self._lane(structure.anchor_offsets[0])
        if structure.adaptive:
            self._probe = Probe(self._size, color, rate, structure.probe_quantiser)
            self._planner = IntervalPlanner(structure.interval, self._probe.ratio)

    def push(self, picture: av.VideoFrame) -> None:
        """Takes the next picture in presentation order: yuv420p, of the size that was declared."""
        self.frame_count += 1
        self._waiting.append(picture)
        if self._probe is not None:
            self._prepared.append(self._probe.prepared(picture))
        if len(self._waiting) >= self.structure.interval:
            self._begin(self._choose(is_all=False))

    def finish(self) -> EncodedChunk:
        """Encodes what is held back and returns the chunk. At least one picture must have come.

        Raises ``StructureError`` where the chunk is not what was asked for.
        """
        if not self.frame_count:
            raise InvalidArgumentError("a chunk has at least one frame")
        while self._waiting:
            self._begin(self._choose(is_all=True))
        for lane in self._lanes.values():
            self._take(lane, lane.encoder.finish())
        configurations = {lane.reader.configuration for lane in self._lanes.values()} - {b""}
        if len(configurations) != 1:
            raise StructureError(
                f"the encoders of a star made {len(configurations)} different configurations"
            )
        (configuration,) = configurations
        units = self._units()
        framing = self.structure.settings.framing
        positions = {rank: at for at, (rank, _) in enumerate(units)}
        pairs = [
            ProvenPair(
                extradata,
                (first, second),
                positions[self._rank(at.interval)],
                positions[at.frame],
            )
            for at, first, second, extradata in self._kept
        ]
        coded = [unit for _, unit in units]
        prove_star(self.structure.codec, framing, configuration, coded, pairs)
        return EncodedChunk(
            codec=self.structure.codec,
            width=self._size[0],
            height=self._size[1],
            color=self.color,
            configuration=configuration,
            access_units=tuple(units),
            framing=framing,
        )

    def _choose(self, *, is_all: bool) -> Interval:
        # H.264 has no way to show frames before a sequence's first picture that follow it.
        leads = self.structure.codec == "h264" and not self._intervals
        if self._planner is not None:
            return self._planner.choose(tuple(self._prepared), leads=leads, is_all=is_all)
        bound = self.structure.interval
        count = cut_into(len(self._waiting), bound)[0] if is_all else bound
        return Interval(count, anchor_place(count, leads=leads), 1.0)

    def _begin(self, chosen: Interval) -> None:
        """Feeds the pairs of the next interval."""
        frames = [self._waiting.popleft() for _ in range(chosen.count)]
        for _ in range(min(chosen.count, len(self._prepared))):
            self._prepared.popleft()
        number = len(self._intervals)
        first = self._intervals[-1].first + self._intervals[-1].count if self._intervals else 0
        self._intervals.append(_OpenInterval(first, chosen.count, chosen.anchor))
        anchor = frames[chosen.anchor]
        offset = self.structure.anchor_offsets[chosen.ratio < _FOLLOWS_WELL]
        # An anchor without others is coded in a pair with itself.
        others = [at for at in range(chosen.count) if at != chosen.anchor] or [chosen.anchor]
        for at in others:
            lane = self._lane(offset)
            place = Place(number, at, first + at)
            self._take(lane, lane.encoder.push(anchor, frames[at], place))

    def _lane(self, offset: int) -> _Lane:
        key = (offset, self._pair_count % self._lane_count)
        lane = self._lanes.get(key)
        if lane is None:
            lane = _Lane(self.structure, offset, self._size, self.color, self._rate)
            self._lanes[key] = lane
        self._pair_count += 1
        return lane

    def _rank(self, interval: int) -> int:
        """The frame of the chunk that is an interval's anchor."""
        return self._intervals[interval].first + self._intervals[interval].anchor_at

    def _take(self, lane: _Lane, finished: Iterable[_Finished]) -> None:
        for at, first, second in finished:
            interval = self._intervals[at.interval]
            place = Place(at.interval, interval.anchor_at, self._rank(at.interval))
            anchor = lane.reader.anchor(first, place)
            leaf = lane.reader.leaf(second, at)
            if interval.anchor is None:
                interval.anchor = anchor
                self.byte_count += len(anchor)
            elif interval.anchor != anchor:
                raise StructureError(
                    f"{lane.encoder.encoder} coded frame {place.frame} of the chunk in two ways: as "
                    f"the anchor of frame {at.frame} it differs from the first time"
                )
            if at.place == interval.anchor_at:
                continue
            interval.leaves[at.place] = leaf
            self.byte_count += len(leaf)
            self._leaf_count += 1
            # Ever fewer are decoded for the proof: the 1st, 2nd, 4th, 8th, …
            if not self._leaf_count & (self._leaf_count - 1):
                self._kept.append((at, first, second, lane.encoder.extradata))

    def _units(self) -> list[tuple[int, bytes]]:
        """All access units in decode order, each with its frame's number in the chunk."""
        units: list[tuple[int, bytes]] = []
        for number, interval in enumerate(self._intervals):
            if interval.anchor is None or len(interval.leaves) != interval.count - 1:
                raise StructureError(
                    f"{len(interval.leaves)} of the {interval.count - 1} frames around the anchor of "
                    f"interval {number} came out of their encoder"
                )
            units.append((self._rank(number), interval.anchor))
            units += [(interval.first + at, unit) for at, unit in sorted(interval.leaves.items())]
        return units
