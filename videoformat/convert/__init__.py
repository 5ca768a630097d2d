"""Datasets and video files of other formats, read and converted."""

from videoformat.convert.engine import ConvertReport, Progress, convert

__all__ = ["ConvertReport", "Progress", "convert"]
