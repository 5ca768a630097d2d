"""H.264 streams written by hand: two by two macroblocks, whose pixels say what they came from.

Encoders do not write long-term references, field pairs or memory resets; these streams do. A picture
is made of PCM macroblocks of one grey, or of copies of a reference with one PCM macroblock of its
own, so a decoder that takes another reference shows other pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
from bitstream.h264_syntax import I, P, coded_slice, nal_unit, pps, sps

from videoformat.bitstream.bits import BitReader, ue_bits
from videoformat.bitstream.nal import to_annexb, unescape

WIDTH = HEIGHT = 32
_MACROBLOCKS = 4
_FRAME_NUM_BITS = 4
_PCM = 25  # mb_type I_PCM of an I slice (table 7-11); 5 more in a P slice

SPS: dict[str, Any] = {"width_in_mbs": 2, "height_in_map_units": 2, "level_idc": 10}
RECOVERY_POINT = nal_unit(6, "00000110" + "00000001" + ue_bits(0) + "1" + "0" + "00" + "100")


def slice_of(
    slice_type: int, frame_num: int, lsb: int, macroblocks: Sequence[Any], **header: Any
) -> bytes:
    """A slice of macroblocks: an integer is a PCM grey, ``("copy", ref_idx, active)`` a copy.

    ``bottom`` makes a field picture of one parity or the other.
    """
    bottom = header.pop("bottom", None)
    if bottom is not None:
        header["field"] = True
    empty = coded_slice(slice_type, frame_num, lsb, data="", **header)
    bits = BitReader(unescape(empty[1:])).bits
    bits = bits[: bits.rindex("1")]  # without rbsp_trailing_bits
    if bottom:
        at = len(ue_bits(0) + ue_bits(slice_type) + ue_bits(0)) + _FRAME_NUM_BITS + 1
        bits = bits[:at] + "1" + bits[at + 1 :]  # bottom_field_flag
    for macroblock in macroblocks:
        if slice_type == P:
            bits += ue_bits(0)  # mb_skip_run
        if isinstance(macroblock, int):
            bits += ue_bits(_PCM + 5 * (slice_type == P))
            bits += "0" * (-len(bits) % 8)
            bits += f"{macroblock:08b}" * 256 + "10000000" * 128
        else:
            _, ref_idx, active = macroblock
            reference = "" if active == 1 else f"{1 - ref_idx}" if active == 2 else ue_bits(ref_idx)
            bits += ue_bits(0) + reference + "1" + "1" + "1"  # P_L0_16x16, no mvd, no residual
    return nal_unit(empty[0], bits)


def intra(grey: int, frame_num: int, lsb: int, count: int = _MACROBLOCKS, **header: Any) -> bytes:
    """A slice of one grey."""
    return slice_of(I, frame_num, lsb, [grey] * count, **header)


def copy(
    grey: int,
    frame_num: int,
    lsb: int,
    ref_idx: int = 0,
    active: int = 1,
    count: int = _MACROBLOCKS,
    **header: Any,
) -> bytes:
    """A slice that copies a reference, but for one macroblock of its own grey."""
    if active > 1 and "active" not in header:
        header["active"] = (active,)
    own = frame_num % count
    macroblocks: list[Any] = [("copy", ref_idx, active)] * count
    macroblocks[own] = grey
    return slice_of(P, frame_num, lsb, macroblocks, **header)


def write(path: Path, *access_units: Sequence[bytes]) -> Path:
    """A raw stream; every access unit begins with a delimiter, so that none is split or joined."""
    delimiter = b"\x09\xf0"
    path.write_bytes(b"".join(to_annexb([delimiter, *unit]) for unit in access_units))
    return path


def write_mp4(path: Path, *access_units: Sequence[bytes]) -> Path:
    """The same in MP4, whatever an access unit holds in one sample."""
    raw = write(path.with_suffix(".h264"), *access_units)
    with av.open(str(raw)) as template, av.open(str(path), "w") as container:
        stream = container.add_stream_from_template(template.streams.video[0])
        for number, unit in enumerate(access_units):
            packet = av.Packet(to_annexb(unit))
            packet.stream = stream
            packet.pts = packet.dts = number
            packet.time_base = Fraction(1, 30)
            packet.is_keyframe = any(nal[0] & 31 == 5 for nal in unit)
            container.mux(packet)
    return path


__all__ = [
    "HEIGHT",
    "RECOVERY_POINT",
    "SPS",
    "WIDTH",
    "copy",
    "intra",
    "pps",
    "slice_of",
    "sps",
    "write",
    "write_mp4",
]
