"""Random closures of a stream, rewritten, decoded and compared with the whole stream's pixels.

Run as a script it goes over all settings, and as many random ones as asked for, with as many
requests each as asked for::

    python tests/bitstream/h264_closures.py 200 50
"""

from __future__ import annotations

import functools
import random
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

if __name__ == "__main__":
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parents[1]))

from bitstream.h264_streams import SETTINGS, EncodedStream, decode, decode_groups, encode, stream

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


@functools.cache
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


def random_settings(rng: random.Random) -> tuple[str, dict[str, str]]:
    """x264-params and options from all that bears on references, lists, order and weights."""
    params = {
        "bframes": rng.choice([0, 1, 2, 3, 5, 8, 16]),
        "b-adapt": rng.choice([0, 1, 2]),
        "b-pyramid": rng.choice(["none", "strict", "normal"]),
        "ref": rng.choice([1, 2, 3, 4, 6, 8, 16]),
        "weightp": rng.choice([0, 1, 2]),
        "weightb": rng.choice([0, 1]),
        "direct": rng.choice(["none", "spatial", "temporal", "auto"]),
        "slices": rng.choice([1, 1, 1, 2, 4]),
        "cabac": rng.choice([0, 1]),
        "open-gop": rng.choice([0, 1]),
        "keyint": rng.choice([5, 12, 30, 250]),
        "min-keyint": rng.choice([1, 3, 30]),
        "scenecut": rng.choice([0, 40]),
        "8x8dct": rng.choice([0, 1]),
        "constrained-intra": rng.choice([0, 0, 1]),
        "intra-refresh": rng.choice([0, 0, 0, 1]),
    }
    if rng.random() < 0.25:
        params[rng.choice(["tff", "bff"])] = 1
    options = {
        "preset": rng.choice(["ultrafast", "superfast", "veryfast", "medium", "slower"]),
        "pixel_format": rng.choice(["yuv420p"] * 4 + ["yuv420p10le", "yuv422p", "yuv444p", "gray"]),
    }
    return ":".join(f"{name}={value}" for name, value in params.items()), options


def main() -> None:
    count, settings = (int(argument) for argument in (*sys.argv[1:], "100", "0")[:2])
    streams = {name: (stream(name, 150), name) for name in SETTINGS}
    rng = random.Random(settings)
    for number in range(settings):
        params, options = random_settings(rng)
        streams[f"random {number}"] = (encode(params, 150, **options), f"{params} {options}")
    failed = False
    for name, (encoded, description) in streams.items():
        source = indexed(encoded)
        outcome = check(source, requests(source, count, seed=len(description)))
        wrong = bool(outcome.wrong or outcome.missing)
        failed |= wrong
        print(
            f"{description if wrong else name}: {outcome.targets} pictures in {count} "
            f"closures, {outcome.wrong} wrong, {outcome.missing} missing, "
            f"{1e6 * outcome.seconds / outcome.pictures:.0f} us a kept picture",
            flush=True,
        )
    sys.exit(failed)


if __name__ == "__main__":
    main()
