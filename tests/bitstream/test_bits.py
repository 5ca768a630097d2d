"""The bit-level primitives of H.264 and HEVC against hand-worked codes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoformat.bitstream.bits import (
    BitReader,
    OutOfBitsError,
    bits_to_bytes,
    se_bits,
    u_bits,
    ue_bits,
)
from videoformat.errors import BitstreamError

# H.264 table 9-2: codeNum and its bits; se(v) by table 9-3.
EXP_GOLOMB = [
    ("1", 0, 0),
    ("010", 1, 1),
    ("011", 2, -1),
    ("00100", 3, 2),
    ("00101", 4, -2),
    ("00110", 5, 3),
    ("00111", 6, -3),
    ("0001000", 7, 4),
    ("0001001", 8, -4),
    ("0001010", 9, 5),
    ("0001111", 14, -7),
    ("000010000", 15, 8),
    ("000011111", 30, -15),
    ("0" * 8 + "100000000", 255, 128),
    ("0" * 16 + "1" + "0" * 16, 65535, 32768),
    ("0" * 31 + "1" * 32, 2**32 - 2, -(2**31 - 1)),
]


def reader(bits: str) -> BitReader:
    return BitReader(bits_to_bytes(bits + "0" * (-len(bits) % 8)), "test")


@pytest.mark.parametrize(("bits", "unsigned", "signed"), EXP_GOLOMB)
def test_exp_golomb_codes(bits: str, unsigned: int, signed: int) -> None:
    r = reader(bits + "1")
    assert r.ue("x") == unsigned
    assert r.position == len(bits)
    r = reader(bits + "1")
    assert r.se("x") == signed
    assert r.position == len(bits)
    assert ue_bits(unsigned) == bits
    assert se_bits(signed) == bits


@pytest.mark.parametrize(
    ("data", "bits", "value"),
    [
        (b"\x80", 1, 1),
        (b"\x80", 8, 128),
        (b"\x12\x34", 12, 0x123),
        (b"\x00\x01", 16, 1),
        (b"", 0, 0),
    ],
)
def test_unsigned_integers(data: bytes, bits: int, value: int) -> None:
    r = BitReader(data)
    assert r.u(bits, "x") == value
    assert r.position == bits
    assert u_bits(value, bits) == "".join(f"{octet:08b}" for octet in data)[:bits]


def test_reads_follow_each_other() -> None:
    r = reader("10100110001011")
    assert r.flag("a") is True
    assert r.ue("b") == 1
    assert r.u(4, "c") == 6
    assert r.se("d") == -2
    assert r.more_rbsp_data() is False  # only the stop bit and zeros are left
    assert r.position == 13
    assert r.remaining == 3
    assert not r.byte_aligned
    r.skip(3, "e")
    assert r.byte_aligned


@pytest.mark.parametrize("bits", ["", "0", "00000000", "0001", "00000001", "000000001111111"])
def test_a_code_that_is_cut_off(bits: str) -> None:
    r = BitReader(b"", "SPS")
    r.bits = bits
    with pytest.raises(OutOfBitsError, match="SPS: bit_depth_luma_minus8 at bit 0 needs"):
        r.ue("bit_depth_luma_minus8")
    assert r.position == 0


def test_reads_past_the_end_name_the_element() -> None:
    for read in (lambda r: r.u(9, "name"), lambda r: r.skip(9, "name")):
        with pytest.raises(OutOfBitsError, match="SPS: name at bit 0 needs 9 bits, 8 are left"):
            read(BitReader(b"\xff", "SPS"))
    r = BitReader(b"", "SPS")
    with pytest.raises(OutOfBitsError, match="SPS: name at bit 0 needs 1 bits, 0 are left"):
        r.flag("name")


def test_a_code_with_too_many_zeros() -> None:
    r = reader("0" * 33 + "1" * 40)
    with pytest.raises(BitstreamError, match="33 leading zeros, at most 32"):
        r.ue("x")


def test_values_above_their_maximum() -> None:
    with pytest.raises(BitstreamError, match="slice_type before bit 5 is 3, expected at most 2"):
        reader("00100").ue("slice_type", 2)
    with pytest.raises(BitstreamError, match="is 4294967295, expected at most 4294967294"):
        reader("0" * 32 + "1" + "0" * 32).ue("x")


@pytest.mark.parametrize(
    "write",
    [lambda: u_bits(8, 3), lambda: u_bits(-1, 3), lambda: ue_bits(-1), lambda: ue_bits(2**32 - 1)],
)
def test_values_that_cannot_be_written(write) -> None:
    with pytest.raises(BitstreamError):
        write()


def test_bits_that_are_not_whole_bytes() -> None:
    with pytest.raises(BitstreamError, match="7 bits are not a whole number of bytes"):
        bits_to_bytes("1010101")
    assert bits_to_bytes("") == b""
    assert bits_to_bytes("0000000010000001") == b"\x00\x81"


ELEMENTS = st.lists(
    st.one_of(
        st.tuples(st.just("ue"), st.integers(0, 2**32 - 2)),
        st.tuples(st.just("se"), st.integers(-(2**31 - 1), 2**31 - 1)),
        st.integers(1, 70).flatmap(
            lambda bits: st.tuples(st.just(bits), st.integers(0, 2**bits - 1))
        ),
    ),
    max_size=30,
)


@given(ELEMENTS)
def test_what_is_written_is_read(elements) -> None:
    bits = ""
    for kind, value in elements:
        bits += {"ue": ue_bits, "se": se_bits}.get(kind, lambda v, n=kind: u_bits(v, n))(value)
    r = reader(bits)
    for kind, value in elements:
        read = {"ue": r.ue, "se": r.se}.get(kind, lambda name, n=kind: r.u(n, name))
        assert read("x") == value
    assert r.position == len(bits)


@given(st.binary(max_size=40), st.lists(st.sampled_from(["ue", "se", "flag"]), max_size=60))
def test_reading_any_bytes_raises_nothing_else(data: bytes, reads: list[str]) -> None:
    r = BitReader(data)
    try:
        for read in reads:
            getattr(r, read)("x")
    except BitstreamError:
        pass
    assert 0 <= r.position <= 8 * len(data)
