"""delete, log, tag and vacuum at the command line."""

import json
from pathlib import Path

import pytest
from small_dataset import write_dataset

import videoformat as vf
from videoformat import cli


@pytest.fixture
def uri(tmp_path: Path) -> str:
    path = tmp_path / "d.vf"
    write_dataset(path, lengths=(3, 2, 2))
    return str(path)


def test_a_life(uri: str, capsys: pytest.CaptureFixture[str]) -> None:
    version = vf.open(uri).version
    assert cli.main(["tag", uri, "all"]) == 0
    assert cli.main(["delete", uri, "--episodes", "0,-1"]) == 0
    assert "deleted 2 episodes, 5 frames" in capsys.readouterr().out
    assert vf.open(uri).num_episodes == 1
    assert cli.main(["delete", uri, "--undo", str(version), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["episodes"]) == 2
    assert cli.main(["log", uri]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["version", "made", "by", "tags", "chunks"]
    assert [line.split()[0] for line in lines[1:]] == ["6", "5", "4", "3", "2", "1"]
    assert cli.main(["log", uri, "--json", "--limit", "1"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["version"] == 6
    assert cli.main(["vacuum", uri, "--older-than", "0", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["removed"]["versions"] > 0
    assert cli.main(["info", uri, "--version", "all", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["version"] == version
    assert cli.main(["tag", uri, "all", "--delete"]) == 0
    assert "all names no version" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["delete", "{uri}"],
        ["delete", "{uri}", "--episodes", "9"],
        ["delete", "{uri}", "--undo", "77"],
        ["tag", "{uri}", "a/b"],
        ["tag", "{uri}", "x", "--delete"],
        ["log", "{uri}", "--limit", "0"],
        ["vacuum", "{uri}", "--older-than", "nan"],
        ["info", "{uri}", "--version", "12:99"],
    ],
)
def test_a_call_at_fault_is_one_line_and_status_2(
    uri: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([item.format(uri=uri) for item in arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("videoformat: error: ")
    assert error.count("\n") == 1


def test_a_version_by_time(uri: str, capsys: pytest.CaptureFixture[str]) -> None:
    time = vf.log(uri)[1].time.isoformat()
    assert cli.main(["info", uri, "--version", time, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["episodes"] == 2


def test_copies(uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, c, d = (str(tmp_path / name) for name in ("a", "b", "c", "d"))
    assert cli.main(["split", uri, f"{a}=0:2", f"{b}=2"]) == 0
    assert cli.main(["merge", c, b, a]) == 0
    assert cli.main(["subset", c, d, "--episodes", "1,2,0", "--json"]) == 0
    lines = capsys.readouterr().out
    assert f"{a}: copied 2 episodes, 5 frames" in lines
    assert vf.open(d).directory.uids() == vf.open(uri).directory.uids()
    assert cli.main(["merge", d, a]) == 0
    assert "copied 0 episodes, 0 frames, 2 were there already" in capsys.readouterr().out
    assert cli.main(["split", uri, "a"]) == 2
    assert cli.main(["split", uri, f"{a}=0", f"{b}=0"]) == 2
