"""References of HEVC pictures derived from what FFmpeg's ``trace_headers`` read.

A second derivation: its syntax elements come from another parser, and the clauses are followed word
by word, with PicOrderCntMsb, and the temporary lists that the text has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bitstream.trace import TracedUnit, trace

SUB_LAYER_NON_REFERENCE = {0, 2, 4, 6, 8, 10, 12, 14}
LEADING = {6, 7, 8, 9}


@dataclass(frozen=True)
class OraclePicture:
    order_count: int
    lists: tuple[tuple[int, ...], ...]
    slice_types: tuple[int, ...]
    nal_unit_type: int


def _explicit_set(unit: TracedUnit, name: str) -> list[tuple[int, int]]:
    total, found = 0, []
    for delta_minus1, used in zip(
        unit.all(f"delta_poc_{name}_minus1"), unit.all(f"used_by_curr_pic_{name}_flag"), strict=True
    ):
        total += delta_minus1 + 1
        found.append((-total if name == "s0" else total, used))
    return found


def derive(access_units: Sequence[bytes]) -> list[OraclePicture]:
    """Order counts and lists of positions, of streams with explicit short-term sets in slices."""
    sps = pps = None
    dpb: dict[int, int] = {}
    previous = 0
    pictures = []
    for position, units in enumerate(trace("hevc", access_units)):
        slices = []
        for unit in units:
            if unit.title.startswith("Sequence Parameter Set"):
                sps = unit
                assert unit["num_short_term_ref_pic_sets"] == 0
                assert unit["long_term_ref_pics_present_flag"] == 0
            elif unit.title.startswith("Picture Parameter Set"):
                pps = unit
            elif unit.title.startswith("Slice"):
                slices.append(unit)
        assert sps is not None
        assert pps is not None
        nal_unit_type = slices[0]["nal_unit_type"]
        modulus = 1 << (4 + sps["log2_max_pic_order_cnt_lsb_minus4"])
        lsb = slices[0].get("slice_pic_order_cnt_lsb", 0)
        starts = 16 <= nal_unit_type <= 20 or (nal_unit_type == 21 and position == 0)
        previous_lsb = previous % modulus
        previous_msb = previous - previous_lsb
        if starts:
            msb = 0
        elif lsb < previous_lsb and previous_lsb - lsb >= modulus / 2:
            msb = previous_msb + modulus
        elif lsb > previous_lsb and lsb - previous_lsb > modulus / 2:
            msb = previous_msb - modulus
        else:
            msb = previous_msb
        order_count = msb + lsb
        if (
            slices[0]["nuh_temporal_id_plus1"] == 1
            and nal_unit_type not in SUB_LAYER_NON_REFERENCE | LEADING
        ):
            previous = order_count
        if starts:
            dpb = {}
        lists = []
        for unit in slices:
            s0, s1 = _explicit_set(unit, "s0"), _explicit_set(unit, "s1")
            before = [order_count + delta for delta, used in s0 if used]
            after = [order_count + delta for delta, used in s1 if used]
            named = {order_count + delta for delta, _ in s0 + s1}
            orders = [before + after, after + before][: 2 - unit["slice_type"]]
            for number, order in enumerate(orders):
                default = pps[f"num_ref_idx_l{number}_default_active_minus1"]
                size = 1 + unit.get(f"num_ref_idx_l{number}_active_minus1", default)
                temporary: list[int] = []
                while len(temporary) < max(size, len(order)):
                    temporary += order
                entries = unit.all(f"list_entry_l{number}") or range(size)
                lists.append(tuple(dpb[temporary[entry]] for entry in entries))
        if not starts:
            dpb = {poc: at for poc, at in dpb.items() if poc in named}
        dpb[order_count] = position
        types = tuple(unit["slice_type"] for unit in slices)
        pictures.append(OraclePicture(order_count, tuple(lists), types, nal_unit_type))
    return pictures
