"""Recoding ``ref_frame_idx`` of AV1 frames as ``frame_refs_short_signaling``, which encoders rarely use.

A decoder that derives the seven references from the two that remain (AV1 7.8) as the indexer does
reconstructs the same pictures from the recoded stream. Where elements lie, FFmpeg's trace says.
"""

from __future__ import annotations

from bitstream.trace import TracedUnit, trace

from videoformat.bitstream.av1_frame import Av1FrameHeader
from videoformat.bitstream.av1_obu import ObuType, iterate_obus, write_obu
from videoformat.bitstream.av1_references import set_frame_refs
from videoformat.bitstream.picture import Picture


def recode(
    units: list[bytes], pictures: list[Picture], order_hint_bits: int
) -> tuple[list[bytes], int]:
    """The units with every frame recoded that allows it, and how many frames those are."""
    hints: list[int] = [0] * 8
    holders: list[int] = [-1] * 8
    remaining = iter(pictures)
    recoded = []
    count = 0
    for unit, traced in zip(units, trace("av1", units), strict=True):
        headers = iter([found for found in traced if "Frame Header" in found.title])
        out = b""
        for obu in iterate_obus(unit):
            octets = unit[obu.start : obu.end]
            if obu.obu_type in (ObuType.FRAME, ObuType.FRAME_HEADER):
                picture = next(remaining)
                header = picture.detail
                assert isinstance(header, Av1FrameHeader)
                found = next(headers)
                if obu.obu_type == ObuType.FRAME and _agrees(
                    header, hints, holders, order_hint_bits
                ):
                    shorter = _recode_frame(octets, 8 * (obu.payload_start - obu.start), found)
                    count += shorter is not None
                    octets = shorter or octets
                for index in range(8):
                    if header.refresh_frame_flags >> index & 1:
                        hints[index] = header.order_hint
                        holders[index] = picture.position
            out += octets
        recoded.append(out)
    return recoded, count


def _agrees(
    header: Av1FrameHeader, hints: list[int], holders: list[int], order_hint_bits: int
) -> bool:
    """Whether the derived slots hold the same pictures as the coded ones."""
    refs = header.ref_frame_idx
    if not refs or header.frame_refs_short_signaling or order_hint_bits == 0:
        return False
    half = 1 << (order_hint_bits - 1)
    if any((hints[refs[place]] - header.order_hint) % (2 * half) < half for place in (0, 3)):
        return False
    derived = set_frame_refs(hints, header.order_hint, order_hint_bits, refs[0], refs[3])
    return [holders[index] for index in derived] == [holders[index] for index in refs]


def _recode_frame(octets: bytes, payload: int, header: TracedUnit) -> bytes | None:
    names = [name for name, _, _ in header.elements]
    if "ref_frame_idx[6]" not in names or header.get("delta_frame_id_minus1[0]", -1) >= 0:
        return None
    if "zero_bit" in names:
        end = header.position("zero_bit")
    elif names[-1].startswith("is_global"):
        end = header.elements[-1][2] + 1  # a flag
    else:
        return None
    bits = "".join(f"{octet:08b}" for octet in octets[: (end + 7) // 8])
    flag = header.position("frame_refs_short_signaling")
    last, gold = header["ref_frame_idx[0]"], header["ref_frame_idx[3]"]
    after = header.position("ref_frame_idx[6]") + 3
    short = f"{bits[payload:flag]}1{last:03b}{gold:03b}{bits[after:end]}"
    short += "0" * (-len(short) % 8)
    tiles = octets[(end + 7) // 8 :]
    return write_obu(ObuType.FRAME, int(short, 2).to_bytes(len(short) // 8, "big") + tiles)
