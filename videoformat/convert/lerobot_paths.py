"""Where a dataset's files are: path templates and paths from strangers, kept inside the root.

Strategy: a template is parsed, never given to ``str.format``, which would follow attributes
(``{episode_index.__class__}``). Every path is checked twice: its text (relative, no ``..``), and
where it leads once symbolic links are followed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from glob import escape
from pathlib import Path

from videoformat.convert.lerobot_json import shown
from videoformat.errors import DataError, DatasetNotFoundError

__all__ = ["DatasetRoot", "PathTemplate", "check_relative"]

# video_key is the one field that is not a number.
_FIELD = re.compile(r"\{(?!video_key:)([a-z_]+)(?::(0?[1-9]?[0-9])d)?\}")
MAX_PATH_LENGTH = 4096


def check_relative(path: str, where: str) -> str:
    """The path itself, if its text stays below a root; ``where`` says what named it."""
    parts = path.split("/")
    if (
        len(path) > MAX_PATH_LENGTH
        or any(part in {"", ".", ".."} for part in parts)
        or "\\" in path
        or not path.isprintable()
    ):
        raise DataError(f"{where}: path {shown(path)}, expected a relative path without '..'")
    return path


class PathTemplate:
    """A path with fields such as ``{episode_index:06d}``.

    ``known`` are the fields that the layout defines, ``needed`` those without which two files would
    have one name.
    """

    __slots__ = ("_pieces", "text")

    def __init__(self, text: str, where: str, *, known: set[str], needed: set[str]) -> None:
        self.text = text
        self._pieces: list[tuple[str, str, str]] = []
        literals = _FIELD.split(text)
        # re.split yields literal, name, width, literal, name, width, …, literal.
        names = set(literals[1::3])
        plain = "".join(literals[::3])
        if unknown := names - known:
            raise DataError(
                f"{where}: {shown(text)} has the field {shown(min(unknown))}, "
                f"expected only {', '.join(sorted(known))}"
            )
        if "{" in plain or "}" in plain:
            raise DataError(
                f"{where}: {shown(text)} has a field of another form than {{name}} or {{name:03d}}"
            )
        if missing := needed - names:
            raise DataError(f"{where}: {shown(text)} lacks the field {{{min(missing)}}}")
        check_relative(_FIELD.sub("x", text), where)
        for index in range(0, len(literals) - 1, 3):
            literal, name, width = literals[index : index + 3]
            self._pieces.append((literal, name, width or ""))
        self._pieces.append((literals[-1], "", ""))

    def path(self, fields: Mapping[str, int | str]) -> str:
        """The relative path for these values."""
        return "".join(
            literal + (format(fields[name], width + "d" if width else "") if name else "")
            for literal, name, width in self._pieces
        )

    @property
    def pattern(self) -> str:
        """A pattern for ``glob`` that every path of the template matches."""
        return "".join(escape(literal) + ("*" if name else "") for literal, name, _ in self._pieces)


class DatasetRoot:
    """The folder that a dataset lives in; nothing outside it is ever opened."""

    __slots__ = ("_allowed", "path")

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            resolved = self.path.resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:
            raise DatasetNotFoundError(f"no LeRobot dataset at {path}: {error}") from error
        if not resolved.is_dir():
            raise DatasetNotFoundError(f"no LeRobot dataset at {path}: not a folder")
        self._allowed = [resolved]
        if resolved.parent.name == "snapshots":
            # The Hugging Face cache keeps a repository's files in blobs/ and links to them from
            # snapshots/<revision>/.
            self._allowed.append(resolved.parent.parent / "blobs")

    def find(self, relative: str, where: str) -> Path | None:
        """The path of a file, or ``None`` where there is none.

        ``where`` says what named it. Raises ``DataError`` where the path leads out of the root.
        """
        path = self.path / check_relative(relative, where)
        try:
            resolved = path.resolve()
            is_file = resolved.is_file()
        except (OSError, RuntimeError) as error:
            raise DataError(f"{where}: {shown(relative)} cannot be resolved: {error}") from error
        if not any(resolved.is_relative_to(allowed) for allowed in self._allowed):
            raise DataError(f"{where}: {shown(relative)} leads outside the dataset, to {resolved}")
        return path if is_file else None

    def require(self, relative: str, where: str) -> Path:
        """The path of a file that must be there."""
        path = self.find(relative, where)
        if path is None:
            raise DataError(f"{where}: there is no file {relative}")
        return path

    def glob(self, pattern: str) -> list[str]:
        """The relative paths that match, sorted, without hidden files.

        Archives made on macOS put a ``._name`` beside every file.
        """
        return sorted(
            path.relative_to(self.path).as_posix()
            for path in self.path.glob(pattern)
            if not path.name.startswith(".")
        )
