"""``videoformat bench``."""

import json
from pathlib import Path

import pytest
from small_dataset import CAMERAS, write_dataset

from videoformat import cli


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("bench") / "d.vf"
    write_dataset(path, lengths=(23, 6))
    return str(path)


def test_json_counts_what_was_read(capsys: pytest.CaptureFixture[str], uri: str) -> None:
    assert cli.main(["bench", uri, "--requests", "4", "--camera", CAMERAS[1], "--json"]) == 0
    shown = {item["pattern"]: item for item in json.loads(capsys.readouterr().out)}
    # The longest episode has 23 frames: windows of ten at every second reach 19, at every fourth 37.
    assert list(shown) == ["random frame", "window", "every 2nd", "10 random", "batch"]
    assert all(item["requests"] == 4 for item in shown.values())
    assert (shown["random frame"]["frames"], shown["window"]["frames"]) == (4, 40)
    assert 4 <= shown["random frame"]["pictures"] <= 12
    # Ten in a row are all pictures between the anchors around them, with chunks of 8 frames.
    assert 40 < shown["window"]["pictures"] <= 4 * 16
    assert shown["batch"]["frames"] <= 29 * 4
    for item in shown.values():
        assert 0 < item["ms_a_frame_median"] <= item["ms_a_frame_p95"]


def test_for_people_with_threads(capsys: pytest.CaptureFixture[str], uri: str) -> None:
    assert cli.main(["bench", uri, "--requests", "1", "--threads", "2"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith("pattern")
    assert [line.split("  ")[0] for line in lines] == [
        "random frame", "window", "every 2nd", "10 random", "batch"
    ]  # fmt: skip


def test_what_cannot_be_measured(
    capsys: pytest.CaptureFixture[str], uri: str, tmp_path: Path
) -> None:
    assert cli.main(["bench", uri, "--requests", "0"]) == 2
    assert cli.main(["bench", uri, "--threads", "0"]) == 2
    assert cli.main(["bench", uri, "--camera", "rear"]) == 2
    assert "no camera 'rear'" in capsys.readouterr().err
    write_dataset(tmp_path / "d", lengths=(2,), cameras=())
    assert cli.main(["bench", str(tmp_path / "d")]) == 2
