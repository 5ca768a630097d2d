"""Writers of HEVC parameter sets and slice segment headers, every optional branch of them.

They follow the syntax tables of ITU-T H.265 7.3 and know nothing of the parser. What they write is
checked by FFmpeg's ``trace_headers``, which refuses values out of range.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from videoformat.bitstream.bits import bits_to_bytes, se_bits, u_bits, ue_bits
from videoformat.bitstream.nal import escape

ReferenceSet = tuple[tuple[tuple[int, bool], ...], tuple[tuple[int, bool], ...]]


def nal_unit(nal_unit_type: int, bits: str, *, temporal_id: int = 0, data: bytes = b"") -> bytes:
    """A NAL unit of the base layer, with trailing or alignment bits, then ``data``."""
    bits += "1"
    bits += "0" * (-len(bits) % 8)
    return bytes([nal_unit_type << 1, temporal_id + 1]) + escape(bits_to_bytes(bits) + data)


@dataclass
class SyntaxWriter:
    """Draws values from ``random`` and writes them as bits."""

    random: random.Random
    bits: str = ""

    def u(self, bits: int, value: int | None = None) -> int:
        chosen = self.random.randrange(1 << bits) if value is None else value
        self.bits += u_bits(chosen, bits)
        return chosen

    def flag(self, value: bool | None = None) -> bool:
        return bool(self.u(1, None if value is None else int(value)))

    def ue(self, low: int, high: int | None = None) -> int:
        chosen = low if high is None else self.random.randint(low, high)
        self.bits += ue_bits(chosen)
        return chosen

    def se(self, low: int, high: int) -> int:
        chosen = self.random.randint(low, high)
        self.bits += se_bits(chosen)
        return chosen


def write_st_ref_pic_set(
    w: SyntaxWriter, candidates: list[ReferenceSet], *, in_slice_header: bool, limit: int
) -> ReferenceSet:
    """7.3.7, and the derivation of 7.4.8 in the order of its equations."""
    index = len(candidates)
    if index and w.flag():
        start = len(w.bits)
        while True:  # a set that is predicted may come out too long: draw another
            w.bits = w.bits[:start]
            delta_idx = 1 + w.ue(0, index - 1) if in_slice_header else 1
            sign = w.flag()
            delta_rps = (1 - 2 * sign) * (1 + w.ue(0, 5))
            s0, s1 = candidates[index - delta_idx]
            used, use_delta = [], []
            for _ in range(len(s0) + len(s1) + 1):
                used.append(w.flag())
                use_delta.append(used[-1] or w.flag())
            found = predict(s0, s1, delta_rps, used, use_delta)
            if len(found[0]) + len(found[1]) <= limit:
                return found
    negative = w.ue(0, min(limit, 3))
    positive = w.ue(0, min(limit - negative, 3))
    sides: list[tuple[tuple[int, bool], ...]] = []
    for count, direction in ((negative, -1), (positive, 1)):
        delta = 0
        side = []
        for _ in range(count):
            delta += direction * (1 + w.ue(0, 4))
            side.append((delta, w.flag()))
        sides.append(tuple(side))
    return sides[0], sides[1]


def predict(
    s0: tuple[tuple[int, bool], ...],
    s1: tuple[tuple[int, bool], ...],
    delta_rps: int,
    used: list[bool],
    use_delta: list[bool],
) -> ReferenceSet:
    """Equations (7-61) and (7-62), line by line."""
    negative, positive = [], []
    last = len(s0) + len(s1)
    for j in range(len(s1) - 1, -1, -1):
        d_poc = s1[j][0] + delta_rps
        if d_poc < 0 and use_delta[len(s0) + j]:
            negative.append((d_poc, used[len(s0) + j]))
    if delta_rps < 0 and use_delta[last]:
        negative.append((delta_rps, used[last]))
    for j in range(len(s0)):
        d_poc = s0[j][0] + delta_rps
        if d_poc < 0 and use_delta[j]:
            negative.append((d_poc, used[j]))
    for j in range(len(s0) - 1, -1, -1):
        d_poc = s0[j][0] + delta_rps
        if d_poc > 0 and use_delta[j]:
            positive.append((d_poc, used[j]))
    if delta_rps > 0 and use_delta[last]:
        positive.append((delta_rps, used[last]))
    for j in range(len(s1)):
        d_poc = s1[j][0] + delta_rps
        if d_poc > 0 and use_delta[len(s0) + j]:
            positive.append((d_poc, used[len(s0) + j]))
    return tuple(negative), tuple(positive)


@dataclass
class WrittenSps:
    bits: str = ""
    max_sub_layers_minus1: int = 0
    width: int = 0
    height: int = 0
    chroma_format_idc: int = 1
    separate_colour_plane: bool = False
    poc_lsb_bits: int = 8
    dpb_size: int = 16
    ctbs: int = 1
    ctb_rows: int = 1
    sao: bool = False
    sets: list[ReferenceSet] = field(default_factory=list)
    long_term: bool = False
    long_term_sps: int = 0
    temporal_mvp: bool = False
    colour: tuple[int, int, int] = (2, 2, 2)
    full_range: bool = False

    @property
    def chroma_array_type(self) -> int:
        return 0 if self.separate_colour_plane else self.chroma_format_idc


def _write_profile_tier_level(w: SyntaxWriter, sub_layers_minus1: int) -> None:
    w.u(8, 4)  # general_profile_space 0, main tier, profile 4 (range extensions)
    w.u(32, 1 << (31 - 4))
    w.u(4, 9)
    w.u(9)
    w.u(34, 0)
    w.flag()
    w.u(8, 93)
    present = [(w.flag(), w.flag()) for _ in range(sub_layers_minus1)]
    if sub_layers_minus1:
        w.u(2 * (8 - sub_layers_minus1), 0)
    for profile, level in present:
        if profile:
            w.u(8, 1)
            w.u(32, 1 << 30)
            w.u(4, 9)
            w.u(43, 0)
            w.u(1, 0)
        if level:
            w.u(8, 60)


def write_vps(source: random.Random) -> str:
    """7.3.2.1, id 0, of as many sub-layers as there can be."""
    w = SyntaxWriter(source)
    w.u(4, 0)
    w.u(2, 3)
    w.u(6, 0)
    w.u(3, 6)
    w.flag(True)
    w.u(16, 0xFFFF)
    _write_profile_tier_level(w, 6)
    w.flag(False)
    w.ue(15)
    w.ue(0)
    w.ue(0)
    w.u(6, 0)
    w.ue(0)
    w.flag(False)
    w.flag(False)
    return w.bits


def _write_scaling_list_data(w: SyntaxWriter, chroma_format_idc: int) -> None:
    for size_id in range(4):
        step = 3 if size_id == 3 else 1
        for matrix_id in range(0, 6, step):
            if not w.flag():
                w.ue(0, matrix_id // step)
            else:
                if size_id > 1:
                    w.se(-7, 247)
                for _ in range(min(64, 1 << (4 + (size_id << 1)))):
                    w.se(-128, 127)


def _write_hrd(w: SyntaxWriter, sub_layers_minus1: int) -> None:
    nal, vcl = w.flag(), w.flag()
    sub_pic = False
    if nal or vcl:
        sub_pic = w.flag()
        if sub_pic:
            w.u(8)
            w.u(5)
            w.flag()
            w.u(5)
        w.u(4)
        w.u(4)
        if sub_pic:
            w.u(4)
        for _ in range(3):
            w.u(5)
    for _ in range(sub_layers_minus1 + 1):
        within = True
        if not w.flag():
            within = w.flag()
        low_delay = False
        if within:
            w.ue(0, 2047)
        else:
            low_delay = w.flag()
        cpb_cnt = 1
        if not low_delay:
            cpb_cnt = 1 + w.ue(0, 3)
        for _ in range(nal + vcl):
            for _ in range(cpb_cnt):
                for _ in range(4 if sub_pic else 2):
                    w.ue(0, 2**32 - 2)
                w.flag()


def _write_vui(w: SyntaxWriter, sps: WrittenSps) -> None:
    if w.flag() and w.u(8, w.random.choice((1, 255))) == 255:
        w.u(32)
    if w.flag():
        w.flag()
    if w.flag():
        w.u(3)
        sps.full_range = w.flag()
        if w.flag():
            sps.colour = (w.u(8), w.u(8), w.u(8))
    if w.flag():
        w.ue(0, 5)
        w.ue(0, 5)
    w.flag()
    w.flag(False)  # field_seq_flag
    w.flag()
    if w.flag():
        for _ in range(4):
            w.ue(0, 3)
    if w.flag():
        w.u(32, w.random.randint(1, 2**32 - 1))
        w.u(32, w.random.randint(1, 2**32 - 1))
        if w.flag():
            w.ue(0, 2**32 - 2)
        if w.flag():
            _write_hrd(w, sps.max_sub_layers_minus1)
    if w.flag():
        w.u(3)
        w.ue(0, 4095)
        for _ in range(4):
            w.ue(0, 16)


def write_sps(source: random.Random, *, long_term: bool | None = None) -> WrittenSps:
    """7.3.2.2, id 0."""
    w = SyntaxWriter(source)
    sps = WrittenSps()
    w.u(4, 0)
    sps.max_sub_layers_minus1 = w.u(3, source.randint(0, 6))
    w.flag(True)
    _write_profile_tier_level(w, sps.max_sub_layers_minus1)
    w.ue(0)
    sps.chroma_format_idc = w.ue(0, 3)
    if sps.chroma_format_idc == 3:
        sps.separate_colour_plane = w.flag()
    ctb_log2 = source.choice((4, 5, 6))
    columns, rows = source.randint(1, 9), source.randint(1, 9)
    width = w.ue(8 * source.randint(1, 8 * columns))
    height = w.ue(8 * source.randint(1, 8 * rows))
    sps.ctb_rows = -(-height // (1 << ctb_log2))
    sps.ctbs = -(-width // (1 << ctb_log2)) * sps.ctb_rows
    sps.width, sps.height = width, height
    if w.flag():
        unit_x = {1: 2, 2: 2}.get(sps.chroma_format_idc, 1)
        unit_y = {1: 2}.get(sps.chroma_format_idc, 1)
        sps.width -= unit_x * (w.ue(0, 1) + w.ue(0, 1))
        sps.height -= unit_y * (w.ue(0, 1) + w.ue(0, 1))
    w.ue(0, 8)
    w.ue(0, 8)
    sps.poc_lsb_bits = 4 + w.ue(0, 12)
    present = w.flag()
    sps.dpb_size = source.randint(1, 16)
    for _ in range(sps.max_sub_layers_minus1 + 1 if present else 1):
        w.ue(sps.dpb_size - 1)
        w.ue(0)
        w.ue(0, 9)
    w.ue(0)  # 8x8 coding blocks
    w.ue(ctb_log2 - 3)
    w.ue(0)
    w.ue(0, min(ctb_log2, 5) - 2)
    w.ue(0, ctb_log2 - 2)
    w.ue(0, ctb_log2 - 2)
    if w.flag() and w.flag():
        _write_scaling_list_data(w, sps.chroma_format_idc)
    w.flag()
    sps.sao = w.flag()
    if w.flag():
        w.u(4, source.randint(0, 7))
        w.u(4, source.randint(0, 7))
        low = w.ue(0)
        w.ue(low, min(ctb_log2, 5) - 3)
        w.flag()
    for _ in range(w.ue(0, source.choice((0, 1, 5, 64)))):
        sps.sets.append(
            write_st_ref_pic_set(w, sps.sets, in_slice_header=False, limit=sps.dpb_size - 1)
        )
    sps.long_term = w.flag(long_term)
    if sps.long_term:
        sps.long_term_sps = w.ue(0, 4)
        for _ in range(sps.long_term_sps):
            w.u(sps.poc_lsb_bits)
            w.flag()
    sps.temporal_mvp = w.flag()
    w.flag()
    if w.flag():
        _write_vui(w, sps)
    if w.flag():
        range_extension = w.flag()
        w.u(7, 0)
        if range_extension:
            for _ in range(9):
                w.flag()
    sps.bits = w.bits
    return sps


@dataclass
class WrittenPps:
    bits: str = ""
    dependent: bool = False
    output_flag: bool = False
    extra_bits: int = 0
    cabac_init: bool = False
    default_active: tuple[int, int] = (1, 1)
    chroma_qp_offsets: bool = False
    weighted: bool = False
    biweighted: bool = False
    tiles: tuple[int, int] | None = None
    wpp: bool = False
    across_slices: bool = False
    deblocking_override: bool = False
    deblocking_disabled: bool = False
    lists_modification: bool = False
    extension: bool = False
    chroma_qp_offset_list: bool = False


def write_pps(source: random.Random, sps: WrittenSps) -> WrittenPps:
    """7.3.2.3, id 0, of SPS 0."""
    w = SyntaxWriter(source)
    pps = WrittenPps()
    w.ue(0)
    w.ue(0)
    pps.dependent = w.flag()
    pps.output_flag = w.flag()
    pps.extra_bits = w.u(3)
    w.flag()
    pps.cabac_init = w.flag()
    pps.default_active = (1 + w.ue(0, 14), 1 + w.ue(0, 14))
    w.se(-10, 10)
    w.flag()
    transform_skip = w.flag()
    if w.flag():
        w.ue(0, 1)
    w.se(-12, 12)
    w.se(-12, 12)
    pps.chroma_qp_offsets = w.flag()
    pps.weighted = w.flag()
    pps.biweighted = w.flag()
    w.flag()
    tiles = w.flag(source.random() < 0.5 and sps.ctbs >= 64)
    pps.wpp = w.flag()
    if tiles:
        pps.tiles = (1 + w.ue(1, 2), 1 + w.ue(0, 2))
        if not w.flag():
            for _ in range(sum(pps.tiles) - 2):
                w.ue(0)
        w.flag()
    pps.across_slices = w.flag()
    if w.flag():
        pps.deblocking_override = w.flag()
        pps.deblocking_disabled = w.flag()
        if not pps.deblocking_disabled:
            w.se(-6, 6)
            w.se(-6, 6)
    if w.flag():
        _write_scaling_list_data(w, sps.chroma_format_idc)
    pps.lists_modification = w.flag()
    w.ue(0, 2)
    pps.extension = w.flag()
    if w.flag():
        range_extension = w.flag()
        w.u(7, 0)
        if range_extension:
            if transform_skip:
                w.ue(0, 1)
            w.flag()
            pps.chroma_qp_offset_list = w.flag()
            if pps.chroma_qp_offset_list:
                w.ue(0, 1)
                for _ in range(1 + w.ue(0, 5)):
                    w.se(-12, 12)
                    w.se(-12, 12)
            w.ue(0)
            w.ue(0)
    pps.bits = w.bits
    return pps


@dataclass
class WrittenSlice:
    bits: str = ""
    nal_unit_type: int = 1
    slice_type: int = 2
    lsb: int = 0
    sets: ReferenceSet = ((), ())
    active: tuple[int, int] = (0, 0)
    entries: list[tuple[int, ...] | None] = field(default_factory=lambda: [None, None])
    collocated: tuple[bool, int] = (True, 0)
    ref_pic_set: int | None = None
    ref_pic_set_end: int | None = None
    lists_modification: int | None = None


def write_slice_segment_header(
    source: random.Random, sps: WrittenSps, pps: WrittenPps, *, dependent: bool = False
) -> WrittenSlice:
    """7.3.6.1, without long-term reference pictures."""
    w = SyntaxWriter(source)
    s = WrittenSlice(nal_unit_type=source.choice((0, 1, 1, 1, 9, 16, 19, 21)))
    first = w.flag(not dependent and (sps.ctbs == 1 or source.random() < 0.7))
    if s.nal_unit_type >= 16:
        w.flag()
    w.ue(0)
    if not first:
        if pps.dependent:
            w.flag(dependent)
        w.u((sps.ctbs - 1).bit_length(), source.randint(1, sps.ctbs - 1))
    if dependent:
        _write_end(w, sps, pps)
        s.bits = w.bits
        return s
    w.u(pps.extra_bits)
    s.slice_type = w.ue(2) if s.nal_unit_type >= 16 else w.ue(0, 2)
    if pps.output_flag:
        w.flag()
    if sps.separate_colour_plane:
        w.u(2, source.randint(0, 2))
    temporal_mvp = False
    if s.nal_unit_type != 19:
        s.ref_pic_set = len(w.bits)
        s.lsb = w.u(sps.poc_lsb_bits)
        if not w.flag(None if sps.sets else False):
            s.sets = write_st_ref_pic_set(w, sps.sets, in_slice_header=True, limit=sps.dpb_size - 1)
        else:
            s.sets = sps.sets[
                w.u((len(sps.sets) - 1).bit_length(), source.randrange(len(sps.sets)))
            ]
        if sps.long_term:
            if sps.long_term_sps:
                w.ue(0)
            w.ue(0)
        s.ref_pic_set_end = len(w.bits)
        if sps.temporal_mvp:
            temporal_mvp = w.flag()
    sao = False
    if sps.sao:
        sao = w.flag()
        if sps.chroma_array_type:
            sao = w.flag() or sao
    usable = sum(used for side in s.sets for _, used in side)
    if s.slice_type != 2:
        b = s.slice_type == 0
        s.active = (pps.default_active[0], pps.default_active[1] if b else 0)
        if w.flag():
            s.active = (1 + w.ue(0, 14), 1 + w.ue(0, 14) if b else 0)
        s.lists_modification = len(w.bits)
        if pps.lists_modification and usable > 1:
            for index in range(1 + b):
                if w.flag():
                    width = (usable - 1).bit_length()
                    s.entries[index] = tuple(
                        w.u(width, source.randrange(usable)) for _ in range(s.active[index])
                    )
        if b:
            w.flag()
        if pps.cabac_init:
            w.flag()
        if temporal_mvp:
            from_l0 = w.flag() if b else True
            size = s.active[0 if from_l0 else 1]
            s.collocated = (from_l0, w.ue(0, size - 1) if size > 1 else 0)
        if pps.biweighted if b else pps.weighted:
            w.ue(0, 7)
            if sps.chroma_array_type:
                w.se(0, 0)
            for size in s.active:
                luma = [w.flag() for _ in range(size)]
                chroma = [sps.chroma_array_type != 0 and w.flag() for _ in range(size)]
                for has_luma, has_chroma in zip(luma, chroma, strict=True):
                    if has_luma:
                        w.se(-128, 127)
                        w.se(-128, 127)
                    if has_chroma:
                        for _ in range(2):
                            w.se(-128, 127)
                            w.se(-512, 511)
        w.ue(0, 4)
    w.se(-10, 10)
    if pps.chroma_qp_offsets:
        w.se(-12, 12)
        w.se(-12, 12)
    if pps.chroma_qp_offset_list:
        w.flag()
    deblocking_disabled = pps.deblocking_disabled
    if pps.deblocking_override and w.flag():
        deblocking_disabled = w.flag()
        if not deblocking_disabled:
            w.se(-6, 6)
            w.se(-6, 6)
    if pps.across_slices and (sao or not deblocking_disabled):
        w.flag()
    _write_end(w, sps, pps)
    s.bits = w.bits
    return s


def _write_end(w: SyntaxWriter, sps: WrittenSps, pps: WrittenPps) -> None:
    if pps.tiles or pps.wpp:
        points = w.ue(0, 1 if sps.ctb_rows > 1 else 0)
        if points:
            width = 1 + w.ue(0, 31)
            for _ in range(points):
                w.u(width)
    if pps.extension:
        for _ in range(w.ue(0, 256)):
            w.u(8)
