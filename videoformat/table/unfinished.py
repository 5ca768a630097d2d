"""Removing what was written to the store and is not to be made visible."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lance
import lance.file

__all__ = ["remove_files"]

_FOLDER = "data"
_SUFFIX = ".lance"


def remove_files(
    dataset: lance.LanceDataset, fragments: Sequence[Any], local_root: Path | None
) -> None:
    """Removes the data files of fragments that no version has, and the media beside them.

    A file has the name that the store made up for it, so no other writer can have one of it.
    """
    session = dataset.new_file_session()
    for fragment in fragments:
        for file in fragment.files:
            # Large media lies in files of its own, in a folder of the data file's name.
            beside = f"{_FOLDER}/{file.path.removesuffix(_SUFFIX)}"
            for path in (f"{_FOLDER}/{file.path}", *session.list(beside)):
                if session.contains(path):
                    session.delete_file(path)
            if local_root is not None and (local_root / beside).is_dir():
                (local_root / beside).rmdir()
