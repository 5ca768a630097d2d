"""``videoformat log``: the versions of a dataset."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from videoformat.commands.arguments import (
    Commands,
    add_command,
    add_json,
    add_storage_options,
    storage_options,
)
from videoformat.commands.text import aligned, print_json
from videoformat.versions import log

__all__ = ["add"]

_DESCRIPTION = """\
Lists versions, newest first: when each was made and by what, how many chunks it has, its tags. Any
of them can be read: --version takes a number, a tag, or a time such as 2026-11-29T18:30."""
_EXAMPLES = """\
  videoformat log data.vf
  videoformat log data.vf --limit 100 --json"""
DEFAULT_LIMIT = 20


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(commands, "log", "list versions", _DESCRIPTION, _EXAMPLES)
    parser.add_argument("uri", metavar="URI", help="the dataset")
    parser.add_argument(
        "--limit",
        type=int,
        default=DEFAULT_LIMIT,
        metavar="N",
        help=f"how many versions (default: {DEFAULT_LIMIT})",
    )
    add_storage_options(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    found = log(args.uri, limit=args.limit, storage_options=storage_options(args))
    if args.json:
        print_json([{**asdict(item), "time": item.time.isoformat()} for item in found])
        return 0
    rows: list[tuple[object, ...]] = [("version", "made", "by", "tags", "chunks")]
    rows += [
        (
            item.version,
            item.time.isoformat(sep=" ", timespec="seconds"),
            item.operation or "?",
            ", ".join(item.tags),
            item.chunks,
        )
        for item in found
    ]
    print("\n".join(aligned(rows, left=4)))
    return 0
