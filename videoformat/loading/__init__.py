"""What training on a dataset needs and torch has no part in."""

from videoformat.loading.columns import FrameColumns
from videoformat.loading.facts import DatasetFacts
from videoformat.loading.handle import DatasetHandle
from videoformat.loading.selection import FramePlace, Selection
from videoformat.loading.windows import Window, frame_deltas, window

__all__ = [
    "DatasetFacts",
    "DatasetHandle",
    "FrameColumns",
    "FramePlace",
    "Selection",
    "Window",
    "frame_deltas",
    "window",
]
