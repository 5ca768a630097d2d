"""Every closure decoded on its own, compared with one sequential decode of the whole chunk.

Strategy: the sequential decode feeds every access unit, in decode order, to one new decoder, as any
player would; only a digest of each picture is kept. The closures then go down the path that reads
use (plan, group, tag, flush, reuse of decoders), one frame at a time.
"""

from __future__ import annotations

from videoformat.errors import DecodeError, StructureError, VideoFormatError
from videoformat.index.pictures import PictureIndex
from videoformat.index.plan import plan_chunk
from videoformat.media.decoder import ClosureDecoder
from videoformat.media.digest import picture_digest
from videoformat.reading import ChunkRead, Reader, ReadReport
from videoformat.verify.findings import Findings, listed

__all__ = ["check_decoding"]


def check_decoding(
    reader: Reader, row: int, index: PictureIndex, media: bytes, findings: Findings
) -> None:
    """Decodes a chunk sequentially, then every frame from its closure, and compares all samples."""
    sequential = None
    with findings.noting("decode"):
        sequential = _sequential_digests(index, media)
    if sequential is None:
        return
    episode = -1 if findings.episode is None else findings.episode
    refused: list[int] = []
    different: list[int] = []
    first: VideoFormatError | None = None
    for frame in sorted(index.position_of):
        findings.closures += 1
        try:
            plan = plan_chunk(index, [frame])
            chunk = ChunkRead(episode, findings.camera or "", row, index, plan)
            parts = [media[item.start : item.end] for item in plan.ranges]
            digests = [
                picture_digest(picture) for _, picture in reader.decode(chunk, parts, ReadReport())
            ]
        except VideoFormatError as error:
            refused.append(frame)
            first = first or error
            continue
        if digests != [sequential[frame]]:
            different.append(frame)
    if refused:
        findings.add("decode", f"the closures of frames {listed(refused)} do not decode: {first}")
    if different:
        findings.add(
            "decode",
            f"frames {listed(different)} decode from their closures to other samples than "
            "sequentially",
        )


def _sequential_digests(index: PictureIndex, media: bytes) -> dict[int, bytes]:
    """A digest of each frame, by frame, from one decoder that is fed everything."""
    stream = index.stream
    decoder = ClosureDecoder(stream.codec, stream.configuration, stream.framing)
    packets = (
        (at, media[offset : offset + size])
        for at, (offset, size) in enumerate(zip(index.offset, index.size, strict=True))
    )
    frames = {at: frame for frame, at in index.position_of.items()}
    digests: dict[int, bytes] = {}
    # A star comes out as it went in, anchors first; any other stream in presentation order.
    is_star = stream.structure == "star"
    previous = -1
    try:
        for at, picture in decoder.decode_group(packets, frames):
            place = at if is_star else frames[at]
            if place < previous:
                raise StructureError(
                    f"a decoder returns {'picture' if is_star else 'frame'} {place} after {previous}"
                )
            previous = place
            digests[frames[at]] = picture_digest(picture)
    except DecodeError as error:
        raise DecodeError(f"a sequential decode of the chunk fails: {error}") from error
    return digests
