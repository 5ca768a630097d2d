"""Scaling list data of HEVC parameter sets (ITU-T H.265 7.3.4)."""

from __future__ import annotations

from videoformat.bitstream.bits import BitReader

__all__ = ["skip_scaling_list_data"]


def skip_scaling_list_data(reader: BitReader) -> None:
    """Reads ``scaling_list_data()``, whose values decide nothing about references."""
    for size_id in range(4):
        for _ in range(2 if size_id == 3 else 6):
            if not reader.flag("scaling_list_pred_mode_flag"):
                reader.ue("scaling_list_pred_matrix_id_delta", 5)
                continue
            if size_id > 1:
                reader.se("scaling_list_dc_coef_minus8")
            for _ in range(min(64, 1 << (4 + 2 * size_id))):
                reader.se("scaling_list_delta_coef")
