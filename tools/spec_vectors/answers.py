"""The answers that a reader must give for a vector, from a full sequential decode of every chunk.

Nothing here takes a closure from the library's own read path to the decoder: each chunk is decoded
whole, in decode order, by one decoder, and RGB follows the formula of the specification.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import av
import numpy as np
import pyarrow as pa

from videoformat.index.features import Feature
from videoformat.index.pictures import PictureIndex
from videoformat.index.plan import plan_chunk
from videoformat.index.schema import DatasetInfo, media_columns
from videoformat.reading import parse_index

__all__ = ["answers"]

UInt8Array = np.ndarray[Any, np.dtype[np.uint8]]
_WEIGHTS = {"smpte170m": (0.299, 0.114), "bt709": (0.2126, 0.0722)}


def answers(rows: pa.Table, about: str) -> dict[str, Any]:
    """What a reader must find in the rows, as JSON."""
    info = DatasetInfo.from_schema(rows.schema)
    table = rows.to_pylist()
    starts = [at for at, row in enumerate(table) if row["chunk_index"] == 0]
    episodes = []
    for start, end in zip(starts, [*starts[1:], len(table)], strict=True):
        first = table[start]
        episodes.append(
            {
                "uid": first["episode_uid"],
                "length": first["episode_length"],
                "tasks": first["tasks"],
                "values": {
                    key: [v for row in table[start:end] for v in row[feature.column]]
                    for key, feature in info.tabular.items()
                },
                "cameras": {
                    key: _camera(rows, range(start, end), feature)
                    for key, feature in info.cameras.items()
                },
            }
        )
    codecs = sorted(
        {row[media_columns(c)[2]]["codec"] for row in table for c in info.cameras.values()}
    )
    return {"about": about, "codecs": codecs, "episodes": episodes}


def _camera(rows: pa.Table, numbers: range, camera: Feature) -> dict[str, Any]:
    chunks: list[dict[str, Any]] = []
    frames: list[dict[str, Any]] = []
    requests: list[dict[str, Any]] = []
    for row in numbers:
        index = parse_index(rows, row, camera)
        chunks.append({"row": row, "references": index.references, "order": _stored_order(index)})
        media = rows.column(media_columns(camera)[0])[row].as_py()
        frames += _frames(index, media)
        requests += [_request(index, row, wanted) for wanted in _choices(index)]
    return {"chunks": chunks, "frames": frames, "requests": requests}


def _stored_order(index: PictureIndex) -> list[int]:
    return sorted(range(len(index)), key=lambda at: index.offset[at])


def _choices(index: PictureIndex) -> Iterator[list[int]]:
    """Frames to ask for together: neighbours, the ends, some far apart, all."""
    frames = range(index.key.first_frame, index.key.end_frame)
    distinct = {
        tuple(frames[len(frames) // 2 :][:3]),
        (frames[0], frames[-1]),
        tuple(frames[3::16]),
        tuple(frames),
    }
    for wanted in sorted(distinct - {()}):
        yield list(wanted)


def _request(index: PictureIndex, row: int, frames: list[int]) -> dict[str, Any]:
    plan = plan_chunk(index, frames)
    ranges = [[item.start, item.end] for item in plan.ranges]
    return {"frames": frames, "row": row, "groups": plan.groups, "ranges": ranges}


def _frames(index: PictureIndex, media: bytes) -> Iterator[dict[str, Any]]:
    stream = index.stream
    is_av1 = stream.codec == "av1"
    decoder: Any = av.CodecContext.create("libdav1d" if is_av1 else stream.codec, "r")
    if not is_av1:
        decoder.extradata = stream.configuration
    decoder.thread_count = 1
    packets: list[Any] = []
    for at, (offset, size) in enumerate(zip(index.offset, index.size, strict=True)):
        lead = stream.configuration if is_av1 and not at else b""
        packets.append(av.Packet(lead + media[offset : offset + size]))
        packets[-1].pts = packets[-1].dts = at
    decoded = {frame.pts: frame for packet in [*packets, None] for frame in decoder.decode(packet)}
    base = Fraction(stream.time_base_numerator, stream.time_base_denominator)
    for frame, at in sorted(index.position_of.items()):
        planes = list(_planes(decoded[at], stream.width, stream.height))
        pts = index.pts[at]
        yield {
            "frame": frame,
            "time": None if pts is None else str(pts * base),
            "closure": sorted(index.closure([at])),
            "yuv_sha256": _sha256(*planes),
            "rgb_sha256": _sha256(_rgb(planes, stream.color_matrix, stream.color_range)),
        }


def _sha256(*arrays: UInt8Array) -> str:
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


def _planes(frame: Any, width: int, height: int) -> Iterator[UInt8Array]:
    for at, plane in enumerate(frame.planes):
        shift = 1 if at else 0
        lines = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
        yield lines[: (height + shift) >> shift, : (width + shift) >> shift]


def _rgb(planes: list[UInt8Array], matrix: str, color_range: str) -> UInt8Array:
    kr, kb = _WEIGHTS[matrix]
    height, width = planes[0].shape
    chroma = [
        plane.repeat(2, 0).repeat(2, 1)[:height, :width].astype(float) for plane in planes[1:]
    ]
    black, white, swing = (16, 219, 224) if color_range == "limited" else (0, 255, 255)
    y = (planes[0].astype(float) - black) / white
    b, r = ((plane - 128) / swing for plane in chroma)
    red, blue = y + 2 * (1 - kr) * r, y + 2 * (1 - kb) * b
    green = (y - kr * red - kb * blue) / (1 - kr - kb)
    rgb = np.clip(np.floor(np.stack([red, green, blue], axis=-1) * 255 + 0.5), 0, 255)
    return rgb.astype(np.uint8)
