"""``videoformat info``."""

import json
from pathlib import Path
from typing import Any

import pytest
from small_dataset import CAMERAS, write_dataset

import videoformat as vf
from videoformat import cli
from videoformat.media.gop import DDRA

LENGTHS = (13, 6)


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("info") / "d.vf"
    write_dataset(path, lengths=LENGTHS)
    # Episodes of one dataset may be made in different ways.
    with vf.create(path, mode="append", video=DDRA(profile="small", interval=3, crf=25)) as writer:
        for frame in vf.open(path).read_frames(0, CAMERAS[0], range(3)):
            images = dict.fromkeys(CAMERAS, frame)
            writer.add_frame({**images, "action": [0.0, 1.0], "task": "more"})
        writer.save_episode()
    return path


def facts(capsys: pytest.CaptureFixture[str], uri: Path, *arguments: str) -> dict[str, Any]:
    assert cli.main(["info", str(uri), "--json", *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    shown: dict[str, Any] = json.loads(captured.out)
    return shown


def test_the_facts_are_those_of_the_dataset(capsys: pytest.CaptureFixture[str], uri: Path) -> None:
    shown = facts(capsys, uri)
    dataset = vf.open(uri)
    assert (shown["episodes"], shown["frames"], shown["chunks"]) == (3, 22, 4)
    assert shown["episode_length"] == {"shortest": 3, "longest": 13}
    assert (shown["fps"], shown["robot_type"]) == (30, "arm")
    assert (shown["version"], shown["format_version"]) == (dataset.version, "1.0")
    assert shown["tasks"] == ["task 0", "task 1", "more"]
    assert shown["features"]["action"] == {"dtype": "float32", "shape": [2]}
    assert set(shown["cameras"]) == set(CAMERAS)


def test_a_camera_is_measured_by_its_pictures(
    capsys: pytest.CaptureFixture[str], uri: Path
) -> None:
    dataset = vf.open(uri)
    shown = facts(capsys, uri)
    total = 0
    for camera in CAMERAS:
        indexes = [dataset.pictures(episode, camera) for episode in range(3)]
        sizes = sum(sum(index.column("size").to_pylist()) for index in indexes)
        # A plan of one frame is its closure.
        closures = [
            dataset.plan([(episode, camera, frame)]).picture_count
            for episode, index in enumerate(indexes)
            for frame in index.column("frame_index").to_pylist()
        ]
        entry = shown["cameras"][camera]
        assert (entry["width"], entry["height"]) == (48, 32)
        assert entry["media_bytes"] == sizes
        assert entry["bytes_per_frame"] == pytest.approx(sizes / 22)
        assert entry["closure"]["worst"] == max(closures) == 3
        assert entry["closure"]["mean"] == pytest.approx(sum(closures) / len(closures))
        assert entry["closure"]["mean_over_frames"] == 22
        total += sizes
    assert shown["media_bytes"] == total
    assert shown["store_bytes"] == sum(p.stat().st_size for p in uri.rglob("*") if p.is_file())


def test_every_way_that_a_camera_was_encoded_is_shown(
    capsys: pytest.CaptureFixture[str], uri: Path
) -> None:
    streams = facts(capsys, uri)["cameras"][CAMERAS[0]]["streams"]
    wanted = ("codec", "structure", "interval", "profile", "crf", "preset", "chunks")
    assert [tuple(stream[name] for name in wanted) for stream in streams] == [
        ("h264", "ddra", 4, "fast", 30.0, DDRA().effective_preset, 3),
        ("hevc", "ddra", 3, "small", 25.0, DDRA(profile="small").effective_preset, 1),
    ]


def test_an_older_version(capsys: pytest.CaptureFixture[str], uri: Path) -> None:
    assert facts(capsys, uri, "--version", "2")["episodes"] == 1


def test_an_empty_dataset(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_dataset(tmp_path / "d", lengths=())
    shown = facts(capsys, tmp_path / "d")
    assert (shown["episodes"], shown["frames"], shown["media_bytes"]) == (0, 0, 0)
    assert shown["cameras"][CAMERAS[0]]["closure"]["mean"] is None
    assert cli.main(["info", str(tmp_path / "d")]) == 0


def test_for_people(capsys: pytest.CaptureFixture[str], uri: Path) -> None:
    assert cli.main(["info", str(uri)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:4] == [
        "3 episodes of 3 to 13 frames in 4 chunks",
        "22 frames at 30 a second: 0.7 s a camera",
        "robot: arm",
    ]
    (top,) = (line for line in lines if line.startswith(CAMERAS[0]))
    assert "48x32  h264 ddra-4 fast crf 30" in top
    assert any(line.strip() == "hevc ddra-3 small crf 25" for line in lines)
