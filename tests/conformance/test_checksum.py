"""The checksum of an index: by the specification's words, by its worked example, by the library."""

import json
import re
import zlib
from pathlib import Path
from typing import Any

import minimal_reader
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from videoformat.errors import ChecksumError
from videoformat.index.pictures import ChunkKey, PictureIndex
from videoformat.index.schema import PICTURE_TYPE

SPEC = Path(__file__).parents[2] / "spec"
Cells = dict[str, Any]


def load_example() -> tuple[Cells, Cells, list[Cells], list[Cells], int]:
    example = json.loads((SPEC / "vectors/checksum.json").read_text(encoding="utf-8"))
    stream = {
        **example["stream"],
        "configuration": bytes.fromhex(example["stream"]["configuration"]),
    }
    return example["key"], stream, example["pictures"], example["parts"], example["checksum"]


KEY, STREAM, PICTURES, PARTS, CHECKSUM = load_example()


def parse(key: Cells, stream: Cells, pictures: list[Cells], checksum: int) -> PictureIndex:
    return PictureIndex.from_arrow(
        ChunkKey(**key), pa.array(pictures, type=PICTURE_TYPE), {**stream, "checksum": checksum}
    )


def checksum_of(key: Cells, stream: Cells, pictures: list[Cells]) -> int:
    parts = minimal_reader.checksum_parts(key, stream, pictures)
    return zlib.crc32(b"".join(parts.values()))


def test_the_worked_example_has_the_bytes_and_numbers_that_it_says() -> None:
    computed = minimal_reader.checksum_parts(KEY, STREAM, PICTURES)
    assert {name: data.hex() for name, data in computed.items()} == {
        part["name"]: part["hex"] for part in PARTS
    }
    crc = 0
    for part in PARTS:
        crc = zlib.crc32(bytes.fromhex(part["hex"]), crc)
        assert f"{crc:08X}" == part["crc32_so_far"]
    assert crc == CHECKSUM


def test_the_specification_prints_the_example_as_it_is() -> None:
    text = (SPEC / "v1/table.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `?(\w+)`? \| (.*) \| (\d+) \| ([0-9A-F]{8}) \|$", text, re.MULTILINE)
    assert [(name, int(length), crc) for name, _, length, crc in rows] == [
        (part["name"], len(part["hex"]) // 2, part["crc32_so_far"]) for part in PARTS
    ]
    for name, shown, length, _ in rows:
        data = "".join(
            digits.replace("…", "f" * 12).ljust(2 * int(width or len(digits) // 2), "0")
            for digits, width in re.findall(r"([0-9a-f]+(?:…ff)?)(?::(\d+))?\b", strip(shown))
        )
        if name != "stream":
            assert data == next(part["hex"] for part in PARTS if part["name"] == name)
            assert len(data) == 2 * int(length)
    assert f"`checksum` is {CHECKSUM} (0x{CHECKSUM:08X})" in text
    assert zlib.crc32(b"123456789") == 0xCBF43926


def strip(shown: str) -> str:
    return re.sub(r"[`,]", " ", shown)


def test_the_library_takes_the_example() -> None:
    index = parse(KEY, STREAM, PICTURES, CHECKSUM)
    assert index.checksum() == CHECKSUM
    assert index.stream_value() == {**STREAM, "checksum": CHECKSUM}
    with pytest.raises(ChecksumError, match=f"{CHECKSUM:#x}"):
        parse(KEY, STREAM, PICTURES, CHECKSUM ^ 1)


# What may stand where the example has null.
FILLED: Cells = {
    "pts": 8, "reference_lists": [], "encoder": "{}", "access_reason": "", "source_uri": "",
    "source_size": 0,
}  # fmt: skip
CHANGES: list[tuple[str, int | None, str]] = [
    *(("key", None, name) for name in KEY),
    *(("stream", None, name) for name in STREAM),
    *(("picture", at, name) for at in range(3) for name in PICTURES[0]),
]


def changed(value: object) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return f"{value}x"
        case bytes():
            return value + b"x"
        case list():
            return [*value, [0]] if value and isinstance(value[0], list) else [*value, 0]
    raise AssertionError(value)


@pytest.mark.parametrize(("where", "at", "name"), CHANGES)
def test_every_cell_is_covered(where: str, at: int | None, name: str) -> None:
    key, stream, pictures = dict(KEY), dict(STREAM), [dict(picture) for picture in PICTURES]
    cells = {"key": key, "stream": stream}.get(where) or pictures[at or 0]
    value = changed(cells[name]) if cells[name] is not None else FILLED[name]
    assert value != cells[name]
    cells[name] = value
    assert checksum_of(key, stream, pictures) != CHECKSUM
    with pytest.raises(ChecksumError):
        parse(key, stream, pictures, CHECKSUM)


INT64 = st.integers(-(2**63) + 1, 2**63 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
UINT32 = st.integers(0, 2**32 - 1)
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)


@st.composite
def chunks(draw: st.DrawFn) -> tuple[Cells, Cells, list[Cells]]:
    """A chunk that keeps the rules of table.md, and is otherwise arbitrary."""
    count = draw(st.integers(1, 6))
    first = draw(st.integers(0, 2**40))
    hidden = draw(st.integers(0, 2))
    shown: list[int | None] = [*range(first, first + count), *[None] * hidden]
    pictures = []
    end = 0
    for at, frame in enumerate(draw(st.permutations(shown))):
        size = draw(st.integers(1, 2**31 - 1))
        references = (
            st.lists(st.integers(0, at - 1), unique=True, max_size=3) if at else st.just([])
        )
        pictures.append(
            {
                "frame_index": frame,
                "pts": draw(st.none() | INT64),
                "poc": draw(st.none() | INT32),
                "picture_type": draw(st.sampled_from("IPB")),
                "is_random_access": draw(st.booleans()),
                "is_reference": draw(st.booleans()),
                "offset": end,
                "size": size,
                "references": sorted(draw(references)),
                "reference_lists": draw(
                    st.none() | st.lists(st.lists(INT32, max_size=2), max_size=2)
                ),
                "crc32": draw(UINT32),
            }
        )
        end += size
    kinds = {bytes: st.binary(max_size=8), str: TEXT, int: INT32, type(None): st.none() | TEXT}
    stream = {name: draw(kinds[type(value)]) for name, value in STREAM.items()}
    stream |= {"media_size": end, "access": "direct", "interval": draw(st.none() | INT32)}
    stream["source_size"] = draw(st.none() | INT64)
    for side in ("width", "height"):
        # A frame lies within the picture that it is part of.
        stream[side], stream[f"decoded_{side}"] = sorted(
            draw(st.lists(st.integers(1, 2**31 - 1), min_size=2, max_size=2))
        )
    index = draw(st.integers(0, 2**31 - 1))
    key = {"episode_uid": draw(TEXT), "chunk_index": index, "first_frame": first}
    return {**key, "frame_count": count}, stream, pictures


@settings(max_examples=50)
@given(chunks())
def test_the_library_agrees_with_the_words_of_the_specification(
    chunk: tuple[Cells, Cells, list[Cells]],
) -> None:
    key, stream, pictures = chunk
    checksum = checksum_of(key, stream, pictures)
    index = parse(key, stream, pictures, checksum)
    assert index.checksum() == checksum
    assert index.to_arrow().to_pylist() == pictures
    assert index.stream_value() == {**stream, "checksum": checksum}
