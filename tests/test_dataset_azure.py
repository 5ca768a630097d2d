"""The same in Azure's store: written, converted, read by the library and by the command line, appended."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from azure_store import AzureStore
from numbered_dataset import LENGTHS, SIZES, TOP, WRIST, number, write
from numbered_frames import numbers_of

import videoformat as vf
from videoformat import cli
from videoformat.errors import DatasetNotFoundError, InvalidArgumentError, StoreError
from videoformat.verify import verify

pytestmark = pytest.mark.object_store


@pytest.fixture(scope="module")
def stored(azure: AzureStore) -> str:
    uri = azure.uri("numbered")
    write(uri, tabular=False, storage_options=azure.storage_options)
    return uri


def test_every_frame_comes_back(azure: AzureStore, stored: str) -> None:
    ds = vf.open(stored, azure.storage_options)
    assert (ds.num_episodes, ds.num_frames, ds.version) == (3, 13, 4)
    requests = [(e, c, at) for c in (TOP, WRIST) for e in range(3) for at in range(LENGTHS[e])]
    assert numbers_of(ds.read_batch(requests)) == [number(*request) for request in requests]
    report = ds.last_read
    assert report is not None
    assert (report.takes, report.range_reads, report.direct_reads) == (1, 2, 0)
    assert ds.read_frames(0, WRIST, []).shape == (0, *SIZES[WRIST], 3)


def test_the_environment_lets_in(azure: AzureStore, stored: str) -> None:
    """In a process of its own: Lance looks at the environment once."""
    script = (
        "import sys, videoformat as vf; from numbered_frames import numbers_of; "
        f"print(numbers_of(vf.open(sys.argv[1]).read_frames(0, {TOP!r}, [6])))"
    )
    variables = {name.upper(): value for name, value in azure.storage_options.items()}
    done = subprocess.run(
        [sys.executable, "-c", script, stored],
        capture_output=True,
        check=True,
        cwd=Path(__file__).parent,
        env=os.environ | variables,
    )
    assert done.stdout.decode() == f"{[number(0, TOP, 6)]}\n"


def test_what_is_converted_is_what_is_converted_locally(
    azure: AzureStore, make_lerobot: Callable[..., Path], tmp_path: Path
) -> None:
    source = make_lerobot(version="v3.0")
    vf.convert(source, tmp_path / "out", video="native")
    uri = azure.uri("converted")
    vf.convert(source, uri, video="native", storage_options=azure.storage_options)
    here, there = vf.open(tmp_path / "out"), vf.open(uri, azure.storage_options)
    requests = [(e, c, at) for e in range(here.num_episodes) for c in here.cameras for at in (0, 9)]
    assert np.array_equal(
        here.read_batch(requests, out="stack"), there.read_batch(requests, out="stack")
    )
    assert here.frames_table().equals(there.frames_table())
    assert verify(uri, storage_options=azure.storage_options).problems == ()


def test_commands_take_storage_options(
    azure: AzureStore, stored: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [
        text
        for name, value in azure.storage_options.items()
        for text in ("--storage-option", f"{name}={value}")
    ]
    assert cli.main(["info", stored, "--json", *options]) == 0
    assert json.loads(capsys.readouterr().out)["frames"] == 13
    assert cli.main(["plan", stored, "--episode", "0", "--indices", "3", *options]) == 0


def test_episodes_are_appended_and_tagged(azure: AzureStore) -> None:
    uri, options = azure.uri("appended"), azure.storage_options
    write(uri, tabular=False, lengths=(2,), storage_options=options)
    with pytest.raises(InvalidArgumentError, match="already"):
        write(uri, tabular=False, lengths=(2,), storage_options=options)
    vf.tag(uri, "one", 2, storage_options=options)
    image = vf.open(uri, options).read_frames(0, TOP, [1])[0]
    other = vf.open(uri, options).read_frames(0, WRIST, [1])[0]
    with vf.create(uri, mode="append", storage_options=options) as writer:
        writer.add_frame({TOP: image, WRIST: other, "task": "again"})
        writer.save_episode()
    assert vf.open(uri, options).num_episodes == 2
    assert vf.open(uri, options, "one").num_episodes == 1


def test_what_is_not_there_and_who_is_not_let_in(azure: AzureStore, stored: str) -> None:
    with pytest.raises(DatasetNotFoundError, match=re.escape(azure.uri("absent"))):
        vf.open(azure.uri("absent"), azure.storage_options)
    wrong = azure.storage_options | {"azure_storage_account_key": "Z3Vlc3NlZA=="}
    with pytest.raises(StoreError, match=re.escape(stored)):
        vf.open(stored, wrong)
