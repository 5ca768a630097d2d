"""The demonstration reports on a small dataset what the demonstration shows on a larger one."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from demo_report import SourceVideos, main
from make_lerobot import read_burnt_in
from PIL import Image

import videoformat as vf

CELL = (256 + 6, 192 + 18 + 6)  # a picture of 128x96, doubled, with its caption and margin


@pytest.fixture(scope="module")
def source(make_lerobot: Callable[..., Path]) -> Path:
    return make_lerobot(lengths=(60, 70), crf=23)


def test_source_frames_are_those_asked_for_in_that_order(source: Path) -> None:
    videos = SourceVideos(source)
    frames = videos.read(1, "observation.images.wrist", [69, 0, 0, 12])
    assert [read_burnt_in(frame) for frame in frames] == [1129, 1060, 1060, 1072]


def test_the_report_and_the_picture(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vf.convert(source, tmp_path / "dataset.vf", workers=1)
    assert main([str(source), str(tmp_path / "dataset.vf"), str(tmp_path / "sheet.png")]) == 0
    printed = capsys.readouterr().out
    before = sum(path.stat().st_size for path in source.rglob("*.mp4"))
    assert "video of 260 frames" in printed
    assert re.search(rf"source +{before:,} +{before / 260:,.0f}\n", printed)
    assert "260 of 260 frames carry the number" in printed
    for pattern in ("one frame, anywhere", "a window of 10", "10 frames, anywhere"):
        assert re.search(
            rf"^{pattern} +\d+\.\d\d +\d+\.\d +\d+\.\d\d +\d+\.\d\d$", printed, re.MULTILINE
        )
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.size == (5 * CELL[0] + 6, 8 * CELL[1] + 6)
        # Rows: front read back, front source, wrist read back, wrist source; then episode 1.
        rows = [[number_in(sheet, row, column) for column in range(5)] for row in range(8)]
    assert rows[0] == rows[1] == [0, 15, 30, 44, 59]
    assert rows[2] == rows[3] == [1000 + number for number in rows[0]]
    assert rows[4] == rows[5] == [60 + frame for frame in (0, 17, 34, 52, 69)]


def number_in(sheet: Image.Image, row: int, column: int) -> int:
    left, top = 6 + column * CELL[0], 6 + row * CELL[1] + 18
    picture = sheet.crop((left, top, left + 256, top + 192)).resize((128, 96))
    return read_burnt_in(np.asarray(picture))
