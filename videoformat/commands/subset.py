"""``videoformat subset``: some episodes, in another order if need be."""

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
    version_of,
)
from videoformat.commands.copying import print_copies
from videoformat.commands.progress import ProgressLine
from videoformat.commands.selection import Indices
from videoformat.dataset import open_dataset
from videoformat.merging import subset

__all__ = ["add"]

_DESCRIPTION = """\
Copies some episodes into a dataset, in the order given: --episodes 2,0,1 reorders. Nothing is
decoded or re-encoded; an episode keeps its episode_uid."""
_EXAMPLES = """\
  videoformat subset data.vf small.vf --episodes 0:10
  videoformat subset data.vf turned.vf --episodes ::-1
  videoformat subset data.vf then.vf --episodes : --version paper-2026"""


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands, "subset", "copy or reorder episodes, without re-encoding", _DESCRIPTION, _EXAMPLES
    )
    parser.add_argument("source", metavar="SRC", help="the dataset to copy from")
    parser.add_argument("uri", metavar="DST", help="the dataset that gets the episodes")
    parser.add_argument(
        "--episodes",
        type=Indices.parse,
        required=True,
        metavar="E",
        help="numbers and ranges such as 3,0,10:20",
    )
    parser.add_argument("--version", metavar="N|TAG|TIME", help="a version of the source")
    add_storage_options(parser)
    add_source_options(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    source = open_dataset(args.source, source_options(args), version_of(args))
    with ProgressLine() as line:
        report = subset(
            source,
            args.uri,
            args.episodes.of(source.num_episodes),
            storage_options=storage_options(args),
            progress=lambda done, total: line.update(f"{done} of {total} episodes"),
        )
    print_copies([report], as_json=args.json)
    return 0
