"""What a long episode costs in memory: its compressed bytes, not its frames."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

# Peak memory in bytes after so many frames of an episode, and once it is saved.
SCRIPT = """
import json, re, sys
import numpy as np
import videoformat as vf
uri, frames = sys.argv[1], int(sys.argv[2])
SIZE = (120, 160, 3)
rng = np.random.default_rng(0)
texture = rng.integers(0, 60, SIZE, np.uint8)
def peak():
    # ru_maxrss begins with what the process took that started this one.
    status = open("/proc/self/status").read()
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1])
features = {"cam": {"dtype": "video", "shape": SIZE}, "action": {"dtype": "float32", "shape": (7,)}}
peaks = {}
with vf.create(uri, fps=30, features=features, video=vf.DDRA(preset="ultrafast"),
               encoder_threads=1) as writer:
    # Everything has been used once before anything is measured.
    for length in (300, frames):
        for number in range(length):
            shifted = np.roll(texture, number % 160, axis=1)
            writer.add_frame({"cam": shifted, "action": np.zeros(7, np.float32)})
            if number == 200:
                peaks["early"] = peak()
        peaks["late"] = peak()
        writer.save_episode()
peaks["saved"] = peak()
peaks["media"] = sum(s["media_size"] for s in vf.open(uri).streams(1, "cam"))
print(json.dumps(peaks))
"""


def test_memory_does_not_grow_with_an_episode_beyond_its_compressed_bytes(tmp_path: Path) -> None:
    frames = 2000
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "d"), str(frames)],
        capture_output=True,
        text=True,
        check=True,
    )
    peaks = json.loads(done.stdout)
    raw = frames * 120 * 160 * 3 // 2  # as the encoder takes them: 57 MB
    allowance = 16 * 2**20  # allocators keep what was freed
    assert peaks["media"] < raw / 4
    assert peaks["late"] - peaks["early"] < peaks["media"] + allowance < raw
    # Appending takes some copies of what is compressed, and the parsed headers of every picture.
    assert peaks["saved"] - peaks["early"] < 5 * peaks["media"] + 8192 * frames + allowance < raw
