"""Video files: which frames they hold, and those frames in presentation order.

Frames are counted, never looked up by time: frame ``k`` is the ``k``-th in presentation order. The
packets are scanned once for their timestamps; every frame that the decoder returns must then carry
the timestamp of the packet whose turn it is, so a frame that a decoder drops or repeats is noticed
where it happens.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import av
import av.error

from videoformat.errors import (
    CountMismatchError,
    DataError,
    DatasetNotFoundError,
    StoreError,
    UnsupportedStreamError,
)
from videoformat.index.features import MAXIMUM_SIDE

if TYPE_CHECKING:
    from av.video.stream import VideoStream
from videoformat.media.container_end import check_end

__all__ = ["VideoFile", "VideoScan"]


@dataclass(frozen=True, slots=True)
class VideoScan:
    """What a pass over a file's packets found, without decoding.

    ``pts`` are those of the frames that are presented, ascending, in units of ``time_base``, or
    None where the container has none (raw streams). ``starts`` are ordinals of frames at which
    decoding can begin and at which nothing that follows in the file is presented earlier.
    ``byte_count`` is the sum of the access units.
    """

    frame_count: int
    pts: tuple[int, ...] | None
    starts: frozenset[int]
    time_base: Fraction
    byte_count: int


class VideoFile:
    """The first video stream of a file. Use it as a context manager.

    Raises ``DataError`` where the file is empty, cut off or no video, ``DatasetNotFoundError``
    where it is not there, and ``UnsupportedStreamError`` for a codec without a decoder.
    """

    def __init__(self, path: str | Path, *, threads: int = 1) -> None:
        self.path = Path(path)
        self._threads = threads
        self._scan: VideoScan | None = None
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            raise DatasetNotFoundError(f"there is no file {self.path}") from None
        except OSError as error:
            raise StoreError(f"{self.path}: {error}") from None
        if not size:
            raise DataError(f"{self.path} is empty (0 bytes)")
        self._container = self._open()
        try:
            check_end(self.path)
        except DataError:
            self._container.close()
            raise
        stream = self._container.streams.video[0]
        context = stream.codec_context
        if context is None:
            raise UnsupportedStreamError("codec", f"{self.path}: FFmpeg has no decoder for it")
        self.codec = context.codec.canonical_name
        self.width, self.height = stream.width, stream.height
        self.pixel_format = context.pix_fmt
        self.extradata = bytes(context.extradata or b"")
        self.rate: Fraction | None = stream.average_rate or stream.guessed_rate

    def _open(self) -> av.container.InputContainer:
        try:
            # Titles and comments may be in any encoding, or in none.
            container = av.open(str(self.path), metadata_errors="replace")
        except av.error.FFmpegError as error:
            raise DataError(f"{self.path} cannot be read as video: {error.strerror}") from None
        if not container.streams.video:
            container.close()
            raise DataError(
                f"{self.path} holds no video stream; it may have been cut off before its index"
            )
        stream = container.streams.video[0]
        stream.thread_count = self._threads
        stream.thread_type = "AUTO" if self._threads > 1 else "NONE"
        return container

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        self._container.close()

    def packets(self) -> Iterator[av.Packet[VideoStream]]:
        """The packets in decode order, then an empty one that flushes the decoder; once only.

        ``decode`` of a packet gives the frames that a decoder has ready after it and all packets
        before it, if it was called for each of them.
        """
        try:
            yield from self._container.demux(self._container.streams.video[0])
        except av.error.FFmpegError as error:
            raise DataError(f"{self.path} cannot be read to its end: {error.strerror}") from None

    def scan(self) -> VideoScan:
        """Reads every packet once, without decoding; kept for later calls."""
        if self._scan is None:
            self._scan = self._read_packets()
        return self._scan

    def use_scan(self, scan: VideoScan) -> None:
        """Takes a scan of the same file that another object made."""
        self._scan = scan

    def _read_packets(self) -> VideoScan:
        container = self._open()
        try:
            stream = container.streams.video[0]
            packets = [
                (packet.pts, packet.is_keyframe, packet.size)
                for packet in container.demux(stream)
                # An edit list keeps packets out of the presentation; the last packet is empty.
                if packet.size and not packet.is_discard
            ]
            time_base = stream.time_base or Fraction(1, 1)
        except av.error.FFmpegError as error:
            raise DataError(f"{self.path} cannot be read to its end: {error.strerror}") from None
        finally:
            container.close()
        byte_count = sum(size for _, _, size in packets)
        timed = [(pts, is_key) for pts, is_key, _ in packets if pts is not None]
        ordered = sorted(pts for pts, _ in timed)
        rank = {pts: at for at, pts in enumerate(ordered)}
        if len(rank) != len(packets):
            # Without a timestamp a packet, frames are counted as they come out of the decoder.
            return VideoScan(len(packets), None, frozenset({0}), time_base, byte_count)
        starts = set()
        earliest: int | None = None
        for pts, is_key in reversed(timed):
            if is_key and (earliest is None or pts < earliest):
                starts.add(rank[pts])
            earliest = pts if earliest is None else min(earliest, pts)
        return VideoScan(len(packets), tuple(ordered), frozenset(starts), time_base, byte_count)

    def frames(
        self, first: int = 0, count: int | None = None
    ) -> Iterator[tuple[int, av.VideoFrame]]:
        """Frames ``first`` to ``first + count`` (exclusive) in presentation order, with their pts.

        Where the container has no timestamps, pts are the ordinals. Raises ``CountMismatchError``
        where the file has fewer frames than packets or than asked for, and
        ``UnsupportedStreamError`` where the size or pixel format changes in mid-stream.
        """
        scan = self.scan()
        end = scan.frame_count if count is None else first + count
        if not 0 <= first <= end <= scan.frame_count:
            raise CountMismatchError(
                f"{self.path}: frames {first} to {end - 1} were asked for, the file has "
                f"{scan.frame_count}"
            )
        try:
            yield from self._checked(self._decoded(scan, first), scan, first, end)
        except av.error.FFmpegError as error:
            raise DataError(
                f"{self.path}: decoding frames {first} to {end - 1} failed: {error.strerror}"
            ) from None

    def _decoded(self, scan: VideoScan, first: int) -> Iterator[av.VideoFrame]:
        """Frames from ``first`` on, or from the beginning."""
        # Not every key frame that a container names is exact to start at (intra refresh), so a
        # seek goes only to the very frame that is asked for, where recordings were joined; and not
        # every container arrives there (transport streams, fragments).
        if first and scan.pts is not None and first in scan.starts:
            container = self._open()
            try:
                stream = container.streams.video[0]
                container.seek(scan.pts[first], stream=stream, backward=True)
                packets = container.demux(stream)
                packet = next(packets, None)
                if packet is not None and packet.pts == scan.pts[first]:
                    for each in itertools.chain([packet], packets):
                        yield from each.decode()
                    return
            finally:
                container.close()
        container = self._open()
        try:
            yield from container.decode(container.streams.video[0])
        finally:
            container.close()

    def _checked(
        self, decoded: Iterator[av.VideoFrame], scan: VideoScan, first: int, end: int
    ) -> Iterator[tuple[int, av.VideoFrame]]:
        expected = first
        layout: tuple[int, int, str] | None = None
        for ordinal, frame in enumerate(decoded):
            if expected == end:
                return
            if scan.pts is None:
                if ordinal < first:
                    continue
                pts = ordinal
            else:
                if frame.pts is None:
                    raise DataError(f"{self.path}: the decoder returned a frame without a pts")
                # Frames before the first are what decoding had to begin with.
                if frame.pts < scan.pts[first]:
                    continue
                pts = frame.pts
                if pts != scan.pts[expected]:
                    raise CountMismatchError(
                        f"{self.path}: the decoder returned a frame with pts {pts} where frame "
                        f"{expected} has pts {scan.pts[expected]}: a frame is missing or repeated"
                    )
            found = (frame.width, frame.height, frame.format.name)
            if layout is not None and found != layout:
                raise UnsupportedStreamError(
                    "resolution changes in mid-stream",
                    f"{self.path}: {layout[0]}x{layout[1]} {layout[2]} becomes "
                    f"{found[0]}x{found[1]} {found[2]} at frame {expected}",
                )
            layout = found
            if frame.is_corrupt:
                raise DataError(f"{self.path}: the decoder calls frame {expected} corrupt")
            if max(found[:2]) > MAXIMUM_SIDE:
                raise UnsupportedStreamError("size", f"{self.path}: {found[0]}x{found[1]}")
            yield pts, frame
            expected += 1
        if expected != end:
            raise CountMismatchError(
                f"{self.path}: the decoder returned {expected - first} frames from frame {first}, "
                f"the file has packets for {end - first}"
            )
