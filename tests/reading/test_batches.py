"""Batches: stacked, scaled, in the caller's own array, side by side, ahead; without Lance's threads."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_dataset

import videoformat as vf
from videoformat.errors import ChecksumError, InvalidArgumentError

CAMERAS = small_dataset.CAMERAS
LENGTHS = (13, 6, 9)


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("batches") / "out"
    # Noise and a low rate factor: media that Lance keeps in files of their own.
    small_dataset.write_dataset(
        path, lengths=LENGTHS, size=(160, 224), noise=120, crf=4, chunk_frames=32
    )
    return path


REQUESTS = [
    (episode, camera, frame)
    for episode, length in enumerate(LENGTHS)
    for camera in CAMERAS
    for frame in (length - 1, 0, length // 2, 0)
]


@pytest.fixture(scope="module")
def expected(uri: Path) -> np.ndarray[Any, Any]:
    ds = vf.open(uri, options=vf.ReadOptions(direct_reads=False))
    frames = np.stack([ds.read_frames(e, camera, [frame])[0] for e, camera, frame in REQUESTS])
    assert ds.last_read is not None
    assert ds.last_read.direct_reads == 0
    return frames


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("direct", [True, False])
def test_a_batch_is_the_same_however_it_is_read(
    uri: Path, expected: np.ndarray[Any, Any], threads: int, direct: bool
) -> None:
    options = vf.ReadOptions(decode_threads=threads, direct_reads=direct, index_cache_bytes=0)
    ds = vf.open(uri, options=options)
    stacked = ds.read_batch(REQUESTS, out="stack")
    assert np.array_equal(stacked, expected)
    report = ds.last_read
    assert report is not None
    assert report.takes == 1
    assert report.frames == len(set(REQUESTS))
    assert report.media_bytes == ds.plan(REQUESTS).byte_count
    assert (report.direct_reads > 0) == direct
    assert report.range_reads == (0 if direct else len(CAMERAS))
    listed = ds.read_batch(REQUESTS)
    assert all(np.array_equal(one, other) for one, other in zip(listed, expected, strict=True))
    assert not np.shares_memory(listed[1], listed[3])


def test_an_array_of_the_callers_is_filled(uri: Path, expected: np.ndarray[Any, Any]) -> None:
    ds = vf.open(uri)
    out = np.zeros_like(expected)
    assert ds.read_batch(REQUESTS, out=out) is out
    assert np.array_equal(out, expected)
    single = np.zeros((2, 160, 224, 3), np.uint8)
    assert ds.read_frames(0, CAMERAS[0], [0, 1], out=single) is single


def test_a_frame_out_of_a_larger_picture_is_returned_whole_and_contiguous(tmp_path: Path) -> None:
    small_dataset.write_dataset(tmp_path / "d", lengths=(3,), size=(17, 35))
    ds = vf.open(tmp_path / "d")
    several = ds.read_frames(0, CAMERAS[0], [0, 1, 2])
    for frame in range(3):
        for single in (
            ds.read_frames(0, CAMERAS[0], [frame])[0],
            ds.read_batch([(0, CAMERAS[0], frame)])[0],
            ds.read_batch([(0, CAMERAS[0], frame)], out="stack")[0],
        ):
            assert single.flags.c_contiguous
            assert np.array_equal(single, several[frame])


@pytest.mark.parametrize("size", [None, (48, 64), (50, 33)])
def test_what_is_returned_is_the_callers_own(
    uri: Path, expected: np.ndarray[Any, Any], size: tuple[int, int] | None
) -> None:
    """Frames are handed over without a copy where they can be; no later read shows through."""
    ds = vf.open(uri)
    kept = [ds.read_frames(e, camera, [frame], size=size) for e, camera, frame in REQUESTS]
    batches = [ds.read_batch([request], size=size) for request in REQUESTS]
    stacks = [ds.read_batch([request], size=size, out="stack") for request in REQUESTS]
    for request, one, (two,), three in zip(REQUESTS, kept, batches, stacks, strict=True):
        again = ds.read_batch([request] * 2, size=size)
        for frame in (one[0], two, three[0], *again):
            assert frame.flags.writeable
            assert frame.flags.c_contiguous
            assert np.array_equal(frame, again[0])
    if size is None:
        assert np.array_equal(np.concatenate(kept), expected)
    for array in (*kept, *stacks, *(batch[0] for batch in batches)):
        array[:] = 7  # shared by two, a value of another
    fresh = [ds.read_batch([request], size=size)[0] for request in REQUESTS]
    for array in kept:
        array[:] = 9
    assert all(frame.max() > 9 for frame in fresh)


@pytest.mark.parametrize(
    "out",
    [
        np.zeros((1, 160, 224, 3), np.uint8),
        np.zeros((2, 160, 224, 3), np.float32),
        np.zeros((2, 224, 160, 3), np.uint8),
        "stacked",
        [1, 2],
    ],
)
def test_another_array_is_refused(uri: Path, out: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="out is"):
        vf.open(uri).read_batch([(0, CAMERAS[0], 0)] * 2, out=out)


def test_scaling_averages(uri: Path) -> None:
    ds = vf.open(uri)
    full = ds.read_frames(0, CAMERAS[0], [3])[0].astype(float)
    small = ds.read_frames(0, CAMERAS[0], [3], size=(40, 56))[0].astype(float)
    averaged = full.reshape(40, 4, 56, 4, 3).mean(axis=(1, 3))
    assert small.shape == (40, 56, 3)
    # RGB is clipped, so the mean of the samples is not exactly the mean of the colours; taking
    # every fourth pixel, which is what must not happen, is several times further off.
    taken = np.abs(full[2::4, 2::4] - averaged).mean()
    assert np.abs(small - averaged).mean() < taken / 4
    grown = ds.read_batch([(0, CAMERAS[0], 3)], size=(320, 448), out="stack")
    assert grown.shape == (1, 320, 448, 3)
    assert abs(float(grown.mean()) - full.mean()) < 2


@pytest.mark.parametrize("size", [(0, 5), (5,), (5, 5.5), 7, (-1, 4), (5, 99999)])
def test_a_size_is_two_sides(uri: Path, size: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="size"):
        vf.open(uri).read_frames(0, CAMERAS[0], [0], size=size)


def test_odd_frames_are_scaled_without_their_padding(tmp_path: Path) -> None:
    features = {"observation.images.top": {"dtype": "video", "shape": (31, 45, 3)}}
    frame = np.zeros((31, 45, 3), np.uint8)
    frame[:, :22] = 255
    with vf.create(tmp_path / "odd", fps=10, features=features, video=vf.DDRA(crf=4)) as writer:
        writer.add_frame({"observation.images.top": frame})
        writer.save_episode()
    scaled = vf.open(tmp_path / "odd").read_frames(0, "observation.images.top", [0], size=(62, 90))
    assert scaled.shape == (1, 62, 90, 3)
    assert scaled[0, :, :40].min() > 240
    assert scaled[0, :, 50:].max() < 15


def test_batches_ahead(uri: Path, expected: np.ndarray[Any, Any]) -> None:
    ds = vf.open(uri)
    batches = [REQUESTS[at : at + 5] for at in range(0, len(REQUESTS), 5)]
    found = [frame for batch in ds.read_batches(batches, ahead=2) for frame in batch]
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
    bad = [*batches[:1], [(0, CAMERAS[0], 999)]]
    results = ds.read_batches(bad, stack=True)
    assert len(next(results)) == 5
    with pytest.raises(IndexError):
        next(results)


def test_a_damaged_file_is_refused_by_both_ways(uri: Path, tmp_path: Path) -> None:
    small_dataset.write_dataset(
        tmp_path / "out", lengths=(9,), size=(160, 224), noise=120, crf=4, cameras=CAMERAS[:1]
    )
    (blob, *_) = sorted((tmp_path / "out/data").rglob("*.blob"))
    data = bytearray(blob.read_bytes())
    data[100] ^= 4
    blob.write_bytes(data)
    for direct in (True, False):
        ds = vf.open(tmp_path / "out", options=vf.ReadOptions(direct_reads=direct))
        with pytest.raises(ChecksumError, match="episode 0"):
            ds.read_frames(0, CAMERAS[0], range(9))


def test_what_is_not_where_it_was_expected_is_read_through_lance(
    uri: Path, expected: np.ndarray[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lance's file names are no contract: other bytes there, or none, change no answer."""
    from videoformat.reading.local_media import LocalMedia

    plain = LocalMedia.read

    def wrong(self: Any, files: Any, place: Any, ranges: Any) -> Any:
        parts = plain(self, files, place, ranges)
        return None if parts is None else [bytes(len(part)) for part in parts]

    for replacement in (wrong, lambda *_: None):
        monkeypatch.setattr(LocalMedia, "read", replacement)
        ds = vf.open(uri)
        assert np.array_equal(ds.read_batch(REQUESTS, out="stack"), expected)
        assert ds.last_read is not None
        assert ds.last_read.range_reads > 0


@pytest.mark.parametrize(
    "choice",
    [
        {"decode_threads": 0},
        {"decode_threads": 1.5},
        {"index_cache_bytes": -1},
        {"frame_cache_bytes": -1},
        {"frame_cache_bytes": 0.5},
        {"gap_bytes": 1},
        {"gap_bytes": 2**40},
    ],
)
def test_options_are_checked(choice: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        vf.ReadOptions(**choice)
