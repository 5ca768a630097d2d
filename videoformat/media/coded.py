"""Video files as coded pictures: access units as they are, without decoding."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import av

from videoformat.bitstream.codecs import INDEXERS, stored_configuration
from videoformat.bitstream.nal import split_annexb, to_annexb
from videoformat.errors import DataError, DecodeError, UnsupportedStreamError
from videoformat.index.native import CodedUnit, StreamIndexer
from videoformat.index.native_sequences import CHANGING_SETS
from videoformat.index.pictures import Stream
from videoformat.media.coded_file import CodedFile, Place, coded_packets
from videoformat.media.color import color_of
from videoformat.media.decoder import ClosureDecoder
from videoformat.media.demux import VideoFile

if TYPE_CHECKING:
    from av.video.stream import VideoStream

__all__ = ["index_file"]


def _in_band_sets(codec: str, unit: bytes) -> bytes:
    """The parameter sets that an access unit in byte stream format carries."""
    units = split_annexb(unit)
    if codec == "h264":
        return to_annexb(nal for nal in units if nal[0] & 31 in (7, 8))
    return to_annexb(nal for nal in units if nal[0] >> 1 & 63 in (32, 33, 34))


class _FileIndexer:
    """Indexes the packets of one file."""

    def __init__(self, video: VideoFile) -> None:
        self.video = video
        self.configuration, self.framing = stored_configuration(video.codec, video.extradata)
        self.indexer: StreamIndexer | None = None
        self.places: list[Place] = []
        self.first = b""
        self.time_base = Fraction(1, 1)

    def read(self) -> StreamIndexer:
        for packet in self.video.packets():
            if packet.size:
                self._push(packet)
        if self.indexer is None:
            raise DataError(f"{self.video.path} holds no frames")
        return self.indexer

    def first_frame(self, configuration: bytes) -> av.VideoFrame:
        """What the first access unit decodes to; where it does not by itself, the first frame."""
        decoder = ClosureDecoder(self.video.codec, configuration, self.framing)
        try:
            for _, frame in decoder.decode_all([(0, self.first)]):
                return frame
        except DecodeError:
            pass  # a stream that does not begin at a random access point
        for _, frame in self.video.frames(0, 1):
            return frame
        raise DataError(f"{self.video.path} holds no frame that can be decoded")

    def _push(self, packet: av.Packet[VideoStream]) -> None:
        data = bytes(packet)
        if self.indexer is None:
            codec = self.video.codec
            if not self.configuration and codec != "av1":
                self.configuration = _in_band_sets(codec, data)
            self.indexer = StreamIndexer(codec, self.configuration, self.framing)
            self.time_base = packet.time_base
            self.first = data
        elif next(packet.iter_sidedata(), None) and packet.has_sidedata("new_extradata"):
            raise UnsupportedStreamError(
                CHANGING_SETS, f"{self.video.path}: at access unit {len(self.places)}"
            )
        crc32 = self.indexer.push(CodedUnit(data, packet.pts, not packet.is_discard))
        self.places.append(Place(packet.pos, len(data), crc32))


def index_file(path: str | Path) -> CodedFile:
    """Indexes a video file's H.264, HEVC or AV1 from its bytes.

    Raises ``UnsupportedStreamError`` for another codec, for parameter sets that a container changes
    in mid-stream and for a resolution that changes, ``BitstreamError`` for broken syntax,
    ``DataError`` where the file cannot be read.
    """
    with VideoFile(path) as video:
        if video.codec not in INDEXERS:
            raise UnsupportedStreamError(
                "codec",
                f"{video.path}: {video.codec} is not indexed as it is, only "
                f"{', '.join(INDEXERS)}; it can be re-encoded",
            )
        reading = _FileIndexer(video)
        indexer = reading.read()
        facts = _facts(video, reading, indexer.configuration)
        decoded = _decoded(video.path, facts) if indexer.must_be_decoded else None
        return CodedFile(
            path=video.path,
            stream=indexer.finish(decoded),
            facts=facts,
            time_base=reading.time_base,
            fps=float(video.rate) if video.rate else 30.0,
            places=tuple(reading.places),
            byte_count=sum(place.size for place in reading.places),
        )


def _facts(video: VideoFile, reading: _FileIndexer, configuration: bytes) -> Stream:
    frame = reading.first_frame(configuration)
    color = color_of(frame)
    return Stream(
        codec=video.codec,
        width=frame.width,
        height=frame.height,
        decoded_width=frame.width,
        decoded_height=frame.height,
        pixel_format=frame.format.name,
        color_matrix=color.matrix,
        color_range=color.range,
        color_primaries=color.primaries,
        color_transfer=color.transfer,
        time_base_numerator=reading.time_base.numerator,
        time_base_denominator=reading.time_base.denominator,
        framing=reading.framing,
        configuration=configuration,
        structure="native",
        interval=None,
        closure_bound=0,
        access="sequential",
        access_reason=None,
        encoder=None,
        source_uri=None,
        source_size=None,
        media_size=0,
    )


def _decoded(path: Path, facts: Stream) -> list[int]:
    """The numbers of the access units whose frames a decoder returns, in that order.

    Raises ``DecodeError`` where it reports an error or returns a frame that it calls corrupt,
    ``UnsupportedStreamError`` where the size or pixel format changes.
    """
    decoder = ClosureDecoder(facts.codec, facts.configuration, facts.framing)
    packets = ((number, bytes(packet)) for number, packet in enumerate(coded_packets(path)))
    numbers = []
    expected = (facts.decoded_width, facts.decoded_height, facts.pixel_format)
    for number, frame in decoder.decode_all(packets):
        found = (frame.width, frame.height, frame.format.name)
        if found != expected:
            raise UnsupportedStreamError(
                "resolution changes in mid-stream",
                f"{path}: {expected[0]}x{expected[1]} {expected[2]} becomes "
                f"{found[0]}x{found[1]} {found[2]} at access unit {number}",
            )
        if frame.is_corrupt:
            raise DecodeError(
                f"{path}: the decoder calls the frame of access unit {number} corrupt"
            )
        numbers.append(number)
    return numbers
