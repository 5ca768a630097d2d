"""Datasets of stars, end to end: written, appended to, read, verified, exported, converted."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from damage import Row, at, change_index, change_stream, index_of, rewritten
from media.encoded_chunks import moving

import videoformat as vf
from videoformat.convert.engine import open_source
from videoformat.media.star import StarCodec
from videoformat.verify import verify

CAMERA = "observation.images.top"
CODECS: list[StarCodec] = ["av1", "h264"]
LENGTHS = (23, 1, 8)


def write(uri: Path, codec: StarCodec, mode: Any = "create", **star: Any) -> None:
    features = {CAMERA: {"dtype": "video", "shape": (47, 63, 3)}}
    with vf.create(
        uri,
        fps=30,
        features=features,
        video=vf.Star(codec=codec, **star),
        mode=mode,
        chunk_bounds=vf.ChunkBounds(frames=10),
    ) as writer:
        for number, length in enumerate(LENGTHS):
            for frame in moving(length, height=47, width=63, seed=number):
                writer.add_frame({CAMERA: frame})
            writer.save_episode()


def luma_planes(path: Path) -> list[bytes]:
    """Every frame of a file that a player shows, in its order; times must ascend."""
    shown = []
    last = -1
    with av.open(str(path)) as container:
        for picture in container.decode(video=0):
            assert picture.pts is not None
            assert picture.pts > last
            last = picture.pts
            plane = np.frombuffer(picture.planes[0], np.uint8)
            shown.append(plane.reshape(-1, picture.planes[0].line_size)[:47, :63].tobytes())
    return shown


@pytest.mark.parametrize("codec", CODECS)
def test_written_appended_read_and_verified(codec: StarCodec, tmp_path: Path) -> None:
    uri = tmp_path / "d.vf"
    write(uri, codec, interval=6)
    write(uri, codec, mode="append", interval=6)
    dataset = vf.open(uri)
    assert dataset.directory.lengths.tolist() == [*LENGTHS, *LENGTHS]
    rng = random.Random(codec)
    for episode in range(len(LENGTHS) * 2):
        length = (LENGTHS * 2)[episode]
        everything = dataset.read_frames(episode, CAMERA, range(length))
        source = moving(length, height=47, width=63, seed=episode % len(LENGTHS))
        for frame in range(length):
            assert np.array_equal(
                dataset.read_frames(episode, CAMERA, [frame])[0], everything[frame]
            )
            plan = dataset.plan([(episode, CAMERA, frame)])
            assert sum(chunk.plan.picture_count for chunk in plan.chunks) <= 2
        some = [rng.randrange(length) for _ in range(5)]
        assert np.array_equal(dataset.read_frames(episode, CAMERA, some), everything[some])
        assert np.abs(everything.astype(int) - np.stack(source)).mean() < 12
    report = verify(uri, decode=True)
    assert report.ok, [str(problem) for problem in report.problems]


@pytest.mark.parametrize("codec", CODECS)
def test_a_frame_from_another_frame_is_a_problem(codec: StarCodec, tmp_path: Path) -> None:
    """Its closure has three pictures then, whatever the stream says of it."""
    uri = tmp_path / "d.vf"
    write(uri, codec, interval=5, adaptive=False)

    def change(bound: int) -> Callable[[list[Row]], None]:
        def from_another(rows: list[Row]) -> None:
            references = index_of(rows[0], CAMERA).references
            assert references[1:3] == ((0,), (0,))
            change_index(rows[0], CAMERA, references=at(references, 2, (0, 1)))
            change_stream(rows[0], CAMERA, closure_bound=bound)

        return from_another

    for bound in (2, 3):
        report = verify(rewritten(uri, tmp_path / f"{bound}", change(bound)))
        assert {(p.episode, p.camera, p.chunk) for p in report.problems} == {(0, CAMERA, 0)}


@pytest.mark.parametrize("to", ["mp4", "lerobot-v3"])
@pytest.mark.parametrize("codec", CODECS)
def test_exports_play_every_frame_in_its_order(codec: StarCodec, to: str, tmp_path: Path) -> None:
    """FFmpeg shows the frames of the MP4 in order, with the samples that our reader returns."""
    uri = tmp_path / "d.vf"
    write(uri, codec, interval=6)
    dataset = vf.open(uri)
    vf.export(uri, tmp_path / "out", to)
    files = sorted((tmp_path / "out").rglob("*.mp4"))
    shown = [plane for file in files for plane in luma_planes(file)]
    assert len(shown) == sum(LENGTHS)
    ours = b"".join(
        frame.tobytes()
        for episode, length in enumerate(LENGTHS)
        for frame in decoded_luma(dataset, episode, length)
    )
    assert b"".join(shown) == ours


def decoded_luma(dataset: vf.Dataset, episode: int, length: int) -> list[Any]:
    reader = dataset._reader
    plan = dataset.plan([(episode, CAMERA, frame) for frame in range(length)])
    report = vf.ReadReport()
    found: dict[int, Any] = {}
    for chunk, parts in zip(plan.chunks, reader.fetch(plan, report), strict=True):
        for frame, picture in reader.decode(chunk, parts, report):
            plane = picture.planes[0]
            lines = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
            found[frame] = lines[:47, :63].copy()
    return [found[frame] for frame in range(length)]


def test_an_exported_av1_star_seeks_to_any_frame(tmp_path: Path) -> None:
    uri = tmp_path / "d.vf"
    write(uri, "av1", interval=6)
    vf.export(uri, tmp_path / "out", "mp4")
    file = min((tmp_path / "out").rglob("*.mp4"))
    expected = luma_planes(file)
    with av.open(str(file)) as container:
        stream = container.streams.video[0]
        times = [packet.pts for packet in container.demux(stream) if packet.pts is not None]
    for number in (len(times) - 1, 0, 9, 3, 12, 11):
        with av.open(str(file)) as container:
            stream = container.streams.video[0]
            container.seek(times[number], stream=stream)
            picture = next(p for p in container.decode(stream) if (p.pts or 0) >= times[number])
            plane = np.frombuffer(picture.planes[0], np.uint8)
            lines = plane.reshape(-1, picture.planes[0].line_size)
            assert lines[:47, :63].tobytes() == expected[number]


@pytest.mark.skipif(shutil.which("aomdec") is None, reason="libaom's decoder is not installed")
def test_libaom_decodes_a_whole_chunk_as_dav1d_does(tmp_path: Path) -> None:
    """In stored form, in decode order; and in presentation order out of the exported file."""
    uri = tmp_path / "d.vf"
    write(uri, "av1", interval=6)
    dataset = vf.open(uri)
    index = dataset.plan([(0, CAMERA, 0)]).chunks[0].index
    column = CAMERA.replace(".", "/")
    (media,) = dataset._table.read_ranges(column, [(0, 0, index.stream.media_size)])
    delimiter = b"\x12\x00"
    units = [
        media[offset : offset + size] for offset, size in zip(index.offset, index.size, strict=True)
    ]
    stream = b"".join(
        delimiter + unit for unit in [index.stream.configuration + units[0], *units[1:]]
    )
    (tmp_path / "chunk.obu").write_bytes(stream)
    subprocess.run(
        ["aomdec", "--rawvideo", "-o", tmp_path / "chunk.yuv", tmp_path / "chunk.obu"],
        check=True,
        capture_output=True,
    )
    size = 64 * 48 * 3 // 2
    raw = (tmp_path / "chunk.yuv").read_bytes()
    assert len(raw) == len(index) * size
    luma = decoded_luma(dataset, 0, LENGTHS[0])
    for place, frame in enumerate(index.frame_index):
        assert frame is not None
        shown = np.frombuffer(raw, np.uint8, 64 * 48, place * size).reshape(48, 64)
        assert np.array_equal(shown[:47, :63], luma[frame])


@pytest.mark.parametrize("name", ["star", "star-h264"])
def test_convert_takes_stars_by_name(make_lerobot: Any, name: str, tmp_path: Path) -> None:
    source = make_lerobot(codec="h264", version="v3.0", lengths=(7, 5, 9))
    uri = tmp_path / "d.vf"
    report = vf.convert(source, uri, video=name)
    assert report.frames == sum(open_source(source).lengths)
    assert vf.convert(source, uri, video=name).skipped_episodes == report.episodes
    dataset = vf.open(uri)
    stream = dataset.streams(0, dataset.cameras[0])[0]
    assert (stream["structure"], stream["closure_bound"]) == ("star", 2)
    assert verify(uri, decode=True).ok


@pytest.mark.shared_data
@pytest.mark.parametrize("codec", CODECS)
def test_a_thousand_random_requests_are_exact(
    codec: StarCodec, shared: Path, tmp_path: Path
) -> None:
    """A real clip: every request returns what one sequential decode of the chunk returned."""
    frames = []
    with av.open(str(shared / "data/sim/aloha_transfer_s0_left_wrist.mkv")) as container:
        for picture in container.decode(video=0):
            frames.append(picture.to_ndarray(format="rgb24")[::4, ::4].copy())
            if len(frames) == 60:
                break
    features = {CAMERA: {"dtype": "video", "shape": frames[0].shape}}
    uri = tmp_path / "d.vf"
    with vf.create(uri, fps=30, features=features, video=vf.Star(codec=codec)) as writer:
        for frame in frames:
            writer.add_frame({CAMERA: frame})
        writer.save_episode()
    dataset = vf.open(uri)
    sequential = dataset.read_frames(0, CAMERA, range(len(frames)))
    rng = random.Random(codec)
    for _ in range(1000):
        wanted = [rng.randrange(len(frames)) for _ in range(rng.choice((1, 1, 1, 2, 5)))]
        assert np.array_equal(dataset.read_frames(0, CAMERA, wanted), sequential[wanted])
