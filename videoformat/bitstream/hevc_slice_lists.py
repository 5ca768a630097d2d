"""What a slice header says about the entries of its lists (ITU-T H.265 7.3.6.2, 7.3.6.3)."""

from __future__ import annotations

from typing import TypeAlias

from videoformat.bitstream.bits import BitReader

__all__ = ["ListEntries", "parse_ref_pic_lists_modification", "skip_pred_weight_table"]

# list_entry_l0 and list_entry_l1, None where a list is the initial one.
ListEntries: TypeAlias = tuple[tuple[int, ...] | None, tuple[int, ...] | None]


def parse_ref_pic_lists_modification(
    reader: BitReader, num_pic_total_curr: int, active: tuple[int, int], *, is_b: bool
) -> ListEntries:
    """``ref_pic_lists_modification()`` (7.3.6.2), present where more than one picture is usable."""
    entries: list[tuple[int, ...] | None] = [None, None]
    if num_pic_total_curr > 1:
        bits = (num_pic_total_curr - 1).bit_length()
        for index in range(2 if is_b else 1):
            if reader.flag(f"ref_pic_list_modification_flag_l{index}"):
                name = f"list_entry_l{index}"
                found = tuple(reader.u(bits, name) for _ in range(active[index]))
                if max(found) >= num_pic_total_curr:
                    raise reader.error(name, max(found), f"below {num_pic_total_curr}")
                entries[index] = found
    return entries[0], entries[1]


def skip_pred_weight_table(reader: BitReader, active: tuple[int, int], *, chroma: bool) -> None:
    """Reads ``pred_weight_table()`` (7.3.6.3), of a picture that never refers to itself."""
    reader.ue("luma_log2_weight_denom", 7)
    if chroma:
        reader.se("delta_chroma_log2_weight_denom")
    for size in active:
        # luma_weight_flag of every entry, then chroma_weight_flag of every entry.
        luma = reader.u(size, "luma_weight_flag")
        chromas = reader.u(size, "chroma_weight_flag") if chroma else 0
        if luma or chromas:
            for entry in reversed(range(size)):
                if luma >> entry & 1:
                    reader.se("delta_luma_weight")
                    reader.se("luma_offset")
                if chromas >> entry & 1:
                    for _ in range(2):
                        reader.se("delta_chroma_weight")
                        reader.se("delta_chroma_offset")
