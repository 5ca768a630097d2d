"""Datasets and samplers for PyTorch. The only importer of torch, with ``videoformat.lerobot``."""

from videoformat.torch.loader import FramePlace, ImageForm, ItemReader, RawItem

__all__ = ["FramePlace", "ImageForm", "ItemReader", "RawItem"]
