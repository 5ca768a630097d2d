"""The command line on a dataset in an object store, addressed by options alone."""

import json
from pathlib import Path

import object_store
import pytest
from small_dataset import CAMERAS, write_dataset

from videoformat import cli


@pytest.mark.object_store
def test_every_reading_command_takes_storage_options(
    s3: object_store.ObjectStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uri = s3.uri("cli")
    write_dataset(uri, lengths=(9, 4), storage_options=s3.storage_options)
    options = [
        text
        for name, value in s3.storage_options.items()
        for text in ("--storage-option", f"{name}={value}")
    ]
    assert cli.main(["verify", uri, "--decode", *options, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["ok"], report["pictures"], report["closures"]) == (True, 26, 26)
    assert cli.main(["info", uri, "--json", *options]) == 0
    assert json.loads(capsys.readouterr().out)["store_bytes"] is None
    wanted = ["--episode", "1", "--camera", CAMERAS[1], "--indices", "0,-1"]
    assert cli.main(["plan", uri, *wanted, *options]) == 0
    assert cli.main(["frames", uri, *wanted, *options, "--out", str(tmp_path)]) == 0
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.object_store
def test_a_bucket_that_is_not_there(
    s3: object_store.ObjectStore, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [
        text
        for name, value in s3.storage_options.items()
        for text in ("--storage-option", f"{name}={value}")
    ]
    assert cli.main(["info", "s3://no-such-bucket/d.vf", *options]) in {1, 2}
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("videoformat: error: ")
    assert captured.err.count("\n") == 1
