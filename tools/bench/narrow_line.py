"""A network line of a bounded bandwidth: two network namespaces, and a token bucket between them.

Only the line is narrow: the kernel holds packets back, so nothing between the reader and the server takes
time of a core, and a byte costs what it costs. Needs Linux, root, and `ip` and `tc` of iproute2.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["NarrowLine", "narrow_line"]

# What the line may send at once after a pause: little, so that an answer of some tens of kilobytes waits
# as a long one does, and yet a packet as the kernel hands it over, which is not cut up then.
_PACKET, _BURST = 16 * 1024, 20 * 1024
_QUEUE = 4 * 2**20  # bytes that wait at the bucket before packets are dropped


@dataclass(frozen=True, slots=True)
class NarrowLine:
    """The line to a namespace of its own, in which a server listens on ``host``.

    ``ours`` and ``theirs`` are the two ends, as devices.
    """

    namespace: str
    host: str
    ours: str
    theirs: str

    @property
    def launcher(self) -> tuple[str, ...]:
        """What comes before a command that is to run at the other end."""
        return "ip", "netns", "exec", self.namespace

    def limit(self, bytes_per_second: float) -> None:
        """Bounds what comes from the other end; 0 is no bound."""
        queue = ("tc", "qdisc")
        root = ("dev", self.theirs, "root")
        if bytes_per_second:
            rate = f"{round(bytes_per_second * 8)}bit"
            bucket = ("tbf", "rate", rate, "burst", str(_BURST), "limit", str(_QUEUE))
            _run(*self.launcher, *queue, "replace", *root, *bucket)
        else:
            _run(*self.launcher, *queue, "replace", *root, "noqueue")

    def received(self) -> int:
        """Bytes that came over the line so far, with the headers of all packets."""
        return int(Path(f"/sys/class/net/{self.ours}/statistics/rx_bytes").read_text())


@contextmanager
def narrow_line() -> Iterator[NarrowLine | None]:
    """Sets a line up for a block, or gives None where that cannot be done here."""
    if any(shutil.which(program) is None for program in ("ip", "tc")):
        yield None
        return
    # Of the addresses that are set aside for benchmarks (RFC 2544), four of this process's own.
    number = os.getpid() % 2**14 * 4
    ours, theirs = (f"198.18.{(number + at) // 256}.{(number + at) % 256}" for at in (1, 2))
    name = f"vf{os.getpid()}"
    line = NarrowLine(name, theirs, f"{name}a", f"{name}b")
    with ExitStack() as stack:
        try:
            _run("ip", "netns", "add", name)
            stack.enter_context(_removed_at_the_end(name))
            peer = ("peer", "name", line.theirs, "netns", name)
            _run("ip", "link", "add", line.ours, "type", "veth", *peer)
            _run("ip", "address", "add", f"{ours}/30", "dev", line.ours)
            _run("ip", "link", "set", line.ours, "up")
            _run("ip", "-n", name, "address", "add", f"{theirs}/30", "dev", line.theirs)
            _run("ip", "-n", name, "link", "set", line.theirs, "gso_max_size", str(_PACKET))
            for device in (line.theirs, "lo"):
                _run("ip", "-n", name, "link", "set", device, "up")
            line.limit(2**30)
            line.limit(0)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"no narrow line of its own can be set up here: {error}")
            found = None
        else:
            found = line
        yield found


@contextmanager
def _removed_at_the_end(name: str) -> Iterator[None]:
    """Removes the namespace, and with it the line, also if this process dies without a word."""
    script = 'read -r word; exec ip netns delete "$1"'
    with subprocess.Popen(
        ["/bin/sh", "-c", script, "guard", name], stdin=subprocess.PIPE, start_new_session=True
    ) as guard:
        try:
            yield
        finally:
            guard.communicate(b"done\n")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
