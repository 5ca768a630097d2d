"""``videoformat vacuum``: compaction and clean-up."""

from __future__ import annotations

import argparse
import datetime as dt
from dataclasses import asdict

from videoformat.commands.arguments import (
    Commands,
    add_command,
    add_json,
    add_storage_options,
    storage_options,
)
from videoformat.commands.text import byte_text, print_json
from videoformat.errors import InvalidArgumentError
from videoformat.versions import GRACE, TARGET_BYTES, vacuum

__all__ = ["add"]

_DESCRIPTION = """\
Joins small fragments into larger ones, which makes reading and appending faster, and removes
versions that are older than a time and have no tag, with the files that only they need. What was
deleted cannot be brought back from a version that is removed.

The time is the grace that programs get that still read or write an older version. Compaction copies
the media of small fragments and of those with deleted rows; how much is shown."""
_EXAMPLES = """\
  videoformat vacuum data.vf
  videoformat vacuum data.vf --older-than 30
  videoformat vacuum data.vf --no-compact --json"""


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands, "vacuum", "compact, and remove old versions", _DESCRIPTION, _EXAMPLES
    )
    parser.add_argument("uri", metavar="URI", help="the dataset")
    parser.add_argument(
        "--older-than",
        type=float,
        default=GRACE.days,
        metavar="DAYS",
        help=f"keep versions that are younger (default: {GRACE.days})",
    )
    parser.add_argument(
        "--target-mib",
        type=int,
        default=TARGET_BYTES >> 20,
        metavar="M",
        help=f"fragments of so many MiB are left alone (default: {TARGET_BYTES >> 20})",
    )
    parser.add_argument("--no-compact", action="store_true", help="remove old versions only")
    parser.add_argument(
        "--unfinished",
        action="store_true",
        help="also remove what writers that died have left, at once; only while nobody writes",
    )
    add_storage_options(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    try:
        older_than = dt.timedelta(days=args.older_than)
    except (OverflowError, ValueError):
        raise InvalidArgumentError(f"--older-than is {args.older_than}") from None
    report = vacuum(
        args.uri,
        older_than=older_than,
        compact=not args.no_compact,
        target_bytes=args.target_mib << 20,
        unfinished=args.unfinished,
        storage_options=storage_options(args),
    )
    if args.json:
        print_json(asdict(report))
        return 0
    cost, removed = report.compaction, report.removed
    print(
        f"compacted {cost.fragments} fragments: {cost.rows} chunks, "
        f"{byte_text(cost.media_bytes)} of media copied\n"
        f"removed {removed.versions} versions, {removed.files} files, "
        f"{byte_text(removed.byte_count)}"
    )
    return 0
