"""Every example runs as its first lines say, by itself, and says what it should."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_has_a_test() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    for path in EXAMPLES.glob("*.py"):
        assert f'run("{path.name}"' in text, path.name


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
