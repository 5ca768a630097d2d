"""Verification of video that was stored as it came: cut in mid-sequence, hidden pictures, in place."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import av
import pytest
from damage import Row, at, change_index, change_stream, column_of, index_of, rewritten
from small_dataset import scene

import videoformat as vf
from videoformat.convert import convert
from videoformat.errors import SourceNotAllowedError
from videoformat.verify import Problem, verify

FRAMES = 40
(CAMERA,) = ("observation.images.main",)
# Each as (encoder, options).
STREAMS: Mapping[str, tuple[str, dict[str, str]]] = {
    "h264 pyramid": (
        "libx264",
        {"x264-params": "keyint=10:min-keyint=10:scenecut=0:b-pyramid=strict:bframes=3:b-adapt=0"},
    ),
    "h264 open GOP": (
        "libx264",
        {"x264-params": "keyint=10:open-gop=1:scenecut=0:bframes=3:b-adapt=0"},
    ),
    "hevc open GOP": (
        "libx265",
        {"x265-params": "keyint=10:bframes=3:b-adapt=0:log-level=none:pools=none"},
    ),
    "av1 hidden": ("libsvtav1", {"preset": "12", "g": "16", "svtav1-params": "lp=1"}),
}


def write_video(path: Path, encoder: str, options: dict[str, str]) -> None:
    with av.open(str(path), "w") as container:
        stream = container.add_stream(encoder, rate=30)
        stream.options = options
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        stream.thread_count = 1
        for number in range(FRAMES):
            image = scene(0, 0, number, size=(64, 64), noise=20)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode(None))


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """``video(name)``: the file of a stream, to be read only."""
    folder = tmp_path_factory.mktemp("native")

    def make(name: str) -> Path:
        path = folder / f"{name.replace(' ', '-')}.mp4"
        if not path.exists():
            encoder, options = STREAMS[name]
            write_video(path, encoder, options)
        return path

    return make


def converted(source: Path, target: Path, how: str = "native") -> Path:
    convert(source, target, video=how, chunk_bounds=vf.ChunkBounds(frames=7), workers=1)
    return target


@pytest.mark.parametrize("name", STREAMS)
def test_every_closure_of_a_native_stream(
    video: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    report = verify(converted(video(name), tmp_path / "d"), decode=True)
    assert report.problems == ()
    assert report.chunks >= 3
    assert (report.frames, report.closures) == (FRAMES, FRAMES)
    # Neighbouring chunks keep what both need; AV1 has pictures that are never shown.
    assert report.pictures >= FRAMES
    assert report.derived == report.pictures
    assert report.derived > 0


def problems(
    source: Path, target: Path, change: Callable[[list[Row]], object], *, decode: bool = False
) -> list[Problem]:
    found = verify(rewritten(source, target, change), decode=decode).problems
    assert {(item.episode, item.camera) for item in found} == {(0, CAMERA)}
    return list(found)


@pytest.mark.parametrize("name", ["h264 pyramid", "hevc open GOP", "av1 hidden"])
@pytest.mark.parametrize("column", ["references", "poc", "picture_type", "is_reference"])
def test_an_index_that_the_bytes_contradict(
    video: Callable[[str], Path], tmp_path: Path, name: str, column: str
) -> None:
    source = converted(video(name), tmp_path / "s")

    def change(rows: list[Row]) -> None:
        index = index_of(rows[1], CAMERA)
        # The last frame's picture: a frame needs it, and it is not the chunk's first.
        target = index.position_of[index.key.end_frame - 1]
        assert index.references[target]
        value = {
            "references": index.references[target][:-1],
            "poc": (index.poc[target] or 0) + 100,
            "picture_type": "I",
            "is_reference": not index.is_reference[target],
        }[column]
        change_index(rows[1], CAMERA, **{column: at(getattr(index, column), target, value)})

    found = problems(source, tmp_path / "d", change)
    assert any(item.detail.startswith(f"{column} of pictures") for item in found)
    assert {item.chunk for item in found} == {1}


def test_reference_lists_that_the_bytes_contradict(
    video: Callable[[str], Path], tmp_path: Path
) -> None:
    """Their order decides what a rewritten header says: pixels go wrong, closures do not."""
    source = converted(video("h264 pyramid"), tmp_path / "s")

    def change(rows: list[Row]) -> None:
        index = index_of(rows[0], CAMERA)
        for target in sorted(index.position_of.values()):
            lists = index.reference_lists[target]
            if lists is not None and len(lists) == 2 and lists[0] != lists[1]:
                swapped = at(index.reference_lists, target, (lists[1], lists[0]))
                change_index(rows[0], CAMERA, reference_lists=swapped)
                return
        raise AssertionError("no B picture with two lists")

    (found,) = problems(source, tmp_path / "d", change)
    assert (found.what, found.chunk) == ("bitstream", 0)
    assert found.detail.startswith("reference_lists of pictures")


def test_a_flipped_byte(video: Callable[[str], Path], tmp_path: Path) -> None:
    source = converted(video("av1 hidden"), tmp_path / "s")

    def change(rows: list[Row]) -> None:
        media = rows[1][column_of(CAMERA)]
        rows[1][column_of(CAMERA)] = bytes([media[0] ^ 4]) + media[1:]

    (found,) = problems(source, tmp_path / "d", change, decode=True)
    assert (found.what, found.chunk) == ("checksum", 1)


@pytest.mark.parametrize("facts", [{"framing": "annexb"}, {"framing": "length9"}])
def test_a_framing_that_is_not_the_bytes(
    video: Callable[[str], Path], tmp_path: Path, facts: dict[str, Any]
) -> None:
    source = converted(video("h264 pyramid"), tmp_path / "s")
    found = problems(
        source, tmp_path / "d", lambda rows: change_stream(rows[0], CAMERA, **facts), decode=True
    )
    assert {item.what for item in found} == {"bitstream", "decode"}


class TestInPlace:
    """Media that lies in its source's file."""

    @pytest.fixture
    def source(self, video: Callable[[str], Path], tmp_path: Path) -> Path:
        """A copy of a video file, which a test may change."""
        copy = tmp_path / "videos" / "clip.mp4"
        copy.parent.mkdir()
        copy.write_bytes(video("h264 pyramid").read_bytes())
        return copy

    def test_it_is_read_with_leave_and_not_without(self, source: Path, tmp_path: Path) -> None:
        uri = converted(source, tmp_path / "d", "reference")
        with pytest.raises(SourceNotAllowedError):
            verify(uri, decode=True)
        with pytest.raises(SourceNotAllowedError):
            verify(uri, allowed_sources=[tmp_path / "other"])
        report = verify(uri, decode=True, allowed_sources=[source.parent])
        assert report.ok
        assert report.closures == FRAMES
        opened = vf.open(uri, allowed_sources=[source.parent])
        assert verify(opened).ok

    def test_a_file_that_changed(self, source: Path, tmp_path: Path) -> None:
        uri = converted(source, tmp_path / "d", "reference")
        source.write_bytes(source.read_bytes() + b"\0")
        found = verify(uri, allowed_sources=[source]).problems
        assert {(item.episode, item.camera, item.what) for item in found} == {(0, CAMERA, "index")}
        assert all("bytes, it had" in item.detail for item in found)
        source.unlink()
        found = verify(uri, allowed_sources=[source]).problems
        assert all("is gone" in item.detail for item in found)

    def test_a_flipped_byte_of_the_file(self, source: Path, tmp_path: Path) -> None:
        uri = converted(source, tmp_path / "d", "reference")
        data = bytearray(source.read_bytes())
        # The media data box comes before the index in a file that was written in one go.
        data[data.index(b"mdat") + 200] ^= 1
        source.write_bytes(data)
        found = verify(uri, decode=True, allowed_sources=[source]).problems
        assert [(item.episode, item.camera, item.chunk, item.what) for item in found] == [
            (0, CAMERA, 0, "checksum")
        ]
