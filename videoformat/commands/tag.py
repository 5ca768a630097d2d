"""``videoformat tag``: names for versions."""

from __future__ import annotations

import argparse

from videoformat.commands.arguments import (
    Commands,
    add_command,
    add_storage_options,
    as_version,
    storage_options,
)
from videoformat.versions import tag, untag

__all__ = ["add"]

_DESCRIPTION = """\
Names a version. A tagged version, and all that it needs, is kept by vacuum; --version takes the
name wherever a command reads."""
_EXAMPLES = """\
  videoformat tag data.vf paper-2026
  videoformat tag data.vf good --version 41
  videoformat tag data.vf good --move
  videoformat tag data.vf good --delete"""


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(commands, "tag", "name a version", _DESCRIPTION, _EXAMPLES)
    parser.add_argument("uri", metavar="URI", help="the dataset")
    parser.add_argument("name", metavar="NAME", help="letters, digits and . - _")
    parser.add_argument("--version", metavar="N|TAG|TIME", help="which (default: the newest)")
    parser.add_argument("--move", action="store_true", help="move a name that is taken")
    parser.add_argument("--delete", action="store_true", help="forget the name")
    add_storage_options(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    options = storage_options(args)
    if args.delete:
        untag(args.uri, args.name, storage_options=options)
        print(f"{args.name} names no version any more")
        return 0
    version = None if args.version is None else as_version(args.version)
    number = tag(args.uri, args.name, version, move=args.move, storage_options=options)
    print(f"{args.name} is version {number}")
    return 0
