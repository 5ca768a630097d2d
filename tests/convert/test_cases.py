"""Every file of the shared cases does what its line says, from the library and the command line."""

import json
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import videoformat as vf
from videoformat.cli import main
from videoformat.errors import (
    ChecksumError,
    CountMismatchError,
    DataError,
    UnsupportedStreamError,
    VideoFormatError,
)
from videoformat.verify import verify

pytestmark = pytest.mark.shared_data

READS = (
    "ok_g10_bf0.mp4",
    "bframes_default_x264.mp4",
    "start_offset.mp4",
    "vfr_ms.mp4",
    "open_gop_hevc.mp4",
    "av1_g2.mp4",
    "bitrot_in_mdat.mp4",
)
CAMERA = "observation.images.main"


def presented(path: Path) -> tuple[list[int], list[Any]]:
    """The pts and RGB of the frames in presentation order, by FFmpeg's own sequential decode."""
    with av.open(str(path)) as container:
        frames = list(container.decode(video=0))
    return [frame.pts for frame in frames], [frame.to_ndarray(format="rgb24") for frame in frames]


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status = main(list(arguments))
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return status, captured.err


@pytest.mark.parametrize("name", READS)
def test_reads_exactly_as_it_is(shared: Path, tmp_path: Path, name: str) -> None:
    path = shared / "data/cases" / name
    pts, images = presented(path)
    vf.convert(path, tmp_path / "out", video="native")
    ds = vf.open(tmp_path / "out")
    assert ds.num_frames == 60
    assert np.array_equal(ds.read_frames(0, CAMERA, range(60)), np.stack(images))
    for frame in (59, 0, 31, 7):
        assert np.array_equal(ds.read_frames(0, CAMERA, [frame])[0], images[frame])
    index = ds.pictures(0, CAMERA).filter(pa.compute.field("frame_index").is_valid())
    by_frame = index.sort_by("frame_index")
    assert by_frame.column("pts").to_pylist() == pts


@pytest.mark.parametrize("name", [*READS, "mpeg4_not_h264.mp4"])
def test_reads_re_encoded(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = shared / "data/cases" / name
    pts, images = presented(path)
    out = str(tmp_path / "out")
    assert command(capsys, "convert", str(path), out, "--crf", "10")[0] == 0
    assert command(capsys, "verify", out, "--decode")[0] == 0
    ds = vf.open(out)
    got = ds.read_frames(0, CAMERA, range(ds.num_frames)).astype(int)
    # Frame k is the k-th that is presented: nearest to its own source frame, not to a neighbour.
    assert len(got) == len(images) == 60
    errors = [np.abs(got - image.astype(int)).mean(axis=(1, 2, 3)) for image in images]
    assert [int(error.argmin()) for error in errors] == list(range(60))
    by_frame = ds.pictures(0, CAMERA).sort_by("frame_index")
    assert by_frame.column("pts").to_pylist() == pts


REFUSED: tuple[tuple[str, str, type[VideoFormatError], str], ...] = (
    ("mpeg4_not_h264.mp4", "native", UnsupportedStreamError, "mpeg4"),
    ("depth_gray16_ffv1.mkv", "native", UnsupportedStreamError, "ffv1"),
    ("depth_gray16_ffv1.mkv", "fast", UnsupportedStreamError, "depth"),
    ("truncated_no_moov.mp4", "native", DataError, "no video stream"),
    ("truncated_no_moov.mp4", "fast", DataError, "no video stream"),
    ("empty.mp4", "native", DataError, "empty"),
    ("empty.mp4", "fast", DataError, "empty"),
    ("concat_mixed_res.mp4", "native", UnsupportedStreamError, "resolution changes"),
    ("concat_mixed_res.mp4", "fast", VideoFormatError, "64x48|96x64"),
)


@pytest.mark.parametrize(("name", "video", "kind", "word"), REFUSED)
def test_is_refused_by_name(
    shared: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    video: str,
    kind: type[VideoFormatError],
    word: str,
) -> None:
    path = shared / "data/cases" / name
    with pytest.raises(kind, match=word):
        vf.convert(path, tmp_path / "library", video=video)
    status, message = command(
        capsys, "convert", str(path), str(tmp_path / "command"), "--video", video
    )
    assert status == 1
    assert message.splitlines()[-1].startswith("videoformat: error: ")


def lerobot_around(video: Path, root: Path, rows: int) -> Path:
    """A LeRobot v2.1 dataset of one episode whose table has so many rows."""
    camera = "observation.images.front"
    scalar = {"dtype": "int64", "shape": [1], "names": None}
    with av.open(str(video)) as container:
        stream = container.streams.video[0]
        height, width = stream.height, stream.width
    info = {
        "codebase_version": "v2.1",
        "robot_type": "none",
        "total_episodes": 1,
        "total_frames": rows,
        "total_tasks": 1,
        "total_videos": 1,
        "total_chunks": 1,
        "chunks_size": 1000,
        "fps": 30,
        "splits": {"train": "0:1"},
        "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
        "features": {
            camera: {"dtype": "video", "shape": [height, width, 3], "names": None},
            **dict.fromkeys(("frame_index", "episode_index", "index", "task_index"), scalar),
        },
    }
    meta = root / "meta"
    meta.mkdir(parents=True)
    (meta / "info.json").write_text(json.dumps(info))
    (meta / "episodes.jsonl").write_text(
        json.dumps({"episode_index": 0, "tasks": ["look"], "length": rows}) + "\n"
    )
    (meta / "tasks.jsonl").write_text(json.dumps({"task_index": 0, "task": "look"}) + "\n")
    data = root / "data/chunk-000/episode_000000.parquet"
    data.parent.mkdir(parents=True)
    count = pa.array(range(rows), pa.int64())
    zero = pa.array([0] * rows, pa.int64())
    pq.write_table(
        pa.table({"frame_index": count, "episode_index": zero, "index": count, "task_index": zero}),
        data,
    )
    target = root / f"videos/chunk-000/{camera}/episode_000000.mp4"
    target.parent.mkdir(parents=True)
    target.write_bytes(video.read_bytes())
    return root


@pytest.mark.parametrize("video", ["fast", "native"])
def test_a_video_shorter_than_its_table_names_both_counts(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], video: str
) -> None:
    source = lerobot_around(shared / "data/cases/short_by_2.mp4", tmp_path / "source", 60)
    with pytest.raises(CountMismatchError, match=r"episode 0, camera .*front.*\b60\b.*\b58\b"):
        vf.convert(source, tmp_path / "out", video=video)
    assert vf.open(tmp_path / "out").num_episodes == 0
    status, message = command(
        capsys, "convert", str(source), str(tmp_path / "other"), "--video", video
    )
    assert status == 1
    assert "60" in message
    assert "58" in message


def test_damage_after_import_is_caught_by_the_checksum(shared: Path, tmp_path: Path) -> None:
    """The damage of ``bitrot_in_mdat`` cannot be known at import; once stored, damage is caught."""
    vf.convert(shared / "data/cases/ok_g10_bf0.mp4", tmp_path / "out", video="native")
    stored = max((tmp_path / "out/data").rglob("*"), key=lambda file: file.stat().st_size)
    source = (shared / "data/cases/ok_g10_bf0.mp4").read_bytes()
    with av.open(str(shared / "data/cases/ok_g10_bf0.mp4")) as container:
        packet = bytes(next(container.demux(video=0)))
    assert packet in source
    data = bytearray(stored.read_bytes())
    at = data.index(packet)
    data[at + len(packet) // 2] ^= 1
    stored.write_bytes(data)
    with pytest.raises(ChecksumError, match=r"episode 0.*main"):
        vf.open(tmp_path / "out").read_frames(0, CAMERA, [0])
    (problem, *_) = verify(tmp_path / "out").problems
    assert (problem.episode, problem.camera) == (0, CAMERA)
