"""What merge, subset and split say in the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from videoformat.commands.text import print_json
from videoformat.merging import CopyReport

__all__ = ["print_copies"]


def print_copies(reports: Sequence[CopyReport], *, as_json: bool) -> None:
    """One line a target, or JSON: a list of targets."""
    if as_json:
        print_json([asdict(report) for report in reports])
        return
    for report in reports:
        there = f", {report.skipped} were there already" if report.skipped else ""
        print(
            f"{report.uri}: copied {report.episodes} episodes, {report.frames} frames{there}; "
            f"version {report.version}"
        )
