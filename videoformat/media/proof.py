"""Proof that a star's chunk decodes to what its encoder made, before it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import av
import av.error

from videoformat.bitstream.codecs import decoder_setup
from videoformat.errors import DecodeError, StructureError
from videoformat.media.decoder import ClosureDecoder
from videoformat.media.digest import picture_digest

if TYPE_CHECKING:
    from av.video.codeccontext import VideoCodecContext

__all__ = ["ProvenPair", "prove_star"]

# Decoders beside the one that reads, tried where FFmpeg has them.
_OTHER_DECODERS = {"av1": ("libaom-av1", "libgav1")}


@dataclass(frozen=True, slots=True)
class ProvenPair:
    """An anchor and a frame as their encoder made them, and where they stand in the chunk.

    ``configuration`` is the encoder's own. ``packets`` begin with the anchor and end with the frame;
    between them is what the encoder coded in between. ``anchor`` and ``leaf`` are positions, the same
    one for an anchor alone.
    """

    configuration: bytes
    packets: tuple[bytes, ...]
    anchor: int
    leaf: int


def prove_star(
    codec: str,
    framing: str,
    configuration: bytes,
    units: Sequence[bytes],
    pairs: Sequence[ProvenPair],
    *,
    threads: int = 1,
) -> None:
    """Raises ``StructureError`` unless the chunk is one stream that decodes as its pairs did.

    All of it is decoded in order, with every decoder that there is. Some pairs are decoded as their
    encoder made them, as closures of their own, and compared in all three. ``threads`` are those of
    the decoder of the whole.
    """
    wanted = {at for pair in pairs for at in (pair.anchor, pair.leaf)}
    decoder = ClosureDecoder(codec, configuration, framing, threads=threads)
    found: dict[int, bytes] = {}
    count = 0
    for at, frame in decoder.decode_all(enumerate(units)):
        if at != count:
            raise StructureError(f"picture {at} of a star came out in place of picture {count}")
        if frame.is_corrupt:
            raise StructureError(f"the {codec} decoder calls picture {at} of a star corrupt")
        count += 1
        if at in wanted:
            found[at] = picture_digest(frame)
    if count != len(units):
        raise StructureError(f"{count} of a star's {len(units)} pictures came out")
    closures = ClosureDecoder(codec, configuration, framing)
    originals = {
        own: ClosureDecoder(codec, own, framing) for own in {pair.configuration for pair in pairs}
    }
    for pair in pairs:
        alone = [(at, units[at]) for at in dict.fromkeys((pair.anchor, pair.leaf))]
        others = range(len(units), len(units) + len(pair.packets) - 2)
        places = (pair.anchor, *others, pair.leaf)[: len(pair.packets)]
        made = list(zip(places, pair.packets, strict=True))
        for source, packets in ((closures, alone), (originals[pair.configuration], made)):
            for at, frame in source.decode_group(packets, {pair.anchor, pair.leaf}):
                if picture_digest(frame) != found[at]:
                    raise StructureError(
                        f"picture {at} of a star decodes to other samples in the chunk than in its "
                        "pair"
                    )
    for name in _OTHER_DECODERS.get(codec, ()):
        if name in av.codecs_available:
            _compare_other(name, decoder_setup(codec, configuration, framing)[1], units, found)


def _compare_other(
    name: str, prefix: bytes, units: Sequence[bytes], expected: dict[int, bytes]
) -> None:
    """The whole chunk by another decoder of the codec."""
    context = cast("VideoCodecContext", av.CodecContext.create(name, "r"))
    count = 0
    try:
        for unit in [*units, None]:
            packet = None if unit is None else av.Packet(prefix + unit)
            prefix = b""
            for frame in context.decode(packet):
                if count in expected and picture_digest(frame) != expected[count]:
                    raise StructureError(f"{name} decodes picture {count} of a star differently")
                count += 1
    except av.error.FFmpegError as error:
        raise DecodeError(f"{name} refused picture {count} of a star: {error}") from None
    if count != len(units):
        raise StructureError(f"{name} returned {count} of a star's {len(units)} pictures")
