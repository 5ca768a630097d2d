"""The same frames in other forms, at one quality: video files by an encoder, JPEG files, and the search.

Quality is luma PSNR against the decoded source, over all frames that are compared, computed from the
RGB that readers return (BT.601, limited range), so that one definition holds for all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

# Read when the encoder is made: errors only.
os.environ.setdefault("SVT_LOG", "1")

import av
import numpy as np
from peers import EpisodeVideo, JpegFiles, Read
from PIL import Image

from videoformat.convert.engine import open_source
from videoformat.index.frame_rate import frame_rate
from videoformat.media.scheduling import scheduling_kept

__all__ = ["SETTINGS", "Source", "psnr", "write_jpegs"]

# AV1 as LeRobot writes it, a key frame every second frame; H.264 as x264 does by default.
SETTINGS = {
    "av1": ("libsvtav1", {"g": "2", "preset": "8"}),
    "h264": ("libx264", {"g": "250", "preset": "medium"}),
}
_LUMA = np.array([65.481, 128.553, 24.966], np.float32) / 255
_PIECE = 96  # frames that are compared at once


class Source:
    """Episodes of a LeRobot dataset of one camera: its files, and its pictures as they are coded.

    ``episodes`` are their numbers in the dataset, None for all; here they are counted from 0.
    """

    def __init__(self, root: Path, episodes: Sequence[int] | None = None) -> None:
        self._origin = open_source(root)
        (self._camera,) = self._origin.info.cameras
        self.rate = frame_rate(self._origin.info.fps)
        self.episodes = list(self._origin.numbers if episodes is None else episodes)
        lengths = dict(zip(self._origin.numbers, self._origin.lengths, strict=True))
        self.lengths = {at: lengths[number] for at, number in enumerate(self.episodes)}

    def videos(self) -> dict[int, EpisodeVideo]:
        """The source's own files."""
        found = {}
        for at, number in enumerate(self.episodes):
            part = self._origin.coded(self._origin.episode(number))[self._camera]
            found[at] = EpisodeVideo(part.path, part.first_frame, self.lengths[at])
        return found

    def pictures(self, episode: int) -> Iterator[av.VideoFrame]:
        for pictures in self._origin.pictures(self._origin.episode(self.episodes[episode])):
            yield pictures[self._camera].picture

    def encode(self, folder: Path, codec: str, crf: float) -> dict[int, EpisodeVideo]:
        """A file an episode, from the decoded samples without a detour through RGB."""
        folder.mkdir(parents=True, exist_ok=True)
        videos = {}
        for episode in self.lengths:
            path = folder / f"{episode:04d}.mp4"
            count = _encode(path, codec, crf, self.rate, self.pictures(episode))
            videos[episode] = EpisodeVideo(path, 0, count)
        return videos


def _encode(
    path: Path, codec: str, crf: float, rate: Fraction, pictures: Iterable[av.VideoFrame]
) -> int:
    name, options = SETTINGS[codec]
    count = 0
    with scheduling_kept(), av.open(str(path), "w") as container:
        stream: Any = None
        for picture in pictures:
            if stream is None:
                stream = container.add_stream(
                    name, rate=rate, options={**options, "crf": f"{crf:g}"}
                )
                stream.width, stream.height = picture.width, picture.height
                stream.pix_fmt = "yuv420p"
                stream.color_range, stream.colorspace = picture.color_range, picture.colorspace
            picture.pts, picture.time_base = count, 1 / rate
            picture.pict_type = 0
            container.mux(stream.encode(picture))
            count += 1
        container.mux(stream.encode(None))
    return count


def write_jpegs(folder: Path, read: Read, quality: int, lengths: Mapping[int, int]) -> JpegFiles:
    """A JPEG file a frame, 4:2:0 as the source is."""
    files = JpegFiles(folder)
    for episode, length in lengths.items():
        files.path(episode, 0).parent.mkdir(parents=True, exist_ok=True)
        for frames in _pieces(length):
            for frame, image in zip(frames, read(episode, frames), strict=True):
                target = files.path(episode, frame)
                Image.fromarray(image).save(target, quality=quality, subsampling="4:2:0")
    return files


def psnr(source: Read, coded: Read, lengths: Mapping[int, int]) -> float:
    """Luma PSNR over all frames of some episodes, from the mean of the squared differences."""
    squared, samples = 0.0, 0
    for episode, length in lengths.items():
        for frames in _pieces(length):
            for ours, theirs in zip(source(episode, frames), coded(episode, frames), strict=True):
                # Luma is linear in RGB, so the luma of the difference is the difference of the lumas.
                difference = np.subtract(ours, theirs, dtype=np.int16).astype(np.float32)
                luma = difference.reshape(-1, 3) @ _LUMA
                squared += float(np.dot(luma, luma))
                samples += luma.size
    return float(10 * np.log10(255**2 / (squared / samples)))


def _pieces(length: int) -> list[list[int]]:
    return [list(range(at, min(at + _PIECE, length))) for at in range(0, length, _PIECE)]
