"""What a read cost."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

__all__ = ["STAGES", "ReadReport"]

STAGES = ("index", "plan", "fetch", "decode", "rgb")


@dataclass(slots=True)
class ReadReport:
    """What a read cost.

    ``takes`` and ``range_reads`` are calls to Lance: for picture indexes, and for media (one a
    camera); ``store_requests`` and ``store_bytes`` are what Lance then asked the store for, as it
    counts them (with what other threads asked for in the meantime). ``direct_reads`` are ranges read
    from local files without it. ``media_bytes`` are those of the closures; ``frames`` those returned,
    ``frame_hits`` of them from the cache. ``seconds`` are of wall time by stage; where decoding runs
    in several threads, ``decode`` and ``rgb`` are summed over them.
    """

    takes: int = 0
    range_reads: int = 0
    store_requests: int = 0
    store_bytes: int = 0
    direct_reads: int = 0
    ranges: int = 0
    media_bytes: int = 0
    pictures: int = 0
    frames: int = 0
    index_hits: int = 0
    index_misses: int = 0
    frame_hits: int = 0
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))

    def add(self, other: ReadReport) -> None:
        """Adds what another report counted."""
        for item in fields(self):
            if item.name == "seconds":
                for stage, value in other.seconds.items():
                    self.seconds[stage] = self.seconds.get(stage, 0.0) + value
            else:
                setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))
