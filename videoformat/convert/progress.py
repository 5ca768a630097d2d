"""How far a conversion is, and what it did."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ConvertReport", "Progress"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a conversion is. ``episodes_done`` are encoded; ``seconds`` are since it began."""

    episodes_done: int
    episodes_total: int
    frames_done: int
    frames_total: int
    seconds: float
    message: str = ""

    @property
    def frames_per_second(self) -> float:
        """Frames encoded a second, on average."""
        return self.frames_done / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds that the rest takes at that rate; None where nothing is known yet."""
        if not self.frames_done:
            return None
        return (self.frames_total - self.frames_done) / self.frames_per_second


@dataclass(frozen=True, slots=True)
class ConvertReport:
    """What a conversion did. Bytes are of media only; ``source_bytes`` of the source's videos."""

    uri: str
    episodes: int
    frames: int
    skipped_episodes: int
    media_bytes: int
    source_bytes: int
    seconds: float
    notes: tuple[str, ...] = ()
