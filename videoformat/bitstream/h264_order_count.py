"""The order count of H.264 frames: ITU-T H.264 8.2.1."""

from __future__ import annotations

from videoformat.bitstream.h264_slice import SliceElements
from videoformat.errors import BitstreamError

__all__ = ["OrderCounter", "field_order_count_delta"]


class OrderCounter:
    """Derives ``PicOrderCnt`` of each frame in decode order, for all three types of 8.2.1."""

    __slots__ = ("_frame_num", "_frame_num_offset", "_lsb", "_msb")

    def __init__(self) -> None:
        self._msb = self._lsb = 0
        self._frame_num = self._frame_num_offset = 0

    def next(self, header: SliceElements) -> int:
        """``PicOrderCnt(frame)``: the smaller of its two fields' order counts (8-1)."""
        kind = header.sps.pic_order_cnt_type
        if header.is_idr:
            self._msb = self._lsb = self._frame_num_offset = 0
        elif kind and header.frame_num < self._frame_num:
            # Equations 8-6 and 8-11.
            self._frame_num_offset += 1 << header.sps.log2_max_frame_num
        self._frame_num = header.frame_num
        if kind == 0:
            top = self._type_0(header)
        elif kind == 1:
            top = self._type_1(header)
        else:
            # Equation 8-13: output order is decode order.
            top = 2 * (self._frame_num_offset + header.frame_num) - (not header.nal_ref_idc)
        order_count = top + min(0, field_order_count_delta(header))
        if not -(2**31) <= order_count < 2**31:
            raise BitstreamError(f"order count is {order_count}, expected 32 bits (8.2.1)")
        return order_count

    def _type_0(self, header: SliceElements) -> int:
        """``TopFieldOrderCnt`` of 8.2.1.1."""
        lsb = header.pic_order_cnt_lsb
        half = 1 << (header.sps.log2_max_pic_order_cnt_lsb - 1)
        msb = self._msb
        if lsb < self._lsb and self._lsb - lsb >= half:
            msb += 2 * half
        elif lsb > self._lsb and lsb - self._lsb > half:
            msb -= 2 * half
        if header.nal_ref_idc:
            self._msb, self._lsb = msb, lsb
        return msb + lsb

    def _type_1(self, header: SliceElements) -> int:
        """``TopFieldOrderCnt`` of 8.2.1.2."""
        sps = header.sps
        cycle = sps.offset_for_ref_frame
        frames = self._frame_num_offset + header.frame_num if cycle else 0  # absFrameNum
        if frames and not header.nal_ref_idc:
            frames -= 1
        expected = 0
        if frames:
            cycles, in_cycle = divmod(frames - 1, len(cycle))
            expected = cycles * sum(cycle) + sum(cycle[: in_cycle + 1])
        if not header.nal_ref_idc:
            expected += sps.offset_for_non_ref_pic
        return expected + header.delta_pic_order_cnt[0]


def field_order_count_delta(header: SliceElements) -> int:
    """``BottomFieldOrderCnt`` minus ``TopFieldOrderCnt`` of a frame."""
    if header.sps.pic_order_cnt_type == 0:
        return header.delta_pic_order_cnt_bottom
    if header.sps.pic_order_cnt_type == 1:
        return header.sps.offset_for_top_to_bottom_field + header.delta_pic_order_cnt[1]
    return 0
