"""``videoformat verify``: is everything that is stored as it was written?"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from videoformat.commands.arguments import (
    Commands,
    add_command,
    add_dataset,
    add_json,
    storage_options,
    version_of,
)
from videoformat.commands.progress import ProgressLine
from videoformat.commands.text import byte_text, duration_text, print_json
from videoformat.verify import VerifyProgress, VerifyReport, verify

__all__ = ["add"]

_DESCRIPTION = """\
Checks everything that is stored: each episode's rows, the number of values in every column, every
picture index and its checksum, the crc32 of every picture's bytes, the index derived from the bytes
once more, and the reference structure's promise. With --decode, also every frame decoded from its
closure alone, compared sample by sample with a sequential decode.

Every problem is listed with its episode and camera. Exit status: 0 where nothing is wrong, 1 where
something is."""
_EXAMPLES = """\
  videoformat verify data.vf
  videoformat verify data.vf --decode
  videoformat verify s3://bucket/data.vf --storage-option aws_region=eu-west-1 --json"""


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands, "verify", "check everything that is stored", _DESCRIPTION, _EXAMPLES
    )
    add_dataset(parser)
    parser.add_argument(
        "--decode", action="store_true", help="decode every closure and compare every sample"
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help="threads (default: the machine's cores)"
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    with ProgressLine() as line:

        def show(progress: VerifyProgress) -> None:
            line.update(progress_text(progress))

        report = verify(
            args.uri,
            decode=args.decode,
            storage_options=storage_options(args),
            version=version_of(args),
            allowed_sources=args.allowed_sources,
            workers=args.workers,
            progress=show,
        )
    if args.json:
        print_json({"ok": report.ok, **asdict(report)})
    else:
        for problem in report.problems:
            print(problem)
        print(summary(report))
    return 0 if report.ok else 1


def progress_text(progress: VerifyProgress) -> str:
    """One line about how far it is."""
    text = (
        f"verified {progress.frames_done} of {progress.frames_total} frames, "
        f"{progress.chunks_done} of {progress.chunks_total} chunks, {progress.problems} problems"
    )
    if progress.frames_done:
        left = progress.seconds / progress.frames_done * progress.frames_total - progress.seconds
        text += f", {duration_text(max(0.0, left))} left"
    return text


def summary(report: VerifyReport) -> str:
    """One line about the outcome."""
    looked_at = (
        f"{report.episodes} episodes, {report.frames} frames, {report.pictures} pictures, "
        f"{byte_text(report.byte_count)}"
    )
    if report.derived != report.pictures:
        looked_at += f", {report.derived} pictures' references derived from their bytes"
    if report.closures:
        looked_at += f", {report.closures} closures decoded"
    verdict = "no problems" if report.ok else f"{len(report.problems)} problems"
    return f"{verdict} in {looked_at} ({duration_text(report.seconds)})"
