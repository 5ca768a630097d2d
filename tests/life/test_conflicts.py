"""Who appends, deletes, compacts, brings back and reads at the same time: each is whole, or is told."""

import datetime as dt
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import whole
from crashing import AT_ONCE, open_writer, write_episode

import videoformat as vf
from videoformat import appending
from videoformat.errors import ConflictError, VideoFormatError
from videoformat.table import Table, history
from videoformat.verify import verify

ROLE = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from crashing import open_writer, write_episode
import videoformat as vf
from videoformat.errors import ConflictError
uri, role, stop = sys.argv[2:5]
said = {"done": [], "conflicts": 0}
if role == "append":
    with open_writer(uri) as writer:
        for seed in range(16):
            said["done"].append(write_episode(writer, seed, 1 + seed % 5))
else:
    while True:
        last = os.path.exists(stop)
        try:
            if role == "vacuum":
                said["done"].append(vf.vacuum(uri).version)
            else:
                gone = [uid for uid in vf.open(uri).directory.uids() if int(uid[0], 16) % 2]
                said["done"] += vf.delete_episodes(uri, gone).episodes
        except ConflictError:
            said["conflicts"] += 1
            continue
        if last:
            break
print(json.dumps(said))
"""


@pytest.fixture
def uri(tmp_path: Path) -> str:
    path = str(tmp_path / "d.vf")
    with open_writer(path, "create") as writer:
        for seed, length in enumerate((4, 1, 5, 2)):
            write_episode(writer, seed, length)
    return path


def test_appending_deleting_and_compacting_processes_beside_a_reader(tmp_path: Path) -> None:
    uri, stop = str(tmp_path / "d.vf"), tmp_path / "stop"
    open_writer(uri, "create").close()
    roles = {
        role: subprocess.Popen(
            [
                sys.executable,
                *("-W", "ignore", "-c", ROLE, str(Path(__file__).parent), uri, role, str(stop)),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for role in ("append", "delete", "vacuum")
    }
    seen: dict[str, str] = {}
    while roles["append"].poll() is None:
        # A version that was opened is read to its end, whatever the others do: the grace.
        for uid, digest in whole.episodes(uri, vf.open(uri).version).items():
            assert seen.setdefault(uid, digest) == digest
    stop.touch()
    said = {role: json.loads(process.communicate()[0]) for role, process in roles.items()}
    assert [process.returncode for process in roles.values()] == [0] * 3
    appended = said["append"]["done"]
    left = [uid for uid in appended if not int(uid[0], 16) % 2]
    assert set(said["delete"]["done"]) == set(appended) - set(left)
    # Where one comes to that is appended during a compaction is the store's.
    assert sorted(whole.episodes(uri)) == sorted(left)
    assert set(seen) <= set(appended)
    assert verify(uri, decode=True).ok


def between(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, act: Callable[[], object]
) -> None:
    """Has another act once, after a call has opened its version and before it goes on."""
    original = getattr(owner, name)
    acted: list[object] = []

    def first_the_other(*arguments: Any, **options: Any) -> Any:
        if not acted:
            acted.append(None)
            act()
        return original(*arguments, **options)

    monkeypatch.setattr(owner, name, first_the_other)


def test_a_delete_while_a_compaction_runs(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = whole.episodes(uri)
    gone = list(before)[1]
    between(monkeypatch, history, "compact", lambda: vf.delete_episodes(uri, [gone]))
    vf.vacuum(uri)
    assert whole.episodes(uri) == {uid: x for uid, x in before.items() if uid != gone}
    assert verify(uri, decode=True).ok


def test_an_append_while_a_compaction_runs(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = whole.episodes(uri)

    def append() -> None:
        with open_writer(uri) as writer:
            write_episode(writer, 9, 3)

    between(monkeypatch, history, "compact", append)
    vf.vacuum(uri)
    after = whole.episodes(uri)
    assert len(after) == 5
    assert {uid: after[uid] for uid in before} == before
    assert [uid for uid in after if uid in before] == list(before)
    assert verify(uri, decode=True).ok


def test_a_compaction_while_a_delete_runs(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = whole.episodes(uri)
    gone = list(before)[2]
    between(monkeypatch, Table, "delete_episodes", lambda: vf.vacuum(uri))
    vf.delete_episodes(uri, [gone])
    assert whole.episodes(uri) == {uid: x for uid, x in before.items() if uid != gone}


def test_what_others_overtook_is_a_clear_error(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, version = whole.episodes(uri), vf.open(uri).version
    vf.delete_episodes(uri, [0])

    def append() -> None:
        with open_writer(uri) as writer:
            write_episode(writer, 9, 3)

    between(monkeypatch, Table, "bring_back", append)
    with pytest.raises(ConflictError):
        vf.undelete(uri, version)
    assert list(whole.episodes(uri))[:-1] == list(before)[1:]
    monkeypatch.undo()
    vf.undelete(uri, version)
    assert {*whole.episodes(uri)} >= {*before}


def test_an_episode_that_is_being_written_survives_every_vacuum(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it has put into the store already belongs to no version yet."""
    monkeypatch.setattr(appending, "SPILL_BYTES", 1)
    import numpy as np

    with open_writer(uri) as writer:
        for value in range(10):
            image = np.full((16, 16, 3), value * 20, np.uint8)
            writer.add_frame({"camera": image, "value": value, "task": ""})
            if value == 8:
                vf.vacuum(uri, older_than=AT_ONCE)
        writer.save_episode()
    assert vf.open(uri).rows(-1, columns=["value"]).column("value").to_pylist() == [*range(10)]
    assert verify(uri, decode=True).ok


def test_a_reader_whose_version_was_removed_is_told(uri: str) -> None:
    """Without a grace: an error, or what was there; never another frame."""
    expected = [vf.open(uri).read_frames(at, "camera", [0]).tolist() for at in range(4)]
    reader = vf.open(uri)
    vf.delete_episodes(uri, [0, 2])
    vf.vacuum(uri, older_than=AT_ONCE)
    for at in range(4):
        try:
            found = reader.read_frames(at, "camera", [0])
        except VideoFormatError:
            continue
        assert found.tolist() == expected[at]
    with pytest.raises(VideoFormatError):
        vf.open(uri, version=reader.version)


def test_what_a_vacuum_costs_is_shown_and_bounded(uri: str) -> None:
    """Once is all that an unchanged byte is copied."""
    media = sum(map(len, _stored(uri)))
    report = vf.vacuum(uri)
    assert (report.compaction.fragments, report.compaction.rows) == (4, 6)
    assert report.compaction.media_bytes == media
    assert vf.vacuum(uri).compaction.media_bytes == 0
    written = sum(path.stat().st_size for path in Path(uri, "data").rglob("*") if path.is_file())
    report = vf.vacuum(uri, older_than=dt.timedelta(0))
    left = sum(path.stat().st_size for path in Path(uri, "data").rglob("*") if path.is_file())
    assert written - report.removed.byte_count <= left < written


def _stored(uri: str) -> list[bytes]:
    table = Table.open(uri)
    rows = range(table.count_rows())
    sizes = table.media_sizes("camera", list(rows))
    return table.read_ranges("camera", [(row, 0, sizes[row] or 0) for row in rows])
