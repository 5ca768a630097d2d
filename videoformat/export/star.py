"""Stars in a container: what is stored in decode order, put into presentation order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from videoformat.bitstream.av1_star import SHOW_ANCHOR, hidden_anchor, wide_sequence_header
from videoformat.bitstream.h264_star import H264Presentation

if TYPE_CHECKING:
    from videoformat.export.samples import Sample
    from videoformat.index.pictures import PictureIndex

__all__ = ["StarUnits", "presented_configuration", "star_sample_plan"]


def presented_configuration(codec: str, configuration: bytes) -> bytes:
    """The codec configuration of a star in presentation order."""
    if codec == "av1":
        return wide_sequence_header(configuration)
    return H264Presentation(configuration).configuration


def star_sample_plan(index: PictureIndex) -> Iterator[tuple[tuple[int, ...], int, bool, bool]]:
    """The samples of a chunk: positions, the one that is shown, is it hidden before, is it sync.

    AV1 shows frames in the order of decoding: an anchor with frames before it is a part of the
    first of these, and shown in its turn. H.264 has order counts for that, and only a chunk's first
    picture starts a sequence.
    """
    if index.stream.codec != "av1":
        for at in range(len(index)):
            yield (at,), at, False, at == 0
        return
    starts = [at for at, is_reference in enumerate(index.is_reference) if is_reference]
    frames = index.frame_index
    for start, end in itertools.pairwise([*starts, len(index)]):
        leads = start + 1 == end or (frames[start] or 0) < (frames[start + 1] or 0)
        for at in sorted(range(start, end), key=lambda at: frames[at] or 0):
            if at == start:
                yield (at,), at, not leads, leads
            elif at == start + 1 and not leads:
                yield (start, at), at, False, True
            else:
                yield (at,), at, False, False


class StarUnits:
    """Rewrites the stored access units of one camera's stars, sample by sample."""

    def __init__(self, codec: str, configuration: bytes) -> None:
        self._configuration = configuration
        self._wide = presented_configuration(codec, configuration) if codec == "av1" else b""
        self._h264 = H264Presentation(configuration) if codec == "h264" else None
        self._chunk = -1

    def unit(self, sample: Sample, index: PictureIndex, parts: Sequence[bytes]) -> bytes:
        """The sample's bytes; ``parts`` are its pictures', in decode order."""
        if self._h264 is None:
            if sample.shows_hidden:
                return SHOW_ANCHOR
            if not sample.is_sync:
                return parts[0]
            anchor, *leaf = parts
            if leaf:
                anchor = hidden_anchor(anchor, self._configuration)
            # The binding of AV1 to MP4 (2.4) has a sequence header in every sync sample.
            return self._wide + anchor + b"".join(leaf)
        if sample.chunk != self._chunk:
            self._chunk = sample.chunk
            self._h264.begin_chunk()
        frame = sample.frame - index.key.first_frame
        if index.is_reference[sample.positions[0]]:
            return self._h264.anchor(parts[0], frame)
        return self._h264.leaf(parts[0], frame)
