"""``videoformat frames``, checked with another PNG decoder."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from small_dataset import CAMERAS, write_dataset

import videoformat as vf
from videoformat import cli
from videoformat.errors import InvalidArgumentError
from videoformat.media.png import encode_png

TOP, WRIST = CAMERAS


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("frames") / "d.vf"
    write_dataset(path, lengths=(9, 4))
    return str(path)


def check(uri: str, out: Path, expected: dict[str, tuple[int, str, int]]) -> None:
    """Exactly these files are there, and each holds its frame exactly."""
    assert {path.name for path in out.iterdir()} == set(expected)
    dataset = vf.open(uri)
    for name, (episode, camera, index) in expected.items():
        with Image.open(out / name) as image:
            assert (image.format, image.mode) == ("PNG", "RGB")
            (frame,) = dataset.read_frames(episode, camera, [index])
            np.testing.assert_array_equal(np.asarray(image), frame)


def test_chosen_frames_of_one_camera(
    capsys: pytest.CaptureFixture[str], uri: str, tmp_path: Path
) -> None:
    arguments = ["--episode", "0", "--camera", WRIST, "--indices", "-1,0,2:4,0"]
    assert cli.main(["frames", uri, *arguments, "--out", str(tmp_path / "new/folder")]) == 0
    assert capsys.readouterr().out == f"wrote 4 frames to {tmp_path}/new/folder\n"
    name = "episode_000000_observation.images.wrist_frame_{:06}.png"
    check(
        uri,
        tmp_path / "new/folder",
        {name.format(index): (0, WRIST, index) for index in (0, 2, 3, 8)},
    )


def test_everything_of_an_episode_from_the_end(
    capsys: pytest.CaptureFixture[str], uri: str, tmp_path: Path
) -> None:
    arguments = ["frames", uri, "--episode", "-1", "--out", str(tmp_path), "--json"]
    assert cli.main(arguments) == 0
    capsys.readouterr()
    # Once more: files of the same name are replaced.
    assert cli.main(arguments) == 0
    listed = json.loads(capsys.readouterr().out)
    expected = {
        f"episode_000001_{camera}_frame_{index:06}.png": (1, camera, index)
        for camera in CAMERAS
        for index in range(4)
    }
    check(uri, tmp_path, expected)
    assert {
        Path(item["file"]).name: (item["episode"], item["camera"], item["index"]) for item in listed
    } == expected


def test_an_index_that_begins_with_a_minus(uri: str, tmp_path: Path) -> None:
    arguments = ["--episode", "1", "--camera", TOP, "--indices", "-2:", "--out", str(tmp_path)]
    assert cli.main(["frames", uri, *arguments]) == 0
    assert {path.name[-10:] for path in tmp_path.iterdir()} == {"000002.png", "000003.png"}


def test_nothing_is_written_where_the_call_is_wrong(uri: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for wrong in (["--camera", "rear"], ["--indices", "4"], ["--indices", "7:"]):
        arguments = ["--episode", "1", *wrong, "--out", str(out)]
        assert cli.main(["frames", uri, *arguments]) == 2
    assert not out.exists()
    file = tmp_path / "file"
    file.touch()
    for place in (file, file / "below"):
        assert cli.main(["frames", uri, "--episode", "1", "--out", str(place)]) == 2


@pytest.mark.parametrize("key", ["..", "with space", "ünïcode", "line\nbreak", "back\\slash"])
def test_a_key_cannot_lead_out_of_the_folder(tmp_path: Path, key: str) -> None:
    write_dataset(tmp_path / "d", lengths=(1,), cameras=(key,))
    out = tmp_path / "out"
    assert cli.main(["frames", str(tmp_path / "d"), "--episode", "0", "--out", str(out)]) == 0
    (path,) = out.iterdir()
    assert path.name.isprintable()
    assert path.name.startswith("episode_000000_")
    assert {item.name for item in tmp_path.iterdir()} == {"d", "out"}


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (64, 33)])
def test_a_png_keeps_every_sample(tmp_path: Path, shape: tuple[int, int]) -> None:
    rgb = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
    for image in (rgb, rgb[::-1, ::-1]):
        (tmp_path / "a.png").write_bytes(encode_png(image))
        with Image.open(tmp_path / "a.png") as opened:
            np.testing.assert_array_equal(np.asarray(opened), image)


@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 4), (0, 4, 3)])
def test_what_is_no_rgb_frame_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidArgumentError, match="uint8"):
        encode_png(np.zeros(shape, np.uint8))
