"""Which parser reads which codec."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from types import MappingProxyType

from videoformat.bitstream.av1 import Av1Indexer
from videoformat.bitstream.av1_obu import config_obus
from videoformat.bitstream.closure import ClosureRewriter
from videoformat.bitstream.h264 import H264Indexer
from videoformat.bitstream.h264_pps import parse_picture_parameter_set
from videoformat.bitstream.h264_rewrite import H264Rewriter
from videoformat.bitstream.hevc import HevcIndexer
from videoformat.bitstream.hevc_rewrite import HevcRewriter
from videoformat.bitstream.nal import (
    parse_avcc,
    parse_hvcc,
    split_annexb,
    split_length_prefixed,
    to_annexb,
    to_length_prefixed,
    write_avcc,
    write_hvcc,
)
from videoformat.bitstream.picture import PictureIndexer
from videoformat.errors import BitstreamError, UnsupportedStreamError

__all__ = [
    "INDEXERS",
    "byte_stream",
    "decoder_setup",
    "make_indexer",
    "make_nal_indexer",
    "make_rewriter",
    "moves_slice_data",
    "nal_unit_splitter",
    "resets_decoding",
    "stored_configuration",
]

_H264_SEI, _H264_PPS = 6, 8
_LENGTH_SIZES = MappingProxyType({f"length{size}": size for size in range(1, 5)})

# NAL unit types of pictures after which nothing before is referenced: H.264 table 7-1 (IDR), H.265
# table 7-1 (BLA and IDR).
_H264_IDR = 5
_HEVC_RESETS = range(16, 21)

INDEXERS: MappingProxyType[str, Callable[[bytes], PictureIndexer]] = MappingProxyType(
    {"h264": H264Indexer, "hevc": HevcIndexer, "av1": Av1Indexer}
)


def make_indexer(codec: str, configuration: bytes) -> PictureIndexer:
    """A parser for a stream with this codec configuration.

    Raises ``UnsupportedStreamError`` for a codec that is not known, ``BitstreamError`` where the
    configuration breaks its syntax.
    """
    indexer = INDEXERS.get(codec)
    if indexer is None:
        raise UnsupportedStreamError("codec", f"{codec!r}, expected one of {', '.join(INDEXERS)}")
    return indexer(configuration)


def make_nal_indexer(codec: str, configuration: bytes) -> H264Indexer | HevcIndexer:
    """A parser for access units that are split into NAL units; it keeps no headers."""
    if codec == "h264":
        return H264Indexer(configuration, keep_headers=False)
    if codec == "hevc":
        return HevcIndexer(configuration, keep_headers=False)
    raise UnsupportedStreamError("codec", f"{codec!r} has no NAL units, expected h264 or hevc")


def make_rewriter(codec: str, configuration: bytes) -> ClosureRewriter:
    """A rewriter of closures of a stream whose configuration is in byte stream format."""
    if codec == "h264":
        return H264Rewriter(configuration)
    if codec == "hevc":
        return HevcRewriter(configuration)
    raise UnsupportedStreamError("codec", f"closures of {codec!r} are not rewritten")


@lru_cache(maxsize=64)
def moves_slice_data(codec: str, configuration: bytes) -> bool:
    """Whether slice data means the same behind a header of another length.

    In CAVLC it does not: ``pcm_alignment_zero_bit`` (H.264 7.3.5) aligns the samples of I_PCM
    macroblocks, and which macroblocks are I_PCM is known only once they are parsed. In CABAC and HEVC
    slice data is aligned itself. ``configuration`` is in byte stream format; of a picture parameter
    set that cannot be read the worst is assumed.
    """
    if codec != "h264":
        return True
    try:
        return all(
            parse_picture_parameter_set(unit.rstrip(b"\0")).entropy_coding_mode_flag
            for unit in split_annexb(configuration)
            if unit[0] & 31 == _H264_PPS
        )
    except (BitstreamError, UnsupportedStreamError):
        return False


def stored_configuration(codec: str, extradata: bytes) -> tuple[bytes, str]:
    """A container's codec configuration as this format keeps it, and the framing that it implies.

    H.264 and HEVC: the parameter sets in byte stream format; ``length1`` to ``length4`` or
    ``annexb``. AV1: OBUs in low-overhead format; ``obu``.
    """
    if codec == "av1":
        return config_obus(extradata), "obu"
    if not extradata or extradata[:3] in (b"\0\0\1", b"\0\0\0"):
        return extradata, "annexb"
    record = (parse_avcc if codec == "h264" else parse_hvcc)(extradata)
    return to_annexb(record.nal_units), f"length{record.length_size}"


def byte_stream(framing: str) -> Callable[[bytes], bytes]:
    """What makes a stored access unit one that decoders, parsers and rewriters take.

    NAL units behind lengths go into byte stream format; everything else is as it is. Raises
    ``UnsupportedStreamError`` for a framing that is not known.
    """
    if framing in ("annexb", "obu"):
        return lambda unit: unit
    split = nal_unit_splitter(framing)
    return lambda unit: to_annexb(split(unit))


def nal_unit_splitter(framing: str) -> Callable[[bytes], list[bytes]]:
    """What splits a stored access unit of H.264 or HEVC into NAL units.

    Raises ``UnsupportedStreamError`` for a framing that is not known.
    """
    if framing == "annexb":
        return split_annexb
    size = _length_size(framing)
    return lambda unit: split_length_prefixed(unit, size)


def _length_size(framing: str) -> int:
    size = _LENGTH_SIZES.get(framing)
    if size is None:
        raise UnsupportedStreamError(
            "framing", f"{framing!r}, expected annexb, obu or one of {', '.join(_LENGTH_SIZES)}"
        )
    return size


def decoder_setup(codec: str, configuration: bytes, framing: str) -> tuple[bytes, bytes]:
    """What a decoder is given for stored access units as they are, without converting any.

    The first is its extradata: for NAL units behind lengths a configuration record, which tells a
    decoder of them. The second comes in band before the first picture of a group: in AV1 the
    sequence header, in H.264 the encoder's version SEI, by which decoders know whose faults to work
    around. Raises ``UnsupportedStreamError`` for a framing that is not known.
    """
    if codec == "av1":
        # libdav1d takes no OBUs as extradata.
        return b"", Av1Indexer(configuration).sequence_header_obu
    if configuration[:1] == b"\1":
        return configuration, b""
    nal_units = split_annexb(configuration)
    version = [unit for unit in nal_units if codec == "h264" and unit[0] & 31 == _H264_SEI]
    if framing == "annexb":
        return configuration, to_annexb(version)
    size = _length_size(framing)
    write = write_avcc if codec == "h264" else write_hvcc
    return write(nal_units, size), to_length_prefixed(version, size)


def resets_decoding(codec: str, nal_units: Iterable[bytes]) -> bool:
    """Whether an access unit of H.264 or HEVC references nothing before it, nor do later ones."""
    for unit in nal_units:  # any() over a generator takes three times as long
        if unit[0] & 31 == _H264_IDR if codec == "h264" else unit[0] >> 1 & 63 in _HEVC_RESETS:
            return True
    return False
