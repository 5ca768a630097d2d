"""``videoformat delete``: a new version without some episodes."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from videoformat.commands.arguments import (
    Commands,
    add_command,
    add_json,
    add_storage_options,
    as_version,
    storage_options,
)
from videoformat.commands.selection import Indices
from videoformat.commands.text import print_json
from videoformat.dataset import open_dataset
from videoformat.editing import delete_episodes, undelete
from videoformat.errors import InvalidArgumentError

__all__ = ["add"]

_DESCRIPTION = """\
Deletes episodes: a new version without them. Nothing is moved or re-encoded, and older versions keep
them, so --undo brings them back until vacuum has removed those versions."""
_EXAMPLES = """\
  videoformat delete data.vf --episodes 3,7:9
  videoformat delete data.vf --uid 5d0f2b7c31d44be5a1d4b4c2e4a0f7d6
  videoformat delete data.vf --undo 41        everything that version 41 had"""


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(commands, "delete", "delete episodes", _DESCRIPTION, _EXAMPLES)
    parser.add_argument("uri", metavar="URI", help="the dataset")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--episodes",
        type=Indices.parse,
        metavar="E",
        help="episodes of the newest version: numbers and ranges such as 0,3,10:20,-1",
    )
    what.add_argument(
        "--uid", action="append", metavar="UID", help="an episode by its episode_uid (repeatable)"
    )
    what.add_argument(
        "--undo", metavar="VERSION", help="bring back what a version had and the newest has not"
    )
    add_storage_options(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    options = storage_options(args)
    if args.undo is not None:
        version = as_version(args.undo)
        if not isinstance(version, int | str):
            raise InvalidArgumentError(f"--undo is {args.undo!r}, expected a number or a tag")
        report, done = undelete(args.uri, version, storage_options=options), "brought back"
    else:
        dataset = open_dataset(args.uri, options)
        chosen = args.uid or args.episodes.of(dataset.num_episodes)
        report, done = delete_episodes(dataset, chosen), "deleted"
    if args.json:
        print_json(asdict(report))
    else:
        print(
            f"{done} {len(report.episodes)} episodes, {report.frames} frames; "
            f"{report.uri} is at version {report.version}"
        )
    return 0
