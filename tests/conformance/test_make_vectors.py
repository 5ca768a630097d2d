"""The script that makes the vectors still makes them."""

import json
from pathlib import Path

import make_vectors
import minimal_reader
import pytest
from vectors import GOOD


@pytest.mark.parametrize("name", ["hevc-odd-size", "h264-later-minor-version"])
def test_a_vector_made_anew_is_read_as_it_says(name: str, tmp_path: Path) -> None:
    (folder,) = make_vectors.write_vectors(tmp_path, [name])
    assert folder == tmp_path / name
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    reader = minimal_reader.Reader(str(folder / "rows.arrow"))
    ((camera, facts),) = expected["episodes"][0]["cameras"].items()
    for frame in facts["frames"]:
        planes, _, stream = reader.read(0, camera, [frame["frame"]])[frame["frame"]]
        assert planes[0].shape == (stream["height"], stream["width"])
        rgb = minimal_reader.to_rgb(planes, stream)
        # The scene of tools/spec_vectors/scene.py: a reddish square on a dark gradient.
        assert rgb[..., 0].max() > 200 > rgb[..., 2].max()


def test_the_lance_vector_is_made_as_a_dataset(tmp_path: Path) -> None:
    (folder,) = make_vectors.write_vectors(tmp_path, ["lance-two-episodes"])
    reader = minimal_reader.Reader(str(folder / "dataset.lance"))
    assert [len(reader.chunks(n)) for n in range(2)] == [2, 1]


def test_what_is_there_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "h264-1-frame").mkdir()
    arguments = ["make_vectors.py", "--out", str(tmp_path), "h264-1-frame", "h264-2-frames"]
    monkeypatch.setattr("sys.argv", arguments)
    assert make_vectors.main() == 0
    assert list((tmp_path / "h264-1-frame").iterdir()) == []
    assert (tmp_path / "h264-2-frames/rows.arrow").exists()
    assert "left alone: h264-1-frame" in capsys.readouterr().out


def test_its_names_are_those_of_the_committed_vectors() -> None:
    assert {vector.name for vector in GOOD} == set(make_vectors.NAMES) - {make_vectors.BAD}
