"""Random closures of a stream, rewritten, decoded and compared with the whole stream's pixels.

Run as a script it goes over all settings with as many requests as asked for::

    python tests/bitstream/h264_closures.py 200
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

if __name__ == "__main__":
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parents[1]))

from bitstream.h264_streams import SETTINGS, EncodedStream, decode, decode_groups, stream

from videoformat.bitstream.closure import ClosurePicture
from videoformat.bitstream.h264 import H264Indexer
from videoformat.bitstream.h264_rewrite import H264Rewriter
from videoformat.bitstream.nal import to_annexb
from videoformat.bitstream.picture import Picture


@dataclass(frozen=True)
class IndexedStream:
    encoded: EncodedStream
    pictures: tuple[Picture, ...]
    configuration: bytes
    whole: dict[int, bytes]


def indexed(encoded: EncodedStream) -> IndexedStream:
    indexer = H264Indexer(encoded.configuration)
    pictures = tuple(indexer.push(unit)[0] for unit in encoded.access_units)
    whole = decode([list(enumerate(encoded.access_units))], encoded.configuration)
    assert len(whole) == len(pictures)
    return IndexedStream(encoded, pictures, to_annexb(indexer.configuration_nal_units), whole)


def closure(pictures: Sequence[Picture], targets: Collection[int]) -> list[int]:
    """Positions of the pictures that the targets' references lead to, in decode order."""
    stack, found = list(targets), set(targets)
    while stack:
        for reference in pictures[stack.pop()].references:
            if reference not in found:
                found.add(reference)
                stack.append(reference)
    return sorted(found)


def closure_pictures(source: IndexedStream, positions: Sequence[int]) -> list[ClosurePicture]:
    return [
        ClosurePicture(
            at,
            source.pictures[at].order_count,
            source.pictures[at].reference_lists,
            source.encoded.access_units[at],
        )
        for at in positions
    ]


def requests(source: IndexedStream, count: int, seed: int) -> list[list[int]]:
    """Sets of wanted positions: few at random, windows in presentation order, strides."""
    rng = random.Random(seed)
    total = len(source.pictures)
    presented = sorted(range(total), key=lambda at: source.encoded.pts[at])
    wanted = []
    for _ in range(count):
        kind = rng.random()
        if kind < 0.5:
            found = [rng.randrange(total)]
        elif kind < 0.7:
            found = [rng.randrange(total) for _ in range(rng.randint(2, 8))]
        elif kind < 0.85:
            first = rng.randrange(max(1, total - 10))
            found = presented[first : first + 10]
        else:
            found = presented[rng.randrange(13) :: 13]
        wanted.append(sorted(set(found)))
    return wanted


@dataclass
class Outcome:
    targets: int = 0
    pictures: int = 0
    wrong: int = 0
    missing: int = 0
    seconds: float = 0.0


def check(source: IndexedStream, wanted: Sequence[Sequence[int]]) -> Outcome:
    """Rewrites and decodes each request with one decoder, drained and flushed in between."""
    rewriter = H264Rewriter(source.configuration)
    outcome = Outcome()
    groups, closures = [], []
    for targets in wanted:
        positions = closure(source.pictures, targets)
        pictures = closure_pictures(source, positions)
        begin = time.process_time()
        access_units = rewriter.rewrite(pictures)
        outcome.seconds += time.process_time() - begin
        outcome.pictures += len(positions)
        groups.append(list(zip(positions, access_units, strict=True)))
        closures.append(positions)
    for positions, decoded in zip(
        closures, decode_groups(groups, rewriter.configuration), strict=True
    ):
        # Every picture of a closure is decoded, so every one is compared.
        for at in positions:
            outcome.targets += 1
            outcome.missing += at not in decoded
            outcome.wrong += at in decoded and decoded[at] != source.whole[at]
    return outcome


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    failed = False
    for name in sys.argv[2:] or SETTINGS:
        source = indexed(stream(name, 150))
        outcome = check(source, requests(source, count, seed=len(name)))
        failed |= bool(outcome.wrong or outcome.missing)
        kept = outcome.pictures
        print(
            f"{name}: {outcome.targets} pictures in {count} closures, {outcome.wrong} wrong, "
            f"{outcome.missing} missing, {1e6 * outcome.seconds / kept:.0f} us a kept picture",
            flush=True,
        )
    sys.exit(failed)


if __name__ == "__main__":
    main()
