"""The read path: chunks wanted, their indexes, one planned range read a camera, sparse decode."""

from videoformat.reading.indexes import parse_index
from videoformat.reading.options import ReadOptions
from videoformat.reading.plan import ChunkRead, ReadPlan
from videoformat.reading.reader import Reader
from videoformat.reading.report import ReadReport

__all__ = ["ChunkRead", "ReadOptions", "ReadPlan", "ReadReport", "Reader", "parse_index"]
