"""Datasets from strangers: whatever is in the metadata or in a cell, only errors of this package.

``VIDEOFORMAT_HOSTILE`` sets how many mutants of each kind are tried.
"""

import json
import os
import random
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from damage import index_of
from make_lerobot import SampleSpec
from make_lerobot import write_dataset as write_lerobot
from small_dataset import CAMERAS, write_dataset

import videoformat as vf
from videoformat.errors import SourceNotAllowedError, VideoFormatError
from videoformat.index.pictures import PictureIndex
from videoformat.index.plan import plan_chunk
from videoformat.index.schema import PICTURE_TYPE, DatasetInfo
from videoformat.index.statistics import aggregate_statistics
from videoformat.media.demux import VideoFile
from videoformat.sources import AllowedSources
from videoformat.table import Table

COUNT = int(os.environ.get("VIDEOFORMAT_HOSTILE", "300"))
ODD: list[Any] = [
    None, True, -1, 0, 2**31, 2**63, -(2**63), 1e308, float("nan"), "", "x", "..", "../../etc",
    "/etc/passwd", "\0", "é" * 100, [], [[]], {}, {"a": {}}, [1] * 1000, "1" * 5000,
]  # fmt: skip


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )  # type: ignore[union-attr]
    for key, item in items:
        yield from places(item, (*at, key))


def changed(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    if not at:
        return new
    copy = value.copy()
    copy[at[0]] = changed(value[at[0]], at[1:], new)
    return copy


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    path = tmp_path_factory.mktemp("hostile") / "d.vf"
    write_dataset(path, lengths=(9,), chunk_frames=9)
    return Table.open(path)


def test_metadata_of_any_kind(table: Table) -> None:
    randomly = random.Random(1)
    facts = json.loads(table.info.to_json())
    everywhere = list(places(facts))
    text = json.dumps(facts).encode()
    for number in range(COUNT):
        if number % 2:
            raw = json.dumps(changed(facts, randomly.choice(everywhere), randomly.choice(ODD)))
            mutant = raw.encode()
        else:
            data = bytearray(text)
            for _ in range(randomly.randint(1, 4)):
                data[randomly.randrange(len(data))] = randomly.randrange(256)
            mutant = bytes(data[: randomly.randrange(len(data))] if number % 10 == 0 else data)
        try:
            DatasetInfo.from_schema(table.schema.with_metadata({b"videoformat": mutant}))
        except VideoFormatError:
            continue
    for deep in (b"[" * 100_000, b'{"a":' * 100_000, b"1" * 100_000, b"\xff\xfe"):
        with pytest.raises(VideoFormatError):
            DatasetInfo.from_schema(table.schema.with_metadata({b"videoformat": deep}))


def test_cells_of_an_index(table: Table) -> None:
    """With a checksum that is right, so that what is behind it is reached."""
    randomly = random.Random(2)
    row = table.take([0], table.schema.names).to_pylist()[0]
    index = index_of(row, CAMERAS[0])
    pictures = index.to_arrow().to_pylist()
    stream = index.stream_value()
    numbers = [-1, 0, 1, 5, 2**31 - 1, -(2**31), 2**40, -(2**62), None]
    lists: list[Any] = [[], [0], [-1], [10**6], [1, 0], [0] * 500, None]
    for _ in range(COUNT):
        cells = [dict(picture) for picture in pictures]
        facts = dict(stream)
        for _ in range(randomly.randint(1, 3)):
            if randomly.random() < 0.3:
                name = randomly.choice(list(facts))
                kinds: list[Any] = (
                    [None, "x", b"x"] if isinstance(facts[name], str | bytes) else numbers
                )
                facts[name] = randomly.choice(kinds)
            else:
                cell = randomly.choice(cells)
                name = randomly.choice(list(cell))
                if name == "reference_lists":
                    cell[name] = randomly.choice([None, [], [[0]], [[-5]], [[2**31 - 1]]])
                elif name == "references":
                    cell[name] = randomly.choice(lists)
                elif name == "picture_type":
                    cell[name] = randomly.choice(["I", "", "é", None])
                elif isinstance(cell[name], bool):
                    cell[name] = randomly.choice([True, False, None])
                else:
                    cell[name] = randomly.choice(numbers)
        try:
            array = pa.array(cells, PICTURE_TYPE)
        except (pa.ArrowInvalid, OverflowError):
            continue  # no table can hold it
        try:
            right = PictureIndex.from_arrow(index.key, array, facts | {"checksum": 0})
        except VideoFormatError as error:
            computed = str(error).partition("has checksum 0x")[2][:8]
            if not computed:
                continue
            facts["checksum"] = int(computed, 16)
            try:
                right = PictureIndex.from_arrow(index.key, array, facts)
                plan_chunk(right, list(right.position_of))
            except VideoFormatError:
                continue
        assert len(right) == len(cells)


@pytest.mark.shared_data
def test_video_files(shared: Path, tmp_path: Path) -> None:
    randomly = random.Random(3)
    source = (shared / "data/cases/ok_g10_bf0.mp4").read_bytes()
    begin = source.index(b"moov") - 4
    size = int.from_bytes(source[begin : begin + 4], "big")
    path = tmp_path / "mutant.mp4"
    for number in range(COUNT // 10):
        data = bytearray(source)
        for _ in range(randomly.randint(1, 6)):
            # Most of them in the boxes that say where everything is.
            low, high = (begin, begin + size) if randomly.random() < 0.9 else (0, len(data))
            data[randomly.randrange(low, min(high, len(data)))] = randomly.randrange(256)
        path.write_bytes(data[: randomly.randrange(len(data))] if number % 7 == 0 else data)
        try:
            with VideoFile(path) as video:
                if video.scan().frame_count <= 1000:
                    next(iter(video.frames()), None)
        except VideoFormatError:
            continue
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert peak_kib < 3 * 2**20


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
