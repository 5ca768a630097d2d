"""Episodes copied as they are, from dataset to dataset: merge, subset, split."""

from videoformat.merging.copying import CopyReport, merge, split, subset

__all__ = ["CopyReport", "merge", "split", "subset"]
