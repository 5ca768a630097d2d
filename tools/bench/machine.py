"""What machine numbers come from."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

import av


def describe() -> dict[str, str]:
    """The processor, the cores that may be used, and the versions that matter."""
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    ffmpeg = ".".join(map(str, av.library_versions.get("libavcodec", ())))
    return {
        "processor": model,
        "cores": str(len(os.sched_getaffinity(0))),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "av": f"{version('av')} (libavcodec {ffmpeg})",
        "pylance": version("pylance"),
    }


def sentence() -> str:
    """The same as one line for a table's caption."""
    facts = describe()
    return (
        f"{facts['processor']}, {facts['cores']} cores, Python {facts['python']}, "
        f"PyAV {facts['av']}, pylance {facts['pylance']}"
    )
