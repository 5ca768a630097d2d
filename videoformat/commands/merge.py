"""``videoformat merge``: the episodes of several datasets in one."""

from __future__ import annotations

import argparse

from videoformat.commands.arguments import (
    Commands,
    add_command,
    add_json,
    add_source_options,
    add_storage_options,
    source_options,
    storage_options,
)
from videoformat.commands.copying import print_copies
from videoformat.commands.progress import ProgressLine
from videoformat.merging import merge

__all__ = ["add"]

_DESCRIPTION = """\
Appends all episodes of some datasets to one, which is made where there is none. Nothing is decoded
or re-encoded: media is copied byte for byte, also from one object store to another. What differs in
fps, robot, features or cameras is said before anything is written. Episodes that are there already
are skipped, so an interrupted merge is continued by the same command."""
_EXAMPLES = """\
  videoformat merge all.vf monday.vf tuesday.vf
  videoformat merge s3://bucket/all.vf monday.vf --storage-option aws_region=eu-west-1"""


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands, "merge", "put datasets together, without re-encoding", _DESCRIPTION, _EXAMPLES
    )
    parser.add_argument("uri", metavar="DST", help="the dataset that gets the episodes")
    parser.add_argument("sources", metavar="SRC", nargs="+", help="the datasets to copy from")
    add_storage_options(parser)
    add_source_options(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    with ProgressLine() as line:
        report = merge(
            args.sources,
            args.uri,
            storage_options=storage_options(args),
            source_options=source_options(args),
            progress=lambda done, total: line.update(f"{done} of {total} episodes"),
        )
    print_copies([report], as_json=args.json)
    return 0
