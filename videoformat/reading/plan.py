"""What a read would fetch and decode, over all its chunks."""

from __future__ import annotations

from dataclasses import dataclass

from videoformat.index.pictures import PictureIndex
from videoformat.index.plan import ChunkPlan
from videoformat.table import MediaPlace, RowMedia

__all__ = ["ChunkRead", "ReadPlan"]


@dataclass(frozen=True, slots=True)
class ChunkRead:
    """What one chunk of one camera contributes to a read.

    ``place`` is where its media lies in a file of the dataset, ``media`` a handle for it in an object
    store.
    """

    episode: int
    camera: str
    row: int
    index: PictureIndex
    plan: ChunkPlan
    place: MediaPlace | None = None
    media: RowMedia | None = None


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """What a read would fetch and decode."""

    chunks: tuple[ChunkRead, ...]

    @property
    def frame_count(self) -> int:
        """Distinct frames."""
        return sum(len(chunk.plan.frames) for chunk in self.chunks)

    @property
    def picture_count(self) -> int:
        """Pictures to decode."""
        return sum(chunk.plan.picture_count for chunk in self.chunks)

    @property
    def range_count(self) -> int:
        """Byte ranges, before the store coalesces any."""
        return sum(len(chunk.plan.ranges) for chunk in self.chunks)

    @property
    def byte_count(self) -> int:
        """Bytes of media to fetch: the sum of the closures' sizes."""
        return sum(chunk.plan.byte_count for chunk in self.chunks)
