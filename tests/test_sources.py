"""Media in its source's files: found where it was allowed, noticed where it changed."""

import os
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import native_requests as requests
import numpy as np
import pytest
from coded_video.encode import write_video
from coded_video.settings import SETTINGS
from hypothesis import given
from hypothesis import strategies as st
from index.reference_graphs import STREAM

import videoformat as vf
from videoformat.errors import (
    ChecksumError,
    DataError,
    InvalidArgumentError,
    SourceNotAllowedError,
    StoreError,
    UnsupportedStreamError,
    VideoFormatError,
)
from videoformat.sources import AllowedSources
from videoformat.verify import verify

CONTAINERS = ["x264 medium", "x264 veryfast", "x264 repeated sets", "x265 open GOP", "svt-av1 g=30"]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An MP4 file."""
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    write_video(path, SETTINGS["x264 medium"], 30)
    return path.read_bytes()


@pytest.fixture
def stored(clip: bytes, tmp_path: Path) -> tuple[Path, Path]:
    """A file of the test's own, and a dataset that refers to it."""
    source = tmp_path / "videos" / "clip.mp4"
    source.parent.mkdir()
    source.write_bytes(clip)
    vf.convert(source, tmp_path / "d", video="reference")
    return source, tmp_path / "d"


def read(uri: Path, *allowed: str | os.PathLike[str]) -> Any:
    dataset = vf.open(uri, allowed_sources=allowed)
    return dataset.read_frames(0, dataset.cameras[0], [3, 29, 17])


@pytest.mark.parametrize("name", CONTAINERS)
def test_no_media_is_stored_and_every_frame_is_exact(name: str, tmp_path: Path) -> None:
    """MP4, Matroska, raw streams, and chunks that overlap in the file."""
    setting = SETTINGS[name]
    source = tmp_path / f"clip{setting.suffix}"
    write_video(source, setting, 40)
    report = vf.convert(
        source, tmp_path / "d", video="reference", chunk_bounds=vf.ChunkBounds(frames=9)
    )
    assert report.media_bytes == 0
    stored = sum(path.stat().st_size for path in (tmp_path / "d" / "data").rglob("*.blob"))
    assert stored == 0
    expected = requests.sequential_digests(source)
    dataset = vf.open(tmp_path / "d", allowed_sources=[tmp_path])
    outcome = requests.Outcome()
    for frame in range(len(expected)):
        requests.compare(dataset, 0, dataset.cameras[0], expected, [frame], outcome)
    assert not outcome.wrong
    assert not verify(tmp_path / "d", decode=True, allowed_sources=[tmp_path]).problems


def test_a_container_that_cuts_pictures_up_is_refused(tmp_path: Path) -> None:
    write_video(tmp_path / "clip.ts", SETTINGS["x264 slow"], 5)
    with pytest.raises(UnsupportedStreamError, match="does not lie in the file as it is") as caught:
        vf.convert(tmp_path / "clip.ts", tmp_path / "d", video="reference")
    assert caught.value.kind == "container"


def test_the_same_frames_as_from_stored_media(stored: tuple[Path, Path], tmp_path: Path) -> None:
    source, uri = stored
    vf.convert(source, tmp_path / "n", video="native")
    assert np.array_equal(read(uri, source.parent), read(tmp_path / "n"))


def test_what_is_allowed(stored: tuple[Path, Path], tmp_path: Path) -> None:
    """The file, a folder above it, by path or URI, through a link; a pickled dataset remembers."""
    source, uri = stored
    link = tmp_path / "link"
    link.symlink_to(source.parent)
    expected = read(uri, source)
    for allowed in (source.parent, tmp_path, source.parent.as_uri(), f"{tmp_path}/", link, "/"):
        assert np.array_equal(read(uri, allowed), expected)
    dataset = pickle.loads(pickle.dumps(vf.open(uri, allowed_sources=[source])))
    assert np.array_equal(dataset.read_frames(0, dataset.cameras[0], [3, 29, 17]), expected)


def test_what_is_not_allowed(stored: tuple[Path, Path], tmp_path: Path) -> None:
    _, uri = stored
    neighbour = tmp_path / "vid"
    neighbour.mkdir()
    for allowed in ((), (neighbour,), (tmp_path / "videos" / "clip",), ("s3://bucket",), (uri,)):
        with pytest.raises(SourceNotAllowedError, match="allowed_sources"):
            read(uri, *allowed)
    dataset = vf.open(uri)
    # What does not touch media needs no leave.
    assert dataset.rows(0).num_rows == 30
    assert dataset.num_frames == 30


def test_a_link_does_not_lead_out(clip: bytes, tmp_path: Path) -> None:
    """The stored path lies in the allowed folder, the file that it leads to does not."""
    folder, elsewhere = tmp_path / "allowed", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    source = folder / "clip.mp4"
    source.write_bytes(clip)
    vf.convert(source, tmp_path / "d", video="reference")
    assert read(tmp_path / "d", folder).shape[0] == 3
    source.rename(elsewhere / "clip.mp4")
    source.symlink_to(elsewhere / "clip.mp4")
    with pytest.raises(SourceNotAllowedError):
        read(tmp_path / "d", folder)
    assert read(tmp_path / "d", tmp_path).shape[0] == 3


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda path: path.unlink(), "is gone"),
        (lambda path: path.rename(path.with_name("moved.mp4")), "is gone"),
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "bytes, it had"),
        (lambda path: path.write_bytes(path.read_bytes() + b"\0"), "bytes, it had"),
        (lambda path: path.write_bytes(b""), "has 0 bytes"),
    ],
)
def test_a_file_that_is_not_what_it_was(change: Any, says: str, stored: tuple[Path, Path]) -> None:
    source, uri = stored
    change(source)
    with pytest.raises(DataError, match=says) as caught:
        read(uri, source.parent)
    assert str(source) in str(caught.value)


def test_another_file_of_the_same_size(stored: tuple[Path, Path]) -> None:
    source, uri = stored
    data = bytearray(source.read_bytes())
    start = data.index(b"mdat") + 1000
    data[start : start + 3000] = bytes(3000)
    source.write_bytes(data)
    with pytest.raises(ChecksumError) as caught:
        read(uri, source.parent)
    assert source.as_uri() in str(caught.value)
    problems = verify(uri, decode=True, allowed_sources=[source]).problems
    assert [problem.what for problem in problems] == ["checksum"]


def test_a_file_that_goes_while_it_is_read(stored: tuple[Path, Path]) -> None:
    """Its index is in memory: nothing looks at its size any more, only at its bytes."""
    source, uri = stored
    dataset = vf.open(uri, allowed_sources=[source])
    camera = dataset.cameras[0]
    dataset.read_frames(0, camera, [0])
    whole = source.read_bytes()
    source.write_bytes(whole[:2000])
    with pytest.raises((DataError, StoreError)):
        dataset.read_frames(0, camera, [25])
    source.unlink()
    with pytest.raises((DataError, StoreError)):
        dataset.read_frames(0, camera, [25])
    source.write_bytes(whole)
    assert dataset.read_frames(0, camera, [25]).shape[0] == 1


@pytest.mark.parametrize(
    "name", ["50%.mp4", "%41.mp4", "%2e%2e.mp4", "a#b.mp4", "a?b.mp4", "a b é.mp4", "a\\b.mp4"]
)
def test_names_that_a_uri_must_escape(name: str, clip: bytes, tmp_path: Path) -> None:
    source = tmp_path / name
    source.write_bytes(clip)
    vf.convert(source, tmp_path / "d", video="reference")
    assert read(tmp_path / "d", source).shape[0] == 3


def place(uri: str, **changes: Any) -> dict[str, Any]:
    return {"kind": 3, "position": 0, "size": 1, "blob_id": 0, "blob_uri": uri, **changes}


def facts(uri: str, size: int = 1) -> Any:
    return replace(STREAM, source_uri=uri, source_size=size)


FOLDER = "/srv/video"
# Each decodes, normalizes or resolves to a file outside of /srv/video for somebody.
STEPS_OUT = [
    "file:///srv/video/../secret",
    "file:///srv/video/%2e%2e/secret",
    "file:///srv/video/%2E%2E/secret",
    "file:///srv/video/..%2fsecret",
    "file:///srv/video/./../secret",
    "file:///srv/video/..\\secret",
    "file:///srv/video\\..\\secret",
    "file:///srv/videos/secret",
    "file:///srv/video/a\0/../../secret",
    "file:///srv/video/a%00",
    "file:///srv/video#/../../etc/passwd",
    "file:///srv/video/a?x",
    "file:///srv/video/a#x",
    "file://localhost/srv/video/a",
    "file://evil/srv/video/a",
    "file:/srv/video/a",
    "file:////srv/video/a",
    "file:///srv//video/a",
    "FILE:///srv/video/a",
    " file:///srv/video/a",
    "fi\tle:///srv/video/a",
    "file:///srv/vid\neo/a",
    "file-object-store:///srv/video/a",
    "/srv/video/a",
    "srv/video/a",
    "a",
    "",
    "s3://bucket/a",
]


@pytest.mark.parametrize("uri", STEPS_OUT)
def test_only_the_plain_spelling_of_a_file_is_understood(uri: str) -> None:
    sources = AllowedSources([FOLDER])
    assert not sources.allows(uri)
    with pytest.raises(SourceNotAllowedError):
        sources.check(place(uri), facts(uri))


def test_a_base_that_the_dataset_registers_is_not_followed(tmp_path: Path) -> None:
    """Lance reads the URI of such a blob as relative to the base."""
    (tmp_path / "a").write_bytes(b"a")
    sources = AllowedSources([str(tmp_path)])
    uri = (tmp_path / "a").as_uri()
    sources.check(place(uri), facts(uri))
    for changed in (place(uri, blob_id=1), place("a", blob_id=1)):
        with pytest.raises(SourceNotAllowedError):
            sources.check(changed, facts(changed["blob_uri"]))


def test_media_that_should_lie_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    sources = AllowedSources([str(tmp_path)])
    uri = (tmp_path / "a").as_uri()
    with pytest.raises(DataError, match="the stream says"):
        sources.check(place(uri), facts(uri + "b"))
    with pytest.raises(DataError, match="should lie in"):
        sources.check(place("", kind=1), facts(uri))
    sources.check(place("", kind=1), STREAM)
    sources.check(None, STREAM)


def remote_uris() -> Iterator[str]:
    for step in ("..", "%2e%2e", "%2E.", ".%2e", "%252e%252e", ".", "%2e", "", "%5c..", "a%2f.."):
        yield f"s3://bucket/set/{step}/secret"
    for rest in ("a?x=/../", "a#b", "a%3fb", "a\\..\\b", "a%0ab", "a%00"):
        yield f"s3://bucket/set/{rest}"
    yield "s3://bucket/set2/a"
    yield "s3://bucket/se"
    yield "s3://bucket/set"
    yield "s3://bucket2/set/a"
    yield "S3://bucket/set/a"
    yield "gs://bucket/set/a"
    yield "s3:///bucket/set/a"
    yield "s3://evil@bucket/set/a"


@pytest.mark.parametrize("uri", list(remote_uris()))
def test_a_prefix_in_an_object_store_is_not_left(uri: str) -> None:
    assert not AllowedSources(["s3://bucket/set"]).allows(uri)


def test_a_prefix_in_an_object_store() -> None:
    for location in ("s3://bucket/set", "s3://bucket/set/"):
        sources = AllowedSources([location])
        assert sources.allows("s3://bucket/set/a b/c%20d.mp4")
        assert sources.allows("s3://bucket/set/videos/file-000.mp4")


@pytest.mark.parametrize(
    "location", ["s3://bucket/../x", "file:///a/../b", "file://host/a", "s3:///x", "s3://b/a?x"]
)
def test_a_location_must_be_plain(location: str) -> None:
    with pytest.raises(InvalidArgumentError):
        AllowedSources([location])


@given(
    st.lists(
        st.sampled_from(
            ["..", ".", "", "/", "%2e", "%2f", "%", "\\", "a", "video", "srv", "\0", "#", "?", "é"]
        )
    ),
    st.sampled_from(["file://", "file:///srv/video/", "file:///srv/video", "file:", "s3://b/p/"]),
)
def test_no_spelling_leaves_what_is_allowed(parts: list[str], start: str) -> None:
    """What is allowed says in each of its decodings that it lies where it is allowed."""
    uri = start + "".join(parts)
    sources = AllowedSources([FOLDER, "s3://b/p"])
    if not sources.allows(uri):
        return
    assert uri.startswith(("file:///srv/video", "s3://b/p/"))
    assert not set(uri) & set("#?\\\0")
    decoded = unquote(uri)
    steps = decoded.split("://", 1)[1].split("/")
    assert ".." not in steps
    assert "." not in steps


@given(st.text(), st.integers(0, 4))
def test_any_cell_is_refused_or_let_pass(uri: str, kind: int) -> None:
    sources = AllowedSources([FOLDER])
    try:
        sources.check(place(uri, kind=kind), facts(uri))
    except VideoFormatError:
        return
    raise AssertionError("no such file is there")
