"""A real S3 server for tests: SeaweedFS, from the wheel that the dev extra installs.

It listens on loopback ports that were free, keeps its data in a temporary folder and has a secret
of its own, so servers of parallel test workers never meet. It is ended by its process id, also when
the session that started it dies without a word.
"""

from __future__ import annotations

import http.client
import os
import secrets
import socket
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

_HOST = "127.0.0.1"
_SERVICES = ("master", "volume", "filer", "s3", "admin")
_ATTEMPTS = 3
_POLLS = 600
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """Where a running server is, and how to be let in."""

    host: str
    port: int
    bucket: str
    access_key: str
    secret_key: str

    @property
    def endpoint(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def storage_options(self) -> dict[str, str]:
        """The options of Lance, whose keys are those of the Rust crate object_store."""
        return {
            "aws_endpoint": self.endpoint,
            "aws_access_key_id": self.access_key,
            "aws_secret_access_key": self.secret_key,
            "aws_region": "us-east-1",
            "aws_virtual_hosted_style_request": "false",
            "allow_http": "true",
        }

    def uri(self, name: str) -> str:
        return f"s3://{self.bucket}/{name}"


class ServerDiedError(Exception):
    """The server ended before it answered; the message holds the end of its output."""


def installed_server() -> Path | None:
    """The server's program where the wheel put it, or None where there is no wheel."""
    program = Path(sysconfig.get_path("scripts")) / "weed"
    return program if program.exists() else None


@contextmanager
def serve(
    program: Path, *, host: str = _HOST, launcher: Sequence[str] = ()
) -> Iterator[ObjectStore]:
    """Runs a server with one empty bucket; the block is entered when it answers.

    ``launcher`` is what comes before its command, for a server in another network namespace, whose
    address there is ``host``.
    """
    with ExitStack() as stack:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                store = stack.enter_context(_serve_once(program, host, launcher))
            except ServerDiedError:
                # Another process may have taken a port between its choice and its use.
                if attempt == _ATTEMPTS:
                    raise
            else:
                break
        yield store


@contextmanager
def _serve_once(program: Path, host: str, launcher: Sequence[str]) -> Iterator[ObjectStore]:
    # A short path: it holds Unix sockets, whose addresses have room for 107 bytes.
    with tempfile.TemporaryDirectory(prefix="s3-") as folder, ExitStack() as stack:
        ports = free_ports(2 * len(_SERVICES))
        http_ports, grpc_ports = ports[: len(_SERVICES)], ports[len(_SERVICES) :]
        store = ObjectStore(
            host=host,
            port=http_ports[_SERVICES.index("s3")],
            bucket="videoformat",
            access_key="test",
            secret_key=secrets.token_hex(16),
        )
        arguments = [
            f"-logdir={folder}",
            "mini",
            f"-dir={folder}",
            f"-ip={host}",
            f"-ip.bind={host}",
            f"-bucket={store.bucket}",
            "-master.telemetry=false",
            "-webdav=false",
            "-admin.ui=false",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            f"-s3.localSocket={folder}/s3.sock",
            f"-filer.localSocket={folder}/filer.sock",
        ]
        sockets = []  # which it makes in a place of its own choice, and leaves there
        for name, port, grpc_port in zip(_SERVICES, http_ports, grpc_ports, strict=True):
            arguments += [f"-{name}.port={port}", f"-{name}.port.grpc={grpc_port}"]
            sockets.append(Path(f"/tmp/seaweedfs-{name}-grpc-{grpc_port}.sock"))
        keys = {"AWS_ACCESS_KEY_ID": store.access_key, "AWS_SECRET_ACCESS_KEY": store.secret_key}
        log = stack.enter_context((Path(folder) / "output.log").open("w+b"))
        process = subprocess.Popen(
            [*launcher, program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=os.environ | keys,
        )
        stack.callback(_end, process, sockets)
        stack.enter_context(ended_with_this_session(process.pid, [folder, *sockets]))
        if not _answers(store, process):
            log.seek(0)
            output = log.read()[-2000:].decode(errors="replace")
            raise ServerDiedError(f"exit status {process.poll()}, output:\n{output}")
        yield store


def _end(process: subprocess.Popen[bytes], sockets: Sequence[Path]) -> None:
    # Its data is thrown away, so there is nothing that an orderly end could save.
    process.kill()
    process.wait()
    for path in sockets:
        path.unlink(missing_ok=True)


@contextmanager
def ended_with_this_session(pid: int, leftovers: Sequence[str | Path]) -> Iterator[None]:
    """Has a shell kill and clear up if our end of its input closes before we say a word."""
    script = 'read -r word || { kill -KILL "$1"; shift; rm -rf -- "$@"; }'
    with subprocess.Popen(
        ["/bin/sh", "-c", script, "guard", str(pid), *leftovers], stdin=subprocess.PIPE
    ) as guard:
        try:
            yield
        finally:
            guard.communicate(b"done\n")


def _answers(store: ObjectStore, process: subprocess.Popen[bytes]) -> bool:
    for _ in range(_POLLS):
        connection = http.client.HTTPConnection(store.host, store.port, timeout=5)
        try:
            connection.request("GET", "/healthz")
            if connection.getresponse().status == http.HTTPStatus.OK:
                return True
        except (OSError, http.client.HTTPException):
            pass  # it does not listen yet
        finally:
            connection.close()
        try:
            process.wait(_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        return False
    return False


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((_HOST, 0))
        return [each.getsockname()[1] for each in sockets]
