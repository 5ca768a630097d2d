"""Damaged and missing files: what is intact comes back, what is lost is listed."""

import shutil
from pathlib import Path

import pytest
import whole
from damage import data_files, rewritten
from small_dataset import CAMERAS, write_dataset

import videoformat as vf
from videoformat import cli
from videoformat.errors import DataError, DatasetNotFoundError
from videoformat.recover import recover
from videoformat.table import recovery
from videoformat.verify import verify

LENGTHS = (9, 3, 5, 4)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recover") / "d.vf"
    write_dataset(path, lengths=LENGTHS, chunk_frames=4)
    return path


@pytest.fixture
def uri(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "d.vf"))


def cut(path: Path, keep: float = 0.5) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])


def file_of(uri: Path, version: int) -> Path:
    """The data file that a version brought: versions 2, 3, … append an episode each."""
    older = {p.name for p in data_files(uri) if _has(uri, version - 1, p)}
    (path,) = [p for p in data_files(uri) if _has(uri, version, p) and p.name not in older]
    return path


def _has(uri: Path, version: int, path: Path) -> bool:
    import lance

    fragments = lance.dataset(str(uri), version=version).get_fragments()
    return any(item.path == path.name for f in fragments for item in f.metadata.files)


def test_nothing_is_done_where_nothing_is_wrong(uri: Path) -> None:
    version = vf.open(uri).version
    report = recover(uri, decode=True)
    assert report.ok
    assert (report.intact, report.version, report.lost) == (4, version, ())
    assert vf.open(uri).version == version


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9])
def test_a_manifest_that_was_cut(uri: Path, keep: float) -> None:
    before = whole.episodes(uri)
    newest = next(iter(recovery.manifests(uri).values()))
    cut(newest, keep)
    with pytest.raises((DataError, vf.VideoFormatError)):
        vf.open(uri)
    assert vf.open(uri, version=4).num_episodes == 3
    assert recover(uri, report_only=True).set_aside == (5,)
    report = recover(uri)
    assert (report.set_aside, report.base, report.intact) == ((5,), 4, 3)
    assert whole.episodes(uri) == dict(list(before.items())[:3])
    # What was acknowledged in version 5 is in its data file still, and appending goes on.
    assert newest.with_name(f"{newest.name}.damaged").exists()
    with vf.create(uri, mode="append") as writer:
        frame = vf.open(uri).read_frames(0, CAMERAS[0], [0])[0]
        writer.add_frame({**dict.fromkeys(CAMERAS, frame), "action": [0.0, 0.0], "task": "t"})
        writer.save_episode()
    assert vf.open(uri).num_episodes == 4


@pytest.mark.parametrize("how", ["cut", "gone", "zeros"])
def test_a_data_file_that_is_damaged(uri: Path, how: str) -> None:
    before = whole.episodes(uri)
    path = file_of(uri, 3)
    if how == "cut":
        cut(path)
    elif how == "gone":
        path.unlink()
    else:
        path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(vf.VideoFormatError):
        len(vf.open(uri))
    report = recover(uri)
    assert report.intact == 3
    (lost,) = report.lost
    assert (lost.episode_uid, lost.chunks) == (None, 1)
    assert "fragment 1 cannot be read" in lost.reason
    assert whole.episodes(uri) == {
        uid: value for at, (uid, value) in enumerate(before.items()) if at != 1
    }
    assert verify(uri, decode=True).ok
    assert recover(uri).ok


def test_media_that_is_not_what_was_written(made: Path, tmp_path: Path) -> None:
    column = CAMERAS[1].replace(".", "/")

    def change(rows: list[dict[str, object]]) -> None:
        media = bytearray(rows[1][column])  # type: ignore[arg-type]
        media[3] ^= 16
        rows[1][column] = bytes(media)

    uri = rewritten(made, tmp_path / "damaged.vf", change)
    uids = vf.open(uri).directory.uids()
    report = recover(uri)
    assert [(item.episode_uid, item.chunks) for item in report.lost] == [(uids[0], 3)]
    assert "checksum" in report.lost[0].reason
    assert vf.open(uri).directory.uids() == uids[1:]
    assert vf.open(uri, version=report.base).num_episodes == 4


def test_rows_that_are_not_whole(made: Path, tmp_path: Path) -> None:
    uri = rewritten(made, tmp_path / "damaged.vf", lambda rows: rows.pop(1))
    uids = vf.open(made).directory.uids()
    report = recover(uri)
    assert [item.episode_uid for item in report.lost] == [uids[0]]
    assert vf.open(uri).directory.uids() == uids[1:]
    assert verify(uri).ok


def test_where_nothing_opens(uri: Path, tmp_path: Path) -> None:
    for path in recovery.manifests(uri).values():
        cut(path)
    with pytest.raises(DataError, match="none of its 5 versions opens"):
        recover(uri)
    with pytest.raises(DatasetNotFoundError):
        recover(tmp_path / "nothing")


def test_the_command(uri: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["recover", str(uri)]) == 0
    file_of(uri, 2).unlink()
    assert cli.main(["recover", str(uri), "--report-only", "--json"]) == 1
    assert cli.main(["recover", str(uri)]) == 1
    output = capsys.readouterr().out
    assert "lost: episodes, 3 chunks: fragment 0 cannot be read" in output
    assert "3 episodes are intact" in output
    assert cli.main(["recover", str(uri)]) == 0
