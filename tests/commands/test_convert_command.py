"""``videoformat convert``."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import videoformat as vf
from videoformat import cli
from videoformat.commands.convert import progress_text
from videoformat.convert import Progress


@pytest.fixture
def source(make_lerobot: Callable[..., Path]) -> Path:
    return make_lerobot(version="v2.1")


def test_a_lerobot_dataset_with_everything_said(
    capsys: pytest.CaptureFixture[str], source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "d.vf"
    arguments = [
        "convert", str(source), str(target), "--video", "small", "--interval", "3",
        "--crf", "31.5", "--preset", "ultrafast", "--episodes", "0,1:2", "--workers", "1",
    ]  # fmt: skip
    assert cli.main([*arguments, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    report = json.loads(captured.out)
    dataset = vf.open(target)
    assert (report["episodes"], report["frames"]) == (2, dataset.num_frames)
    (stream,) = dataset.streams(0, dataset.cameras[0])
    made = json.loads(stream["encoder"])
    assert (stream["codec"], stream["interval"]) == ("hevc", 3)
    assert (made["profile"], made["crf"], made["preset"]) == ("small", 31.5, "ultrafast")
    # Again, there is nothing left to do.
    assert cli.main(arguments) == 0
    assert "2 episodes were there already" in capsys.readouterr().out
    assert cli.main(["verify", str(target), "--decode"]) == 0


@pytest.mark.parametrize(("video", "codec"), [("star", "av1"), ("star-h264", "h264")])
def test_stars_with_everything_said(
    capfd: pytest.CaptureFixture[str], source: Path, tmp_path: Path, video: str, codec: str
) -> None:
    target = tmp_path / "d.vf"
    arguments = ["convert", str(source), str(target), "--video", video, "--episodes", "0"]
    own = ["--interval", "40", "--crf", "24", "--preset", "faster"]
    assert cli.main([*arguments, *own, "--json"]) == 0
    # Encoders have nothing to say either, not even past Python.
    assert capfd.readouterr().err == ""
    dataset = vf.open(target)
    (stream,) = dataset.streams(0, dataset.cameras[0])
    made = json.loads(stream["encoder"])
    assert (stream["codec"], stream["structure"], stream["interval"]) == (codec, "star", 40)
    assert (made["crf"], made["preset"]) == (24, "faster")
    assert cli.main(["verify", str(target), "--decode"]) == 0
    assert cli.main(["info", str(target)]) == 0
    assert "star-40 crf 24" in capfd.readouterr().out
    for wrong in (["--crf", "23.5"], ["--preset", "medium"], ["--interval", "65"]):
        assert cli.main([*arguments, *wrong]) == 2


def test_the_defaults_are_those_of_the_library(
    capsys: pytest.CaptureFixture[str], source: Path, tmp_path: Path
) -> None:
    assert cli.main(["convert", str(source), str(tmp_path / "d"), "--episodes", "0"]) == 0
    assert "converted 1 episodes, " in capsys.readouterr().out
    dataset = vf.open(tmp_path / "d")
    (stream,) = dataset.streams(0, dataset.cameras[0])
    assert json.loads(stream["encoder"]) == vf.DDRA().describe()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--interval", "18"], "interval is 18, expected an integer from 2 to 17"),
        (["--crf", "52"], "crf is 52.0"),
        (["--preset", "turbo"], "preset is 'turbo'"),
        (["--video", "native", "--crf", "20"], "--crf: nothing is encoded with --video native"),
        (["--video", "tiny"], "invalid choice: 'tiny'"),
        (["--episodes", "3:"], "ranges with an end"),
        (["--episodes", "-1"], "numbers from 0"),
        (["--episodes", "0:99"], "the source has no episodes"),
        (["--workers", "0"], "workers is 0"),
    ],
)
def test_what_cannot_be_asked_for(
    capsys: pytest.CaptureFixture[str],
    source: Path,
    tmp_path: Path,
    arguments: list[str],
    message: str,
) -> None:
    assert cli.main(["convert", str(source), str(tmp_path / "d"), *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_a_source_that_is_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.main(["convert", str(tmp_path / "no"), str(tmp_path / "d")]) == 2
    assert "there is nothing at" in capsys.readouterr().err


def test_a_source_that_is_damaged(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "empty.mp4").touch()
    assert cli.main(["convert", str(tmp_path / "empty.mp4"), str(tmp_path / "d")]) == 1
    assert "empty.mp4" in capsys.readouterr().err


def test_progress_says_how_long_it_takes() -> None:
    progress = Progress(
        episodes_done=2, episodes_total=8, frames_done=500, frames_total=2000, seconds=10.0
    )
    assert progress_text(progress) == (
        "2 of 8 episodes, 500 of 2000 frames, 50 frames a second, 30.0 s left"
    )
