"""The Arrow schema: equal to the specification's tables and JSON, and read back whatever it holds."""

import json
import re
from pathlib import Path
from typing import Any

import make_schema
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from videoformat.errors import DataError, InvalidArgumentError, UnsupportedFormatError
from videoformat.index.features import parse_features
from videoformat.index.schema import (
    EPISODE_FIELDS,
    FEATURE_KEY,
    FORMAT_VERSION,
    METADATA_KEY,
    PICTURE_TYPE,
    STREAM_TYPE,
    DatasetInfo,
    table_schema,
)

SPEC = Path(__file__).parents[2] / "spec/v1"
TABLE_TEXT = (SPEC / "table.md").read_text(encoding="utf-8")
CAMERA = {"dtype": "video", "shape": [48, 64, 3], "names": None}


def section(number: int) -> str:
    return TABLE_TEXT.split(f"\n## {number}. ")[1].split("\n## ")[0]


def documented(text: str) -> list[tuple[str, str]]:
    """The fields of a section's table, with their types."""
    fields = []
    for names, kind in re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| ([^|]+) \|", text, re.MULTILINE):
        fields += [(name, kind.replace("\\", "")) for name in re.findall(r"`(\w+)`", names)]
    return fields


def spelled(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"list<{spelled(kind.value_type)}>"
    return str(kind)


def test_the_json_file_is_what_the_code_says() -> None:
    text = make_schema.render(make_schema.describe_schema())
    assert make_schema.SCHEMA_FILE.read_text(encoding="utf-8") == text
    assert json.loads(text) == make_schema.describe_schema()


def test_the_json_file_can_be_turned_into_the_schema() -> None:
    """A reader in another language builds its schema from the file; so it must be complete."""
    loaded = json.loads(make_schema.SCHEMA_FILE.read_text(encoding="utf-8"))
    info = DatasetInfo(fps=30, features=parse_features(make_schema.EXAMPLE_FEATURES))
    built = pa.schema([arrow_field(item) for item in loaded["fields"]])
    assert built.equals(table_schema(info).remove_metadata(), check_metadata=True)


def arrow_field(item: dict[str, Any]) -> pa.Field:
    return pa.field(item["name"], arrow_type(item["type"]), item["nullable"], item.get("metadata"))


def arrow_type(kind: Any) -> pa.DataType:
    if isinstance(kind, str):
        return pa.type_for_alias(kind)
    match kind["type"]:
        case "struct":
            return pa.struct([arrow_field(item) for item in kind["fields"]])
        case "list":
            return pa.list_(arrow_type(kind["item"]))
        case "fixed_size_list":
            return pa.list_(arrow_type(kind["item"]), kind["size"])
        case "blob":
            return pa.type_for_alias(kind["in_arrow_files"])
    raise AssertionError(kind)


@pytest.mark.parametrize(
    ("number", "fields"),
    [(1, EPISODE_FIELDS), (2, tuple(PICTURE_TYPE)), (3, tuple(STREAM_TYPE))],
)
def test_the_text_lists_every_field_with_its_type_in_order(
    number: int, fields: tuple[pa.Field, ...]
) -> None:
    assert documented(section(number)) == [(item.name, spelled(item.type)) for item in fields]


def test_the_text_names_the_version() -> None:
    text = (SPEC / "format.md").read_text(encoding="utf-8")
    assert f'of this text `"{FORMAT_VERSION}"`' in text


def test_the_text_lists_every_key_of_the_metadata() -> None:
    text = (SPEC / "format.md").read_text(encoding="utf-8")
    table = text.split("\n## 3. ")[1].split("\n### ")[0]
    documented_keys = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    written = json.loads(DatasetInfo(fps=30, features={}).to_json())
    assert sorted(documented_keys) == sorted(written)


# The types of format.md, section 4, spelled by hand.
NUMERIC = {
    "bool": pa.bool_(), "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(),
    "int64": pa.int64(), "uint8": pa.uint8(), "uint16": pa.uint16(), "uint32": pa.uint32(),
    "uint64": pa.uint64(), "float16": pa.float16(), "float32": pa.float32(),
    "float64": pa.float64(),
}  # fmt: skip
SHAPES = st.lists(st.integers(1, 5), max_size=5)


@given(st.sampled_from([*NUMERIC, "string"]), SHAPES)
def test_a_tabular_feature_has_the_type_of_its_dtype_and_shape(
    dtype: str, shape: list[int]
) -> None:
    count = 1
    for side in shape:
        count *= side
    if dtype == "string":
        expected = pa.string() if shape in ([], [1]) else pa.list_(pa.string())
    else:
        expected = NUMERIC[dtype] if shape in ([], [1]) else pa.list_(NUMERIC[dtype], count)
    features = parse_features({"a.b": {"dtype": dtype, "shape": shape}})
    field = table_schema(DatasetInfo(fps=30, features=features)).field("a/b")
    assert field.type == pa.list_(expected)


KEYS = st.lists(
    st.text("abXY_ü0 -", min_size=1, max_size=4).filter(lambda part: part.strip() == part),
    min_size=1,
    max_size=3,
).map(".".join)
DECLARATIONS = st.one_of(
    st.just(CAMERA),
    st.builds(
        lambda dtype, shape, note: {"dtype": dtype, "shape": shape, "names": None, "note": note},
        st.sampled_from([*NUMERIC, "string"]),
        SHAPES,
        st.text(max_size=5),
    ),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
OBJECTS = st.dictionaries(st.text(max_size=5), JSON, max_size=3)


@settings(max_examples=50)
@given(
    st.dictionaries(KEYS, DECLARATIONS, min_size=1, max_size=5),
    st.lists(st.text(max_size=5), max_size=3),
    OBJECTS,
    OBJECTS,
)
def test_what_is_declared_comes_back(
    declared: dict[str, Any], tasks: list[str], info: dict[str, Any], extra: dict[str, Any]
) -> None:
    """Keys with dots, tasks, other tools' keys and keys of a later version, through the schema."""
    if len({key.lower() for key in declared}) < len(declared):
        with pytest.raises(InvalidArgumentError, match="differ at most in case"):
            parse_features(declared)
        return
    features = parse_features(declared)
    extra = {f"later {key}": value for key, value in extra.items()}
    facts = DatasetInfo(fps=29.97, features=features, tasks=tuple(tasks), info=info, extra=extra)
    schema = table_schema(facts)
    assert not any("." in name for name in schema.names)
    read = DatasetInfo.from_schema(schema)
    assert read == facts
    assert {key: dict(item.declaration) for key, item in read.features.items()} == declared
    keys = [(item.metadata or {}).get(FEATURE_KEY, b"").decode() for item in schema]
    assert [key for key in keys if key] == list(declared)


def example_schema() -> pa.Schema:
    features = parse_features({"cam": CAMERA, "action": {"dtype": "float32", "shape": [3]}})
    return table_schema(DatasetInfo(fps=30, features=features))


def with_facts(**changes: Any) -> pa.Schema:
    schema = example_schema()
    facts = json.loads(schema.metadata[METADATA_KEY])
    return schema.with_metadata({METADATA_KEY: json.dumps({**facts, **changes}).encode()})


def with_type(name: str, kind: pa.DataType) -> pa.Schema:
    schema = example_schema()
    at = schema.get_field_index(name)
    return schema.set(at, schema.field(at).with_type(kind))


def without_field(kind: pa.DataType, name: str) -> pa.DataType:
    return pa.struct([item for item in kind if item.name != name])


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.99", "1"])
def test_every_minor_version_is_read(version: str) -> None:
    assert DatasetInfo.from_schema(with_facts(format_version=version)).format_version == version


@pytest.mark.parametrize("changes", [{"format_version": "2.0"}, {"reader_flags": ["new"]}])
def test_what_a_reader_must_know_is_refused_by_name(changes: dict[str, Any]) -> None:
    named = "2.0" if "format_version" in changes else "new"
    with pytest.raises(UnsupportedFormatError, match=named):
        DatasetInfo.from_schema(with_facts(**changes))


def test_a_writer_flag_does_not_keep_readers_out() -> None:
    read = DatasetInfo.from_schema(with_facts(writer_flags=["new"]))
    assert read.writer_flags == ("new",)


@pytest.mark.parametrize("absent", ["reader_flags", "writer_flags", "tasks", "info", "source"])
def test_keys_that_may_be_absent(absent: str) -> None:
    schema = example_schema()
    facts = json.loads(schema.metadata[METADATA_KEY])
    del facts[absent]
    DatasetInfo.from_schema(schema.with_metadata({METADATA_KEY: json.dumps(facts).encode()}))


@pytest.mark.parametrize(
    "changes",
    [
        {"fps": 0}, {"fps": "30"}, {"fps": None}, {"fps": True}, {"fps": 1e6},
        {"features": []}, {"features": {"a/b": CAMERA}}, {"tasks": [1]}, {"tasks": "pick"},
        {"reader_flags": "none"}, {"info": []}, {"robot_type": 7},
        {"features": {"cam": CAMERA, "absent": {"dtype": "bool", "shape": [1]}}},
    ],
    ids=str,
)  # fmt: skip
def test_metadata_of_another_form_is_called_damaged(changes: dict[str, Any]) -> None:
    with pytest.raises(DataError):
        DatasetInfo.from_schema(with_facts(**changes))


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b"\xff"])
def test_metadata_that_is_no_json_object_is_called_damaged(raw: bytes) -> None:
    with pytest.raises(DataError):
        DatasetInfo.from_schema(example_schema().with_metadata({METADATA_KEY: raw}))


def test_a_table_without_metadata_is_no_dataset() -> None:
    with pytest.raises(DataError, match="not a videoformat dataset"):
        DatasetInfo.from_schema(example_schema().remove_metadata())


@pytest.mark.parametrize("name", [item.name for item in (*EPISODE_FIELDS, *example_schema())])
def test_a_column_that_is_missing_is_named(name: str) -> None:
    schema = example_schema()
    with pytest.raises(DataError, match=re.escape(repr(name))):
        DatasetInfo.from_schema(schema.remove(schema.get_field_index(name)))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("cam/pictures", pa.list_(without_field(PICTURE_TYPE, i.name))) for i in PICTURE_TYPE),
        *(("cam/stream", without_field(STREAM_TYPE, item.name)) for item in STREAM_TYPE),
        ("cam/pictures", pa.list_(pa.int64())),
        ("cam/stream", pa.string()),
        ("first_frame", pa.int32()),
        ("action", pa.list_(pa.float64(), 4)),
    ],
)
def test_a_column_of_another_type_is_refused(name: str, kind: pa.DataType) -> None:
    with pytest.raises(DataError):
        DatasetInfo.from_schema(with_type(name, kind))


def test_unknown_columns_and_fields_are_ignored() -> None:
    wider = pa.struct([pa.field("later", pa.int8()), *PICTURE_TYPE])
    schema = with_type("cam/pictures", pa.list_(wider)).append(pa.field("later", pa.int8()))
    assert list(DatasetInfo.from_schema(schema).features) == ["cam", "action"]
