"""The bit-level primitives of AV1 against hand-worked codes (AV1 4.10)."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoformat.bitstream.bits import BitReader, OutOfBitsError, bits_to_bytes
from videoformat.errors import BitstreamError


def reader(bits: str) -> BitReader:
    return BitReader(bits_to_bytes(bits + "0" * (-len(bits) % 8)), "test")


@pytest.mark.parametrize(
    ("bits", "width", "value"),
    [
        ("0", 1, 0),
        ("1", 1, -1),
        ("0111", 4, 7),
        ("1000", 4, -8),
        ("1111", 4, -1),
        ("1000001", 7, -63),
    ],
)
def test_su(bits: str, width: int, value: int) -> None:
    r = reader(bits)
    assert r.su(width, "x") == value
    assert r.position == width


# ns(5) is the specification's own example (4.10.7): 00, 01, 10, 110, 111.
@pytest.mark.parametrize(
    ("count", "codes"),
    [
        (1, [""]),
        (2, ["0", "1"]),
        (3, ["0", "10", "11"]),
        (5, ["00", "01", "10", "110", "111"]),
        (6, ["00", "01", "100", "101", "110", "111"]),
        (8, ["000", "001", "010", "011", "100", "101", "110", "111"]),
    ],
)
def test_ns(count: int, codes: list[str]) -> None:
    for value, code in enumerate(codes):
        r = reader(code + "1")
        assert r.ns(count, "x") == value
        assert r.position == len(code)


def test_le() -> None:
    assert BitReader(b"\x01\x02\x03").le(3, "x") == 0x030201


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"\x00", 0),
        (b"\x7f", 127),
        (b"\x80\x01", 128),
        (b"\xe5\x8e\x26", 624485),
        (b"\x80\x80\x80\x00", 0),
        (b"\xff\xff\xff\xff\x0f", 2**32 - 1),
        (b"\xff\xff\xff\xff\x8f\x80\x80\x00", 2**32 - 1),
    ],
)
def test_leb128(data: bytes, value: int) -> None:
    r = BitReader(data + b"\xff")
    assert r.leb128("x") == value
    assert r.position == 8 * len(data)


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff\x1f", b"\x80" * 8, b"\x80" * 7 + b"\x81\x00"])
def test_leb128_out_of_range(data: bytes) -> None:
    with pytest.raises(BitstreamError, match=r"leb128|at most"):
        BitReader(data).leb128("x")


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x80\x80"])
def test_leb128_cut_off(data: bytes) -> None:
    with pytest.raises(OutOfBitsError):
        BitReader(data).leb128("x")


@pytest.mark.parametrize(
    ("bits", "value"),
    [
        ("1", 0),
        ("010", 1),
        ("011", 2),
        ("00100", 3),
        ("00111", 6),
        ("0" * 31 + "1" + "1" * 31, 2**32 - 2),
        # 32 leading zeros or more stand for the largest value, and no bits follow.
        ("0" * 32 + "1", 2**32 - 1),
        ("0" * 40 + "1", 2**32 - 1),
    ],
)
def test_uvlc(bits: str, value: int) -> None:
    r = reader(bits + "1")
    assert r.uvlc("x") == value
    assert r.position == len(bits)


@given(st.binary(max_size=12))
def test_corrupt_bytes_raise_nothing_else(data: bytes) -> None:
    for read in (
        lambda r: r.leb128("x"),
        lambda r: r.uvlc("x"),
        lambda r: r.ns(77, "x"),
        lambda r: r.su(9, "x"),
        lambda r: r.le(4, "x"),
    ):
        with contextlib.suppress(BitstreamError):
            read(BitReader(data))
