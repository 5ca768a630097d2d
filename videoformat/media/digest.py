"""Comparing decoded pictures without keeping them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import av

__all__ = ["picture_digest"]

_DIGEST_BYTES = 16


def picture_digest(picture: av.VideoFrame) -> bytes:
    """A digest of every sample of every plane; equal exactly where the pictures are.

    Size and pixel format are part of it; the padding behind each line of a plane is not, since
    decoders leave there whatever was before.
    """
    layout = picture.format
    digest = hashlib.blake2b(
        f"{layout.name} {picture.width}x{picture.height}".encode(), digest_size=_DIGEST_BYTES
    )
    for number, plane in enumerate(picture.planes):
        # A packed layout (RGB, say) has all its components in the one plane.
        bits = layout.components[number].bits if layout.is_planar else layout.padded_bits_per_pixel
        width = plane.width * (-(-bits // 8))
        lines = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
        digest.update(lines[: plane.height, :width].tobytes())
    return digest.digest()
