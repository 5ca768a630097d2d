"""Datasets for those who have never heard of this format: LeRobot v3.0 and v2.1, plain MP4."""

from videoformat.export.run import FORMATS, ExportReport, export

__all__ = ["FORMATS", "ExportReport", "export"]
