"""What FFmpeg's ``trace_headers`` bitstream filter reads from access units, for any codec.

It is an independent parser of H.264, HEVC and AV1 headers: it prints every syntax element with its
position, bits and value through FFmpeg's log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import av
import av.logging
from av.bitstream import BitStreamFilterContext

_ELEMENT = re.compile(r"(\d+) +(\S+) +([01]*) = (-?\d+)")


@dataclass(slots=True)
class TracedUnit:
    """One NAL unit or OBU: its title in the trace, and its syntax elements in order.

    An element is ``(name, value, position)``: the name may hold indices as ``name[3]``, the position
    counts bits from the start of the unit's first byte, emulation prevention removed.
    """

    title: str
    elements: list[tuple[str, int, int]] = field(default_factory=list)

    def __contains__(self, name: str) -> bool:
        return any(element[0] == name for element in self.elements)

    def __getitem__(self, name: str) -> int:
        """The value of the element's first occurrence."""
        for found, value, _ in self.elements:
            if found == name:
                return value
        raise KeyError(f"{name} is not in {self.title}")

    def get(self, name: str, default: int) -> int:
        return next((value for found, value, _ in self.elements if found == name), default)

    def all(self, name: str) -> list[int]:
        """The values of all elements of that name, whatever their indices, in order."""
        return [value for found, value, _ in self.elements if found.partition("[")[0] == name]

    def position(self, name: str) -> int:
        """The position in bits of the element's first occurrence."""
        return next(position for found, _, position in self.elements if found == name)


def trace(codec: str, access_units: Iterable[bytes]) -> list[list[TracedUnit]]:
    """The headers of each access unit; ``codec`` is FFmpeg's name: ``h264``, ``hevc``, ``av1``.

    Access units of H.264 and HEVC are in byte stream format, and parameter sets must be in band.
    """
    bitstream_filter = BitStreamFilterContext("trace_headers", codec)
    level, skip_repeated = av.logging.get_level(), av.logging.get_skip_repeated()
    av.logging.set_level(av.logging.INFO)
    av.logging.set_skip_repeated(False)  # two equal elements in a row are two elements
    try:
        traced = []
        for access_unit in access_units:
            with av.logging.Capture() as logs:
                bitstream_filter.filter(av.Packet(access_unit))
            traced.append(_units([message for _, name, message in logs if name == "trace_headers"]))
        return traced
    finally:
        av.logging.set_skip_repeated(skip_repeated)
        av.logging.set_level(level)


def _units(messages: list[str]) -> list[TracedUnit]:
    units: list[TracedUnit] = []
    for message in messages:
        text = message.strip()
        element = _ELEMENT.fullmatch(text)
        if element:
            units[-1].elements.append((element[2], int(element[4]), int(element[1])))
        elif not text.startswith("Packet:"):
            units.append(TracedUnit(text))
    return units
