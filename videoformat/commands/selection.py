"""Which frames a command is about: episodes, cameras, indices."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass

from videoformat.dataset import Dataset
from videoformat.errors import InvalidArgumentError

__all__ = ["Indices", "add_cameras", "add_selection", "joined_negatives", "selected"]

_PART = re.compile(r"([+-]?\d+)|([+-]?\d+)?:([+-]?\d+)?(?::([+-]?\d+))?", re.ASCII)
_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Indices:
    """Single indices and ranges as Python's slices have them, in the order in which they came."""

    parts: tuple[int | slice, ...]

    @staticmethod
    def parse(text: str) -> Indices:
        """Reads ``0,5,-1,10:20``. Raises ``ArgumentTypeError``, which argparse shows."""
        parts: list[int | slice] = []
        for item in text.split(","):
            match = _PART.fullmatch(item.strip())
            if match is None or len(item) > 3 * _DIGITS:
                raise argparse.ArgumentTypeError(
                    f"{item!r} is no index such as 5 or -1, nor a range such as 10:20"
                )
            single, *ends = match.groups()
            if single is not None:
                parts.append(int(single))
                continue
            start, stop, step = (None if end is None else int(end) for end in ends)
            if step == 0:
                raise argparse.ArgumentTypeError(f"{item!r}: the step of a range is not 0")
            parts.append(slice(start, stop, step))
        return Indices(tuple(parts))

    def of(self, length: int) -> list[int]:
        """The indices in something of this length; single ones are taken as they are."""
        found: list[int] = []
        for part in self.parts:
            found += range(*part.indices(length)) if isinstance(part, slice) else [part]
        return found


def add_cameras(parser: argparse.ArgumentParser) -> None:
    """``--camera``."""
    parser.add_argument(
        "--camera",
        action="append",
        metavar="C",
        dest="cameras",
        help="a camera's key (repeatable; default: all cameras)",
    )


def add_selection(parser: argparse.ArgumentParser) -> None:
    """``--episode``, ``--camera`` and ``--indices``."""
    parser.add_argument(
        "--episode",
        action="append",
        type=int,
        required=True,
        metavar="E",
        dest="episodes",
        help="an episode by its ordinal, negative from the end (repeatable)",
    )
    add_cameras(parser)
    parser.add_argument(
        "--indices",
        type=Indices.parse,
        metavar="I",
        help="frames of each episode: indices and ranges such as 0,5,-1,10:20 (default: all)",
    )


def joined_negatives(arguments: list[str]) -> list[str]:
    """Joins ``--indices -3:`` to ``--indices=-3:``, since argparse takes ``-3:`` for an option."""
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] == "--indices" and re.match(r"-\d", argument):
            joined[-1] = f"--indices={argument}"
        else:
            joined.append(argument)
    return joined


def selected(dataset: Dataset, args: argparse.Namespace) -> Iterator[tuple[int, str, list[int]]]:
    """Episode, camera and frames, all resolved; each frame once, in the order asked.

    Raises ``InvalidArgumentError`` where nothing is selected, and what the dataset raises for an
    episode, a camera or a frame that it does not have.
    """
    cameras = args.cameras or dataset.cameras
    if not cameras:
        raise InvalidArgumentError(f"{dataset.uri} has no cameras")
    chosen: list[tuple[int, str, list[int]]] = []
    for given in dict.fromkeys(args.episodes):
        rows = dataset.directory.episode(given)
        wanted = range(rows.length) if args.indices is None else args.indices.of(rows.length)
        frames = list(dict.fromkeys(rows.resolve(wanted)))
        if not frames:
            raise InvalidArgumentError(
                f"--indices selects none of the {rows.length} frames of episode {rows.episode}"
            )
        chosen += [(rows.episode, camera, frames) for camera in dict.fromkeys(cameras)]
    yield from chosen
