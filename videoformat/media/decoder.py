"""Decoding closures with ordinary decoders, and refusing to be wrong about it.

FFmpeg can return a wrong picture without an error where a reference is missing. So every packet is
tagged (its ``pts`` is the picture's position in decode order), the decoder is drained and flushed
between groups, and every wanted picture must come back with the tag that it was fed with, in the
size and pixel format that the chunk promises, exactly once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias, cast

import av
import av.error

from videoformat.bitstream.codecs import decoder_setup
from videoformat.errors import DecodeError, UnsupportedStreamError

if TYPE_CHECKING:
    from av.video.codeccontext import VideoCodecContext

__all__ = ["DECODERS", "ClosureDecoder", "DecodedPicture"]

# dav1d, since FFmpeg's own AV1 decoder only works with hardware.
DECODERS = {"h264": "h264", "hevc": "hevc", "av1": "libdav1d"}

DecodedPicture: TypeAlias = av.VideoFrame


class ClosureDecoder:
    """One decoder for the streams of one configuration, reused from group to group.

    ``configuration`` is the codec configuration as stored, ``framing`` that of the access units.
    Not safe to use from two threads at once.
    """

    def __init__(
        self, codec: str, configuration: bytes, framing: str = "annexb", *, threads: int = 1
    ) -> None:
        name = DECODERS.get(codec)
        if name is None:
            raise UnsupportedStreamError("codec", f"{codec!r}, expected one of {sorted(DECODERS)}")
        try:
            context = av.CodecContext.create(name, "r")
        except (av.error.FFmpegError, ValueError) as error:
            raise UnsupportedStreamError(
                "codec", f"no decoder {name!r} in FFmpeg: {error}"
            ) from None
        # Only names of video codecs come here; the stubs cannot know.
        self._context = cast("VideoCodecContext", context)
        self._context.thread_count = threads
        if codec == "h264":
            # Where the stream does not say how far pictures are reordered, wait for as long as its
            # level allows: FFmpeg would else learn it by dropping pictures that come too late.
            self._context.options = {"strict": "strict"}
        extradata, self._prefix = decoder_setup(codec, configuration, framing)
        if extradata:
            self._context.extradata = extradata
        self.key = (codec, configuration, framing)
        self.codec = codec

    def decode_group(
        self, packets: Iterable[tuple[int, bytes]], wanted: Collection[int]
    ) -> Iterator[tuple[int, av.VideoFrame]]:
        """Feeds one group in decode order and yields the wanted pictures as they come.

        ``packets`` are pairs of position and access unit. Raises ``DecodeError`` where the decoder
        reports an error, or does not return each wanted picture exactly once. After an error, or
        where the iterator is abandoned half way, the decoder starts afresh.
        """
        missing = set(wanted)
        fed: set[int] = set()
        returned = 0
        for position, frame in self._feed(packets, fed):
            if position not in fed:
                raise DecodeError(
                    f"the {self.codec} decoder returned a picture tagged {position}, which was "
                    "not fed"
                )
            # Each tag is taken back once: a picture that comes twice is not the one that was fed.
            fed.discard(position)
            returned += 1
            if position in missing:
                if frame.is_corrupt:
                    raise DecodeError(f"the {self.codec} decoder calls picture {position} corrupt")
                missing.discard(position)
                yield position, frame
        if missing:
            raise DecodeError(
                f"the {self.codec} decoder did not return pictures {sorted(missing)} of the "
                f"{len(fed) + returned} that it was fed"
            )

    def decode_all(
        self, packets: Iterable[tuple[int, bytes]]
    ) -> Iterator[tuple[int, av.VideoFrame]]:
        """Feeds packets in decode order and yields whatever comes back, with its tag, in order.

        Raises ``DecodeError`` where the decoder reports an error.
        """
        yield from self._feed(packets, set())

    def _feed(
        self, packets: Iterable[tuple[int, bytes]], fed: set[int]
    ) -> Iterator[tuple[int, av.VideoFrame]]:
        """Feeds packets, drains and flushes. ``fed`` takes the positions of those that are fed."""
        prefix = self._prefix
        decode = self._context.decode
        try:
            for position, data in packets:
                packet = av.Packet(prefix + data if prefix else data)
                prefix = b""
                packet.pts = position
                fed.add(position)
                for frame in decode(packet):
                    yield self._tag(frame), frame
            for frame in decode(None):
                yield self._tag(frame), frame
        except av.error.FFmpegError as error:
            raise DecodeError(
                f"the {self.codec} decoder refused one of the pictures {sorted(fed)}: {error}"
            ) from None
        finally:
            self._context.flush_buffers()

    def _tag(self, frame: av.VideoFrame) -> int:
        if frame.pts is None:
            raise DecodeError(f"the {self.codec} decoder returned a picture without its tag")
        return frame.pts
