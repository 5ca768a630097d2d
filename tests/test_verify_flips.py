"""Any bit turned round in any file that holds data: no wrong frame, and verify says where."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from damage import column_of, data_files, flipped
from hypothesis import given, settings
from hypothesis import strategies as st
from small_dataset import CAMERAS, UInt8Array, write_dataset

import videoformat as vf
from videoformat.errors import ChecksumError
from videoformat.index.pictures import PictureIndex
from videoformat.reading import Reader
from videoformat.table import Table
from videoformat.verify import verify

Frame = tuple[int, str, int]
LENGTHS = (9, 4)
# The rows' episodes and chunks: 9 frames in chunks of 6 and 3, then 4.
ROWS = ((0, 0), (0, 1), (1, 0))


@dataclass(frozen=True)
class Media:
    """One camera's media of one chunk: in which file, and from where."""

    episode: int
    chunk: int
    camera: str
    file: Path
    start: int
    index: PictureIndex

    def frames_through(self, position: int) -> set[Frame]:
        """The frames that cannot be decoded without the byte at a position of the media."""
        (picture,) = (
            at
            for at, (offset, size) in enumerate(
                zip(self.index.offset, self.index.size, strict=True)
            )
            if offset <= position < offset + size
        )
        return {
            (self.episode, self.camera, frame)
            for frame, at in self.index.position_of.items()
            if picture in self.index.closure([at])
        }


@dataclass(frozen=True)
class Source:
    """A sound dataset: its frames, and where its media are."""

    uri: Path
    frames: dict[Frame, UInt8Array]
    media: list[Media]


def locate(uri: Path) -> Iterator[Media]:
    table = Table.open(uri)
    reader = Reader(table)
    for row, (episode, chunk) in enumerate(ROWS):
        for camera in CAMERAS:
            index = reader.indexes([(row, camera)])[row, camera]
            (media,) = table.read_ranges(column_of(camera), [(row, 0, index.stream.media_size)])
            (found,) = (
                (file, start)
                for file in data_files(uri)
                if (start := file.read_bytes().find(media)) >= 0
            )
            yield Media(episode, chunk, camera, *found, index)


def read_each(dataset: vf.Dataset, wanted: list[Frame]) -> dict[Frame, UInt8Array | Exception]:
    """Every frame read on its own, or the error that the read raised."""
    answers: dict[Frame, UInt8Array | Exception] = {}
    for request in wanted:
        try:
            (answers[request],) = dataset.read_batch([request])
        except vf.VideoFormatError as error:
            answers[request] = error
    return answers


@pytest.fixture(scope="module", params=["inline", "packed"])
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Source:
    """Lance keeps small media in the data file and larger ones in files of their own."""
    uri = tmp_path_factory.mktemp("flips") / "source"
    if request.param == "inline":
        write_dataset(uri, lengths=LENGTHS, chunk_frames=6)
    else:
        write_dataset(uri, lengths=LENGTHS, chunk_frames=6, size=(96, 128), noise=255, crf=5)
    wanted = [
        (episode, camera, frame)
        for episode, length in enumerate(LENGTHS)
        for camera in CAMERAS
        for frame in range(length)
    ]
    frames = dict(zip(wanted, vf.open(uri).read_batch(wanted), strict=True))
    media = list(locate(uri))
    suffixes = {item.file.suffix for item in media}
    assert suffixes == ({".lance"} if request.param == "inline" else {".lance", ".blob"})
    return Source(uri, frames, media)


@contextmanager
def changed(source: Source, file: Path, position: int, mask: int) -> Iterator[Path]:
    """A copy of the source with bits of one byte turned round."""
    with tempfile.TemporaryDirectory() as folder:
        yield flipped(source.uri, Path(folder) / "copy", file, position, mask)


@settings(max_examples=20)
@given(data=st.data(), mask=st.integers(1, 255))
def test_a_flipped_byte_of_media_fails_every_frame_that_needs_it(
    source: Source, data: st.DataObject, mask: int
) -> None:
    media = data.draw(st.sampled_from(source.media), label="media")
    position = data.draw(st.integers(0, media.index.stream.media_size - 1), label="position")
    needed = media.frames_through(position)
    assert needed
    with changed(source, media.file, media.start + position, mask) as uri:
        answers = read_each(vf.open(uri), list(source.frames))
        problems = verify(uri).problems
    for request, answer in answers.items():
        if request in needed:
            assert isinstance(answer, ChecksumError)
            assert f"episode {media.episode} (" in str(answer)
            assert f"camera {media.camera!r}" in str(answer)
        else:
            np.testing.assert_array_equal(answer, source.frames[request])
    places = [(item.episode, item.camera, item.chunk, item.what) for item in problems]
    assert places == [(media.episode, media.camera, media.chunk, "checksum")]


@settings(max_examples=20)
@given(data=st.data(), mask=st.integers(1, 255))
def test_a_flipped_byte_anywhere_gives_no_wrong_frame_and_is_found(
    source: Source, data: st.DataObject, mask: int
) -> None:
    """In what is not media: index cells, the directory, tabular values, the files' own structure."""
    files = [file for file in data_files(source.uri) if file.suffix == ".lance"]
    file = data.draw(st.sampled_from(files), label="file")
    position = data.draw(st.integers(0, file.stat().st_size - 1), label="position")
    with changed(source, file, position, mask) as uri:
        try:
            answers = read_each(vf.open(uri), list(source.frames))
            problems = verify(uri).problems
        except vf.VideoFormatError:
            return
    failed = {request for request, answer in answers.items() if isinstance(answer, Exception)}
    for request in set(answers) - failed:
        np.testing.assert_array_equal(answers[request], source.frames[request])
    for episode, camera, _ in failed:
        assert any(
            item.what == "directory" or (item.episode, item.camera) == (episode, camera)
            for item in problems
        )


@pytest.mark.parametrize("source", ["packed"], indirect=True)
def test_media_files_that_are_cut_or_gone(source: Source, tmp_path: Path) -> None:
    files = {item.file for item in source.media if item.file.suffix == ".blob"}
    assert files
    for number, file in enumerate(sorted(files)):
        inside = {(item.episode, item.camera) for item in source.media if item.file == file}
        for name, change in (
            ("cut", lambda copy: copy.write_bytes(copy.read_bytes()[:-100])),
            ("gone", lambda copy: copy.unlink()),
        ):
            uri = tmp_path / f"{name}{number}"
            shutil.copytree(source.uri, uri)
            change(uri / file.relative_to(source.uri))
            problems = verify(uri).problems
            assert {item.what for item in problems} == {"media"}
            assert {(item.episode, item.camera) for item in problems} <= inside
            (first, *_) = problems
            with pytest.raises(vf.VideoFormatError):
                vf.open(uri).read_frames(first.episode or 0, first.camera or "", range(4))
