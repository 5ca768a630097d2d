"""Exports: the same access units, times, sync samples, tables that LeRobot's rules accept."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import whole
from damage import rewritten
from lerobot_rules import LeRobotFolder, packets, planes, seeks
from small_dataset import CAMERAS, FPS, scene, write_dataset

import videoformat as vf
from videoformat import cli
from videoformat.errors import (
    ChecksumError,
    InvalidArgumentError,
    SourceNotAllowedError,
    UnsupportedStreamError,
)
from videoformat.export.mp4 import count_clock
from videoformat.media.gop import ProfileName

Make = Callable[..., Path]
LEROBOT = ("lerobot-v3", "lerobot-v2.1")
REAL = ("g1_v21", "g1_v30", "gr00t_v20", "syn_v30_h264", "syn_v30_h264_g30_bframes_drift")


def exported(uri: Path, out: Path, to: str = "lerobot-v3", **options: object) -> LeRobotFolder:
    vf.export(uri, out, to, **options)  # type: ignore[arg-type]
    return LeRobotFolder(out)


@pytest.mark.parametrize("to", LEROBOT)
@pytest.mark.parametrize("profile", ["fast", "balanced", "small"])
def test_ddra_decodes_to_our_frames_in_sequence_and_by_seeking(
    profile: ProfileName, to: str, tmp_path: Path
) -> None:
    uri = tmp_path / "d.vf"
    write_dataset(uri, lengths=(21, 9), profile=profile, interval=4, chunk_frames=11)
    folder = exported(uri, tmp_path / "out", to)
    dataset = vf.open(uri)
    camera = CAMERAS[1]
    index = 0
    for episode in range(2):
        ours = dataset.read_frames(episode, camera, range(dataset.directory.lengths[episode]))
        for frame in ours:
            theirs = folder.frame(index, camera)
            # FFmpeg's conversion to RGB is not ours; the wrong picture would be far off.
            assert np.abs(theirs.astype(int) - frame).mean() < 3
            index += 1
    for path in sorted((tmp_path / "out/videos").rglob("*.mp4")):
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            assert stream.time_base is not None
            step = round(Fraction(1, FPS) / stream.time_base)
            sequential = [planes(picture) for picture in container.decode(stream)]
            assert stream.start_time == 0
            assert stream.frames == len(sequential)
        for frame in (len(sequential) - 1, 0, 5, 12, 3, 11, 10):
            if frame < len(sequential):
                assert np.array_equal(seeks(path, frame, step), sequential[frame]), frame
        data = path.read_bytes()
        assert data.index(b"moov") < data.index(b"mdat")


@pytest.mark.parametrize("to", LEROBOT)
@pytest.mark.parametrize("codec", ["h264", "av1"])
def test_native_goes_there_and_back_unchanged(
    make_lerobot: Make, codec: str, to: str, tmp_path: Path
) -> None:
    source = make_lerobot(codec=codec, version="v3.0", lengths=(7, 5, 9))
    vf.convert(source, tmp_path / "d.vf", video="native")
    folder = exported(tmp_path / "d.vf", tmp_path / "out", to)
    vf.convert(tmp_path / "out", tmp_path / "again.vf", video="native")
    one, other = vf.open(tmp_path / "d.vf"), vf.open(tmp_path / "again.vf")
    assert other.frames_table().equals(one.frames_table())
    assert other.tasks == one.tasks
    assert list(whole.media(tmp_path / "again.vf").values()) == list(
        whole.media(tmp_path / "d.vf").values()
    )
    assert other.statistics is not None
    assert one.statistics is not None
    for name in ("min", "max", "mean", "std"):
        np.testing.assert_allclose(
            other.statistics["action"][name], one.statistics["action"][name], rtol=1e-5
        )
    assert folder.info["total_frames"] == 21
    assert folder.tasks == one.tasks


def test_every_packet_is_the_sources(make_lerobot: Make, tmp_path: Path) -> None:
    source = make_lerobot(lengths=(7, 5, 9), codec="av1")
    vf.convert(source, tmp_path / "d.vf", video="native")
    vf.export(tmp_path / "d.vf", tmp_path / "out")
    files = sorted(path.relative_to(source) for path in source.rglob("*.mp4"))
    assert files
    for name in files:
        assert packets(tmp_path / "out" / name) == packets(source / name)


@pytest.mark.shared_data
@pytest.mark.parametrize("name", REAL)
def test_real_datasets_come_back_packet_for_packet(shared: Path, name: str, tmp_path: Path) -> None:
    source = shared / "data/lerobot" / name
    vf.convert(source, tmp_path / "d.vf", video="native")
    version = json.loads((source / "meta/info.json").read_text())["codebase_version"]
    to = "lerobot-v3" if version == "v3.0" else "lerobot-v2.1"
    vf.export(tmp_path / "d.vf", tmp_path / "out", to)
    theirs = [p for f in sorted(source.rglob("*.mp4")) for p in packets(f)]
    ours = [p for f in sorted((tmp_path / "out").rglob("*.mp4")) for p in packets(f)]
    assert len(ours) == len(theirs)
    assert [unit for unit, _, _ in ours] == [unit for unit, _, _ in theirs]
    if name != "gr00t_v20":
        # Its columns of places are missing or wrong, so they are derived.
        stored = [
            pa.concat_tables(
                [pq.read_table(file) for file in sorted(root.glob("data/*/*.parquet"))]
            )
            for root in (source, tmp_path / "out")
        ]
        assert sorted(stored[1].column_names) == sorted(stored[0].column_names)
        for column in stored[0].column_names:
            assert stored[1].column(column).to_pylist() == stored[0].column(column).to_pylist()
    again = tmp_path / "again.vf"
    vf.convert(tmp_path / "out", again, video="native")
    one, other = vf.open(tmp_path / "d.vf"), vf.open(again)
    kept = [key for key in one.frames_table().column_names if name != "gr00t_v20" or "." in key]
    assert other.frames_table(kept).equals(one.frames_table(kept))


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "golden"),
    [
        ("g1_v30", "g1_plain_pyav"),
        ("syn_v30_h264", "syn_h264_pyav"),
        ("syn_v30_h264_g30_bframes_drift", "syn_h264_g30_bframes_drift_pyav"),
    ],
)
def test_lerobots_own_items_are_found_in_the_export(
    shared: Path, name: str, golden: str, tmp_path: Path
) -> None:
    vf.convert(shared / "data/lerobot" / name, tmp_path / "d.vf", video="native")
    folder = exported(tmp_path / "d.vf", tmp_path / "out")
    facts = json.loads((shared / f"data/golden/{golden}.json").read_text())
    assert (facts["len"], facts["num_episodes"], facts["fps"]) == (
        len(folder.rows),
        len(folder.episodes),
        folder.info["fps"],
    )
    with np.load(shared / f"data/golden/{golden}.npz") as arrays:
        checked = 0
        for key in arrays.files:
            number, _, feature = key.partition("/")
            if not number.isdigit() or feature.endswith("_is_pad"):
                continue
            row = folder.rows[int(number)]
            if feature in folder.cameras:
                image = folder.frame(int(number), feature).transpose(2, 0, 1)
                assert np.array_equal(image, arrays[key]), key
            else:
                assert np.array_equal(np.float32(row[feature]), np.float32(arrays[key])), key
            checked += 1
    assert checked > 50
    for number, item in facts["items"].items():
        task = folder.tasks[folder.rows[int(number)]["task_index"]]
        assert item["task"] == ["str", task]


def test_a_subset_is_counted_anew(make_lerobot: Make, tmp_path: Path) -> None:
    vf.convert(make_lerobot(lengths=(7, 5, 9)), tmp_path / "d.vf", video="native")
    vf.delete_episodes(tmp_path / "d.vf", [0])
    for to in LEROBOT:
        folder = exported(tmp_path / "d.vf", tmp_path / to, to, episodes=[1, 0])
        assert [row["index"] for row in folder.rows] == list(range(14))
        assert [row["episode_index"] for row in folder.rows] == [0] * 9 + [1] * 5
        assert [item["length"] for item in folder.episodes] == [9, 5]
        for index in (0, 8, 9, 13):
            assert folder.frame(index, folder.cameras[0]).shape == (96, 128, 3)


def test_files_are_cut_by_size(make_lerobot: Make, tmp_path: Path) -> None:
    vf.convert(make_lerobot(lengths=(7, 5, 9)), tmp_path / "d.vf", video="native")
    folder = exported(tmp_path / "d.vf", tmp_path / "out", data_file_mb=1e-6, video_file_mb=1e-6)
    assert len(list((tmp_path / "out/data").rglob("*.parquet"))) == 3
    assert len(list((tmp_path / "out/videos").rglob("*.mp4"))) == 6
    for index in range(21):
        folder.frame(index, folder.cameras[1])
    vf.convert(tmp_path / "out", tmp_path / "again.vf", video="native")


def test_streams_that_do_not_fit_one_track_get_files_of_their_own(tmp_path: Path) -> None:
    uri = tmp_path / "d.vf"
    write_dataset(uri, lengths=(5,), cameras=CAMERAS[:1])
    for video in (vf.DDRA(profile="small", interval=4), vf.DDRA(profile="fast", interval=4)):
        with vf.create(uri, mode="append", video=video) as writer:
            for frame in range(4):
                image = scene(1, 0, frame)
                writer.add_frame({CAMERAS[0]: image, "action": [0.0, 0.0], "task": "t"})
            writer.save_episode()
    folder = exported(uri, tmp_path / "out")
    places = [item[f"videos/{CAMERAS[0]}/file_index"] for item in folder.episodes]
    assert places == [0, 1, 2]
    for index in range(13):
        folder.frame(index, CAMERAS[0])


@pytest.mark.shared_data
def test_plain_mp4_keeps_every_time(shared: Path, tmp_path: Path) -> None:
    source = shared / "data/cases/vfr_ms.mp4"
    vf.convert(source, tmp_path / "d.vf", video="native")
    vf.export(tmp_path / "d.vf", tmp_path / "out", "mp4")
    (made,) = (tmp_path / "out").rglob("*.mp4")

    def times(path: Path) -> list[Fraction]:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            assert stream.time_base is not None
            return [
                frame.pts * stream.time_base
                for frame in container.decode(stream)
                if frame.pts is not None
            ]

    before = times(source)
    assert times(made) == [time - before[0] for time in before]


def test_plain_mp4_of_ddra(tmp_path: Path) -> None:
    write_dataset(tmp_path / "d.vf", lengths=(9, 5), chunk_frames=6)
    report = vf.export(tmp_path / "d.vf", tmp_path / "out", "mp4", episodes=[1])
    assert (report.episodes, report.frames, report.notes) == (1, 5, ())
    files = sorted(path.relative_to(tmp_path / "out") for path in (tmp_path / "out").rglob("*.mp4"))
    assert files == [Path(camera) / "episode_000001.mp4" for camera in CAMERAS]


def test_timestamps_that_lerobot_would_not_find_are_rewritten_and_said(tmp_path: Path) -> None:
    features = {
        CAMERAS[0]: {"dtype": "video", "shape": (32, 48, 3)},
        "grid": {"dtype": "float32", "shape": (2, 3)},
        "flag": {"dtype": "bool", "shape": (1,)},
        "label": {"dtype": "string", "shape": (1,)},
    }
    with vf.create(tmp_path / "d.vf", fps=29.97, features=features) as writer:
        for frame in range(6):
            values = {"grid": np.full((2, 3), frame, np.float32), "flag": True, "label": "x"}
            writer.add_frame(
                {
                    **values,
                    CAMERAS[0]: scene(0, 0, frame),
                    "timestamp": 0.1 + frame * 0.04,
                    "task": "",
                }
            )
        writer.save_episode()
    report = vf.export(tmp_path / "d.vf", tmp_path / "out")
    assert len(report.notes) == 1
    assert "timestamps are written as frame_index / fps" in report.notes[0]
    folder = LeRobotFolder(tmp_path / "out")
    assert folder.rows[2]["grid"] == [[2.0] * 3] * 2
    for index in range(6):
        folder.frame(index, CAMERAS[0])


@pytest.mark.parametrize("fps", [30, 1, 1000, Fraction(30000, 1001), Fraction(1, 3), 240])
def test_a_frame_takes_a_whole_number_of_units(fps: Fraction) -> None:
    time_base, step = count_clock(Fraction(fps))
    assert time_base.numerator == 1
    assert step * time_base == 1 / Fraction(fps)
    assert 10000 <= time_base.denominator < 2**31


@pytest.mark.shared_data
def test_what_a_track_cannot_hold_is_refused_by_name(shared: Path, tmp_path: Path) -> None:
    vf.convert(
        shared / "data/cases/open_gop_hevc.mp4",
        tmp_path / "d.vf",
        video="native",
        chunk_bounds=vf.ChunkBounds(frames=20),
    )
    with pytest.raises(UnsupportedStreamError, match=r"share pictures|not shown"):
        vf.export(tmp_path / "d.vf", tmp_path / "out", "mp4")
    assert not (tmp_path / "out").exists()


def test_damage_is_found_and_nothing_is_left(tmp_path: Path) -> None:
    write_dataset(tmp_path / "d.vf", lengths=(5,), cameras=CAMERAS[:1])

    def change(rows: list[dict[str, object]]) -> None:
        media = bytearray(rows[0][CAMERAS[0].replace(".", "/")])  # type: ignore[arg-type]
        media[-1] ^= 1
        rows[0][CAMERAS[0].replace(".", "/")] = bytes(media)

    damaged = rewritten(tmp_path / "d.vf", tmp_path / "damaged.vf", change)
    with pytest.raises(ChecksumError, match="episode 0"):
        vf.export(damaged, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.vf", "damaged.vf"]


def test_media_in_source_files_is_read_where_it_is_allowed(
    make_lerobot: Make, tmp_path: Path
) -> None:
    source = make_lerobot(lengths=(7, 5, 9))
    vf.convert(source, tmp_path / "d.vf", video="reference")
    with pytest.raises(SourceNotAllowedError):
        vf.export(tmp_path / "d.vf", tmp_path / "out")
    vf.export(tmp_path / "d.vf", tmp_path / "out", allowed_sources=[source])


def test_no_path_leads_out(tmp_path: Path) -> None:
    features = {"..": {"dtype": "video", "shape": (32, 48, 3)}}
    with vf.create(tmp_path / "in/d.vf", fps=30, features=features) as writer:
        writer.add_frame({"..": scene(0, 0, 0), "task": ""})
        writer.save_episode()
    for to in (*LEROBOT, "mp4"):
        with pytest.raises(InvalidArgumentError, match="cannot be the name of a folder"):
            vf.export(tmp_path / "in/d.vf", tmp_path / "out", to)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    write_dataset(tmp_path / "d.vf", lengths=(2,))
    with pytest.raises(InvalidArgumentError, match="there is something at"):
        vf.export(tmp_path / "d.vf", tmp_path / "link")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.vf", "in", "link"]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    uri, out = str(tmp_path / "d.vf"), str(tmp_path / "out")
    write_dataset(uri, lengths=(3, 2))
    assert cli.main(["export", uri, out, "--to", "lerobot-v3", "--episodes", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["frames"] == 2
    assert cli.main(["export", uri, out, "--to", "mp4"]) == 2
    assert "there is something at" in capsys.readouterr().err
    assert cli.main(["export", uri, f"{out}2", "--to", "mp4"]) == 0
    assert "wrote 2 episodes, 5 frames" in capsys.readouterr().out
