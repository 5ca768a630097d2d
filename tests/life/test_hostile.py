"""Datasets from strangers: whatever they hold, only errors of this package, in bounded time and memory.

``VIDEOFORMAT_HOSTILE`` sets how many inputs are changed at random and tried, over all kinds.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from make_lerobot import SampleSpec
from make_lerobot import write_dataset as write_lerobot
from mutating import ODD
from small_dataset import write_dataset

import videoformat as vf
from videoformat.errors import DataError, SourceNotAllowedError, VideoFormatError
from videoformat.index.schema import DatasetInfo
from videoformat.index.statistics import aggregate_statistics
from videoformat.media.demux import VideoFile
from videoformat.sources import AllowedSources
from videoformat.table import Table

COUNT = int(os.environ.get("VIDEOFORMAT_HOSTILE", "700"))
# How many of a thousand inputs are of each kind: by what one costs.
SHARES = {"metadata": 350, "index": 350, "video": 150, "lerobot": 120, "table": 30}
PEAK_KIB = 2**20
TESTS = Path(__file__).resolve().parents[1]
FOLDERS = (TESTS, TESTS / "life", TESTS / "media", TESTS.parent / "tools")


@pytest.mark.parametrize("kind", list(SHARES))
def test_inputs_that_were_changed_at_random(kind: str, tmp_path: Path) -> None:
    """In a process of its own, whose memory and time are bounded (``attempting.py``)."""
    done = subprocess.run(
        [
            sys.executable,
            *("-W", "ignore", str(Path(__file__).with_name("attempting.py"))),
            *(kind, "0", str(COUNT * SHARES[kind] // 1000), str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, FOLDERS)),
            "SVT_LOG": "1",
            "RUST_BACKTRACE": "0",
        },
    )
    at = (tmp_path / "at").read_text()
    assert done.returncode == 0, f"{kind} {at}: {done.returncode}, {done.stderr[-3000:]}"
    said = json.loads(done.stdout.splitlines()[-1])
    print(kind, said)
    assert not said["escaped"], done.stderr[-3000:]
    assert said["refused"]
    assert said["accepted"]
    assert said["peak_kib"] < PEAK_KIB


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    path = tmp_path_factory.mktemp("hostile") / "d.vf"
    write_dataset(path, lengths=(2,))
    return Table.open(path)


@pytest.mark.parametrize(
    "text",
    [b"[" * 100_000, b'{"a":' * 100_000, b"1" * 100_000, b"\xff\xfe", b"", b"null", b"[]"],
    ids=["deep list", "deep object", "long number", "no text", "empty", "null", "list"],
)
def test_metadata_that_is_none(table: Table, text: bytes) -> None:
    with pytest.raises(DataError):
        DatasetInfo.from_schema(table.schema.with_metadata({b"videoformat": text}))


def test_half_of_a_surrogate_pair_is_no_text(table: Table) -> None:
    """Accepted, it could not be written again: no edit would be possible."""
    facts = json.loads(table.info.to_json())
    for key in ("robot_type", "x"):
        text = json.dumps({**facts, key: "\ud800"}).encode()
        with pytest.raises(DataError, match="surrogates"):
            DatasetInfo.from_schema(table.schema.with_metadata({b"videoformat": text}))
        raw = json.dumps({**facts, key: "\ud800"}, ensure_ascii=False)
        for encoding in ("utf-8", "utf-16", "utf-32"):  # format.md, section 3: UTF-8
            text = raw.encode(encoding, "surrogatepass")
            with pytest.raises(DataError, match="codec can't decode"):
                DatasetInfo.from_schema(table.schema.with_metadata({b"videoformat": text}))
    whole = json.dumps({**facts, "x": "\U0001f600"}).encode()
    info = DatasetInfo.from_schema(table.schema.with_metadata({b"videoformat": whole}))
    assert json.loads(info.to_json())["x"] == "\U0001f600"


def test_types_that_the_manifest_does_not_spell_right(tmp_path: Path) -> None:
    """Lance panics at some of them, and not where it opens the table."""
    write_dataset(tmp_path / "d.vf", lengths=(2,))
    manifests = {path: path.read_bytes() for path in (tmp_path / "d.vf" / "_versions").iterdir()}
    refused = 0
    for name in (b"fixed_size_list:float", b"int64", b"string", b"list.struct", b"struct"):
        for path, data in manifests.items():
            at = data.find(name)
            path.write_bytes(data if at < 0 else data[: at + 4] + b"\4" + data[at + 5 :])
        try:
            Table.open(tmp_path / "d.vf")
        except VideoFormatError:
            refused += 1
    assert refused >= 3
    for path, data in manifests.items():
        path.write_bytes(data)
    Table.open(tmp_path / "d.vf")


def test_a_feature_key_of_any_bytes(table: Table) -> None:
    schema = table.schema
    for at, field in enumerate(schema):
        schema = schema.set(at, field.with_metadata({b"videoformat:feature": b"\xff"}))
    DatasetInfo.from_schema(schema.with_metadata({b"videoformat": table.info.to_json()}))


def test_a_title_of_any_bytes(tmp_path: Path) -> None:
    source = write_lerobot(tmp_path / "source", SampleSpec(lengths=(3,), cameras=("front",)))
    (path,) = source.rglob("*.mp4")
    data = path.read_bytes()
    at = data.index(b"Lavf")
    path.write_bytes(data[:at] + b"\xc4" + data[at + 1 :])
    with VideoFile(path) as video:
        assert video.scan().frame_count == 3


@pytest.mark.parametrize(
    "uri",
    [
        "/etc/passwd", "file:///etc/passwd", "/allowed/../etc/passwd", "/allowedx/file",
        "file:///allowed/%2e%2e/etc/passwd", "s3://bucket/../other/file", "http://host/x",
    ],
)  # fmt: skip
def test_media_elsewhere_is_not_opened(uri: str) -> None:
    assert not AllowedSources(["/allowed", "s3://bucket"]).allows(uri)


def test_a_link_does_not_lead_out_of_an_allowed_folder(tmp_path: Path) -> None:
    (tmp_path / "allowed").mkdir()
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "allowed/link").symlink_to(tmp_path / "secret")
    sources = AllowedSources([str(tmp_path / "allowed")])
    assert not sources.allows((tmp_path / "allowed/link").as_uri())
    assert sources.allows((tmp_path / "allowed/file").as_uri())


def test_a_copy_of_a_strangers_references_opens_nothing(tmp_path: Path) -> None:
    """Merging copies where the media is said to be; whoever reads it decides what may be opened."""
    source = write_lerobot(tmp_path / "source", SampleSpec(lengths=(3,), cameras=("front",)))
    vf.convert(source, tmp_path / "d.vf", video="reference")
    (path,) = source.rglob("*.mp4")
    path.unlink()
    vf.subset(tmp_path / "d.vf", tmp_path / "copy.vf", [0])
    with pytest.raises(SourceNotAllowedError):
        vf.open(tmp_path / "copy.vf").read_frames(0, "observation.images.front", [0])


def test_statistics_of_any_kind() -> None:
    for odd in ODD:
        aggregate_statistics([{"a": odd}, {"a": {"min": odd, "count": odd}}])
        aggregate_statistics([{"a": {"min": odd, "mean": [1.0], "count": [1]}}] * 2)
        aggregate_statistics([{"a": {"mean": odd, "std": odd, "count": odd}}] * 2)
