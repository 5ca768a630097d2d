"""Fuzzes one parser, guided by coverage; needs atheris, which is no dependency of the project.

    pip install atheris
    python tools/fuzz/run.py h264 [--seconds 600] [--corpus build/fuzz/h264]

What crashes is kept beside the corpus (`crash-…`); `--input FILE` runs one input again.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("SVT_LOG", "1")

import atheris

with atheris.instrument_imports(include=["videoformat.bitstream", "videoformat.index", "fuzz"]):
    from fuzz.seeds import seeds
    from fuzz.targets import TARGETS


def main() -> None:
    """Parses the command line and runs until the time is over or something is found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--input", type=Path, help="run this input once")
    arguments = parser.parse_args()
    target = TARGETS[arguments.target]
    if arguments.input is not None:
        target(arguments.input.read_bytes())
        return
    corpus = arguments.corpus or Path("build/fuzz") / arguments.target
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds(arguments.target)):
        (corpus / f"seed-{number:03}").write_bytes(seed)
    atheris.Setup(
        [
            sys.argv[0],
            str(corpus),
            f"-max_total_time={arguments.seconds}",
            "-max_len=8192",
            "-timeout=20",
            "-rss_limit_mb=1024",
            f"-artifact_prefix={corpus.parent}/{arguments.target}-",
            "-print_final_stats=1",
        ],
        target,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
