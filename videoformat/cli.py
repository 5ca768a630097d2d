"""The command line: ``videoformat COMMAND …``.

Exit status: 0; 1 where the data or the store is at fault; 2 where the call is; 130 after an
interrupt; 141 where the reader of the output went away. Errors are one line on standard error.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version
from typing import NoReturn

from videoformat.commands import (
    bench,
    convert,
    delete,
    export,
    frames,
    info,
    log,
    merge,
    plan,
    recover,
    split,
    subset,
    tag,
    vacuum,
    verify,
)
from videoformat.commands.selection import joined_negatives
from videoformat.errors import (
    InvalidArgumentError,
    NotFoundError,
    SourceNotAllowedError,
    VideoFormatError,
)

__all__ = ["main"]

DATA_AT_FAULT, CALL_AT_FAULT, INTERRUPTED, READER_GONE = 1, 2, 130, 141
TRACEBACK_VARIABLE = "VIDEOFORMAT_TRACEBACK"
COMMANDS = (
    convert,
    info,
    frames,
    plan,
    verify,
    bench,
    recover,
    export,
    merge,
    subset,
    split,
    delete,
    log,
    tag,
    vacuum,
)


class _Parser(argparse.ArgumentParser):
    """argparse with errors of one line."""

    def error(self, message: str) -> NoReturn:
        _say(f"{message} (see {self.prog} --help)")
        raise SystemExit(CALL_AT_FAULT)


def _say(message: str) -> None:
    print(f"videoformat: error: {' '.join(message.split())}", file=sys.stderr)


def make_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = _Parser(
        prog="videoformat",
        description="Video datasets that models train on: any frame from at most three pictures.",
        epilog="Each command explains itself: videoformat COMMAND --help",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version", action="version", version=f"videoformat {version('videoformat')}"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line (``sys.argv`` where None) and returns its exit status."""
    arguments = joined_negatives(list(sys.argv[1:] if argv is None else argv))
    try:
        args = make_parser().parse_args(arguments)
        status: int = args.run(args)
        sys.stdout.flush()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _abandon_output()
        return READER_GONE
    # Whatever goes wrong is one line; a fault of this package's own can be looked at on request.
    except Exception as error:  # noqa: BLE001
        if os.environ.get(TRACEBACK_VARIABLE):
            traceback.print_exc()
        return _fail(error)
    return status


def _fail(error: Exception) -> int:
    """Says what went wrong, and whose fault it is."""
    if isinstance(error, VideoFormatError):
        _say(str(error))
        at_call = isinstance(error, InvalidArgumentError | NotFoundError | SourceNotAllowedError)
        return CALL_AT_FAULT if at_call else DATA_AT_FAULT
    if isinstance(error, OSError):
        _say(str(error))
    else:
        _say(
            f"unexpected {type(error).__name__}: {error} (a fault of videoformat itself; "
            f"{TRACEBACK_VARIABLE}=1 shows where)"
        )
    return DATA_AT_FAULT


def _abandon_output() -> None:
    """Keeps the interpreter from failing once more as it flushes what is left and exits."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
