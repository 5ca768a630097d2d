"""Which parser reads which codec."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from videoformat.bitstream.av1 import Av1Indexer
from videoformat.bitstream.h264 import H264Indexer
from videoformat.bitstream.hevc import HevcIndexer
from videoformat.bitstream.picture import PictureIndexer
from videoformat.errors import UnsupportedStreamError

__all__ = ["INDEXERS", "make_indexer"]

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
