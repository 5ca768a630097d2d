"""NAL units: splitting, emulation prevention, and the avcC and hvcC records."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoformat.bitstream.nal import (
    escape,
    parse_avcc,
    parse_hvcc,
    split_annexb,
    split_length_prefixed,
    to_annexb,
    to_length_prefixed,
    unescape,
    write_avcc,
    write_hvcc,
)
from videoformat.errors import BitstreamError

# H.264 7.4.1: no three bytes 00 00 00 to 00 00 03 may appear in a NAL unit.
EMULATION = [
    ("", ""),
    ("000001", "00000301"),
    ("000000", "0000030003"),  # and the last byte may not be 00
    ("000002", "00000302"),
    ("000003", "00000303"),
    ("000004", "000004"),
    ("00000000000001", "00000300000300000301"),
    ("0001000002ff", "000100000302ff"),
    ("000003000003", "0000030300000303"),
    ("ff0000", "ff000003"),  # cabac_zero_words
]


@pytest.mark.parametrize(("rbsp", "escaped"), EMULATION)
def test_emulation_prevention(rbsp: str, escaped: str) -> None:
    assert escape(bytes.fromhex(rbsp)).hex() == escaped


@pytest.mark.parametrize(("rbsp", "escaped"), [pair for pair in EMULATION if pair[0] != "000000"])
def test_emulation_prevention_is_removed(rbsp: str, escaped: str) -> None:
    assert unescape(bytes.fromhex(escaped)).hex() == rbsp


# Zeros are drawn often, so that the patterns appear.
BYTES = st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 4, 255]), max_size=40).map(bytes)


@given(BYTES)
def test_escaping_is_undone_and_hides_start_codes(data: bytes) -> None:
    rbsp = data + b"\x80"  # rbsp_trailing_bits
    escaped = escape(rbsp)
    assert unescape(escaped) == rbsp
    for code in (b"\0\0\0", b"\0\0\1", b"\0\0\2"):
        assert code not in escaped


@given(st.lists(BYTES.map(lambda data: escape(b"\x65" + data + b"\x80")), max_size=6), st.data())
def test_byte_streams_are_split_where_they_were_joined(units: list[bytes], data) -> None:
    assert split_annexb(to_annexb(units)) == units
    # Three-byte start codes, leading and trailing zeros are as good (B.1.1).
    stream = b"\0" * data.draw(st.integers(0, 3))
    for unit in units:
        stream += b"\0\0\1" + unit + b"\0" * data.draw(st.integers(0, 3))
    assert split_annexb(stream) == units


def test_byte_streams_without_a_start() -> None:
    assert split_annexb(b"") == []
    assert split_annexb(b"\0\0\0") == []
    with pytest.raises(BitstreamError, match="no start code in 3 bytes"):
        split_annexb(b"\x01\x02\x03")
    with pytest.raises(BitstreamError, match="2 bytes precede the first start code"):
        split_annexb(b"\xff\x00\0\0\1\x65")


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=6), st.integers(2, 4))
def test_length_prefixes(units: list[bytes], length_size: int) -> None:
    data = b"".join(len(unit).to_bytes(length_size, "big") + unit for unit in units)
    assert to_length_prefixed(units, length_size) == data
    assert split_length_prefixed(data, length_size) == units


@pytest.mark.parametrize(
    "data", ["00000002ff", "0000", "00000001ff00", "ffffffff00", "00000001ff00000001"]
)
def test_lengths_that_point_past_the_end(data: str) -> None:
    with pytest.raises(BitstreamError, match=r"NAL unit length \d+ at byte \d exceeds the \d"):
        split_length_prefixed(bytes.fromhex(data), 4)


def test_empty_units_are_left_out() -> None:
    assert split_length_prefixed(bytes.fromhex("00000001aa0000"), 2) == [b"\xaa"]
    with pytest.raises(BitstreamError, match="length size is 0"):
        split_length_prefixed(b"\1\1", 0)


# version, profile, compatibility, level, 6 reserved ones and lengthSizeMinusOne, 3 reserved ones
# and numOfSequenceParameterSets; ISO/IEC 14496-15 5.3.3.1.2.
AVCC = bytes.fromhex("01 64 00 1f ff e2 0003 67aabb 0002 67cc 01 0002 68dd")


def test_avcc() -> None:
    configuration = parse_avcc(AVCC)
    assert configuration.length_size == 4
    assert [unit.hex() for unit in configuration.nal_units] == ["67aabb", "67cc", "68dd"]
    assert parse_avcc(AVCC.replace(b"\xff\xe2", b"\xfd\xe2", 1)).length_size == 2
    # High profiles append chroma format, bit depths and SPS extensions, which decoders may ignore.
    assert parse_avcc(AVCC + bytes.fromhex("fdf8f800")) == configuration


@pytest.mark.parametrize("size", range(len(AVCC)))
def test_avcc_that_is_cut_off(size: int) -> None:
    with pytest.raises(BitstreamError, match=r"avcC: .* needs"):
        parse_avcc(AVCC[:size])


def test_avcc_of_another_version() -> None:
    with pytest.raises(BitstreamError, match="avcC: configurationVersion is 2, expected 1"):
        parse_avcc(b"\2" + AVCC[1:])


HVCC = bytes([1]) + bytes(20) + bytes.fromhex("03 02 a0 0001 0002 4001 a1 0002 0001 42 0002 4342")


def test_hvcc() -> None:
    configuration = parse_hvcc(HVCC)
    assert configuration.length_size == 4
    assert [unit.hex() for unit in configuration.nal_units] == ["4001", "42", "4342"]
    assert parse_hvcc(b"\0" + HVCC[1:]) == configuration
    with pytest.raises(BitstreamError, match="hvcC: configurationVersion is 2"):
        parse_hvcc(b"\2" + HVCC[1:])


def test_written_avcc() -> None:
    units = [bytes.fromhex(unit) for unit in ("6764001faa", "67cc", "68dd", "0605")]
    # Profile, compatibility and level are the first SPS's; an SEI has no place in the record.
    assert write_avcc(units, 3).hex() == "0164001ffee2" + "0005" + "6764001faa" + (
        "0002" + "67cc" + "01" + "0002" + "68dd"
    )
    assert write_avcc([], 4).hex() == "01000000ffe000"
    with pytest.raises(BitstreamError, match="avcC: 32 SPS and 0 PPS"):
        write_avcc([b"\x67"] * 32, 4)


def test_written_hvcc() -> None:
    units = [bytes.fromhex(unit) for unit in ("4001", "4201", "4401", "4402", "4e01")]
    assert write_hvcc(units, 4).hex() == "01" + "00" * 20 + "ff03" + (
        "a000010002" + "4001" + "a100010002" + "4201" + "a200020002" + "4401" + "0002" + "4402"
    )


PARAMETER_SETS = st.lists(st.binary(min_size=3, max_size=40), max_size=6)


@given(st.data(), st.integers(1, 4))
def test_records_are_read_as_they_were_written(data, length_size: int) -> None:
    for kinds, shift, write, parse in (
        ((7, 8), 0, write_avcc, parse_avcc),
        ((32, 33, 34), 1, write_hvcc, parse_hvcc),
    ):
        units = [
            bytes([kind << shift]) + unit for kind in kinds for unit in data.draw(PARAMETER_SETS)
        ]
        record = parse(write(units, length_size))
        assert list(record.nal_units) == units
        assert record.length_size == length_size


@given(st.binary(max_size=60), st.sampled_from([parse_avcc, parse_hvcc, split_annexb]))
def test_any_bytes_are_split_or_refused(data: bytes, parse) -> None:
    for candidate in (data, b"\1" + data):
        with contextlib.suppress(BitstreamError):
            parse(candidate)
