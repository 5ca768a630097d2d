"""The pictures of an H.264 or HEVC stream, coded video sequence by sequence.

Strategy: access units are parsed one after the other. A coded video sequence (from one picture that
resets everything to the next) whose references the parser cannot be right about is not given up: its
pictures are chained, each "referencing" the one before, so that the closure of any of them is all
of the sequence up to it, which is what sequential decoding is.

Parameter sets that change are the one thing that reaches beyond a sequence, because a chunk is
stored with one configuration. From there on, every sequence is chained, and one begins only where an
access unit brings all parameter sets that there are: what a decoder held before is then replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from videoformat.bitstream.codecs import make_nal_indexer, nal_unit_splitter, resets_decoding
from videoformat.bitstream.nal import to_annexb
from videoformat.bitstream.picture import Picture
from videoformat.errors import UnsupportedStreamError

__all__ = ["CHANGING_SETS", "FIELD_PICTURES", "NalSequences", "chain_reason"]

CHANGING_SETS = "parameter sets that change"
FIELD_PICTURES = "field pictures"
# Decoders seed the grain by what they decoded before: no picture alone is what it is in sequence.
_NEVER_CHAINED = frozenset({"film grain"})


@dataclass(frozen=True, slots=True)
class _Chained:
    """In place of headers: why a picture's references are not known."""

    reason: str


def chain_reason(picture: Picture) -> str | None:
    """Why its references stand for sequential decoding; None where they are its own."""
    return picture.detail.reason if isinstance(picture.detail, _Chained) else None


def _chained(position: int, size: int, reason: str, *, is_first: bool) -> Picture:
    return Picture(
        position=position,
        order_count=0,
        picture_type="I" if is_first else "P",
        is_random_access=is_first,
        is_reference=True,
        is_shown=True,
        references=() if is_first else (position - 1,),
        reference_lists=(),
        start=0,
        end=size,
        detail=_Chained(reason),
    )


class NalSequences:
    """Takes access units in decode order; ``pictures`` has one for each.

    ``restarts`` says at which of them everything before is forgotten.
    """

    def __init__(self, codec: str, configuration: bytes, framing: str) -> None:
        self._codec = codec
        self._split = nal_unit_splitter(framing)
        self._indexer = make_nal_indexer(codec, configuration)
        self._base = 0  # the position of the first picture that the indexer was given
        self._starts = [0]  # of the coded video sequences
        self._chain: str | None = None
        self._changed: bytes | None = None  # the configuration before parameter sets changed
        self._known: frozenset[tuple[str, int]] = frozenset()
        self.pictures: list[Picture] = []
        self.restarts: list[bool] = []

    @property
    def configuration(self) -> bytes:
        """What a decoder must be given before any picture, wherever the stream carried it."""
        if self._changed is not None:
            return self._changed
        return to_annexb(self._indexer.configuration_nal_units)

    def push(self, data: bytes) -> None:
        """Takes the next access unit. Raises ``BitstreamError`` where it breaks the syntax.

        Raises ``UnsupportedStreamError`` for what not even sequential decoding from the beginning
        of a sequence makes exact.
        """
        nal_units = self._split(data)
        position = len(self.pictures)
        restarts = resets_decoding(self._codec, nal_units)
        if restarts and position:
            self._begin_sequence(nal_units)
        self.restarts.append(restarts)
        picture: Picture
        if self._chain is None:
            try:
                picture = self._indexer.push_nal_units(nal_units, len(data))
            except UnsupportedStreamError as error:
                if error.kind in _NEVER_CHAINED:
                    raise
                self._begin_chain(error.kind, nal_units)
            else:
                # A CRA picture begins a sequence where one has ended before it (H.265 8.1.3).
                self.restarts[-1] |= self._indexer.starts_sequence
        if self._chain is not None:
            self._follow_parameter_sets(nal_units)
            is_first = position == self._starts[-1]
            picture = _chained(position, len(data), self._chain, is_first=is_first)
        elif self._base:
            picture = _moved(picture, self._base)
        self.pictures.append(picture)

    def _begin_sequence(self, nal_units: Sequence[bytes]) -> None:
        position = len(self.pictures)
        if self._changed is not None:
            if not self._brings_all_parameter_sets(nal_units):
                return
            self._chain = CHANGING_SETS
        elif self._chain is not None:
            self._chain = None
            self._indexer = make_nal_indexer(self._codec, self.configuration)
            self._base = position
        self._starts.append(position)

    def _begin_chain(self, kind: str, nal_units: Sequence[bytes]) -> None:
        """Chains the pictures of the sequence so far; the rest follow until it ends."""
        if self._codec == "h264" and not self.restarts[self._starts[-1]]:
            # Which pictures before the first IDR picture a decoder returns depends on what it is
            # fed after them.
            raise UnsupportedStreamError(kind, "before the first IDR picture of the stream")
        if kind == CHANGING_SETS:
            self._keep_configuration()
            begins_here = self._starts[-1] == len(self.pictures)
            if begins_here and not self._brings_all_parameter_sets(nal_units):
                # A decoder that starts here would hold other sets than one that comes from before.
                self._starts = self._starts[:-1] or [0]
        self._chain = kind
        start = self._starts[-1]
        for at in range(start, len(self.pictures)):
            self.pictures[at] = _chained(at, self.pictures[at].end, kind, is_first=at == start)

    def _keep_configuration(self) -> None:
        if self._changed is None:
            self._changed = self.configuration
            self._known = self._indexer.parameter_set_ids

    def _follow_parameter_sets(self, nal_units: Sequence[bytes]) -> None:
        """Keeps what a chained access unit says for the sequences after it."""
        if self._changed is None:
            try:
                self._indexer.read_parameter_sets(nal_units)
            except UnsupportedStreamError:
                self._keep_configuration()
        if self._changed is not None:
            self._known |= self._parameter_set_ids(nal_units) or frozenset()

    def _brings_all_parameter_sets(self, nal_units: Sequence[bytes]) -> bool:
        found = self._parameter_set_ids(nal_units)
        return found is not None and found >= self._known

    def _parameter_set_ids(self, nal_units: Sequence[bytes]) -> frozenset[tuple[str, int]] | None:
        """Those that an access unit carries; None where they are of a kind that is not read."""
        indexer = make_nal_indexer(self._codec, b"")
        try:
            indexer.read_parameter_sets(nal_units)
        except UnsupportedStreamError:
            return None
        return indexer.parameter_set_ids


def _moved(picture: Picture, base: int) -> Picture:
    """The same picture with positions counted in the whole stream."""
    return Picture(
        position=picture.position + base,
        order_count=picture.order_count,
        picture_type=picture.picture_type,
        is_random_access=picture.is_random_access,
        is_reference=picture.is_reference,
        is_shown=picture.is_shown,
        references=tuple([at + base for at in picture.references]),
        reference_lists=tuple(
            [tuple([at + base for at in items]) for items in picture.reference_lists]
        ),
        start=picture.start,
        end=picture.end,
    )
