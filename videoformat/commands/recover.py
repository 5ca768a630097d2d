"""``videoformat recover``: what is intact of a damaged dataset."""

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
from videoformat.commands.text import print_json
from videoformat.recover import recover

__all__ = ["add"]

_DESCRIPTION = """\
Makes a version that holds every intact episode of a dataset with damaged or missing files, and lists
what is lost. Nothing is removed: manifests that cannot be read are renamed, and older versions keep
what the new one leaves out. Exit status: 0 where nothing is lost, 1 where something is."""
_EXAMPLES = """\
  videoformat recover data.vf --report-only
  videoformat recover data.vf --decode"""


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(commands, "recover", "bring back what is intact", _DESCRIPTION, _EXAMPLES)
    parser.add_argument("uri", metavar="URI", help="the dataset")
    parser.add_argument("--report-only", action="store_true", help="change nothing")
    parser.add_argument("--decode", action="store_true", help="also decode every closure")
    add_storage_options(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    report = recover(
        args.uri,
        report_only=args.report_only,
        decode=args.decode,
        storage_options=storage_options(args),
    )
    if args.json:
        print_json({"ok": report.ok, **asdict(report)})
        return 0 if report.ok else 1
    for version in report.set_aside:
        print(f"version {version}: its manifest cannot be read")
    for item in report.lost:
        what = "episodes" if item.episode_uid is None else f"episode {item.episode_uid!r}"
        print(f"lost: {what}, {item.chunks} chunks: {item.reason}")
    print(f"{report.intact} episodes are intact; version {report.version} of {report.uri}")
    return 0 if report.ok else 1
