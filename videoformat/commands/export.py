"""``videoformat export``: LeRobot datasets and plain MP4."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from videoformat.commands.arguments import (
    Commands,
    add_command,
    add_dataset,
    add_json,
    open_dataset,
)
from videoformat.commands.progress import ProgressLine
from videoformat.commands.selection import Indices
from videoformat.commands.text import byte_text, print_json
from videoformat.export import FORMATS, export

__all__ = ["add"]

_DESCRIPTION = """\
Writes a dataset for other tools: a LeRobot v3.0 or v2.1 dataset, or plain MP4 files, one an episode
and camera. No picture is decoded or encoded: the access units are copied as they are. Every file
plays in ordinary players."""
_EXAMPLES = """\
  videoformat export data.vf lerobot_folder --to lerobot-v3
  videoformat export data.vf videos --to mp4 --episodes 0:10"""


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands, "export", "write a LeRobot dataset or MP4 files", _DESCRIPTION, _EXAMPLES
    )
    add_dataset(parser)
    parser.add_argument("out", metavar="OUT", help="the folder to make")
    parser.add_argument("--to", choices=FORMATS, required=True, help="what to write")
    parser.add_argument(
        "--episodes",
        type=Indices.parse,
        metavar="E",
        help="numbers and ranges such as 3,0,10:20 (default: all)",
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    dataset = open_dataset(args)
    chosen = None if args.episodes is None else args.episodes.of(dataset.num_episodes)
    with ProgressLine() as line:
        report = export(
            dataset,
            args.out,
            args.to,
            episodes=chosen,
            progress=lambda done, total: line.update(f"{done} of {total} episodes"),
        )
    if args.json:
        print_json({**asdict(report), "path": str(report.path)})
        return 0
    for note in report.notes:
        print(note)
    print(
        f"wrote {report.episodes} episodes, {report.frames} frames, "
        f"{byte_text(report.byte_count)} to {report.path}"
    )
    return 0
