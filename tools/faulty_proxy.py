"""An HTTP/1.1 proxy in front of a test server that counts, waits and fails on purpose.

It forwards whole requests on one upstream connection a client connection, in a thread of its own each;
loopback only. Answers may be held back to a number of bytes a second, all connections together. Faults are drawn from a seeded generator, a request at a time: an answer 503, a reset
connection, a body cut in the middle.
"""

from __future__ import annotations

import random
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

_UNAVAILABLE = (
    b"HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\nContent-Length: 0\r\n"
    b"Connection: keep-alive\r\n\r\n"
)


@dataclass(slots=True)
class Faults:
    """Shares of requests that fail, and seconds that each waits. May be changed while running.

    ``bandwidth`` is the bytes of answers' bodies a second, 0 for no bound.
    """

    unavailable: float = 0.0
    reset: float = 0.0
    truncated: float = 0.0
    delay: float = 0.0
    bandwidth: float = 0.0


@dataclass(slots=True)
class Traffic:
    """What went through since ``clear``."""

    requests: list[str] = field(default_factory=list)
    spans: list[tuple[float, float]] = field(default_factory=list)
    body_bytes: int = 0
    faults: int = 0

    def clear(self) -> None:
        self.requests, self.spans, self.body_bytes, self.faults = [], [], 0, 0

    def rounds(self) -> int:
        """The longest chain of requests of which each was sent after the one before was answered.

        That is how many could have waited for each other: an upper bound of those that did.
        """
        count, end = 0, float("-inf")
        for begin, finish in sorted(self.spans, key=lambda span: span[1]):
            if begin >= end:
                count, end = count + 1, finish
        return count


class _Stream:
    """Reads messages from a socket."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._buffer = b""

    def head(self) -> bytes | None:
        """A message's start line and headers, or None where the peer is done."""
        while b"\r\n\r\n" not in self._buffer:
            data = self.connection.recv(65536)
            if not data:
                return None
            self._buffer += data
        head, self._buffer = self._buffer.split(b"\r\n\r\n", 1)
        return head + b"\r\n\r\n"

    def exactly(self, count: int) -> bytes:
        while len(self._buffer) < count:
            data = self.connection.recv(1 << 20)
            if not data:
                raise ConnectionError("the peer closed in the middle of a body")
            self._buffer += data
        body, self._buffer = self._buffer[:count], self._buffer[count:]
        return body

    def line(self) -> bytes:
        while b"\r\n" not in self._buffer:
            data = self.connection.recv(65536)
            if not data:
                raise ConnectionError("the peer closed in the middle of a chunk")
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\r\n", 1)
        return line + b"\r\n"

    def body(self, head: bytes, *, is_answer: bool, method: str) -> bytes:
        headers = {}
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            headers[name.strip().lower()] = value.strip()
        status = int(head.split(b" ", 2)[1]) if is_answer else 0
        if is_answer and (method == "HEAD" or status in (204, 304) or 100 <= status < 200):
            return b""
        if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
            parts = []
            while True:
                line = self.line()
                size = int(line.split(b";")[0], 16)
                parts.append(line + self.exactly(size + 2))
                if not size:
                    return b"".join(parts)
        return self.exactly(int(headers.get(b"content-length", b"0")))


class FaultyProxy:
    """The running proxy: its port, what passed, and which faults it makes."""

    def __init__(self, upstream_port: int, seed: int) -> None:
        self.faults = Faults()
        self.traffic = Traffic()
        self._upstream = ("127.0.0.1", upstream_port)
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._open: set[socket.socket] = set()
        self._free_at = 0.0  # when the line has sent what it was given
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join()
        with self._lock:
            for connection in self._open:
                connection.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            with self._lock:
                self._open.add(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client, socket.create_connection(self._upstream) as upstream:
                for connection in (client, upstream):
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._exchange(_Stream(client), _Stream(upstream))
        except OSError:
            pass  # either end went away: what a client makes of it is what tests are about
        finally:
            with self._lock:
                self._open.discard(client)

    def _exchange(self, client: _Stream, upstream: _Stream) -> None:
        while (head := client.head()) is not None:
            method, target = head.split(b" ", 2)[:2]
            body = client.body(head, is_answer=False, method="")
            begin = time.monotonic()
            with self._lock:
                self.traffic.requests.append(f"{method.decode()} {target.decode()}")
                fault = self._draw()
                delay = self.faults.delay
            if delay:
                time.sleep(delay)
            if fault == "unavailable":
                client.connection.sendall(_UNAVAILABLE)
                continue
            if fault == "reset":
                # Closing with a linger of nothing sends a reset instead of an end.
                client.connection.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )
                return
            upstream.connection.sendall(head + body)
            answer = upstream.head()
            if answer is None:
                return
            content = upstream.body(answer, is_answer=True, method=method.decode())
            self._hold_back(len(content))
            with self._lock:
                self.traffic.body_bytes += len(content)
                self.traffic.spans.append((begin, time.monotonic()))
            if fault == "truncated" and len(content) > 1:
                client.connection.sendall(answer + content[: len(content) // 2])
                return
            client.connection.sendall(answer + content)

    def _hold_back(self, count: int) -> None:
        """Waits until a line of this bandwidth would have sent so many bytes more."""
        with self._lock:
            if not self.faults.bandwidth:
                return
            self._free_at = max(self._free_at, time.monotonic()) + count / self.faults.bandwidth
            wait = self._free_at - time.monotonic()
        time.sleep(max(0.0, wait))

    def _draw(self) -> str | None:
        value = self._random.random()
        for name in ("unavailable", "reset", "truncated"):
            value -= getattr(self.faults, name)
            if value < 0:
                self.traffic.faults += 1
                return name
        return None


@contextmanager
def faulty_proxy(upstream_port: int, seed: int = 0) -> Iterator[FaultyProxy]:
    """Runs a proxy for a block."""
    proxy = FaultyProxy(upstream_port, seed)
    try:
        yield proxy
    finally:
        proxy.close()
