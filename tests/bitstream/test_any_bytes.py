"""Any bytes given to any parser are read or refused by name, and what is read fits together."""

import contextlib
import random
import tracemalloc
from collections.abc import Callable

import pytest
from fuzz.pack import pack, unpack
from fuzz.seeds import seeds
from fuzz.targets import TARGETS
from hypothesis import given, settings
from hypothesis import strategies as st

from videoformat.bitstream.bits import ue_bits
from videoformat.bitstream.codecs import make_indexer
from videoformat.errors import VideoFormatError
from videoformat.index.native import CodedUnit, StreamIndexer


@st.composite
def mutations(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """A few edits of a byte string: bits turned, bytes cut, repeated, moved or put in."""
    seed = draw(st.integers(0, 2**32 - 1))
    count = draw(st.integers(1, 6))

    def mutate(data: bytes) -> bytes:
        rng = random.Random(seed)
        edited = bytearray(data)
        for _ in range(count):
            at = rng.randrange(len(edited) + 1)
            length = rng.choice([1, 1, 2, 4, 16])
            kind = rng.randrange(6)
            if kind == 0 and at < len(edited):
                edited[at] ^= 1 << rng.randrange(8)
            elif kind == 1:
                del edited[at : at + length]
            elif kind == 2:
                edited[at:at] = edited[at : at + length]
            elif kind == 3:
                edited[at:at] = rng.randbytes(length)
            elif kind == 4:
                edited[at : at + length] = rng.choice([b"\0", b"\xff", b"\x80"]) * length
            else:
                other = rng.randrange(len(edited) + 1)
                edited[at : at + length] = edited[other : other + length]
        return bytes(edited)

    return mutate


@pytest.mark.parametrize("target", TARGETS)
def test_the_seeds_are_understood(target: str) -> None:
    for seed in seeds(target):
        TARGETS[target](seed)
        if target in ("h264", "hevc", "av1"):
            _, configuration, *units = unpack(seed)
            framing = "obu" if target == "av1" else "annexb"
            indexer = StreamIndexer(target, configuration, framing)
            for unit in units:
                indexer.push(CodedUnit(unit, None))
            assert indexer.must_be_decoded is (seed == seeds("hevc")[-1])
            decoded = range(len(units)) if indexer.must_be_decoded else None
            assert indexer.finish(decoded).frame_count == len(units) == 12


@settings(max_examples=120)
@given(data=st.data())
@pytest.mark.parametrize("target", TARGETS)
def test_mutated_streams(target: str, data: st.DataObject) -> None:
    seed = data.draw(st.sampled_from(seeds(target)))
    mutate = data.draw(mutations())
    if target in ("nal", "obu"):
        TARGETS[target](mutate(seed))
        return
    # One part is edited, or they change places, so that most of the stream is still understood.
    parts = unpack(seed)
    at = data.draw(st.integers(1, len(parts) - 1))
    match data.draw(st.sampled_from(["edit", "drop", "swap", "repeat"])):
        case "edit":
            parts[at] = mutate(parts[at])
        case "drop":
            del parts[at]
        case "swap":
            other = data.draw(st.integers(1, len(parts) - 1))
            parts[at], parts[other] = parts[other], parts[at]
        case "repeat":
            parts.insert(at, parts[at])
    TARGETS[target](pack(parts))


@settings(max_examples=100)
@given(data=st.binary(max_size=200))
@pytest.mark.parametrize("target", TARGETS)
def test_any_bytes(target: str, data: bytes) -> None:
    TARGETS[target](data)
    TARGETS[target](pack([b"", data, data]))


HUGE = ue_bits(2**32 - 2)


@pytest.mark.parametrize("kind", ["h264", "hevc", "av1"])
@pytest.mark.parametrize(
    "bits",
    [
        HUGE * 40,
        "1" * 4000,
        "0" * 4000,
        "01" * 2000,
        (ue_bits(254) + HUGE) * 30,
        ue_bits(65534) * 100,
    ],
)
def test_numbers_that_ask_for_much_take_little(kind: str, bits: str) -> None:
    """Counts are bounded before anything of their size is made."""
    payload = int("1" + bits + "1" * (-len(bits) % 8), 2).to_bytes(len(bits) // 8 + 2, "big")[1:]
    heads = {
        "h264": [b"\x67\x64\x00\x1f", b"\x68", b"\x65", b"\x06", b"\x67\x42\x00\x1f"],
        "hevc": [b"\x42\x01", b"\x44\x01", b"\x26\x01", b"\x4e\x01", b"\x40\x01"],
        "av1": [bytes([kind << 3 | 2, 0x80, 0x20]) for kind in (1, 3, 6)],
    }[kind]
    tracemalloc.start()
    try:
        for head in heads:
            unit = head + payload if kind == "av1" else b"\0\0\1" + head + payload
            with contextlib.suppress(VideoFormatError):
                make_indexer(kind, unit).push(unit)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**20
