"""Verification of datasets that are as they should be, and how it is called."""

from pathlib import Path

import pytest
from small_dataset import CAMERAS, write_dataset

import videoformat as vf
from videoformat.errors import DataError, DatasetNotFoundError, InvalidArgumentError
from videoformat.media.gop import ProfileName
from videoformat.verify import VerifyProgress, verify

LENGTHS = (13, 6, 1, 2)


@pytest.mark.parametrize("profile", ["fast", "balanced", "small"])
def test_what_the_writer_stores_is_right_to_the_last_bit(
    tmp_path: Path, profile: ProfileName
) -> None:
    write_dataset(tmp_path / "d", lengths=LENGTHS, profile=profile)
    report = verify(tmp_path / "d", decode=True)
    dataset = vf.open(tmp_path / "d")
    indexes = [dataset.pictures(e, c) for e in range(len(LENGTHS)) for c in CAMERAS]
    assert report.problems == ()
    assert report.ok
    assert report.episodes == len(LENGTHS)
    assert report.chunks == 5  # only the first episode is longer than a chunk
    assert report.frames == sum(LENGTHS)
    assert report.pictures == sum(index.num_rows for index in indexes)
    assert report.byte_count == sum(sum(index.column("size").to_pylist()) for index in indexes)
    assert report.closures == sum(LENGTHS) * len(CAMERAS)


def test_without_decode_no_closure_is_decoded(tmp_path: Path) -> None:
    write_dataset(tmp_path / "d")
    report = verify(str(tmp_path / "d"))
    assert report.ok
    assert report.closures == 0
    assert report.pictures == 19 * len(CAMERAS)


def test_an_open_dataset_is_verified_at_its_version(tmp_path: Path) -> None:
    write_dataset(tmp_path / "d", lengths=(3, 3))
    dataset = vf.open(tmp_path / "d", version=2)
    report = verify(dataset)
    assert (report.version, report.episodes, report.frames) == (2, 1, 3)
    assert verify(tmp_path / "d").episodes == 2
    assert verify(tmp_path / "d", version=2).episodes == 1
    with pytest.raises(InvalidArgumentError, match="an open dataset has its own"):
        verify(dataset, version=3)


def test_progress_counts_up_to_everything(tmp_path: Path) -> None:
    write_dataset(tmp_path / "d", lengths=(13, 6))
    seen: list[VerifyProgress] = []
    verify(tmp_path / "d", progress=seen.append, workers=1)
    assert [(item.chunks_done, item.frames_done) for item in seen] == [(1, 8), (2, 13), (3, 19)]
    assert {(item.chunks_total, item.frames_total, item.problems) for item in seen} == {(3, 19, 0)}


def test_an_empty_dataset_is_right(tmp_path: Path) -> None:
    write_dataset(tmp_path / "d", lengths=())
    report = verify(tmp_path / "d", decode=True)
    assert (report.episodes, report.chunks, report.problems) == (0, 0, ())


def test_a_dataset_without_cameras_is_verified(tmp_path: Path) -> None:
    write_dataset(tmp_path / "d", lengths=(3, 2), cameras=())
    report = verify(tmp_path / "d", decode=True)
    assert (report.episodes, report.frames, report.pictures) == (2, 5, 0)
    assert report.ok


def test_what_cannot_be_opened_raises(tmp_path: Path) -> None:
    with pytest.raises(DatasetNotFoundError):
        verify(tmp_path / "nothing")
    write_dataset(tmp_path / "d", lengths=(1,))
    with pytest.raises(InvalidArgumentError, match="workers is 0"):
        verify(tmp_path / "d", workers=0)
    for version in (99, -1, "no-such-tag", "not/a/tag"):
        with pytest.raises(DatasetNotFoundError, match=f"has no version {version!r}"):
            verify(tmp_path / "d", version=version)


def test_a_damaged_version_is_not_called_missing(tmp_path: Path) -> None:
    write_dataset(tmp_path / "d", lengths=(1, 1))
    (manifest, *_) = sorted((tmp_path / "d/_versions").glob("*.manifest"))
    manifest.write_bytes(manifest.read_bytes()[:-40] + bytes(40))
    with pytest.raises(DataError):
        verify(tmp_path / "d", version=3)
