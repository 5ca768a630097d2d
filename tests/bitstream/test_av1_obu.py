"""Splitting temporal units into OBUs, and av1C records."""

import pytest
from bitstream.av1_syntax import leb128, obu
from hypothesis import given
from hypothesis import strategies as st

from videoformat.bitstream.av1_obu import Obu, ObuType, config_obus, iterate_obus, write_obu
from videoformat.errors import BitstreamError


def test_a_unit_by_hand() -> None:
    # Temporal delimiter; tile group of temporal layer 5 and spatial layer 2, two bytes; the last
    # unit is of reserved type 9 and has no size.
    data = bytes.fromhex("120026b002abcd48010203")
    assert list(iterate_obus(data)) == [
        Obu(2, False, 0, 0, 0, 2, 2),
        Obu(4, True, 5, 2, 2, 5, 7),
        Obu(9, False, 0, 0, 7, 8, 11),
    ]


LAYER = st.none() | st.tuples(st.integers(0, 7), st.integers(0, 3))


@given(
    st.lists(st.tuples(st.integers(0, 15), st.binary(max_size=200), LAYER), max_size=8),
    st.booleans(),
)
def test_units_come_back(
    units: list[tuple[int, bytes, tuple[int, int] | None]], last_has_size: bool
) -> None:
    parts = [
        obu(kind, payload, layer, size=last_has_size or at < len(units) - 1)
        for at, (kind, payload, layer) in enumerate(units)
    ]
    data = b"".join(parts)
    found = list(iterate_obus(data))
    assert [
        (
            unit.obu_type,
            data[unit.payload_start : unit.end],
            (unit.temporal_id, unit.spatial_id) if unit.obu_extension_flag else None,
        )
        for unit in found
    ] == units
    assert [data[unit.start : unit.end] for unit in found] == parts


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x92\x00", "obu_forbidden_bit"),
        (b"\x12", "obu_size"),
        (b"\x12\x80", "obu_size"),
        (b"\x12\x05abc", "obu_size is 5, 3 bytes are left"),
        (b"\x12" + b"\x80" * 8 + b"\x00", "longer than 8 bytes"),
        (b"\x12\xff\xff\xff\xff\x1f", "above 4294967295"),
        (b"\x16", "extension"),
    ],
)
def test_broken_units(data: bytes, message: str) -> None:
    with pytest.raises(BitstreamError, match=message):
        list(iterate_obus(data))


@given(st.binary(max_size=64))
def test_any_bytes_split_or_raise(data: bytes) -> None:
    try:
        units = list(iterate_obus(data))
    except BitstreamError:
        return
    position = 0
    for unit in units:
        assert unit.start == position < unit.payload_start <= unit.end
        position = unit.end
    assert position == len(data)


@given(st.sampled_from(ObuType), st.binary(max_size=300))
def test_written_units(kind: ObuType, payload: bytes) -> None:
    assert write_obu(kind, payload) == bytes([kind * 8 + 2]) + leb128(len(payload)) + payload


def test_configurations() -> None:
    units = obu(1, b"abc")
    assert config_obus(b"\x81\x04\x0c\x00" + units) == units
    assert config_obus(b"\x81\x04\x0c\x00") == b""
    assert config_obus(units) == units
    assert config_obus(b"") == b""
    with pytest.raises(BitstreamError, match="version is 2"):
        config_obus(b"\x82\x04\x0c\x00")
    with pytest.raises(BitstreamError, match="3 bytes"):
        config_obus(b"\x81\x04\x0c")
