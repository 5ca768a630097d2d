"""Writes AV1 OBUs element by element, as the syntax tables of clause 5 order them.

It knows nothing of the parser: a test says what the elements are and reads them back. An element is
a pair of value and width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

KEY, INTER, INTRA_ONLY, SWITCH = range(4)
TEMPORAL_DELIMITER = b"\x12\x00"


def elements(*pairs: tuple[int, int]) -> str:
    """``f(n)`` elements in order."""
    for value, width in pairs:
        assert 0 <= value < 1 << width, (value, width)
    return "".join(f"{value:0{width}b}" for value, width in pairs if width)


def by_hand(*parts: str) -> str:
    """Elements that a test worked out bit by bit; spaces part them."""
    return "".join(parts).replace(" ", "")


def uvlc(value: int) -> str:
    code = f"{value + 1:b}"
    return "0" * (len(code) - 1) + code


def leb128(value: int) -> bytes:
    octets = []
    while value >= 128:
        octets.append(value % 128 + 128)
        value //= 128
    return bytes([*octets, value])


def trailing(bits: str) -> bytes:
    """The bits with ``trailing_bits``, as bytes."""
    bits += "1"
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


def obu(
    obu_type: int, payload: bytes, layer: tuple[int, int] | None = None, *, size: bool = True
) -> bytes:
    """One OBU; ``layer`` is ``temporal_id`` and ``spatial_id`` of an extension header."""
    header = bytes([obu_type << 3 | (layer is not None) << 2 | size << 1])
    if layer is not None:
        header += bytes([layer[0] << 5 | layer[1] << 3])
    return header + (leb128(len(payload)) if size else b"") + payload


@dataclass(frozen=True)
class SequenceHeader:
    """What a sequence header says; the defaults make the smallest useful one."""

    seq_profile: int = 0
    still_picture: bool = False
    reduced: bool = False
    timing: tuple[int, int, bool, int] | None = None
    model: tuple[int, int, int, int] | None = None
    # idc, level, tier, (decoder delay, encoder delay, low delay) or None, display delay or None
    points: Sequence[tuple[int, int, int, tuple[int, int, int] | None, int | None]] = (
        (0, 0, 0, None, None),
    )
    width: int = 96
    height: int = 64
    size_bits: tuple[int, int] = (16, 16)
    frame_ids: tuple[int, int] | None = None
    tools: str = "0000000"
    order_hint_bits: int = 7
    jnt_comp: bool = False
    ref_frame_mvs: bool = True
    screen_content_tools: int = 2
    integer_mv: int = 2
    superres: bool = False
    cdef_and_restoration: str = "11"
    color: str = "0" + "0" + "0" + "0" + "00" + "0"
    film_grain: bool = False

    @property
    def bits(self) -> str:
        out = elements((self.seq_profile, 3), (self.still_picture, 1), (self.reduced, 1))
        if self.reduced:
            out += elements((self.points[0][1], 5))
        else:
            out += "0" if self.timing is None else "1" + self._timing()
            delays = any(point[4] is not None for point in self.points)
            out += elements((delays, 1), (len(self.points) - 1, 5))
            for point in self.points:
                out += self._point(point, delays=delays)
        wide, high = self.size_bits
        out += elements(
            (wide - 1, 4), (high - 1, 4), (self.width - 1, wide), (self.height - 1, high)
        )
        if not self.reduced:
            out += elements((self.frame_ids is not None, 1))
            if self.frame_ids:
                delta, total = self.frame_ids
                out += elements((delta - 2, 4), (total - delta - 1, 3))
        out += self.tools[:3]
        if not self.reduced:
            out += self.tools[3:]
            out += elements((self.order_hint_bits > 0, 1))
            if self.order_hint_bits:
                out += elements((self.jnt_comp, 1), (self.ref_frame_mvs, 1))
            out += "1" if self.screen_content_tools == 2 else f"0{self.screen_content_tools}"
            if self.screen_content_tools:
                out += "1" if self.integer_mv == 2 else f"0{self.integer_mv}"
            if self.order_hint_bits:
                out += elements((self.order_hint_bits - 1, 3))
        return (
            out
            + f"{self.superres:d}"
            + self.cdef_and_restoration
            + self.color
            + f"{self.film_grain:d}"
        )

    def _timing(self) -> str:
        assert self.timing is not None
        units, scale, equal, ticks = self.timing
        out = elements((units, 32), (scale, 32), (equal, 1)) + (uvlc(ticks) if equal else "")
        if self.model is None:
            return out + "0"
        delay, tick, removal, presentation = self.model
        return out + elements(
            (1, 1), (delay - 1, 5), (tick, 32), (removal - 1, 5), (presentation - 1, 5)
        )

    def _point(
        self, point: tuple[int, int, int, tuple[int, int, int] | None, int | None], *, delays: bool
    ) -> str:
        idc, level, tier, info, display = point
        out = elements((idc, 12), (level, 5)) + (f"{tier}" if level > 7 else "")
        if self.model is not None:
            out += elements((info is not None, 1))
            if info is not None:
                width = self.model[0]
                out += elements((info[0], width), (info[1], width), (info[2], 1))
        if delays:
            out += "0" if display is None else elements((1, 1), (display, 4))
        return out

    @property
    def payload(self) -> bytes:
        return trailing(self.bits)

    @property
    def unit(self) -> bytes:
        return obu(1, self.payload)

    @property
    def presentation_bits(self) -> int:
        if self.timing is None or self.model is None or self.timing[2]:
            return 0
        return self.model[3]


@dataclass(frozen=True)
class Frame:
    """What a frame header says, up to ``use_ref_frame_mvs``."""

    frame_type: int = INTER
    show_frame: bool = True
    showable_frame: bool = False
    error_resilient_mode: bool = False
    disable_cdf_update: bool = False
    allow_screen_content_tools: int = 0
    force_integer_mv: int = 0
    frame_id: int = 0
    size: tuple[int, int] | None = None
    found_ref: int | None = None
    order_hint: int = 0
    primary_ref_frame: int = 7
    removal_times: Sequence[int] | None = None
    refresh_frame_flags: int = 0
    ref_order_hint: Sequence[int] = (0,) * 8
    short: tuple[int, int] | None = None
    ref_frame_idx: Sequence[int] = (0,) * 7
    delta_frame_ids: Sequence[int] = (1,) * 7
    coded_denom: int | None = None
    render: tuple[int, int] | None = None
    use_ref_frame_mvs: bool = False

    def bits(self, sequence: SequenceHeader) -> str:
        shown_key = self.frame_type == KEY and self.show_frame
        intra = self.frame_type in (KEY, INTRA_ONLY)
        resilient = shown_key or self.frame_type == SWITCH or self.error_resilient_mode
        override = self.size is not None or self.found_ref is not None
        out = ""
        if not sequence.reduced:
            out += elements((0, 1), (self.frame_type, 2), (self.show_frame, 1))
            if self.show_frame:
                out += elements((0, sequence.presentation_bits))
            else:
                out += elements((self.showable_frame, 1))
            if not shown_key and self.frame_type != SWITCH:
                out += elements((self.error_resilient_mode, 1))
        out += elements((self.disable_cdf_update, 1))
        tools = sequence.screen_content_tools
        if tools == 2:
            tools = self.allow_screen_content_tools
            out += elements((tools, 1))
        integer_mv = 0
        if tools:
            integer_mv = sequence.integer_mv
            if integer_mv == 2:
                integer_mv = self.force_integer_mv
                out += elements((integer_mv, 1))
        if sequence.frame_ids:
            out += elements((self.frame_id, sequence.frame_ids[1]))
        if self.frame_type != SWITCH and not sequence.reduced:
            out += elements((override, 1))
        out += elements((self.order_hint, sequence.order_hint_bits if not sequence.reduced else 0))
        if not intra and not resilient:
            out += elements((self.primary_ref_frame, 3))
        if sequence.model is not None:
            out += elements((self.removal_times is not None, 1))
            for time in self.removal_times or ():
                out += elements((time, sequence.model[2]))
        everything = shown_key or self.frame_type == SWITCH
        if not everything:
            out += elements((self.refresh_frame_flags, 8))
        flags = 255 if everything else self.refresh_frame_flags
        if (not intra or flags != 255) and resilient and sequence.order_hint_bits:
            out += elements(*((hint, sequence.order_hint_bits) for hint in self.ref_order_hint))
        if not intra:
            out += self._refs(sequence)
            if override and not resilient and self.found_ref is not None:
                out += "0" * self.found_ref + "1" + self._superres(sequence)
            else:
                out += "0" * 7 if override and not resilient else ""
                out += self._size(sequence)
            out += "" if integer_mv else "1"
            out += "0" + "10" + "0"
            if not resilient and sequence.order_hint_bits and sequence.ref_frame_mvs:
                out += elements((self.use_ref_frame_mvs, 1))
        else:
            out += self._size(sequence)
        return out

    def _refs(self, sequence: SequenceHeader) -> str:
        out = ""
        if sequence.order_hint_bits:
            out += elements((self.short is not None, 1))
            if self.short is not None:
                out += elements((self.short[0], 3), (self.short[1], 3))
        for index, delta in zip(self.ref_frame_idx, self.delta_frame_ids, strict=True):
            out += elements((index, 3)) if self.short is None else ""
            if sequence.frame_ids:
                out += elements((delta - 1, sequence.frame_ids[0]))
        return out

    def _size(self, sequence: SequenceHeader) -> str:
        out = ""
        if self.size is not None or self.found_ref is not None or self.frame_type == SWITCH:
            width, height = self.size or (sequence.width, sequence.height)
            out += elements((width - 1, sequence.size_bits[0]), (height - 1, sequence.size_bits[1]))
        out += self._superres(sequence)
        if self.render is None:
            return out + "0"
        return out + elements((1, 1), (self.render[0] - 1, 16), (self.render[1] - 1, 16))

    def _superres(self, sequence: SequenceHeader) -> str:
        if not sequence.superres:
            return ""
        return "0" if self.coded_denom is None else elements((1, 1), (self.coded_denom, 3))

    def unit(self, sequence: SequenceHeader, layer: tuple[int, int] | None = None) -> bytes:
        """An ``OBU_FRAME``; its tile data is not meant to be decoded."""
        return obu(6, trailing(self.bits(sequence)) + b"tiles", layer)

    def header_unit(self, sequence: SequenceHeader, *, redundant: bool = False) -> bytes:
        """An ``OBU_FRAME_HEADER`` or a redundant one."""
        return obu(7 if redundant else 3, trailing(self.bits(sequence)))


def show_existing(
    index: int, sequence: SequenceHeader | None = None, frame_id: int = 0, *, obu_type: int = 3
) -> bytes:
    """An ``OBU_FRAME_HEADER`` with ``show_existing_frame``."""
    out = elements((1, 1), (index, 3))
    if sequence is not None:
        out += elements((0, sequence.presentation_bits))
        if sequence.frame_ids:
            out += elements((frame_id, sequence.frame_ids[1]))
    return obu(obu_type, trailing(out))
