"""Encoding an episode: cameras in step, cut into chunks within bounds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from videoformat.errors import DataError, InvalidArgumentError
from videoformat.index.build import build_chunk
from videoformat.index.features import Feature
from videoformat.index.pictures import ChunkKey, Stream
from videoformat.index.rows import ChunkMedia
from videoformat.media.color import (
    PIXEL_FORMAT,
    RGB_COLOR,
    Color,
    picture_of,
    rgb_to_picture,
)
from videoformat.media.encoder import EncodedChunk
from videoformat.media.structures import (
    Structure,
    check_structure,
    make_encoder,
    name_of,
    promised_bound,
)

if TYPE_CHECKING:
    import av
    import numpy as np

__all__ = ["ChunkBounds", "EncodedFrames", "EpisodeEncoder", "TimedPicture"]

MAXIMUM_FRAMES_PER_CHUNK = 4096
MAXIMUM_BYTES_PER_CHUNK = 64 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkBounds:
    """When a chunk ends: at so many frames, or soon after its media passes so many bytes."""

    frames: int = MAXIMUM_FRAMES_PER_CHUNK
    bytes: int = MAXIMUM_BYTES_PER_CHUNK

    def __post_init__(self) -> None:
        if self.frames < 1 or self.bytes < 1:
            raise InvalidArgumentError(
                f"a chunk's bounds are positive, got {self.frames} frames and {self.bytes} bytes"
            )


@dataclass(frozen=True, slots=True)
class TimedPicture:
    """A picture to encode and its exact time.

    ``picture`` is yuv420p with sides of ``coded_side``, of which the frame, of ``width`` and
    ``height``, is the top left part.
    """

    picture: av.VideoFrame
    color: Color
    width: int
    height: int
    pts: int
    time_base: Fraction

    @staticmethod
    def of_rgb(
        rgb: np.ndarray[Any, np.dtype[np.uint8]], pts: int, time_base: Fraction
    ) -> TimedPicture:
        """A frame that came as uint8 [H, W, 3]."""
        height, width = rgb.shape[:2]
        return TimedPicture(rgb_to_picture(rgb), RGB_COLOR, width, height, pts, time_base)

    @staticmethod
    def of_frame(frame: av.VideoFrame, pts: int, time_base: Fraction) -> TimedPicture:
        """A decoded frame. Raises ``UnsupportedStreamError`` as ``picture_of`` does."""
        picture, color = picture_of(frame)
        return TimedPicture(picture, color, frame.width, frame.height, pts, time_base)


@dataclass(frozen=True, slots=True)
class EncodedFrames:
    """One finished chunk: which frames it holds, and each camera's media."""

    key: ChunkKey
    cameras: Mapping[str, ChunkMedia]

    @property
    def byte_count(self) -> int:
        """Bytes of media."""
        return sum(
            len(camera.media) for camera in self.cameras.values() if isinstance(camera.media, bytes)
        )


class _CameraChunk:
    """The encoder of one camera for the chunk that is open."""

    def __init__(
        self,
        camera: Feature,
        structure: Structure,
        rate: Fraction,
        first: TimedPicture,
        threads: int,
    ) -> None:
        self.camera = camera
        self.time_base = first.time_base
        self.pts: list[int] = []
        self.encoder = make_encoder(
            structure, first.picture.width, first.picture.height, first.color, rate, threads
        )

    def push(self, timed: TimedPicture) -> None:
        if (timed.width, timed.height) != (self.camera.width, self.camera.height):
            raise DataError(
                f"camera {self.camera.key!r}: a frame of {timed.width}x{timed.height}, the "
                f"feature's shape is {self.camera.width}x{self.camera.height}"
            )
        if timed.color != self.encoder.color:
            raise DataError(
                f"camera {self.camera.key!r}: the colour changes from {self.encoder.color} to "
                f"{timed.color} within an episode"
            )
        if timed.time_base != self.time_base:
            raise DataError(
                f"camera {self.camera.key!r}: the time base changes from {self.time_base} to "
                f"{timed.time_base} within an episode"
            )
        self.pts.append(timed.pts)
        self.encoder.push(timed.picture)

    def finish(self, key: ChunkKey) -> ChunkMedia:
        encoded = self.encoder.finish()
        chunk = build_chunk(key, self._stream(encoded), encoded.access_units, self.pts)
        # What the encoder was asked for is a wish; what it made is checked.
        check_structure(chunk.index)
        return chunk

    def _stream(self, encoded: EncodedChunk) -> Stream:
        structure = self.encoder.structure
        return Stream(
            codec=encoded.codec,
            width=self.camera.width,
            height=self.camera.height,
            decoded_width=encoded.width,
            decoded_height=encoded.height,
            pixel_format=PIXEL_FORMAT,
            color_matrix=encoded.color.matrix,
            color_range=encoded.color.range,
            color_primaries=encoded.color.primaries,
            color_transfer=encoded.color.transfer,
            time_base_numerator=self.time_base.numerator,
            time_base_denominator=self.time_base.denominator,
            framing=encoded.framing,
            configuration=encoded.configuration,
            structure=name_of(structure),
            interval=structure.interval,
            closure_bound=promised_bound(structure),
            access="direct",
            access_reason=None,
            encoder=json.dumps(structure.describe(), ensure_ascii=False),
            source_uri=None,
            source_size=None,
            media_size=0,
        )


class EpisodeEncoder:
    """Takes an episode's pictures frame by frame, all cameras at once, and gives its chunks.

    What it keeps in memory is the open chunk's compressed bytes and what the encoders hold.
    ``rate`` is the nominal frame rate, which only the encoder's rate control uses.
    """

    def __init__(
        self,
        episode_uid: str,
        cameras: Mapping[str, Feature],
        structure: Structure,
        rate: Fraction,
        *,
        bounds: ChunkBounds | None = None,
        threads: int = 1,
    ) -> None:
        self.episode_uid = episode_uid
        self.cameras = cameras
        self.structure = structure
        self.rate = rate
        self.bounds = bounds or ChunkBounds()
        self.threads = threads
        self.frame_count = 0
        self._chunk_index = 0
        self._first_frame = 0
        self._open: dict[str, _CameraChunk] = {}

    def push(self, pictures: Mapping[str, TimedPicture]) -> EncodedFrames | None:
        """Takes the next frame of every camera; returns a chunk where this frame begins the next.

        A dataset without cameras is cut by the bound on frames alone.
        """
        finished = self._finish_chunk() if self._is_full() else None
        for key, timed in pictures.items():
            chunk = self._open.get(key)
            if chunk is None:
                chunk = self._open[key] = _CameraChunk(
                    self.cameras[key], self.structure, self.rate, timed, self.threads
                )
            chunk.push(timed)
        self.frame_count += 1
        return finished

    def finish(self) -> EncodedFrames:
        """The last chunk. At least one frame must have come."""
        if self.frame_count == self._first_frame:
            raise InvalidArgumentError("an episode has at least one frame")
        return self._finish_chunk()

    def _is_full(self) -> bool:
        if self.frame_count == self._first_frame:
            return False
        coded = sum(chunk.encoder.byte_count for chunk in self._open.values())
        return (
            self.frame_count - self._first_frame >= self.bounds.frames or coded >= self.bounds.bytes
        )

    def _finish_chunk(self) -> EncodedFrames:
        key = ChunkKey(
            self.episode_uid,
            self._chunk_index,
            self._first_frame,
            self.frame_count - self._first_frame,
        )
        cameras = {name: chunk.finish(key) for name, chunk in self._open.items()}
        self._open = {}
        self._chunk_index += 1
        self._first_frame = self.frame_count
        return EncodedFrames(key, cameras)
