"""The S3 server of the tests stores, keeps strangers out, and does not outlive its session."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import lance
import object_store
import pyarrow as pa
import pytest
from object_store import ObjectStore, installed_server

pytestmark = pytest.mark.object_store


def test_a_lance_table_is_written_appended_and_read(s3: ObjectStore) -> None:
    uri = s3.uri("table")
    for values in ([1, 2], [3]):
        lance.write_dataset(
            pa.table({"x": values}), uri, mode="append", storage_options=s3.storage_options
        )
    dataset = lance.dataset(uri, storage_options=s3.storage_options)
    assert dataset.to_table()["x"].to_pylist() == [1, 2, 3]
    assert dataset.version == 2


def test_another_key_is_refused(s3: ObjectStore) -> None:
    options = s3.storage_options | {"aws_secret_access_key": "guessed"}
    with pytest.raises(OSError, match=r"SignatureDoesNotMatch|403|Forbidden"):
        lance.write_dataset(pa.table({"x": [1]}), s3.uri("secret"), storage_options=options)


SESSION = """
import sys, pathlib
import object_store
with object_store.serve(pathlib.Path(sys.argv[1])) as store:
    print(store.port, flush=True)
    sys.stdin.readline()
"""


def is_ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:  # it was not accepted yet
        return True


@pytest.mark.parametrize("dies", [False, True], ids=["session ends", "session is killed"])
def test_the_server_ends_with_its_session(s3: ObjectStore, dies: bool) -> None:
    program = installed_server()
    assert program is not None
    with subprocess.Popen(
        [sys.executable, "-c", SESSION, str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(object_store.__file__).parent,
    ) as session:
        assert session.stdout is not None
        port = int(session.stdout.readline())
        assert port != s3.port
        # The kernel ends an open connection when the server is gone: nothing to poll.
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            if dies:
                os.kill(session.pid, signal.SIGKILL)
            else:
                session.communicate(b"\n")
            assert is_ended(connection)
        assert session.wait() == (-signal.SIGKILL if dies else 0)
