"""Datasets and video files of other formats, read and converted."""
