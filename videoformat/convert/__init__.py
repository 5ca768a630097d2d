"""Datasets and video files of other formats, read and converted."""

from videoformat.convert.engine import convert
from videoformat.convert.progress import ConvertReport, Progress

__all__ = ["ConvertReport", "Progress", "convert"]
