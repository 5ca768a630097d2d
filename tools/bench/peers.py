"""How others read frames: torchcodec, PyAV and decord over video files, PIL over JPEG files.

Every reader is warm (its files are open, their indexes known), decodes with one thread, and gives
uint8 RGB [N, H, W, 3] for frames of an episode. torchcodec and decord are measured where they install.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import av
import numpy as np
from PIL import Image

__all__ = ["PEERS", "EpisodeVideo", "JpegFiles", "OpenFile", "Read"]

Read: TypeAlias = Callable[[int, list[int]], Any]


@dataclass(frozen=True, slots=True)
class EpisodeVideo:
    """An episode's frames in a video file, from ``first`` on in presentation order."""

    path: Path
    first: int
    length: int


class _Torchcodec:
    """Exact seeking, which has the file's index in memory, and no more threads than this one."""

    def __init__(self, videos: Mapping[int, EpisodeVideo]) -> None:
        from torchcodec.decoders import VideoDecoder  # noqa: PLC0415 - measured where installed

        self._videos = videos
        self._decoders = {
            path: VideoDecoder(
                str(path), dimension_order="NHWC", num_ffmpeg_threads=1, seek_mode="exact"
            )
            for path in {video.path for video in videos.values()}
        }

    def read(self, episode: int, frames: list[int]) -> Any:
        video = self._videos[episode]
        decoder = self._decoders[video.path]
        return decoder.get_frames_at([video.first + frame for frame in frames]).data.numpy()


class _Decord:
    def __init__(self, videos: Mapping[int, EpisodeVideo]) -> None:
        from decord import VideoReader, cpu  # noqa: PLC0415 - measured where installed

        self._videos = videos
        self._readers = {
            path: VideoReader(str(path), ctx=cpu(0), num_threads=1)
            for path in {video.path for video in videos.values()}
        }

    def read(self, episode: int, frames: list[int]) -> Any:
        video = self._videos[episode]
        reader = self._readers[video.path]
        return reader.get_batch([video.first + frame for frame in frames]).asnumpy()


class OpenFile:
    """A container, and when its frames are shown; key frames among them."""

    def __init__(self, file: Any) -> None:
        self.container = av.open(file)
        self.stream = self.container.streams.video[0]
        self.stream.codec_context.thread_count = 1
        packets = [
            (packet.pts, packet.is_keyframe)
            for packet in self.container.demux(self.stream)
            if packet.pts is not None
        ]
        self.times = sorted(pts for pts, _ in packets)
        self.keys = sorted(pts for pts, is_key in packets if is_key)

    def read(self, numbers: list[int]) -> list[Any]:
        """Seeks where that skips something, and decodes on where it does not."""
        found: list[Any] = []
        position = None
        frames: Any = iter(())
        for number in numbers:
            wanted = self.times[number]
            key = self.keys[max(0, bisect_right(self.keys, wanted) - 1)]
            if position is None or wanted <= position or key > position:
                self.container.seek(wanted, stream=self.stream)
                frames = self.container.decode(self.stream)
            for frame in frames:
                position = frame.pts
                if position == wanted:
                    found.append(frame.to_ndarray(format="rgb24", threads=1))
                    break
        return found


class _Pyav:
    """Seek to the key frame, decode up to the frame: what loaders wrote by hand."""

    def __init__(self, videos: Mapping[int, EpisodeVideo]) -> None:
        self._videos = videos
        self._files = {
            path: OpenFile(str(path)) for path in {video.path for video in videos.values()}
        }

    def read(self, episode: int, frames: list[int]) -> Any:
        video = self._videos[episode]
        order = sorted(frames)
        found = self._files[video.path].read([video.first + frame for frame in order])
        if len(found) != len(frames):
            raise SystemExit(f"PyAV found {len(found)} of {len(frames)} frames in {video.path}")
        return np.stack(found)


class JpegFiles:
    """A file a frame: ``folder/episode/frame.jpg``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, episode: int, frame: int) -> Path:
        return self._folder / str(episode) / f"{frame:06d}.jpg"

    def read(self, episode: int, frames: list[int]) -> Any:
        images = [Image.open(self.path(episode, frame)) for frame in frames]
        return np.stack([np.asarray(image.convert("RGB")) for image in images])


PEERS: dict[str, Any] = {"PyAV": _Pyav}
if find_spec("torchcodec") is not None:
    PEERS = {"torchcodec": _Torchcodec, **PEERS}
if find_spec("decord") is not None:
    PEERS["decord"] = _Decord
