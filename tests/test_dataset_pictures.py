"""Pictures through the whole path, from frames or video to frames: colour, and sizes of any kind."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import videoformat as vf
from videoformat.bitstream.h264 import H264Indexer
from videoformat.bitstream.hevc import HevcIndexer
from videoformat.media.color import MATRICES, Color, tag
from videoformat.media.gop import PROFILES, ProfileName

CORNERS = [(r, g, b) for r in (0, 255) for g in (0, 255) for b in (0, 255)]


def camera(height: int, width: int) -> dict[str, Any]:
    return {"cam": {"dtype": "video", "shape": (height, width, 3)}}


def written(uri: Path, episodes: list[list[Any]], video: vf.DDRA) -> vf.Dataset:
    height, width, _ = episodes[0][0].shape
    with vf.create(uri, fps=10, features=camera(height, width), video=video) as writer:
        for frames in episodes:
            for frame in frames:
                writer.add_frame({"cam": frame})
            writer.save_episode()
    return vf.open(uri)


@pytest.mark.parametrize("crf", [18, 1])
@pytest.mark.parametrize("profile", PROFILES)
def test_the_corners_of_rgb_come_back(tmp_path: Path, profile: ProfileName, crf: int) -> None:
    """Within 3, from flat images: alone, repeated, and each after every other."""
    flat = [np.full((32, 48, 3), corner, np.uint8) for corner in CORNERS]
    episodes = [*([image] * 3 for image in flat), flat, flat[::-1]]
    ds = written(tmp_path / "d", episodes, vf.DDRA(profile=profile, crf=crf, interval=4))
    for episode, frames in enumerate(episodes):
        found = ds.read_frames(episode, "cam", range(len(frames)))
        assert np.abs(found.astype(int) - np.stack(frames)).max() <= 3, episode


@pytest.mark.parametrize("profile", PROFILES)
def test_the_stored_stream_carries_the_colour_that_the_table_states(
    tmp_path: Path, profile: ProfileName
) -> None:
    ds = written(tmp_path / "d", [[np.zeros((16, 16, 3), np.uint8)]], vf.DDRA(profile=profile))
    (stream,) = ds.streams(0, "cam")
    assert (stream["color_matrix"], stream["color_range"]) == ("smpte170m", "limited")
    parser = (H264Indexer if stream["codec"] == "h264" else HevcIndexer)(stream["configuration"])
    sps = parser.sequence_parameter_set
    assert sps is not None
    assert sps.matrix_coefficients == MATRICES["smpte170m"]
    assert not sps.video_full_range_flag


SIZES = [(1, 1), (1, 2), (2, 1), (3, 5), (15, 17), (16, 16), (17, 33), (1, 64), (64, 1), (31, 20)]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("profile", PROFILES)
def test_frames_of_any_size_come_back(
    tmp_path: Path, profile: ProfileName, size: tuple[int, int]
) -> None:
    """A slope in each direction and in time: the top left part, not scaled, not shifted."""
    rows, columns = np.indices(size)
    frames = [
        np.stack([60 + 4 * rows, 60 + 3 * columns, np.full(size, 40 + 20 * at)], axis=2).clip(
            0, 255
        )
        for at in range(6)
    ]
    images = [frame.astype(np.uint8) for frame in frames]
    ds = written(
        tmp_path / "d",
        [images, images[:2], images[:1]],
        vf.DDRA(profile=profile, crf=4, interval=3),
    )
    for episode, count in enumerate((6, 2, 1)):
        found = ds.read_frames(episode, "cam", range(count))
        assert found.shape == (count, *size, 3)
        # 4:2:0 halves the resolution of colour.
        assert np.abs(found.astype(int) - np.stack(frames[:count])).mean() < 4
    (stream,) = ds.streams(0, "cam")
    assert (stream["height"], stream["width"]) == size
    assert stream["decoded_height"] == max(16, size[0] + size[0] % 2)
    assert stream["decoded_width"] == max(16, size[1] + size[1] % 2)


SOURCES = [
    Color("bt709", "limited", "bt709", "bt709"),
    Color("bt709", "full", "bt709", "bt709"),
    Color("smpte170m", "full", "smpte170m", "smpte170m"),
    Color("smpte170m", "limited", "smpte170m", "smpte170m"),
    Color("bt470bg", "limited", "bt470bg", "gamma28"),
    Color("bt2020nc", "limited", "bt2020", "bt2020-10"),
]


def make_source(path: Path, color: Color, layout: str) -> list[Any]:
    """A video in this colour; returns its frames as RGB by the tags of each decoded frame."""
    with av.open(str(path), "w") as file:
        stream: Any = file.add_stream("libx264", rate=30)
        stream.width, stream.height, stream.pix_fmt = 48, 32, layout
        stream.options = {"crf": "2", "x264-params": "log=-1"}
        tag(stream.codec_context, color)
        for number in range(8):
            frame = av.VideoFrame(48, 32, layout)
            for plane, value in zip(
                frame.planes, (60 + 20 * number, 90 + 8 * number, 170), strict=True
            ):
                plane.update(bytes([value]) * plane.buffer_size)
            tag(frame, color)
            frame.pts, frame.time_base = number, Fraction(1, 30)
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    with av.open(str(path)) as file:
        return [frame.to_ndarray(format="rgb24").copy() for frame in file.decode(video=0)]


@pytest.mark.parametrize(
    "video", [vf.DDRA(crf=4), vf.DDRA(profile="small", crf=4), "native"], ids=str
)
@pytest.mark.parametrize("layout", ["yuv420p", "yuv444p"])
@pytest.mark.parametrize("color", SOURCES, ids=lambda color: f"{color.matrix} {color.range}")
def test_video_keeps_its_matrix_and_range(
    tmp_path: Path, color: Color, layout: str, video: Any
) -> None:
    """What comes back is what FFmpeg makes of the source by its own tags."""
    source = tmp_path / "source.mp4"
    expected = make_source(source, color, layout)
    vf.convert(source, tmp_path / "d", video=video, workers=1)
    ds = vf.open(tmp_path / "d")
    (key,) = ds.cameras
    (stream,) = ds.streams(0, key)
    names = ("color_matrix", "color_range", "color_primaries", "color_transfer")
    assert tuple(stream[name] for name in names) == (
        color.matrix, color.range, color.primaries, color.transfer,
    )  # fmt: skip
    found = ds.read_frames(0, key, range(8))
    assert np.abs(found.astype(int) - np.stack(expected)).max() <= 3


def test_gray_and_ten_bit_video_is_read_as_ffmpeg_shows_it(tmp_path: Path) -> None:
    for layout, codec in (("gray", "ffv1"), ("yuv422p10le", "ffv1"), ("nv12", "libx264")):
        source = tmp_path / f"{layout}.mkv"
        with av.open(str(source), "w") as file:
            stream: Any = file.add_stream(codec, rate=30)
            stream.width, stream.height, stream.pix_fmt = 48, 32, layout
            for number in range(4):
                rgb = np.full((32, 48, 3), (40 * number + 30, 120, 90), np.uint8)
                frame = av.VideoFrame.from_ndarray(rgb, format="rgb24").reformat(
                    format=layout, threads=1
                )
                frame.pts, frame.time_base = number, Fraction(1, 30)
                file.mux(stream.encode(frame))
            file.mux(stream.encode(None))
        with av.open(str(source)) as file:
            expected = [
                f.to_ndarray(format="rgb24", threads=1).copy() for f in file.decode(video=0)
            ]
        vf.convert(source, tmp_path / layout, video=vf.DDRA(crf=2), workers=1)
        ds = vf.open(tmp_path / layout)
        found = ds.read_frames(0, ds.cameras[0], range(4))
        assert np.abs(found.astype(int) - np.stack(expected)).max() <= 3, layout
