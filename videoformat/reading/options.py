"""What a reader may use: the one place for the defaults."""

from __future__ import annotations

from dataclasses import dataclass

from videoformat.errors import InvalidArgumentError

__all__ = ["ReadOptions"]

MINIMUM_GAP, MAXIMUM_GAP = 2**10, 2**26


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Settings of a reader.

    ``decode_threads``: chunks and groups of one call that are decoded side by side; 1 decodes in
    the calling thread, which is right in a data loader's worker. ``index_cache_bytes``: memory for
    picture indexes, least recently used out first; 0 keeps none. ``frame_cache_bytes``: the same for
    decoded frames, for requests that overlap; none by default, since a shuffled epoch never asks for
    one twice. ``direct_reads``: on a local disk,
    media is read from its file without going through Lance's own threads, which costs a tenth where
    all cores are busy; every access unit's checksum is compared either way, and a file that is not
    what it should be is read through Lance. ``gap_bytes``: in an object store, ranges of media that
    are less than this apart are one request, with what lies between them: more joins requests, less
    saves bytes. Raises ``InvalidArgumentError``.
    """

    decode_threads: int = 1
    index_cache_bytes: int = 64 * 2**20
    frame_cache_bytes: int = 0
    direct_reads: bool = True
    gap_bytes: int = 16 * 2**10

    def __post_init__(self) -> None:
        if not isinstance(self.decode_threads, int) or not 1 <= self.decode_threads <= 256:
            raise InvalidArgumentError(
                f"decode_threads is {self.decode_threads!r}, expected 1 to 256"
            )
        for name in ("index_cache_bytes", "frame_cache_bytes"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 0:
                raise InvalidArgumentError(f"{name} is {value!r}, expected 0 or more")
        # Lance looks for the end of a file's metadata in one block: less than this holds none.
        if not isinstance(self.gap_bytes, int) or not MINIMUM_GAP <= self.gap_bytes <= MAXIMUM_GAP:
            raise InvalidArgumentError(
                f"gap_bytes is {self.gap_bytes!r}, expected {MINIMUM_GAP} to {MAXIMUM_GAP}"
            )
