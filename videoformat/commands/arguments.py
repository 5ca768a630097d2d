"""Arguments that several commands take, and how they are read."""

from __future__ import annotations

import argparse
import datetime as dt
from typing import Any

from videoformat.dataset import Dataset
from videoformat.errors import InvalidArgumentError
from videoformat.table import Table

__all__ = [
    "Commands",
    "add_command",
    "add_dataset",
    "add_json",
    "add_source_options",
    "add_storage_options",
    "as_version",
    "open_dataset",
    "open_table",
    "source_options",
    "storage_options",
    "version_of",
]

Commands = Any  # argparse names the type of add_subparsers only privately


def add_command(
    commands: Commands, name: str, summary: str, description: str, examples: str
) -> argparse.ArgumentParser:
    """A parser for one command, whose help ends in examples."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    return parser


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


def add_storage_options(parser: argparse.ArgumentParser) -> None:
    """``--storage-option``, for object stores."""
    parser.add_argument(
        "--storage-option",
        action="append",
        type=_pair,
        default=[],
        metavar="KEY=VALUE",
        dest="storage_options",
        help="an option for the object store, as Lance names it, such as aws_endpoint=http://… "
        "(repeatable; the usual environment variables work too)",
    )


def add_dataset(parser: argparse.ArgumentParser) -> None:
    """The dataset to read, and which version of it."""
    parser.add_argument("uri", metavar="URI", help="a local path, s3://…, gs://…, az://…")
    parser.add_argument(
        "--version",
        metavar="N|TAG|TIME",
        help="a version by number, tag or time (2026-11-29T18:30; default: the newest)",
    )
    parser.add_argument(
        "--allow-source",
        action="append",
        default=[],
        metavar="LOCATION",
        dest="allowed_sources",
        help="a folder or URI prefix whose files may be read where the dataset keeps its media in "
        "its source's files (repeatable)",
    )
    add_storage_options(parser)


def add_json(parser: argparse.ArgumentParser) -> None:
    """``--json``, for scripts."""
    parser.add_argument("--json", action="store_true", help="write JSON to standard output")


def add_source_options(parser: argparse.ArgumentParser) -> None:
    """``--source-option``, where the source is in another object store than the target."""
    parser.add_argument(
        "--source-option",
        action="append",
        type=_pair,
        default=[],
        metavar="KEY=VALUE",
        dest="source_options",
        help="an option for the source's object store (repeatable; default: --storage-option)",
    )


def source_options(args: argparse.Namespace) -> dict[str, str] | None:
    """The options for the source's object store; None where there are none."""
    return dict(args.source_options or args.storage_options) or None


def storage_options(args: argparse.Namespace) -> dict[str, str] | None:
    """The options for the object store; None where there are none."""
    return dict(args.storage_options) or None


def as_version(text: str) -> int | str | dt.datetime:
    """A version as it is named: a number, a time (it has a colon, which no tag has), or a tag."""
    if text.isascii() and text.isdigit():
        return int(text)
    if ":" not in text:
        return text
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        raise InvalidArgumentError(
            f"{text!r} is no time such as 2026-11-29T18:30 or 2026-11-29T18:30:05+01:00"
        ) from None


def version_of(args: argparse.Namespace) -> int | str | dt.datetime | None:
    """The version that was named; None where none was."""
    return None if args.version is None else as_version(args.version)


def open_table(args: argparse.Namespace) -> Table:
    """The table of the dataset that was named."""
    return Table.open(args.uri, storage_options=storage_options(args), version=version_of(args))


def open_dataset(args: argparse.Namespace) -> Dataset:
    """The dataset that was named."""
    return Dataset(open_table(args), allowed_sources=args.allowed_sources)
