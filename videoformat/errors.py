"""Everything that this package raises on purpose, by whose fault it is.

::

    VideoFormatError
    ├── BitstreamError              the bytes break the standard's syntax
    ├── UnsupportedStreamError      a legal stream that we would have to guess about; named by ``kind``
    ├── UnsupportedFormatError      a dataset of a version, or with a required flag, that is not known
    ├── DataError                   stored data is damaged or contradicts itself
    │   ├── ChecksumError           bytes are not the bytes that were written
    │   ├── CountMismatchError      two places that must agree on a count do not
    │   ├── StructureError          a chunk does not keep its reference structure's promise
    │   └── DecodeError             the decoder did not return exactly what was asked of it
    ├── SourceNotAllowedError       media outside the dataset, in a place that was not allowed
    ├── NotFoundError               the caller named something that is not there
    │   ├── FrameNotFoundError      (also IndexError)
    │   ├── EpisodeNotFoundError    (also IndexError)
    │   ├── ColumnNotFoundError     (also KeyError) a camera or a column
    │   └── DatasetNotFoundError    (also FileNotFoundError)
    ├── InvalidArgumentError        (also ValueError) the call is at fault
    ├── BacklogError                frames come faster than they are encoded
    └── StoreError                  (also OSError) the store refused or failed
        └── ConflictError           another writer changed the same thing first

Every message carries the values that were seen and those that were expected.
"""

from __future__ import annotations

__all__ = [
    "BacklogError",
    "BitstreamError",
    "ChecksumError",
    "ColumnNotFoundError",
    "ConflictError",
    "CountMismatchError",
    "DataError",
    "DatasetNotFoundError",
    "DecodeError",
    "EpisodeNotFoundError",
    "FrameNotFoundError",
    "InvalidArgumentError",
    "NotFoundError",
    "SourceNotAllowedError",
    "StoreError",
    "StructureError",
    "UnsupportedFormatError",
    "UnsupportedStreamError",
    "VideoFormatError",
]


class VideoFormatError(Exception):
    """The root of every error that this package raises on purpose."""

    def __str__(self) -> str:
        # KeyError would show the repr of the message, and OSError its errno form.
        return str(self.args[0]) if len(self.args) == 1 else super().__str__()


class BitstreamError(VideoFormatError):
    """The bytes break the syntax of the standard that they claim to follow."""


class UnsupportedStreamError(VideoFormatError):
    """A legal stream of a kind that this package refuses instead of guessing.

    ``kind`` is a short stable name, such as ``"field pictures"``.
    """

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(f"{kind}: {detail}" if detail else kind)
        self.kind = kind
        self.detail = detail

    def __reduce__(self) -> tuple[type[UnsupportedStreamError], tuple[str, str]]:
        return type(self), (self.kind, self.detail)


class UnsupportedFormatError(VideoFormatError):
    """A dataset of a format version, or with a required flag, that this version does not know."""


class DataError(VideoFormatError):
    """Stored data is damaged or contradicts itself."""


class ChecksumError(DataError):
    """Bytes that were read are not the bytes that were written."""


class CountMismatchError(DataError):
    """Two places that must agree on a count do not."""


class StructureError(DataError):
    """A chunk does not keep the promise of its reference structure."""


class DecodeError(DataError):
    """A decoder did not return exactly the frames that it was fed for."""


class SourceNotAllowedError(VideoFormatError):
    """A dataset keeps media in a file that the reader's user did not allow to be opened."""


class NotFoundError(VideoFormatError):
    """The caller named something that is not there."""


class FrameNotFoundError(NotFoundError, IndexError):
    """A frame index outside the episode; the message names the valid range."""


class EpisodeNotFoundError(NotFoundError, IndexError):
    """An episode outside the dataset; the message names the valid range."""


class ColumnNotFoundError(NotFoundError, KeyError):
    """A camera or column that the dataset does not have; the message lists those it has."""


class DatasetNotFoundError(NotFoundError, FileNotFoundError):
    """There is no dataset, or no such version of it, at the address."""


class InvalidArgumentError(VideoFormatError, ValueError):
    """The call is at fault: a value that cannot be used."""


class BacklogError(VideoFormatError):
    """Frames come faster than they are encoded, and the caller chose not to wait; it was not taken."""


class StoreError(VideoFormatError, OSError):
    """The store refused or failed: permissions, space, network."""


class ConflictError(StoreError):
    """Another writer changed the same thing first; nothing was written."""
