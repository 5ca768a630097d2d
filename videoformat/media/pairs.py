"""Encoders that are fed groups of pictures, each by itself: a key picture, then a few from it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Generic, TypeVar

import av
import av.error
from av.video.frame import PictureType

from videoformat.errors import DataError, InvalidArgumentError
from videoformat.media.color import PIXEL_FORMAT, Color
from videoformat.media.encoder_context import open_encoder

__all__ = ["GroupEncoder", "copied"]

# SVT-AV1 writes its settings to the standard error stream unless it is told to report errors alone.
_SVT_LOG = ("SVT_LOG", "1")
Tag = TypeVar("Tag")


class GroupEncoder(Generic[Tag]):
    """One encoder whose key pictures come every ``1 + followers`` pictures.

    ``push`` takes a group and a tag; the packets of groups come back later, with their tags, in the
    order in which the groups went in. One thread at a time.
    """

    def __init__(
        self,
        encoder: str,
        options: Mapping[str, str],
        size: tuple[int, int],
        color: Color,
        rate: Fraction,
        followers: int = 1,
    ) -> None:
        os.environ.setdefault(*_SVT_LOG)
        self.encoder = encoder
        self._time_base = 1 / rate
        self._length = 1 + followers
        self._context = open_encoder(
            encoder,
            size,
            color,
            rate,
            options,
            gop_size=self._length,
            headers_apart=encoder == "libx264",
        )
        self._pushed = 0
        self._tags: dict[int, Tag] = {}
        self._packets: list[bytes] = []

    @property
    def extradata(self) -> bytes:
        """The parameter sets, where the encoder has them apart."""
        return bytes(self._context.extradata or b"")

    def push(self, pictures: Sequence[av.VideoFrame], mark: Tag) -> list[tuple[Tag, list[bytes]]]:
        """Feeds a group, its key first; returns those that are finished, each with its packets."""
        if len(pictures) != self._length:
            raise InvalidArgumentError(
                f"a group has {len(pictures)} pictures, expected {self._length}"
            )
        self._tags[self._pushed // self._length] = mark
        return [finished for picture in pictures for finished in self._encode(picture)]

    def finish(self) -> list[tuple[Tag, list[bytes]]]:
        """The groups that were still in the encoder, which takes no more."""
        finished = self._take(None)
        if self._tags:
            raise DataError(f"{self.encoder} did not return {len(self._tags)} groups of pictures")
        return finished

    def _encode(self, picture: av.VideoFrame) -> list[tuple[Tag, list[bytes]]]:
        picture.pts = self._pushed
        picture.time_base = self._time_base
        picture.pict_type = PictureType.NONE
        self._pushed += 1
        return self._take(picture)

    def _take(self, picture: av.VideoFrame | None) -> list[tuple[Tag, list[bytes]]]:
        try:
            packets = self._context.encode(picture)
        except av.error.FFmpegError as error:
            raise DataError(
                f"{self.encoder} failed at picture {self._pushed - 1}: {error}"
            ) from None
        finished = []
        for packet in packets:
            self._packets.append(bytes(packet))
            if len(self._packets) < self._length:
                continue
            if packet.pts is None or packet.pts // self._length not in self._tags:
                raise DataError(f"{self.encoder} returned a picture at {packet.pts}")
            finished.append((self._tags.pop(packet.pts // self._length), self._packets))
            self._packets = []
        return finished


def copied(picture: av.VideoFrame) -> av.VideoFrame:
    """The samples of a yuv420p picture in another."""
    return av.VideoFrame.from_ndarray(picture.to_ndarray(), format=PIXEL_FORMAT)
