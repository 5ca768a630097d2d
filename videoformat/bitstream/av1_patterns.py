"""Frame headers of AV1 that differ from an earlier one in ``order_hint`` alone.

Why: indexing needs few elements of a header, and an encoder of a fixed structure writes the same few
headers over and over. Comparing bits with those of a header that was parsed is several times faster
than parsing, and says the same, since the syntax has only one way to read a run of bits, as long as
it does not depend on what the reference slots hold.
"""

from __future__ import annotations

from videoformat.bitstream.av1_frame import Av1FrameHeader
from videoformat.bitstream.av1_sequence import Av1SequenceHeader

__all__ = ["HeaderPatterns"]

_PATTERNS = 8


class _Pattern:
    __slots__ = ("header", "order_hint_end", "order_hint_start", "prefix", "suffix")

    def __init__(self, header: Av1FrameHeader, bits: str, start: int, end: int) -> None:
        self.header = header
        self.prefix = bits[:start]
        self.order_hint_start = start
        self.order_hint_end = end
        self.suffix = bits[end:]


class HeaderPatterns:
    """The last few headers of one sequence, latest first."""

    def __init__(self) -> None:
        self._patterns: list[_Pattern] = []
        self._sequence: Av1SequenceHeader | None = None

    def find(self, bits: str, sequence: Av1SequenceHeader) -> tuple[Av1FrameHeader, int] | None:
        """A header that says what ``bits`` begin with, but for the order hint, and that."""
        if sequence is not self._sequence:
            self._patterns = []
            self._sequence = sequence
        for at, pattern in enumerate(self._patterns):
            start, end = pattern.order_hint_start, pattern.order_hint_end
            if bits.startswith(pattern.prefix) and bits.startswith(pattern.suffix, end):
                if at:
                    self._patterns.insert(0, self._patterns.pop(at))
                return pattern.header, int(bits[start:end], 2) if end > start else 0
        return None

    def add(self, header: Av1FrameHeader, bits: str, sequence: Av1SequenceHeader) -> None:
        """Takes a header that was parsed from ``bits``, if what it says depends on them alone."""
        if (
            header.shown is not None
            or header.ref_order_hint
            or header.frame_refs_short_signaling
            or sequence.frame_id_numbers_present_flag
            or sequence.decoder_model_info is not None  # what follows depends on the layer
            # frame_size_with_refs
            or (header.frame_size_override_flag and not header.is_intra)
        ):
            return
        place = next((field for field in header.fields if field[0] == "order_hint"), None)
        start, width = (place[1], place[2]) if place else (0, 0)
        self._patterns.insert(0, _Pattern(header, bits, start, start + width))
        del self._patterns[_PATTERNS:]
