"""A clock that goes backwards, or was far ahead: versions keep their order and nothing is lost."""

import datetime as dt
from pathlib import Path

import pytest
import whole
from small_dataset import CAMERAS, scene, write_dataset

import videoformat as vf
from videoformat.table import recovery
from videoformat.verify import verify

DAY = dt.timedelta(days=1)


def varint(number: int) -> bytes:
    """As protocol buffers write it."""
    parts = []
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def set_time(uri: Path, version: int, change: dt.timedelta) -> None:
    """Makes a version one that a clock made which was wrong by so much."""
    (made,) = [item.time for item in vf.log(uri) if item.version == version]
    old = b"\x08" + varint(int(made.timestamp()))
    path = recovery.manifests(uri)[version]
    data = path.read_bytes()
    assert data.count(old) == 1
    path.write_bytes(data.replace(old, b"\x08" + varint(int((made + change).timestamp()))))


@pytest.fixture
def uri(tmp_path: Path) -> Path:
    path = tmp_path / "d.vf"
    write_dataset(path, lengths=(5, 4, 3), chunk_frames=4)
    return path


def test_a_clock_that_was_ahead(uri: Path) -> None:
    """Versions 2 and 3 were made a month from now."""
    before = {version: whole.episodes(uri, version) for version in (1, 2, 3, 4)}
    for version in (2, 3):
        set_time(uri, version, 30 * DAY)
    facts = vf.log(uri)
    assert [item.version for item in facts] == [4, 3, 2, 1]
    assert facts[1].time > facts[0].time
    assert vf.open(uri).version == vf.open(uri, version=facts[0].time).version == 4
    assert vf.open(uri, version=facts[0].time + 60 * DAY).version == 4
    vf.vacuum(uri, compact=False)
    assert {version: whole.episodes(uri, version) for version in before} == before
    # Without a grace, what seems to be of tomorrow is not old.
    vf.vacuum(uri, older_than=dt.timedelta(0))
    assert whole.episodes(uri) == before[4]
    assert verify(uri, decode=True).ok


def test_a_clock_that_went_back(uri: Path) -> None:
    """The newest version says that it is older than all others, and than any grace."""
    before = whole.episodes(uri)
    vf.tag(uri, "kept", 2)
    tagged = whole.episodes(uri, 2)
    set_time(uri, 4, -300 * DAY)
    set_time(uri, 2, -200 * DAY)
    assert vf.open(uri).version == 4
    report = vf.vacuum(uri, compact=False)
    assert report.removed.versions == 0
    assert whole.episodes(uri) == before
    assert whole.episodes(uri, "kept") == tagged
    with vf.create(uri, mode="append") as writer:
        images = {key: scene(7, at, 0) for at, key in enumerate(CAMERAS)}
        writer.add_frame({**images, "action": [0.0, 0.0], "task": "t"})
        writer.save_episode()
    assert list(whole.episodes(uri))[:3] == list(before)
    vf.vacuum(uri)
    assert list(whole.episodes(uri))[:3] == list(before)
    assert whole.episodes(uri, "kept") == tagged
    assert verify(uri, decode=True).ok
