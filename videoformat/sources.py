"""Which files outside a dataset a reader may open: those that its user allowed, and no others.

Strategy: what a dataset says is not trusted, and is compared with what is allowed only in a form that
Lance, which opens the file, cannot read in another way: an absolute URI that is spelled as plainly as
it can be, no registered base before it, nothing behind its path, nothing that decodes to a step up.
Whatever is spelled otherwise is refused, not understood.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from videoformat.errors import DataError, InvalidArgumentError, SourceNotAllowedError
from videoformat.index.pictures import Stream

__all__ = ["AllowedSources"]

# Lance's kind of a blob that is a range of another file.
EXTERNAL_KIND = 3
_FILE = "file://"


def _plain_path(uri: str) -> str | None:
    """The path of a ``file`` URI that is spelled as ``Path.as_uri`` spells it; else None."""
    if not uri.startswith(_FILE + "/"):
        return None
    path = unquote(uri.removeprefix(_FILE), errors="surrogateescape")
    # Two leading slashes have a meaning of their own (POSIX 4.13), and normpath leaves them.
    if "\0" in path or path.startswith("//") or os.path.normpath(path) != path:
        return None
    if Path(path).as_uri() != uri:
        return None
    return path


def _is_plain_address(uri: str) -> bool:
    """Whether every part of a URI in an object store is what it seems, however it is decoded."""
    decoded = uri
    while (further := unquote(decoded)) != decoded:
        decoded = further
    if not decoded.isprintable() or set(decoded) & set("\\?#"):
        return False
    parts = urlsplit(uri)
    steps = decoded.partition("://")[2].split("/")
    return bool(parts.scheme and parts.netloc) and not {"", ".", ".."} & set(steps)


class AllowedSources:
    """Folders, files and URI prefixes under which media outside a dataset may lie.

    Links are followed both in what is allowed and in what is asked for. Raises
    ``InvalidArgumentError`` for a location that is neither a path nor a plain URI.
    """

    def __init__(self, locations: Sequence[str]) -> None:
        self._folders: list[str] = []
        self._prefixes: list[str] = []
        for location in locations:
            if "://" not in location:
                self._folders.append(os.path.realpath(Path(location).expanduser()))
            elif location.startswith(_FILE):
                path = _plain_path(location.rstrip("/"))
                if path is None:
                    raise InvalidArgumentError(f"{location!r} is not a plain file URI")
                self._folders.append(os.path.realpath(path))
            elif _is_plain_address(location.rstrip("/")):
                self._prefixes.append(location.rstrip("/") + "/")
            else:
                raise InvalidArgumentError(f"{location!r} is neither a path nor a plain URI")

    def allows(self, uri: str) -> bool:
        """Whether the file lies at or under one of the locations."""
        if not uri.startswith(_FILE):
            return _is_plain_address(uri) and any(uri.startswith(p) for p in self._prefixes)
        path = _plain_path(uri)
        if path is None:
            return False
        real = PurePosixPath(os.path.realpath(path))
        return any(real.is_relative_to(folder) for folder in self._folders)

    def check(self, place: Mapping[str, Any] | None, stream: Stream) -> None:
        """Raises unless the media lies in the dataset, or in an allowed file that is as it was.

        ``place`` is where Lance says that the blob lies. Raises ``SourceNotAllowedError``, or
        ``DataError`` where the file is gone or has another size than when it was indexed.
        """
        if place is None or place.get("kind") != EXTERNAL_KIND:
            if stream.source_uri is not None:
                raise DataError(f"the media should lie in {stream.source_uri} and does not")
            return
        uri = str(place.get("blob_uri"))
        # The number of an external blob is that of a base which the URI is relative to, or 0.
        if place.get("blob_id") or not self.allows(uri):
            raise SourceNotAllowedError(
                f"the media lies in {uri!r}, outside the allowed source locations; open the dataset "
                "with allowed_sources=[…] if you trust it"
            )
        if uri != stream.source_uri:
            raise DataError(f"the media lies in {uri}, the stream says {stream.source_uri}")
        path = _plain_path(uri)
        if path is None:
            return
        try:
            size = Path(path).stat().st_size
        except OSError as error:
            raise DataError(f"the source file {path} is gone: {error.strerror}") from None
        if size != stream.source_size:
            raise DataError(
                f"the source file {path} has {size} bytes, it had {stream.source_size} when it was "
                "indexed"
            )
