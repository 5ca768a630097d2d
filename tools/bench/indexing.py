"""What indexing existing video costs: microseconds a picture, from access units in memory.

The coded pictures of every video file of a dataset are read first; then all are parsed into the
index that `convert(video="native")` stores (NAL units or OBUs, headers, references, order, checksums).

    python tools/bench/indexing.py LEROBOT [LEROBOT ...] [--rounds 9] [--json OUT]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from machine import describe, sentence

from videoformat.bitstream.codecs import stored_configuration
from videoformat.index.native import CodedUnit, StreamIndexer
from videoformat.media.demux import VideoFile


@dataclass(frozen=True, slots=True)
class CodedStream:
    """The access units of one file."""

    codec: str
    configuration: bytes
    framing: str
    units: tuple[CodedUnit, ...]

    def index(self) -> int:
        """Indexes all of them; the number of pictures."""
        indexer = StreamIndexer(self.codec, self.configuration, self.framing)
        for unit in self.units:
            indexer.push(unit)
        return len(indexer.finish().pictures)


def streams_of(root: Path) -> Iterator[CodedStream]:
    """The streams of a dataset's video files."""
    for path in sorted(root.rglob("*.mp4")):
        with VideoFile(path) as video:
            configuration, framing = stored_configuration(video.codec, video.extradata)
            units = tuple(
                CodedUnit(bytes(packet), packet.pts, not packet.is_discard)
                for packet in video.packets()
                if packet.size
            )
        yield CodedStream(video.codec, configuration, framing, units)


def measure(root: Path, rounds: int) -> dict[str, object]:
    """CPU microseconds a picture: the median and the least of some rounds."""
    streams = list(streams_of(root))
    times = []
    pictures = 0
    for _ in range(rounds):
        begin = time.process_time()
        pictures = sum(stream.index() for stream in streams)
        times.append(1e6 * (time.process_time() - begin) / pictures)
    return {
        "dataset": root.name,
        "files": len(streams),
        "pictures": pictures,
        "codec": streams[0].codec,
        "bytes_per_picture": sum(len(u.data) for s in streams for u in s.units) // pictures,
        "median_us": statistics.median(times),
        "least_us": min(times),
    }


def main() -> None:
    """Measures each dataset and prints a line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("lerobot", type=Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(sentence())
    found = [measure(root, options.rounds) for root in options.lerobot]
    for line in found:
        print(
            f"{line['dataset']}: {line['median_us']:.1f} us a picture (least {line['least_us']:.1f}), "
            f"{line['pictures']} pictures of {line['codec']}, {line['bytes_per_picture']} bytes each"
        )
    if options.json is not None:
        facts = {"machine": describe(), "results": found}
        options.json.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
