"""``videoformat plan``."""

import json
from pathlib import Path

import pytest
from small_dataset import CAMERAS, write_dataset

import videoformat as vf
from videoformat import cli

TOP, WRIST = CAMERAS


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("plan") / "d.vf"
    write_dataset(path, lengths=(13, 6))
    return str(path)


def test_json_is_what_a_read_then_does(capsys: pytest.CaptureFixture[str], uri: str) -> None:
    """Frame 2 is between the anchors 0 and 4, frame 9 in the second chunk between 8 and 12."""
    arguments = ["--episode", "0", "--camera", TOP, "--indices", "2,9,2"]
    assert cli.main(["plan", uri, *arguments, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    dataset = vf.open(uri)
    dataset.read_batch([(0, TOP, 2), (0, TOP, 9)])
    done = dataset.last_read
    assert done is not None
    assert (shown["frames"], shown["pictures"]) == (2, 6) == (done.frames, done.pictures)
    assert (shown["ranges"], shown["bytes"]) == (done.ranges, done.media_bytes)
    index = dataset.pictures(0, TOP).to_pylist()
    for chunk, frames in zip(shown["chunks"], ([0, 4, 2], [8, 12, 9]), strict=True):
        assert (chunk["episode"], chunk["camera"]) == (0, TOP)
        assert chunk["episode_uid"] == dataset.episodes["episode_uid"][0].as_py()
        ((*group,),) = chunk["groups"]
        assert [item["frame"] for item in group] == frames
        for item in group:
            (row,) = (row for row in index if row["frame_index"] == item["frame"])
            assert row["chunk_index"] == chunk["chunk"]
            stored = (row["picture_type"], row["offset"], row["size"])
            assert (item["type"], item["offset"], item["size"]) == stored
        covered = {byte for part in chunk["ranges"] for byte in range(part["start"], part["end"])}
        wanted = {
            byte for item in group for byte in range(item["offset"], item["offset"] + item["size"])
        }
        assert covered == wanted


def test_for_people(capsys: pytest.CaptureFixture[str], uri: str) -> None:
    assert cli.main(["plan", uri, "--episode", "0", "--episode", "-1", "--indices", "1:3"]) == 0
    head, *chunks, total, each = capsys.readouterr().out.splitlines()
    assert head.split() == [
        "camera", "episode", "chunk", "frames", "pictures", "types", "groups", "ranges", "size"
    ]  # fmt: skip
    assert [line.split()[:5] for line in chunks] == [
        [camera, str(episode), "0", "2", "4"] for episode in (0, 1) for camera in CAMERAS
    ]
    assert all("I:2 B:2" in line for line in chunks)
    assert total.split()[:5] == ["total", "8", "16", "I:8", "B:8"]
    assert each.startswith("2.00 pictures and ")


def test_explained(capsys: pytest.CaptureFixture[str], uri: str) -> None:
    """The read's own report beside the plan, in a process that has cached nothing of it."""
    arguments = ["plan", uri, "--episode", "0", "--camera", TOP, "--indices", "2,9", "--explain"]
    assert cli.main([*arguments, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    cost = shown["cost"]
    assert (cost["frames"], cost["pictures"], cost["media_bytes"]) == (2, 6, shown["bytes"])
    assert (cost["takes"], cost["index_misses"], cost["ranges"]) == (1, 2, shown["ranges"])
    assert cost["store_requests"] > 0
    assert list(cost["seconds"]) == ["index", "plan", "fetch", "decode", "rgb"]
    assert cli.main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    cost_lines = lines[lines.index("") + 1 :]
    assert [line.split()[0] for line in cost_lines] == [
        "read", "indexes", "media", "read", "store", "index", "plan", "fetch", "decode", "rgb"
    ]  # fmt: skip
    assert "2 frames, 6 pictures decoded" in cost_lines[0]
    shares = [int(line.rsplit(" ", 1)[1].rstrip("%")) for line in cost_lines[5:]]
    assert 95 <= sum(shares) <= 105


def test_without_cameras_there_is_nothing_to_plan(tmp_path: Path) -> None:
    write_dataset(tmp_path / "d", lengths=(2,), cameras=())
    assert cli.main(["plan", str(tmp_path / "d"), "--episode", "0"]) == 2
