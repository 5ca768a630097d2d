"""The command line as a whole: exit status, errors of one line, help, pipes."""

import importlib.metadata
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from damage import data_files
from small_dataset import write_dataset

import videoformat as vf
from videoformat import cli
from videoformat.commands import info
from videoformat.errors import StoreError

COMMANDS = ("convert", "info", "frames", "plan", "verify")


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("cli") / "d.vf"
    write_dataset(path, lengths=(9, 4))
    return str(path)


def refused(capsys: pytest.CaptureFixture[str], status: int, *arguments: str) -> str:
    """Runs a command line that ends with a status and one line of error; returns the line."""
    assert cli.main(list(arguments)) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("videoformat: error: ")
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert cli.main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"usage: videoformat {command} " in shown
    assert f"\nexamples:\n  videoformat {command} " in shown
    assert "--storage-option KEY=VALUE" in shown


def test_the_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n    {command} " in shown for command in COMMANDS)


def test_the_entry_point_and_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    (entry,) = importlib.metadata.entry_points(group="console_scripts", name="videoformat")
    assert entry.load() is cli.main
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"videoformat {importlib.metadata.version('videoformat')}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["info"], "the following arguments are required: URI"),
        (["plan", "URI"], "the following arguments are required: --episode"),
        (["plan", "URI", "--episode", "x"], "invalid int value: 'x'"),
        (["plan", "URI", "--episode", "0", "--indices", "1-3"], "'1-3' is no index"),
        (["info", "URI", "--storage-option", "novalue"], "'novalue' is not KEY=VALUE"),
        (["plan", "URI", "--episode", "7"], "there is no episode 7; valid are 0 to 1"),
        (["plan", "URI", "--episode", "0", "--indices", "9"], "has no frame 9; valid are 0 to 8"),
        (["plan", "URI", "--episode", "0", "--indices", "9:"], "none of the 9 frames"),
        (["plan", "URI", "--episode", "0", "--camera", "rear"], "no camera 'rear'"),
        (["info", "/nonexistent/d.vf"], "there is no dataset at /nonexistent/d.vf"),
        (["info", "URI", "--version", "99"], "has no version 99"),
        (["info", "URI", "--version", "tag"], "has no version 'tag'"),
        (["verify", "URI", "--workers", "0"], "workers is 0"),
    ],
)
def test_the_call_is_at_fault(
    capsys: pytest.CaptureFixture[str], uri: str, arguments: list[str], message: str
) -> None:
    line = refused(capsys, 2, *(uri if item == "URI" else item for item in arguments))
    assert message in line


def test_a_folder_that_is_no_dataset(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("no dataset")
    refused(capsys, 2, "info", str(tmp_path))


def test_the_data_is_at_fault(capsys: pytest.CaptureFixture[str], uri: str, tmp_path: Path) -> None:
    damaged = tmp_path / "d"
    shutil.copytree(uri, damaged)
    (manifest, *_) = sorted((damaged / "_versions").glob("*.manifest"))
    manifest.write_bytes(manifest.read_bytes()[:-40])
    for command in (["info"], ["plan", "--episode", "0"], ["verify"]):
        refused(capsys, 1, *command, str(damaged))


def test_data_files_that_are_gone(
    capsys: pytest.CaptureFixture[str], uri: str, tmp_path: Path
) -> None:
    copy = tmp_path / "d"
    shutil.copytree(uri, copy)
    for file in data_files(copy):
        file.unlink()
    refused(capsys, 1, "info", str(copy))
    assert cli.main(["verify", str(copy)]) == 1
    assert "directory" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (StoreError("the disk\nis full"), 1, "the disk is full"),
        (PermissionError(13, "Permission denied", "x"), 1, "Permission denied"),
        (RuntimeError("odd"), 1, "unexpected RuntimeError: odd"),
        (vf.VideoFormatError("any"), 1, "any"),
    ],
)
def test_whatever_happens_is_one_line(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    uri: str,
    error: BaseException,
    status: int,
    message: str,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(info, "describe", fail)
    assert message in refused(capsys, status, "info", uri)


def test_a_fault_of_our_own_can_be_looked_at(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, uri: str
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("odd")

    monkeypatch.setattr(info, "describe", fail)
    monkeypatch.setenv(cli.TRACEBACK_VARIABLE, "1")
    assert cli.main(["info", uri]) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "videoformat", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_as_a_program(uri: str) -> None:
    done = run("verify", uri)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("no problems in 2 episodes, 13 frames, 26 pictures")
    missing = run("info", "/nonexistent/d.vf")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr == "videoformat: error: there is no dataset at /nonexistent/d.vf\n"


def test_a_reader_that_goes_away_is_no_error(uri: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "videoformat", "info", uri, "--json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        # Closed before anything can have been written to it.
        process.stdout.close()
        said = process.stderr.read()
        assert (process.wait(), said) == (cli.READER_GONE, b"")
