"""Encoding one chunk as a star: pictures in, access units in decode order out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from videoformat.bitstream.av1_star import Av1Pairs
from videoformat.bitstream.h264_star import H264Pairs
from videoformat.bitstream.star import PairReader, Place
from videoformat.errors import InvalidArgumentError, StructureError
from videoformat.media.encoder import EncodedChunk
from videoformat.media.intervals import (
    Interval,
    IntervalPlanner,
    anchor_place,
    cut_into,
    distances,
)
from videoformat.media.pairs import GroupEncoder, copied
from videoformat.media.probe import PredictionProbe
from videoformat.media.proof import ProvenPair, prove_star

if TYPE_CHECKING:
    import av

    from videoformat.media.color import Color
    from videoformat.media.star import Star

__all__ = ["StarEncoder"]

# Where so many frames' worth of bytes is taken from an anchor, the anchor is worth more.
_TAKES_MUCH = 4.5
# How many groups wait for an encoder that works in a thread of its own.
_GROUPS_AHEAD = 4
_Finished: TypeAlias = tuple[tuple[Place, ...], list[bytes]]


@dataclass(slots=True)
class _OpenInterval:
    """An interval whose pictures are being encoded; ``leaves`` are by place."""

    first: int
    count: int
    anchor_at: int
    anchor: bytes | None = None
    leaves: dict[int, bytes] = field(default_factory=dict)


class _Lane:
    """One encoder and the reader of its packets.

    With ``is_apart``, the encoder works in a thread of its own.
    """

    def __init__(
        self,
        structure: Star,
        size: tuple[int, int],
        color: Color,
        rate: Fraction,
        *,
        still: bool,
        is_apart: bool,
    ) -> None:
        self.encoder: GroupEncoder[tuple[Place, ...]] = GroupEncoder(
            structure.settings.encoder,
            structure.encoder_options(still=still),
            size,
            color,
            rate,
            structure.settings.leaves,
        )
        self.reader: PairReader = (
            Av1Pairs() if structure.codec == "av1" else H264Pairs(self.encoder.extradata)
        )
        self._worker = ThreadPoolExecutor(1, "videoformat-encode") if is_apart else None
        self._given: deque[Future[list[_Finished]]] = deque()
        # Encoders that work beside each other need anchors of their own: the time is part of them.
        self._anchor: tuple[int, av.VideoFrame] | None = None

    def push(
        self, anchor: av.VideoFrame, others: list[av.VideoFrame], places: tuple[Place, ...]
    ) -> list[_Finished]:
        """Feeds an anchor with frames from it; returns what is finished by now."""
        if self._worker is None:
            return self.encoder.push([anchor, *others], places)
        interval = places[0].interval
        if self._anchor is None or self._anchor[0] != interval:
            self._anchor = (interval, copied(anchor))
        own = self._anchor[1]
        group = [own, *(own if other is anchor else other for other in others)]
        self._given.append(self._worker.submit(self.encoder.push, group, places))
        return self._taken(_GROUPS_AHEAD)

    def finish(self) -> list[_Finished]:
        """What was still in the encoder, which takes no more."""
        if self._worker is not None:
            self._given.append(self._worker.submit(self.encoder.finish))
            self._worker.shutdown(wait=False)
            return self._taken(0)
        return self.encoder.finish()

    def _taken(self, ahead: int) -> list[_Finished]:
        found: list[_Finished] = []
        while len(self._given) > ahead or (self._given and self._given[0].done()):
            found += self._given.popleft().result()
        return found


class StarEncoder:
    """Encodes the pictures of one chunk, as they come, as a star.

    Holds at most ``interval`` pictures, until it is known where their interval ends; each copy of the
    anchor, with the frames that are coded from it, is then fed to one of ``threads`` encoders in turn,
    which work beside each other. One thread at a time.
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
        self._threads = threads
        # x264 codes what it is given before it returns: a second encoder would only wait.
        self._lane_count = threads if structure.codec == "av1" else 1
        # In H.264, headers get other lengths, and what follows them is moved: every picture is proved.
        self._proves_all = structure.codec == "h264"
        self._lanes: dict[tuple[bool, int], _Lane] = {}
        self._waiting: deque[av.VideoFrame] = deque()
        self._intervals: list[_OpenInterval] = []
        self._group_count = 0
        self._leaf_count = 0
        self._kept: list[tuple[Place, bytes, tuple[bytes, ...]]] = []
        self._planner: IntervalPlanner | None = None
        self._probe: PredictionProbe | None = None
        # Opened at once, so that what the encoder does not take is refused before frames come.
        self._lane(still=False)
        if structure.adaptive:
            bound = structure.interval
            self._probe = PredictionProbe(
                self._size, color, rate, structure.probe_quantiser, distances(bound)
            )
            self._planner = IntervalPlanner(bound, structure.settings.anchor_cost)

    def push(self, picture: av.VideoFrame) -> None:
        """Takes the next picture in presentation order: yuv420p, of the size that was declared."""
        self.frame_count += 1
        self._waiting.append(picture)
        if self._probe is not None and self._planner is not None:
            self._planner.add(self._probe.measure(picture))
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
            self._take(lane, lane.finish())
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
            ProvenPair(extradata, packets, positions[self._rank(at.interval)], positions[at.frame])
            for at, extradata, packets in self._kept
        ]
        coded = [unit for _, unit in units]
        prove_star(
            self.structure.codec, framing, configuration, coded, pairs, threads=self._threads
        )
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
            return self._planner.choose(leads=leads, is_all=is_all)
        bound = self.structure.interval
        count = cut_into(len(self._waiting), bound)[0] if is_all else bound
        return Interval(count, anchor_place(count, leads=leads), 1.0)

    def _begin(self, chosen: Interval) -> None:
        """Feeds the pictures of the next interval."""
        frames = [self._waiting.popleft() for _ in range(chosen.count)]
        number = len(self._intervals)
        first = self._intervals[-1].first + self._intervals[-1].count if self._intervals else 0
        self._intervals.append(_OpenInterval(first, chosen.count, chosen.anchor))
        anchor = frames[chosen.anchor]
        still = chosen.taken > _TAKES_MUCH
        others = [at for at in range(chosen.count) if at != chosen.anchor]
        leaves = self.structure.settings.leaves
        # Where frames are missing to a full group, the anchor stands in for them.
        others += [chosen.anchor] * (-len(others) % leaves or (0 if others else leaves))
        for start in range(0, len(others), leaves):
            group = others[start : start + leaves]
            places = tuple(Place(number, at, first + at) for at in group)
            lane = self._lane(still=still)
            self._take(lane, lane.push(anchor, [frames[at] for at in group], places))

    def _lane(self, *, still: bool) -> _Lane:
        key = (still, self._group_count % self._lane_count)
        lane = self._lanes.get(key)
        if lane is None:
            lane = _Lane(
                self.structure, self._size, self.color, self._rate,
                still=still, is_apart=self._lane_count > 1,
            )  # fmt: skip
            self._lanes[key] = lane
        self._group_count += 1
        return lane

    def _rank(self, interval: int) -> int:
        """The frame of the chunk that is an interval's anchor."""
        return self._intervals[interval].first + self._intervals[interval].anchor_at

    def _take(self, lane: _Lane, finished: Iterable[_Finished]) -> None:
        for places, packets in finished:
            interval = self._intervals[places[0].interval]
            place = Place(places[0].interval, interval.anchor_at, self._rank(places[0].interval))
            anchor = lane.reader.anchor(packets[0], place)
            if interval.anchor is None:
                interval.anchor = anchor
                self.byte_count += len(anchor)
            elif interval.anchor != anchor:
                raise StructureError(
                    f"{lane.encoder.encoder} coded frame {place.frame} of the chunk in two ways: as "
                    f"the anchor of frame {places[0].frame} it differs from the first time"
                )
            for number, at in enumerate(places, start=1):
                leaf = lane.reader.leaf(packets[number], at)
                if at.place != interval.anchor_at:
                    self._keep(interval, at, leaf, lane, tuple(packets[: number + 1]))
                elif interval.count == 1 and self._proves_all:
                    self._kept.append((at, lane.encoder.extradata, (packets[0],)))

    def _keep(
        self, interval: _OpenInterval, at: Place, leaf: bytes, lane: _Lane, made: tuple[bytes, ...]
    ) -> None:
        interval.leaves[at.place] = leaf
        self.byte_count += len(leaf)
        self._leaf_count += 1
        # Ever fewer are decoded for the proof: the 1st, 2nd, 4th, 8th, …
        if self._proves_all or not self._leaf_count & (self._leaf_count - 1):
            self._kept.append((at, lane.encoder.extradata, made))

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
