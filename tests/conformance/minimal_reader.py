"""A reader written from ``spec/v1`` alone, for H.264, HEVC and AV1 with access ``direct``.

``Reader`` takes an Arrow file of rows or a Lance dataset. F, T and B are sections of format.md,
table.md and bitstream.md.
"""

import json
import zlib
from fractions import Fraction

import av
import numpy as np
import pyarrow as pa

READER_FLAGS = frozenset()
MATRICES = {  # B5: Kr, Kb
    "bt709": (0.2126, 0.0722), "bt470bg": (0.299, 0.114), "smpte240m": (0.212, 0.087),
    "bt2020nc": (0.2627, 0.0593), "smpte170m": (0.299, 0.114), "fcc": (0.30, 0.11),
}  # fmt: skip
KNOWN = {  # what this reader declares: names of registry.md
    "codec": {"h264", "hevc", "av1"}, "framing": {"annexb", "obu"}, "access": {"direct"},
    "pixel_format": {"yuv420p"}, "color_matrix": MATRICES, "color_range": {"limited", "full"},
}  # fmt: skip
KEY = ["episode_uid", "chunk_index", "first_frame", "frame_count"]
STREAM = (  # noqa: SIM905 - T3, in the order of the checksum
    "codec width height decoded_width decoded_height pixel_format color_matrix color_range "
    "color_primaries color_transfer time_base_numerator time_base_denominator framing "
    "configuration structure interval closure_bound access access_reason encoder source_uri "
    "source_size media_size"
).split()
PICTURES = (  # noqa: SIM905 - T2
    "frame_index pts poc picture_type is_random_access is_reference offset size references "
    "reference_lists crc32"
).split()
NULLABLE = {"interval", "access_reason", "encoder", "source_uri", "source_size"}
NULLABLE |= {"frame_index", "pts", "poc", "reference_lists"}
NULLS = {"frame_index": -1, "pts": -(2**63), "poc": -(2**63)}


class RefusedError(Exception):
    """The specification says that this must not be read."""


def require(condition, message):
    if not condition:
        raise RefusedError(message)


def open_rows(path):
    """The table, and a function that reads bytes of its media."""
    if path.endswith(".arrow"):
        table = pa.ipc.open_file(path).read_all()
        return table, lambda row, column, at, size: table[column][row].as_py()[at : at + size]
    import lance

    dataset = lance.dataset(path)
    return dataset.to_table(), lambda row, column, at, size: dataset.read_blob_ranges(
        column, [(row, at, size)], selector="indices"
    )[0][2]


class Reader:
    def __init__(self, path):
        self.table, self.media = open_rows(path)
        metadata = (self.table.schema.metadata or {}).get(b"videoformat")
        require(metadata is not None, "no metadata under 'videoformat'")
        info = self.info = json.loads(metadata)
        require(info["format_version"].split(".")[0] == "1", info["format_version"])
        unknown = set(info.get("reader_flags", [])) - READER_FLAGS
        require(not unknown, f"reader flags {unknown}")
        cameras = {k for k, f in info["features"].items() if f["dtype"] in ("video", "image")}
        for key in info["features"]:  # F4
            for name in columns_of(key) if key in cameras else columns_of(key)[:1]:
                require(name in self.table.column_names, f"feature {key!r}: no column {name!r}")
        self.keys = self.table.select([*KEY, "episode_length"]).to_pylist()
        starts = [row for row, key in enumerate(self.keys) if key["chunk_index"] == 0]  # F5
        require(not self.keys or starts[:1] == [0], "the first row is no chunk 0")
        ends = [*starts[1:], len(self.keys)]
        self.episodes = [range(start, end) for start, end in zip(starts, ends, strict=True)]

    def chunks(self, episode):
        """The rows of an episode and the frames that each holds; F5."""
        first = self.keys[self.episodes[episode][0]]
        chunks = {}
        end = 0
        for number, row in enumerate(self.episodes[episode]):
            key = self.keys[row]
            expected = [first["episode_uid"], number, end]
            require([key[name] for name in KEY[:3]] == expected, f"row {row} is {key}")
            require(key["frame_count"] >= 1, f"row {row} has {key['frame_count']} frames")
            chunks[row] = range(end, end + key["frame_count"])
            end += key["frame_count"]
        require(end == first["episode_length"], f"{end} of {first['episode_length']} frames")
        return chunks

    def values(self, episode, key):
        """A tabular feature, one entry per frame; F4."""
        values = []
        for row, frames in self.chunks(episode).items():
            entries = self.table[columns_of(key)[0]][row].as_py()
            require(len(entries) == len(frames), f"{key}: {len(entries)} of {len(frames)}")
            values += entries
        return values

    def index(self, camera, row, frames):
        """The picture index and the stream of a chunk, checked (T2, T3, T4, B4)."""
        pictures, stream = (self.table[name][row].as_py() for name in columns_of(camera)[1:])
        require(pictures is not None and stream is not None, "the index is null")
        cell_of = [(STREAM, stream), *((PICTURES, picture) for picture in pictures)]
        nulls = {name for names, cell in cell_of for name in names if cell[name] is None}
        require(nulls <= NULLABLE, f"null: {nulls - NULLABLE}")
        checksum = zlib.crc32(b"".join(checksum_parts(self.keys[row], stream, pictures).values()))
        require(checksum == stream["checksum"], f"the index has checksum {checksum:#x}")
        for at, picture in enumerate(pictures):
            require(all(0 <= r < at for r in picture["references"]), f"references of {at}")
            left = stream["media_size"] - picture["offset"]
            require(picture["offset"] >= 0 and 1 <= picture["size"] <= left, f"bytes of {at}")
        shown = sorted(p["frame_index"] for p in pictures if p["frame_index"] is not None)
        require(shown == list(frames), f"the index shows {shown}, expected {frames}")
        for name, known in KNOWN.items():
            require(stream[name] in known, f"{name} is {stream[name]!r}")
        return pictures, stream

    def read(self, episode, camera, frames):
        """Frames by number: the planes Y, Cb, Cr, the exact time or None, the stream."""
        answer = {}
        for row, held in self.chunks(episode).items():
            wanted = set(held) & set(frames)
            if wanted:
                pictures, stream = self.index(camera, row, held)
                base = Fraction(stream["time_base_numerator"], stream["time_base_denominator"])
                targets = {at for at, p in enumerate(pictures) if p["frame_index"] in wanted}
                for group in split_groups(pictures, closure(pictures, targets), stream):
                    units = {at: self.unit(row, camera, pictures[at]) for at in group}
                    for at, planes in decode(stream, units, targets):
                        pts = pictures[at]["pts"]
                        time = None if pts is None else pts * base
                        answer[pictures[at]["frame_index"]] = planes, time, stream
        require(set(answer) == set(frames), f"no frames {set(frames) - set(answer)}")
        return answer

    def unit(self, row, camera, picture):
        unit = self.media(row, columns_of(camera)[0], picture["offset"], picture["size"])
        same = len(unit) == picture["size"] and zlib.crc32(unit) == picture["crc32"]
        require(same, f"the access unit of {picture} is damaged")
        return unit


def columns_of(key):
    return [key.replace(".", "/") + part for part in ("", "/pictures", "/stream")]


def closure(pictures, targets):
    """B2. A reference stands before what references it, so one pass from the end finds all."""
    closed = set(targets)
    for at in range(len(pictures) - 1, -1, -1):
        closed.update(pictures[at]["references"] if at in closed else ())
    return sorted(closed)


def split_groups(pictures, closed, stream):
    """B3: runs of positions, each for a flushed decoder."""
    groups = []
    for number, at in enumerate(closed):
        skipped = range(closed[number - 1] + 1, at) if number and stream["codec"] != "av1" else []
        if not number or any(pictures[r]["is_reference"] for r in skipped):
            groups.append([])
            require(pictures[at]["is_random_access"], f"picture {at} starts a group")
            back = [r for n in closed[number:] for r in pictures[n]["references"] if r < at]
            require(not back, f"references reach back over picture {at} to {back}")
        groups[-1].append(at)
    return groups


def decode(stream, units, targets):
    """B4: one group of access units, by position; yields the targets' planes."""
    is_av1 = stream["codec"] == "av1"
    decoder = av.CodecContext.create("libdav1d" if is_av1 else stream["codec"], "r")
    lead = stream["configuration"] if is_av1 else b""
    if stream["configuration"] and not is_av1:
        decoder.extradata = stream["configuration"]
    packets = [av.Packet(lead * (n == 0) + unit) for n, unit in enumerate(units.values())]
    for at, packet in zip(units, packets, strict=True):
        packet.pts = packet.dts = at
    try:
        out = [frame for packet in [*packets, None] for frame in decoder.decode(packet)]
    except av.error.FFmpegError as error:
        raise RefusedError(f"the decoder refused pictures {list(units)}: {error}") from None
    tags = [frame.pts for frame in out]
    exact = targets & set(units) <= set(tags) <= set(units) and len(set(tags)) == len(tags)
    require(exact, f"of the pictures {list(units)} came {tags}")
    for frame in out:
        if frame.pts in targets:
            found = [frame.width, frame.height, frame.format.name.replace("yuvj", "yuv")]
            require(found == [stream[name] for name in STREAM[3:6]], f"out came {found}")
            require(not frame.is_corrupt, f"picture {frame.pts} is corrupt")
            yield frame.pts, list(crop(frame, stream["width"], stream["height"]))


def crop(frame, width, height):
    for plane, shift in zip(frame.planes, (0, 1, 1), strict=True):
        lines = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
        yield lines[: (height + shift) >> shift, : (width + shift) >> shift].copy()


def to_rgb(planes, stream):
    """B5: uint8 [height, width, 3]."""
    kr, kb = MATRICES[stream["color_matrix"]]
    black, white, swing = (16, 219, 224) if stream["color_range"] == "limited" else (0, 255, 255)
    rows, columns = np.indices(planes[0].shape) // 2
    y = (planes[0] - float(black)) / white
    b, r = ((plane[rows, columns] - 128.0) / swing for plane in planes[1:])
    red, blue = y + 2 * (1 - kr) * r, y + 2 * (1 - kb) * b
    green = (y - kr * red - kb * blue) / (1 - kr - kb)
    scaled = np.floor(np.stack([red, green, blue], axis=-1) * 255 + 0.5)
    return np.clip(scaled, 0, 255).astype(np.uint8)


def i64(*values):
    return b"".join(value.to_bytes(8, "little", signed=True) for value in values)


def lists_bytes(lists):
    return i64(*map(len, lists)) + i64(*(value for items in lists for value in items))


def tagged(value):
    if value is None or isinstance(value, int):
        return b"\0" if value is None else b"\1" + i64(value)
    raw = value if isinstance(value, bytes) else value.encode()
    return b"\2" + i64(len(raw)) + raw


def checksum_parts(key, stream, pictures):
    """T4: the bytes that the checksum covers, part by part."""
    uid = key["episode_uid"].encode()
    column = {name: [picture[name] for picture in pictures] for name in PICTURES}
    nested = column["reference_lists"]
    return {
        "key": i64(len(uid)) + uid + i64(*(key[name] for name in KEY[1:])),
        "stream": b"".join(tagged(stream[name]) for name in STREAM),
        **{n: i64(*(null if v is None else v for v in column[n])) for n, null in NULLS.items()},
        "picture_type": "\n".join(column["picture_type"]).encode(),
        **{name: bytes(column[name]) for name in ("is_random_access", "is_reference")},
        **{name: i64(*column[name]) for name in ("offset", "size")},
        "references": lists_bytes(column["references"]),
        "reference_lists": i64(*(-1 if lists is None else len(lists) for lists in nested))
        + lists_bytes([items for lists in nested for items in lists or ()]),
        "crc32": b"".join(value.to_bytes(4, "little") for value in column["crc32"]),
    }
