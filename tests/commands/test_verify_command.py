"""``videoformat verify``."""

import json
from pathlib import Path

import pytest
from damage import Row, change_stream, rewritten
from small_dataset import CAMERAS, write_dataset

from videoformat import cli

TOP, WRIST = CAMERAS


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("verify") / "d.vf"
    write_dataset(path, lengths=(9, 4))
    return path


def test_a_sound_dataset(capsys: pytest.CaptureFixture[str], uri: Path) -> None:
    assert cli.main(["verify", str(uri), "--decode", "--workers", "1"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.startswith("no problems in 2 episodes, 13 frames, 26 pictures, ")
    assert ", 26 closures decoded (" in captured.out


@pytest.mark.parametrize("as_json", [False, True])
def test_problems_are_listed_and_counted(
    capsys: pytest.CaptureFixture[str], uri: Path, tmp_path: Path, as_json: bool
) -> None:
    def change(rows: list[Row]) -> None:
        change_stream(rows[0], TOP, closure_bound=7)
        rows[2]["action"].pop()

    damaged = rewritten(uri, tmp_path / "d", change)
    assert cli.main(["verify", str(damaged), *(["--json"] if as_json else [])]) == 1
    shown = capsys.readouterr().out
    if as_json:
        report = json.loads(shown)
        assert (report["ok"], report["pictures"], report["closures"]) == (False, 26, 0)
        places = [(p["episode"], p["camera"], p["chunk"], p["what"]) for p in report["problems"]]
        assert places == [(0, TOP, 0, "structure"), (1, None, 0, "column")]
        return
    first, second, summary = shown.splitlines()
    assert first.startswith("episode 0 (")
    assert f"), chunk 0, camera '{TOP}': structure: the largest closure has 3 pictures" in first
    assert second.startswith("episode 1 (")
    assert "), chunk 0: column: feature 'action': a row holds 3 values for 4 frames" in second
    assert summary.startswith("2 problems in 2 episodes")


def test_an_older_version(capsys: pytest.CaptureFixture[str], uri: Path) -> None:
    assert cli.main(["verify", str(uri), "--version", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == 1
