"""Datasets of a later minor version: read, and appended to, without losing what is not known."""

import json
from pathlib import Path

import lance
import numpy as np
import pytest
from vectors import GOOD, as_lance

import videoformat as vf
from videoformat.errors import UnsupportedFormatError
from videoformat.index.schema import METADATA_KEY, DatasetInfo
from videoformat.table import Table

CAMERA = "observation.images.top"
(LATER,) = [vector for vector in GOOD if vector.name == "h264-later-minor-version"]


@pytest.fixture
def address(tmp_path: Path) -> str:
    return as_lance(LATER, tmp_path)


def allow_writing(address: str) -> None:
    """Takes the writer flag away, which says that writers must know more."""
    dataset = lance.dataset(address)
    facts = json.loads(dataset.schema.metadata[METADATA_KEY])
    assert facts["writer_flags"] == ["of-the-future"]
    facts["writer_flags"] = []
    dataset.update_schema_metadata({METADATA_KEY.decode(): json.dumps(facts)})


def append(address: str) -> None:
    with vf.create(address, mode="append", video=vf.DDRA(interval=4)) as writer:
        for number in range(5):
            writer.add_frame({CAMERA: np.full((48, 64, 3), 40 * number, np.uint8)})
        writer.save_episode()


def test_a_writer_flag_that_is_not_known_keeps_writers_out(address: str) -> None:
    before = vf.open(address).version
    with pytest.raises(UnsupportedFormatError, match="of-the-future"):
        append(address)
    assert vf.open(address).version == before


def test_an_appended_episode_leaves_unknown_columns_and_fields_null(address: str) -> None:
    allow_writing(address)
    old = vf.open(address).read_frames(0, CAMERA, range(6))
    append(address)
    dataset = vf.open(address)
    assert dataset.episodes.column("length").to_pylist() == [6, 5]
    assert np.array_equal(dataset.read_frames(0, CAMERA, range(6)), old)
    means = dataset.read_frames(1, CAMERA, range(5)).mean(axis=(1, 2, 3))
    assert np.allclose(means, [0, 40, 80, 120, 160], atol=3)
    column = CAMERA.replace(".", "/")
    names = ["novelty", f"{column}/pictures", f"{column}/stream"]
    rows = lance.dataset(address).to_table(columns=names).to_pylist()
    assert [row["novelty"] for row in rows] == [0, 1, None]
    assert [row[names[1]][0]["novelty"] for row in rows] == [7, 7, None]
    assert [row[names[2]]["novelty"] for row in rows] == ["new", "new", None]


def test_unknown_metadata_survives_a_change_of_the_metadata(address: str) -> None:
    table = Table.open(address)
    assert table.info.extra == {"novelty": {"a": 1}}
    changed = table.with_info(table.info.with_tasks(("pick",)))
    facts = json.loads(changed.schema.metadata[METADATA_KEY])
    assert facts["novelty"] == {"a": 1}
    assert (facts["format_version"], facts["writer_flags"]) == ("1.99", ["of-the-future"])
    assert DatasetInfo.from_schema(changed.schema).tasks == ("pick",)
