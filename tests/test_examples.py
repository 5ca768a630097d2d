"""Every example runs as its first lines say, by itself, and says what it should."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from object_store import ObjectStore

import videoformat as vf

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_has_a_test() -> None:
    tests = sorted(Path(__file__).parent.rglob("test_*example*.py"))
    text = "".join(path.read_text(encoding="utf-8") for path in tests)
    for path in EXAMPLES.glob("*.py"):
        assert f'"{path.name}"' in text, path.name


def test_write_and_read(tmp_path: Path) -> None:
    lines = run("write_and_read.py", str(tmp_path / "balls.vf")).splitlines()
    assert lines[0] == "2 episodes, 65 frames, 30 fps"
    places = [line.partition("x=")[2] for line in lines[1:5]]
    assert [line.partition(":")[0] for line in lines[1:5]] == [
        "frame 33",
        "frame  5",
        "frame  5",
        "frame 17",
    ]
    for place in places:
        seen, _, said = place.partition(", the state says ")
        assert abs(float(seen) - float(said)) <= 0.02
    assert "frame 20 takes 3 pictures" in lines[-1]


@pytest.fixture(scope="module")
def source(make_lerobot: Callable[..., Path]) -> Path:
    return make_lerobot(lengths=(24, 17))


def test_convert_lerobot(source: Path, tmp_path: Path) -> None:
    lines = run("convert_lerobot.py", str(source), str(tmp_path / "out.vf")).splitlines()
    assert lines[0] == "2 episodes, 41 frames"
    assert re.fullmatch(r"[\d,]+ bytes of video became [\d,]+", lines[1])
    assert "'length': 24" in lines[2]
    assert lines[-1] == "observation.images.front: (3, 96, 128, 3) uint8"


def test_query_frames(source: Path, tmp_path: Path) -> None:
    vf.convert(source, tmp_path / "out.vf", workers=1)
    lines = run("query_frames.py", str(tmp_path / "out.vf")).splitlines()
    assert re.fullmatch(r"2 frames: [2-6] pictures, [\d,]+ bytes", lines[0])
    assert [line.partition(",")[0] for line in lines[1:]] == ["episode 0", "episode 1"]


@pytest.mark.object_store
def test_write_to_s3(s3: ObjectStore) -> None:
    keys = {name.upper(): value for name, value in s3.storage_options.items()}
    lines = run("write_to_s3.py", s3.uri("examples/grey.vf"), **keys).splitlines()
    levels = [int(line.removeprefix("grey level ")) for line in lines]
    assert levels == pytest.approx([12, 176, 60], abs=3)
