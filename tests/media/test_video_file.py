"""Video files: which frames they hold, any of them in order, and what is not whole refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from media.made_videos import TICKS, number_of, picture, with_edit, write_video

from videoformat.errors import (
    CountMismatchError,
    DataError,
    DatasetNotFoundError,
    StoreError,
    UnsupportedStreamError,
)
from videoformat.media.demux import VideoFile

COUNT = 24
IRREGULAR = [0, 33, 66, 67, 150, 151, 400, 433, 466, 500, 533, 1000, 1001, 1040, 1080, 1120,
             1160, 1200, 1300, 1400, 1500, 1600, 1700, 1800]  # fmt: skip
MS = Fraction(1, 1000)
MAKERS: dict[str, Callable[[Path], Path]] = {
    "no B": lambda f: write_video(f / "a.mp4", params="bframes=0:keyint=5"),
    "B and an edit list": lambda f: write_video(f / "a.mp4", params="bframes=3:keyint=9"),
    "MOV": lambda f: write_video(f / "a.mov", params="bframes=3"),
    "fragments": lambda f: write_video(
        f / "a.mp4", params="bframes=2:keyint=6", options={"movflags": "frag_keyframe+empty_moov"}
    ),
    "Matroska": lambda f: write_video(f / "a.mkv", params="bframes=3:keyint=9"),
    "transport stream": lambda f: write_video(f / "a.ts", params="bframes=2:keyint=9"),
    "starts late": lambda f: write_video(
        f / "a.mp4", params="bframes=0", pts=[TICKS * (at + 100) for at in range(COUNT)]
    ),
    "variable rate": lambda f: write_video(
        f / "a.mkv", params="bframes=3", pts=IRREGULAR, time_base=MS
    ),
    "variable rate, MP4": lambda f: write_video(
        f / "a.mp4", params="bframes=0", pts=IRREGULAR, time_base=MS
    ),
    "open GOP": lambda f: write_video(
        f / "a.mp4", codec="libx265", params="open-gop=1:keyint=6:min-keyint=6:bframes=3"
    ),
    "open GOP, H.264": lambda f: write_video(
        f / "a.mp4", params="open-gop=1:keyint=6:min-keyint=6:bframes=3"
    ),
    "intra refresh": lambda f: write_video(f / "a.mp4", params="intra-refresh=1:keyint=8"),
    "no timestamps": lambda f: write_video(
        f / "a.h264", params="bframes=3:keyint=9", container="h264"
    ),
    "no timestamps, HEVC": lambda f: write_video(
        f / "a.hevc", codec="libx265", params="bframes=3:keyint=9", container="hevc"
    ),
    "MPEG-4": lambda f: write_video(f / "a.mp4", codec="mpeg4", bf="2", g="7", q="2"),
    "lossless": lambda f: write_video(f / "a.mkv", codec="ffv1"),
    "AV1": lambda f: write_video(
        f / "a.mp4", codec="libsvtav1", side=64, preset="12", crf="10", g="8"
    ),
}


@pytest.fixture(scope="module", params=MAKERS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return MAKERS[request.param](tmp_path_factory.mktemp("video"))


def test_frames_come_in_presentation_order(made: Path) -> None:
    with VideoFile(made) as video:
        scan = video.scan()
        frames = [(pts, number_of(frame)) for pts, frame in video.frames()]
        assert [number for _, number in frames] == list(range(COUNT))
        assert scan.frame_count == COUNT
        assert [pts for pts, _ in frames] == list(scan.pts or range(COUNT))
        assert 0 in scan.starts
        assert scan.byte_count <= made.stat().st_size
        assert video.scan() is scan


def test_any_run_of_frames_is_that_of_the_whole(made: Path) -> None:
    chosen = random.Random(made.name)
    with VideoFile(made) as video:
        scan = video.scan()
        firsts = {*scan.starts, *chosen.sample(range(COUNT), 4)}
        for first in sorted(firsts):
            count = chosen.randint(1, COUNT - first)
            found = [number_of(frame) for _, frame in video.frames(first, count)]
            assert found == list(range(first, first + count))
        assert list(video.frames(3, 0)) == []
        assert list(video.frames(COUNT)) == []


def test_frames_that_are_not_there_are_refused_with_the_count(made: Path) -> None:
    with VideoFile(made) as video:
        for first, count in ((0, COUNT + 1), (COUNT, 1), (-1, 1), (5, -1), (COUNT + 3, None)):
            with pytest.raises(CountMismatchError, match=f"the file has {COUNT}"):
                list(video.frames(first, count))


def test_a_scan_serves_another_object_of_the_same_file(made: Path) -> None:
    with VideoFile(made) as video:
        scan = video.scan()
    with VideoFile(made, threads=2) as video:
        video.use_scan(scan)
        assert video.scan() is scan
        assert [number_of(frame) for _, frame in video.frames(2, 3)] == [2, 3, 4]


def test_times_are_those_of_the_file(tmp_path: Path) -> None:
    with VideoFile(MAKERS["variable rate"](tmp_path)) as video:
        assert video.scan().pts == tuple(IRREGULAR)
        assert video.scan().time_base == MS
    with VideoFile(MAKERS["starts late"](tmp_path)) as video:
        scan = video.scan()
        assert scan.pts is not None
        assert [(pts - scan.pts[0]) * scan.time_base for pts in scan.pts[:3]] == [
            0, Fraction(1, 30), Fraction(2, 30),
        ]  # fmt: skip
    with VideoFile(MAKERS["no timestamps"](tmp_path)) as video:
        assert video.scan().pts is None
        assert video.scan().starts == {0}
        assert [pts for pts, _ in video.frames(5, 2)] == [5, 6]


@pytest.mark.parametrize(("start", "length"), [(0, 400), (7, 300), (8, 800), (15, 300), (23, 34)])
@pytest.mark.parametrize("params", ["bframes=3:keyint=9", "bframes=2:keyint=24"])
def test_an_edit_list_says_which_frames_there_are(
    tmp_path: Path, params: str, start: int, length: int
) -> None:
    """Decoded with what comes before, counted from where it begins."""
    path = write_video(tmp_path / "a.mp4", params=params)
    with_edit(path, TICKS * start, length)
    expected = list(range(start, min(COUNT, start + -(-length * 30 // 1000))))
    with VideoFile(path) as video:
        found = [number_of(frame) for _, frame in video.frames()]
        # FFmpeg keeps a frame or two on either side of where the edit ends between frames.
        assert found == list(range(found[0], found[-1] + 1))
        assert found[0] == start
        assert abs(len(found) - len(expected)) <= 2
        assert video.scan().frame_count == len(found)
        last = [number_of(frame) for _, frame in video.frames(len(found) - 1, 1)]
        assert last == found[-1:]


@pytest.mark.parametrize("name", ["a.mp4", "a.mov", "a.mkv", "a.avi"])
@pytest.mark.parametrize("front", [False, True], ids=["", "index in front"])
def test_a_file_that_was_cut_off_is_refused_wherever(
    tmp_path: Path, name: str, front: bool
) -> None:
    """Also between two frames, where FFmpeg reads what is left as if it were all."""
    options = {"movflags": "faststart"} if front and name[2:] in ("mp4", "mov") else {}
    whole = write_video(tmp_path / name, params="bframes=0:keyint=5", options=options)
    with av.open(str(whole)) as file:
        ends = [p.pos + p.size for p in file.demux(video=0) if p.size and p.pos is not None]
    data = whole.read_bytes()
    cut = tmp_path / f"cut.{name[2:]}"
    chosen = random.Random(name)
    for end in {*ends[:-1:5], *(chosen.randrange(1, len(data)) for _ in range(12))}:
        if end < len(data):
            cut.write_bytes(data[:end])
            with pytest.raises(
                DataError, match=r"cannot be read as video|is cut off|holds no video"
            ):
                VideoFile(cut)


def test_a_raw_stream_that_was_cut_off_within_a_frame_is_refused(tmp_path: Path) -> None:
    """A raw stream has no end of its own; but half a frame is no frame."""
    path = write_video(tmp_path / "a.h264", params="bframes=0", container="h264")
    path.write_bytes(path.read_bytes()[:-20])
    with VideoFile(path) as video, pytest.raises(DataError, match=r"corrupt|failed"):
        list(video.frames())


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.touch()
    with pytest.raises(DataError, match=r"a\.mp4 is empty \(0 bytes\)"):
        VideoFile(path)


def test_what_is_no_video_is_named(tmp_path: Path) -> None:
    text = tmp_path / "a.mp4"
    text.write_bytes(b"no video at all, only words " * 50)
    with pytest.raises(DataError, match=r"a\.mp4 cannot be read as video"):
        VideoFile(text)
    sound = tmp_path / "a.wav"
    with av.open(str(sound), "w") as file:
        stream = file.add_stream("pcm_s16le", rate=8000)
        samples = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), layout="mono")
        samples.sample_rate = 8000
        file.mux(stream.encode(samples))
        file.mux(stream.encode(None))
    with pytest.raises(DataError, match=r"a\.wav holds no video stream"):
        VideoFile(sound)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetNotFoundError, match="there is no file"):
        VideoFile(tmp_path / "absent.mp4")
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="Not a directory"):
        VideoFile(tmp_path / "file" / "a.mp4")


def test_a_size_that_changes_is_refused(tmp_path: Path) -> None:
    """Two raw streams, one after the other; the second is larger."""
    parts = [
        write_video(tmp_path / f"{side}.h264", 6, params="bframes=0", container="h264", side=side)
        for side in (32, 48)
    ]
    path = tmp_path / "both.h264"
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    with (
        VideoFile(path) as video,
        pytest.raises(
            UnsupportedStreamError, match=r"resolution changes .* 32x32 yuv420p becomes 48x48"
        ),
    ):
        list(video.frames())


def test_two_frames_with_one_timestamp_are_counted_not_looked_up(tmp_path: Path) -> None:
    path = tmp_path / "a.mkv"
    with av.open(str(path), "w") as file:
        stream = file.add_stream("ffv1", rate=30)
        stream.width = stream.height = 32
        stream.pix_fmt = "yuv420p"
        for at in range(6):
            frame = picture(at)
            frame.pts, frame.time_base = at, Fraction(1, 30)
            for packet in stream.encode(frame):
                packet.pts = packet.dts = 2 * (at // 2)
                packet.time_base = Fraction(1, 30)
                file.mux(packet)
    with VideoFile(path) as video:
        assert video.scan().pts is None
        assert [number_of(frame) for _, frame in video.frames(1, 4)] == [1, 2, 3, 4]
