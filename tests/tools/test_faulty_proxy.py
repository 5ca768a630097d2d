"""The proxy in front of test servers: what it counts, and that a narrow line takes its time."""

import http.client
import http.server
import threading
import time
from collections.abc import Iterator

import pytest
from faulty_proxy import Traffic, faulty_proxy

BODY = b"x" * 200_000


class _Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture(scope="module")
def upstream() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def get(port: int) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/there")
        return connection.getresponse().read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("spans", "rounds"),
    [
        ([], 0),
        ([(0.0, 1.0)], 1),
        # Three at once are one round; the fourth was sent when the first was answered.
        ([(0.0, 1.0), (0.1, 2.0), (0.2, 3.0), (1.0, 4.0)], 2),
        # A long one beside a chain of three.
        ([(0.0, 9.0), (0.0, 1.0), (1.5, 2.0), (2.5, 3.0)], 3),
        ([(0.0, 2.0), (1.0, 3.0), (2.0, 4.0), (3.0, 5.0)], 2),
    ],
)
def test_rounds_are_the_longest_chain(spans: list[tuple[float, float]], rounds: int) -> None:
    assert Traffic(spans=spans).rounds() == rounds


def test_what_passes_is_counted(upstream: int) -> None:
    with faulty_proxy(upstream) as proxy:
        assert [get(proxy.port) for _ in range(3)] == [BODY] * 3
        assert proxy.traffic.requests == ["GET /there"] * 3
        assert proxy.traffic.body_bytes == 3 * len(BODY)
        assert proxy.traffic.rounds() == 3


def test_a_narrow_line_is_shared(upstream: int) -> None:
    """Never faster than the line, also with several connections; how much slower is the machine's."""
    with faulty_proxy(upstream) as proxy:
        proxy.faults.bandwidth = 4_000_000
        begin = time.monotonic()
        threads = [threading.Thread(target=get, args=(proxy.port,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert time.monotonic() - begin >= 3 * len(BODY) / 4_000_000


def test_faults_are_made(upstream: int) -> None:
    with faulty_proxy(upstream) as proxy:
        proxy.faults.reset = 1.0
        with pytest.raises(ConnectionError):
            get(proxy.port)
        proxy.faults.reset, proxy.faults.truncated = 0.0, 1.0
        with pytest.raises(http.client.IncompleteRead):
            get(proxy.port)
        assert proxy.traffic.faults == 2
