"""Addresses, and what Lance raises as errors of this package."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from videoformat.errors import (
    ConflictError,
    DataError,
    DatasetNotFoundError,
    InvalidArgumentError,
    StoreError,
    VideoFormatError,
)
from videoformat.forks import enter_lance

__all__ = ["address_of", "lance_errors"]

_STORE_ERRORS = frozenset(
    [
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EMFILE,
        errno.ENFILE,
        errno.EIO,
    ]
)


def address_of(uri: str | os.PathLike[str]) -> str:
    """An address as a string; ``~`` is the home directory of a local path."""
    text = os.fspath(uri) if isinstance(uri, str | os.PathLike) else None
    if not isinstance(text, str) or not text:
        raise InvalidArgumentError(f"a dataset's address is a path or URI, got {uri!r}")
    return text if "://" in text else str(Path(text).expanduser())


def _without_address(text: str, uri: str) -> str:
    """What was said without the address, which may hold any word that is looked for."""
    for address in (uri, uri.partition("://")[2] or uri):
        for form in (address, quote(address)):
            text = text.replace(form.strip("/"), "")
    return text


def _translate(error: BaseException, uri: str, doing: str) -> VideoFormatError:
    message = str(error).split(", /home/", maxsplit=1)[0].strip()
    text = _without_address(message.lower(), uri.lower())
    where = f"{uri}: {doing}: {message or type(error).__name__}"
    if isinstance(error, OSError) and error.errno in _STORE_ERRORS:
        return StoreError(where)
    # As the operating system's own error, or as Rust quotes it: "File too large (os error 27)".
    number = re.search(r"\(os error (\d+)\)", message)
    if number and int(number[1]) in _STORE_ERRORS:
        return StoreError(where)
    if "was not found" in text and "dataset" in text:
        return DatasetNotFoundError(f"there is no dataset at {uri}")
    # A tag that does not exist or cannot be one; a version number beyond 64 bits.
    if text.startswith(("ref not found", "ref is invalid")) or isinstance(error, OverflowError):
        return DatasetNotFoundError(where)
    if text.startswith(("ref conflict", "version not found")):
        return InvalidArgumentError(where)
    if "already exists" in text:
        return InvalidArgumentError(f"there is a dataset at {uri} already")
    if "conflict" in text or "incompatible with concurrent transaction" in text:
        return ConflictError(where)
    if type(error).__name__ == "PanicException":
        return DataError(where)
    store_signs = ("permission denied", "no space", "read-only", "access denied", "unauthorized")
    if any(sign in text for sign in store_signs):
        return StoreError(where)
    # "Generic S3 error", "Generic LocalFileSystem error": the store itself spoke.
    if "object store" in text or "generic " in text or isinstance(error, TimeoutError):
        return StoreError(where)
    return DataError(where)


@contextmanager
def lance_errors(uri: str, doing: str) -> Iterator[None]:
    """Turns whatever Lance raises into this package's errors; refuses a process forked after use."""
    enter_lance()
    try:
        yield
    except (VideoFormatError, KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:
        # Lance's native panics derive from BaseException alone.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise _translate(error, uri, doing) from error
        raise
