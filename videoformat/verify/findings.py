"""Collecting what is wrong with one part of a dataset while its checks go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType

from videoformat.errors import SourceNotAllowedError, VideoFormatError
from videoformat.verify.report import Problem, What

__all__ = ["Findings", "listed"]

_SHOWN = 8


@dataclass(slots=True)
class Findings:
    """The problems of one camera, or of the tabular columns, of one chunk; and what was counted.

    A check reports one problem however many pictures it concerns, so that a report stays in
    proportion to the chunks and not to the damage.
    """

    episode: int | None
    episode_uid: str | None
    camera: str | None = None
    chunk: int | None = None
    problems: list[Problem] = field(default_factory=list)
    pictures: int = 0
    byte_count: int = 0
    derived: int = 0
    closures: int = 0

    def add(self, what: What, detail: str) -> None:
        """Notes a problem."""
        self.problems.append(
            Problem(self.episode, self.episode_uid, self.camera, self.chunk, what, detail)
        )

    def noting(self, what: What) -> _Noting:
        """Notes an error of this package as a problem, and goes on after the block."""
        return _Noting(self, what)


@dataclass(frozen=True, slots=True)
class _Noting:
    """The block that ``Findings.noting`` opens."""

    findings: Findings
    what: What

    def __enter__(self) -> None:
        return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        # Which files outside the dataset may be opened is for the caller to say.
        if not isinstance(error, VideoFormatError) or isinstance(error, SourceNotAllowedError):
            return False
        self.findings.add(self.what, str(error))
        return True


def listed(values: Sequence[object]) -> str:
    """The first few values, and how many there are where that is more."""
    shown = ", ".join(map(str, values[:_SHOWN]))
    return shown if len(values) <= _SHOWN else f"{shown}, … ({len(values)} in all)"
