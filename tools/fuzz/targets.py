"""What is fuzzed: each target takes any bytes and returns, or raises ``AssertionError``.

A target is right where a parser returns or raises ``VideoFormatError``, where the two ways to index a
stream agree, and where a rewritten closure reads back as what was to be written.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from fuzz.pack import unpack
from videoformat.bitstream.av1 import Av1Indexer
from videoformat.bitstream.av1_obu import config_obus, iterate_obus
from videoformat.bitstream.closure import ClosurePicture
from videoformat.bitstream.codecs import make_rewriter
from videoformat.bitstream.h264 import H264Indexer
from videoformat.bitstream.hevc import HevcIndexer
from videoformat.bitstream.nal import (
    escape,
    parse_avcc,
    parse_hvcc,
    split_annexb,
    split_length_prefixed,
    to_annexb,
    unescape,
)
from videoformat.bitstream.picture import Picture
from videoformat.errors import UnsupportedStreamError, VideoFormatError
from videoformat.index.native import CodedUnit, IndexedStream, StreamIndexer

__all__ = ["TARGETS"]

_INDEXERS: Mapping[str, type[H264Indexer] | type[HevcIndexer] | type[Av1Indexer]] = (
    MappingProxyType({"h264": H264Indexer, "hevc": HevcIndexer, "av1": Av1Indexer})
)
_FRAMINGS = ("annexb", "length1", "length2", "length3", "length4")


def nal_units(data: bytes) -> None:
    """Splitting, emulation prevention and the configuration records."""
    for parse in (parse_avcc, parse_hvcc, split_annexb):
        with contextlib.suppress(VideoFormatError):
            parse(data)
    for size in range(1, 5):
        try:
            units = split_length_prefixed(data, size)
        except VideoFormatError:
            continue
        if sum(map(len, units)) + size * len(units) > len(data):
            raise AssertionError("more NAL units than bytes")
    if unescape(escape(data)) not in (data, data + b"\3"):  # a final zero gets a 3 (7.4.1)
        raise AssertionError("escaping loses bytes")
    units = [escape(bytes([1]) + part) for part in unpack(data)]
    if split_annexb(to_annexb(units)) != units:
        raise AssertionError("escaped NAL units do not survive the byte stream format")


def obus(data: bytes) -> None:
    """Open bitstream units and ``av1C``."""
    try:
        end = 0
        for obu in iterate_obus(config_obus(data)):
            if not end == obu.start < obu.payload_start <= obu.end <= len(data):
                raise AssertionError(f"{obu} does not follow byte {end} of {len(data)}")
            end = obu.end
    except VideoFormatError:
        pass


def _attempt(push: Callable[[bytes], list[Picture]], unit: bytes) -> object:
    """What pushing a unit gives: pictures, or the error's type and message."""
    try:
        return [picture._replace(detail=None) for picture in push(unit)]
    except VideoFormatError as error:
        return type(error), str(error)


# What H.264 slice headers end with. Without keeping headers it is not read where the rest of a header
# is known already, and whatever is wrong there is the decoder's to refuse.
_AFTER_MARKING = (
    "cabac_init_idc",
    "slice_qp_delta",
    "disable_deblocking_filter_idc",
    "slice_alpha_c0_offset_div2",
    "slice_beta_offset_div2",
)


def _compare_indexers(kind: str, configuration: bytes, units: Sequence[bytes]) -> None:
    """With headers kept and without, what is indexed is the same."""
    try:
        full, quick = (
            _INDEXERS[kind](configuration, keep_headers=keep_headers)
            for keep_headers in (True, False)
        )
    except VideoFormatError:
        return
    for unit in units:
        first, second = _attempt(full.push, unit), _attempt(quick.push, unit)
        if (
            kind == "h264"
            and isinstance(first, tuple)
            and any(name in first[1] for name in _AFTER_MARKING)
        ):
            return
        if first != second:
            raise AssertionError(f"{first} with headers, {second} without")
        if isinstance(first, tuple):
            return


def _index(kind: str, configuration: bytes, framing: str, units: Sequence[bytes]) -> IndexedStream:
    indexer = StreamIndexer(kind, configuration, framing)
    for number, unit in enumerate(units):
        indexer.push(CodedUnit(unit, None, number % 7 != 6))
    decoded = range(len(units)) if indexer.must_be_decoded else None
    return indexer.finish(decoded)


def _check_stream(stream: IndexedStream, count: int) -> None:
    for at, picture in enumerate(stream.pictures):
        if picture.references and not 0 <= min(picture.references) <= max(picture.references) < at:
            raise AssertionError(f"picture {at} references {picture.references}")
        if not 0 <= picture.unit < count:
            raise AssertionError(f"picture {at} lies in access unit {picture.unit} of {count}")
    frames = [stream.pictures[at].frame for at in stream.frame_positions]
    if frames != list(range(len(frames))):
        raise AssertionError(f"frames are {frames}")
    for first in range(0, stream.frame_count, 3):
        try:
            span = stream.span(first, min(3, stream.frame_count - first))
        except UnsupportedStreamError:
            continue
        if not stream.pictures[span.start].is_random_access:
            raise AssertionError(f"a span begins at picture {span.start}")


def _stream(kind: str, data: bytes) -> None:
    choice, *parts = unpack(data) or [b""]
    configuration, units = (parts[0], parts[1:]) if parts else (b"", [])
    _compare_indexers(kind, configuration, units)
    framing = "obu" if kind == "av1" else _FRAMINGS[(choice or b"\0")[0] % len(_FRAMINGS)]
    try:
        stream = _index(kind, configuration, framing, units)
    except VideoFormatError:
        return
    _check_stream(stream, len(units))
    if kind != "av1" and framing == "annexb":
        _rewrite(kind, configuration, units, stream)


def _rewrite(
    kind: str, configuration: bytes, units: Sequence[bytes], stream: IndexedStream
) -> None:
    """Every closure that may be rewritten reads back as itself."""
    for target in range(len(stream.pictures)):
        closed = _closure(stream, target)
        pictures = [stream.pictures[at] for at in closed]
        if any(picture.reference_lists is None or picture.poc is None for picture in pictures):
            continue
        closure = [
            ClosurePicture(at, picture.poc or 0, picture.reference_lists or (), units[picture.unit])
            for at, picture in zip(closed, pictures, strict=True)
        ]
        try:
            rewriter = make_rewriter(kind, configuration)
            rewritten = rewriter.rewrite(closure)
        except VideoFormatError:
            continue
        indexer = H264Indexer if kind == "h264" else HevcIndexer
        reader = indexer(rewriter.configuration)
        for at, (unit, picture) in enumerate(zip(rewritten, pictures, strict=True)):
            (found,) = reader.push(unit)
            lists = tuple(
                tuple(closed[entry] for entry in entries) for entries in found.reference_lists
            )
            if lists != picture.reference_lists:
                raise AssertionError(
                    f"picture {closed[at]} was to reference {picture.reference_lists}, its "
                    f"rewritten headers say {lists}"
                )


def _closure(stream: IndexedStream, target: int) -> list[int]:
    found = {target}
    stack = [target]
    while stack:
        for reference in stream.pictures[stack.pop()].references:
            if reference not in found:
                found.add(reference)
                stack.append(reference)
    return sorted(found)


TARGETS: Mapping[str, Callable[[bytes], None]] = MappingProxyType(
    {
        "nal": nal_units,
        "obu": obus,
        "h264": lambda data: _stream("h264", data),
        "hevc": lambda data: _stream("hevc", data),
        "av1": lambda data: _stream("av1", data),
    }
)
