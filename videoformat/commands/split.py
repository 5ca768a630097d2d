"""``videoformat split``: one dataset into several."""

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
from videoformat.commands.selection import Indices
from videoformat.dataset import open_dataset
from videoformat.errors import InvalidArgumentError
from videoformat.merging import split

__all__ = ["add"]

_DESCRIPTION = """\
Copies the episodes of a dataset into several, each episode into one at most. Nothing is decoded or
re-encoded."""
_EXAMPLES = """\
  videoformat split data.vf train.vf=0:80 test.vf=80:"""


def _part(text: str) -> tuple[str, Indices]:
    uri, equals, episodes = text.rpartition("=")
    if not equals or not uri:
        raise argparse.ArgumentTypeError(f"{text!r} is not DST=EPISODES")
    return uri, Indices.parse(episodes)


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands, "split", "copy episodes into several datasets", _DESCRIPTION, _EXAMPLES
    )
    parser.add_argument("source", metavar="SRC", help="the dataset to copy from")
    parser.add_argument(
        "parts", metavar="DST=EPISODES", nargs="+", type=_part, help="such as train.vf=0:80,90"
    )
    add_storage_options(parser)
    add_source_options(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    source = open_dataset(args.source, source_options(args))
    parts = {uri: indices.of(source.num_episodes) for uri, indices in args.parts}
    if len(parts) != len(args.parts):
        raise InvalidArgumentError("one dataset is named twice")
    reports = split(source, parts, storage_options=storage_options(args))
    print_copies(reports, as_json=args.json)
    return 0
