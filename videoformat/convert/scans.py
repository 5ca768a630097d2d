"""Video files that several episodes share: scanned once, whoever asks first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path

from videoformat.media.demux import VideoFile, VideoScan

__all__ = ["ScanCache"]

CAPACITY = 32


class ScanCache:
    """The scans of the files that were used last. Safe to use from several threads."""

    def __init__(self) -> None:
        self._scans: OrderedDict[Path, VideoScan] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, path: Path) -> VideoFile:
        """The file, with its scan in place."""
        video = VideoFile(path)
        with self._lock:
            scan = self._scans.get(path)
            if scan is not None:
                self._scans.move_to_end(path)
        if scan is None:
            try:
                scan = video.scan()
            except BaseException:
                video.close()
                raise
            with self._lock:
                self._scans[path] = scan
                while len(self._scans) > CAPACITY:
                    self._scans.popitem(last=False)
        video.use_scan(scan)
        return video
