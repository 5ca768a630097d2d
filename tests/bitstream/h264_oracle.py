"""Order counts, marking and reference lists of H.264 from another source than the parser.

FFmpeg's decoder logs the order count of each slice and its list of short-term references; its
``trace_headers`` filter reads the slice headers. From these the reference lists are built here by
the letter of ITU-T H.264 8.2.4, arrays and all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import av
import av.logging
from bitstream.trace import TracedUnit, trace

_SLICE = re.compile(r"slice:\d+ .* frame:(\d+) poc:(-?\d+)/(-?\d+) ")
_REFERENCE = re.compile(r"\d+ fn:(\d+) poc:(-?\d+) 0x[0-9a-f]+")

Frame = tuple[int, int]  # frame_num, order count


@dataclass(frozen=True)
class OraclePicture:
    order_count: int
    slices: tuple[TracedUnit, ...]
    before: tuple[Frame, ...]  # short-term references, the newest first
    after: tuple[Frame, ...]
    lists: tuple[tuple[Frame, ...], ...]


def oracle(access_units: Sequence[bytes]) -> list[OraclePicture]:
    """One picture per access unit; order counts are relative to the last IDR picture's."""
    pictures = []
    base = 0
    maximum_frame_num = 0
    defaults = (0, 0)
    for units, messages in zip(
        trace("h264", access_units), _decoder_logs(access_units), strict=True
    ):
        for traced in units:
            if traced.title == "Sequence Parameter Set":
                maximum_frame_num = 1 << (4 + traced["log2_max_frame_num_minus4"])
            if traced.title == "Picture Parameter Set":
                defaults = (
                    traced["num_ref_idx_l0_default_active_minus1"] + 1,
                    traced["num_ref_idx_l1_default_active_minus1"] + 1,
                )
        slices = tuple(traced for traced in units if traced.title == "Slice Header")
        order_count, before, after = _decoder_state(messages)
        if slices[0]["nal_unit_type"] == 5:
            base, before = order_count, []
        before = [(frame_num, count - base) for frame_num, count in before]
        after = [(frame_num, count - base) for frame_num, count in after]
        lists = tuple(
            entries
            for header in slices
            for entries in reference_lists(
                header, before, order_count - base, maximum_frame_num, defaults
            )
        )
        pictures.append(
            OraclePicture(order_count - base, slices, tuple(before), tuple(after), lists)
        )
    return pictures


def _decoder_logs(access_units: Sequence[bytes]) -> list[list[str]]:
    decoder = av.CodecContext.create("h264", "r")
    decoder.thread_count = 1
    decoder.options = {"debug": "mmco+pict"}
    level, skip_repeated = av.logging.get_level(), av.logging.get_skip_repeated()
    av.logging.set_level(av.logging.DEBUG)
    av.logging.set_skip_repeated(False)
    try:
        logs = []
        for access_unit in access_units:
            with av.logging.Capture() as captured:
                decoder.decode(av.Packet(access_unit))
            logs.append([message.strip() for _, name, message in captured if name == "h264"])
        return logs
    finally:
        av.logging.set_skip_repeated(skip_repeated)
        av.logging.set_level(level)


def _decoder_state(messages: list[str]) -> tuple[int, list[Frame], list[Frame]]:
    """The order count, and the last list of references printed before the slice and at all."""
    order_count = None
    before: list[Frame] = []
    current: list[Frame] = []
    for message in messages:
        if message == "short term list:":
            current = []
        elif reference := _REFERENCE.fullmatch(message):
            current.append((int(reference[1]), int(reference[2])))
        elif (found := _SLICE.match(message)) and order_count is None:
            order_count = min(int(found[2]), int(found[3]))
            before = current
    assert order_count is not None, messages
    return order_count, before, current


def reference_lists(
    header: TracedUnit,
    frames: Sequence[Frame],
    order_count: int,
    maximum_frame_num: int,
    defaults: tuple[int, int],
) -> list[tuple[Frame, ...]]:
    """RefPicList0 and RefPicList1 of one slice of a frame (8.2.4)."""
    slice_type = header["slice_type"] % 5
    current = header["frame_num"]

    def pic_num(frame: Frame) -> int:  # 8-27, 8-28
        return frame[0] - maximum_frame_num if frame[0] > current else frame[0]

    if slice_type == 0:
        initial = [sorted(frames, key=pic_num, reverse=True)]
    elif slice_type == 1:
        before = sorted((f for f in frames if f[1] < order_count), key=lambda f: -f[1])
        after = sorted((f for f in frames if f[1] > order_count), key=lambda f: f[1])
        list_0, list_1 = before + after, after + before
        if len(list_1) > 1 and list_1 == list_0:
            list_1 = [list_1[1], list_1[0], *list_1[2:]]
        initial = [list_0, list_1]
    else:
        return []
    lists = []
    for index, entries in enumerate(initial):
        active = defaults[index]
        if header["num_ref_idx_active_override_flag"]:
            active = header[f"num_ref_idx_l{index}_active_minus1"] + 1
        array: list[Frame | None] = (entries + [None] * 33)[:active]
        if header[f"ref_pic_list_modification_flag_l{index}"]:
            array = _modified(header, index, array, frames, pic_num, maximum_frame_num)
        assert None not in array
        lists.append(tuple(entry for entry in array if entry is not None))
    return lists


def _modified(header, index, array, frames, pic_num, maximum_frame_num):
    """8.2.4.3.1, with equations 8-34 to 8-37."""
    active = len(array)
    predicted = header["frame_num"]
    ref_idx = 0
    elements = iter(header.elements)
    for name, _, _ in elements:
        if name == f"ref_pic_list_modification_flag_l{index}":
            break
    while True:
        name, idc, _ = next(elements)
        assert name.startswith("modification_of_pic_nums_idc")
        if idc == 3:
            return array
        _, difference, _ = next(elements)  # abs_diff_pic_num_minus1
        if idc == 0:
            no_wrap = predicted - (difference + 1)
            no_wrap += maximum_frame_num if no_wrap < 0 else 0
        else:
            no_wrap = predicted + difference + 1
            no_wrap -= maximum_frame_num if no_wrap >= maximum_frame_num else 0
        predicted = no_wrap
        number = no_wrap - maximum_frame_num if no_wrap > header["frame_num"] else no_wrap
        array = [*array, None]
        for place in range(active, ref_idx, -1):
            array[place] = array[place - 1]
        array[ref_idx] = next(frame for frame in frames if pic_num(frame) == number)
        ref_idx += 1
        target = ref_idx
        for place in range(ref_idx, active + 1):
            if array[place] is None or pic_num(array[place]) != number:
                array[target] = array[place]
                target += 1
        array = array[:active]
