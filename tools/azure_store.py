"""A real Azure Blob server for tests: Azurite, which tools/setup-env installs where there is npm.

As with ``object_store``: a loopback port that was free, a temporary folder, a secret of its own, and an
end with the session that started it.
"""

from __future__ import annotations

import base64
import email.utils
import hashlib
import hmac
import http.client
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from object_store import ServerDiedError, ended_with_this_session, free_ports

__all__ = ["AzureStore", "installed_azurite", "serve_azure"]

_HOST = "127.0.0.1"
_ACCOUNT = "test"
_VERSION = "2021-08-06"
_POLLS = 600
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class AzureStore:
    """Where a running server is, and how to be let in."""

    port: int
    container: str
    key: str

    @property
    def storage_options(self) -> dict[str, str]:
        """The options of Lance, whose keys are those of the Rust crate object_store."""
        return {
            "azure_storage_account_name": _ACCOUNT,
            "azure_storage_account_key": self.key,
            "azure_storage_endpoint": f"http://{_HOST}:{self.port}/{_ACCOUNT}",
            "allow_http": "true",
        }

    def uri(self, name: str) -> str:
        return f"az://{self.container}/{name}"


def installed_azurite() -> list[str] | None:
    """The command that runs the server, or None where it or Node is not installed.

    ``VIDEOFORMAT_AZURITE`` names a folder that it was installed in, instead of the environment's.
    """
    folder = Path(os.environ.get("VIDEOFORMAT_AZURITE") or Path(sys.prefix) / "azurite")
    program = folder / "node_modules/azurite/dist/src/blob/main.js"
    node = shutil.which("node")
    return [node, str(program)] if node and program.exists() else None


@contextmanager
def serve_azure(command: list[str]) -> Iterator[AzureStore]:
    """Runs a server with one empty container; the block is entered when it answers."""
    with tempfile.TemporaryDirectory(prefix="azure-") as folder, ExitStack() as stack:
        (port,) = free_ports(1)
        key = base64.b64encode(secrets.token_bytes(64)).decode()
        store = AzureStore(port, "videoformat", key)
        arguments = [
            f"--blobHost={_HOST}",
            f"--blobPort={port}",
            f"--location={folder}",
            "--silent",
            "--disableTelemetry",
            "--skipApiVersionCheck",
        ]
        log = stack.enter_context((Path(folder) / "output.log").open("w+b"))
        process = subprocess.Popen(
            [*command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=os.environ | {"AZURITE_ACCOUNTS": f"{_ACCOUNT}:{key}"},
        )
        stack.callback(_end, process)
        stack.enter_context(ended_with_this_session(process.pid, [folder]))
        if not _listens(port, process):
            log.seek(0)
            output = log.read()[-2000:].decode(errors="replace")
            raise ServerDiedError(f"exit status {process.poll()}, output:\n{output}")
        _make_container(store)
        yield store


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _listens(port: int, process: subprocess.Popen[bytes]) -> bool:
    for _ in range(_POLLS):
        try:
            socket.create_connection((_HOST, port), timeout=5).close()
        except OSError:
            pass
        else:
            return True
        try:
            process.wait(_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        return False
    return False


def _make_container(store: AzureStore) -> None:
    """Lance writes into containers and does not make them: one request, signed with the shared key."""
    path = f"/{_ACCOUNT}/{store.container}"
    date = email.utils.formatdate(usegmt=True)
    # The method, eleven headers that are not sent, ours, the resource behind the account's name.
    text = (
        "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:{_VERSION}\n"
        f"/{_ACCOUNT}{path}\nrestype:container"
    )
    digest = hmac.digest(base64.b64decode(store.key), text.encode(), hashlib.sha256)
    headers = {
        "x-ms-date": date,
        "x-ms-version": _VERSION,
        "Authorization": f"SharedKey {_ACCOUNT}:{base64.b64encode(digest).decode()}",
        "Content-Length": "0",
    }
    connection = http.client.HTTPConnection(_HOST, store.port, timeout=60)
    try:
        connection.request("PUT", f"{path}?restype=container", headers=headers)
        answer = connection.getresponse()
        if answer.status != http.HTTPStatus.CREATED:
            raise ServerDiedError(f"no container: {answer.status} {answer.read()[:500]!r}")
    finally:
        connection.close()
