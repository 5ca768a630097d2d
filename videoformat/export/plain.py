"""Plain MP4: one file an episode and camera, each frame at its own time."""

from __future__ import annotations

from pathlib import Path

from videoformat.export.mp4 import write_exact
from videoformat.export.source import ExportSource

__all__ = ["PlainVideos"]


class PlainVideos:
    """Writes ``CAMERA/episode_000000.mp4``, numbered by the dataset's own ordinals."""

    def __init__(self, source: ExportSource, root: Path) -> None:
        self._source, self._root = source, root

    def add(self, episode: int) -> None:
        """Writes an episode."""
        source = self._source
        for camera in source.dataset.cameras:
            path = self._root / camera / f"episode_{episode:06d}.mp4"
            path.parent.mkdir(parents=True, exist_ok=True)
            video = source.video(episode, camera)
            exact = write_exact(path, source.table, video, source.rate, source.allowed)
            if not exact:
                source.notes.append(
                    f"episode {episode}, camera {camera!r}: frame n is at n / fps; its own times "
                    "are unknown or do not ascend"
                )

    def finish(self) -> None:
        """Nothing is left to do."""
