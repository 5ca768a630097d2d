"""Datasets and samplers for PyTorch. The only importer of torch, with ``videoformat.lerobot``.

::

    from videoformat.torch import FrameDataset, IntervalSampler

    frames = FrameDataset("pick.vf", size=(224, 224))
    sampler = IntervalSampler(frames, buffer=32)
    loader = DataLoader(frames, batch_size=32, sampler=sampler, num_workers=2)
"""

from videoformat.torch.frames import FrameDataset
from videoformat.torch.loader import ImageForm, ItemReader, RawItem
from videoformat.torch.sampler import IntervalSampler
from videoformat.torch.stream import FrameStream

__all__ = [
    "FrameDataset",
    "FrameStream",
    "ImageForm",
    "IntervalSampler",
    "ItemReader",
    "RawItem",
]
