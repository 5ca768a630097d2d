"""Which files outside a dataset a reader may open: those that its user allowed, and no others."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from videoformat.errors import DataError, SourceNotAllowedError
from videoformat.index.pictures import Stream

__all__ = ["AllowedSources"]

# Lance's kind of a blob that is a range of another file.
EXTERNAL_KIND = 3


def _local_path(uri: str) -> str | None:
    """The path that a URI without a scheme or a ``file:`` URI names, links resolved."""
    parts = urlsplit(uri)
    if parts.scheme not in ("", "file"):
        return None
    return os.path.realpath(unquote(parts.path) if parts.scheme else uri)


class AllowedSources:
    """Folders and URI prefixes under which media outside a dataset may lie."""

    def __init__(self, locations: Sequence[str]) -> None:
        self._folders: list[str] = []
        self._prefixes: list[str] = []
        for location in locations:
            path = _local_path(
                str(Path(location).expanduser()) if "://" not in location else location
            )
            if path is None:
                self._prefixes.append(location.rstrip("/") + "/")
            else:
                self._folders.append(path)

    def allows(self, uri: str) -> bool:
        """Whether the file lies under one of the locations, links and ``..`` resolved."""
        path = _local_path(uri)
        if path is None:
            return ".." not in uri.split("/") and any(uri.startswith(p) for p in self._prefixes)
        return any(
            path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
            for folder in self._folders
        )

    def check(self, place: Mapping[str, Any] | None, stream: Stream) -> None:
        """Raises unless the media lies in the dataset, or in an allowed file that is as it was.

        ``place`` is where Lance says that the blob lies. Raises ``SourceNotAllowedError``, or
        ``DataError`` where the file is gone or has another size than when it was indexed.
        """
        external = place is not None and place.get("kind") == EXTERNAL_KIND
        if not external:
            if stream.source_uri is not None:
                raise DataError(f"the media should lie in {stream.source_uri} and does not")
            return
        uri = str(place.get("blob_uri") if place else "")
        if not self.allows(uri):
            raise SourceNotAllowedError(
                f"the media lies in {uri}, outside the allowed source locations; open the dataset "
                "with allowed_sources=[…] if you trust it"
            )
        if uri != stream.source_uri:
            raise DataError(f"the media lies in {uri}, the stream says {stream.source_uri}")
        path = _local_path(uri)
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
