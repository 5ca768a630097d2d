"""Datasets from strangers: paths that lead outside, JSON of the wrong form."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lerobot_builder import CAMERA, EPISODES_V3, build_v2, build_v3, edit_info, feature

from videoformat.convert.lerobot_paths import DatasetRoot, PathTemplate
from videoformat.convert.lerobot_source import LeRobotSource
from videoformat.errors import DataError, UnsupportedStreamError

KNOWN = {"episode_chunk", "episode_index", "video_key"}
GOOD = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"


def template(text: str) -> PathTemplate:
    return PathTemplate(text, "x", known=KNOWN, needed={"episode_index"})


@given(st.integers(0, 10**9), st.integers(0, 10**7))
def test_a_template_is_what_format_makes_of_it(episode: int, chunk: int) -> None:
    fields = {"episode_index": episode, "episode_chunk": chunk, "video_key": "observation.top"}
    for text in (
        GOOD,
        "{episode_index}",
        "v/{video_key}/{episode_index:3d}_{episode_chunk:09d}.mp4",
    ):
        assert template(text).path(fields) == text.format(**fields)


@pytest.mark.parametrize(
    "text",
    [
        "{episode_index.__class__}",
        "{episode_index[0]}",
        "{episode_index!r}",
        "{episode_index:>999999999}",
        "{episode_index:{episode_chunk}}",
        "{episode_index:03x}",
        "{episode_index:123d}",
        "{video_key:03d}/{episode_index}",
        "{}/{episode_index}",
        "{0}/{episode_index}",
        "{root}/{episode_index}",
        "{{episode_index}}/{episode_index}",
        "{episode_index",
        "episode_index}",
        "data/episode_{episode_chunk}.parquet",
        "",
        "/data/{episode_index}",
        "../{episode_index}",
        "data/../../{episode_index}",
        "data//{episode_index}",
        "./{episode_index}",
        "data\\{episode_index}",
        "data/{episode_index}\0.mp4",
        "data/{episode_index}\n.mp4",
        "x" * 5000 + "{episode_index}",
    ],
)
def test_templates_that_are_none(tmp_path: Path, text: str) -> None:
    build_v2(tmp_path)
    for key in ("data_path", "video_path"):
        edit_info(tmp_path, data_path=GOOD, video_path=None)
        edit_info(tmp_path, **{key: text})
        with pytest.raises(DataError, match=rf"meta/info\.json: {key}: "):
            LeRobotSource(tmp_path)


@given(st.text(alphabet=st.sampled_from("{}:.!d03[]_/aepisode_index"), max_size=40))
def test_no_template_raises_anything_else(text: str) -> None:
    fields = {"episode_index": 7, "episode_chunk": 0, "video_key": "k"}
    try:
        path = template(text).path(fields)
    except DataError:
        return
    assert "{" not in path
    assert ".." not in path.split("/")
    assert not path.startswith("/")


def test_two_cameras_need_the_field_that_tells_them_apart(tmp_path: Path) -> None:
    build_v2(tmp_path, cameras=(CAMERA, "other"))
    edit_info(tmp_path, video_path="videos/episode_{episode_index:06d}.mp4")
    with pytest.raises(DataError, match=r"video_path: .* lacks the field \{video_key\}"):
        LeRobotSource(tmp_path)


@pytest.mark.parametrize(
    "key", ["", ".", "..", "../../x", "a/b", "a\\b", "a\0b", "a\nb", "x" * 300]
)
def test_feature_keys_that_could_not_be_folders(tmp_path: Path, key: str) -> None:
    build_v2(tmp_path)
    edit_info(tmp_path, features={key: feature("video", 4, 6, 3)})
    with pytest.raises(DataError, match=r"meta/info\.json: features: feature key"):
        LeRobotSource(tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "meta/info.json",
        "meta/episodes.jsonl",
        "meta/tasks.jsonl",
        "meta/episodes_stats.jsonl",
        "data/chunk-000/episode_000000.parquet",
        f"videos/chunk-000/{CAMERA}/episode_000000.mp4",
    ],
)
def test_links_out_of_the_root_are_refused(tmp_path: Path, name: str) -> None:
    root = build_v2(tmp_path / "dataset")
    (root / name).rename(tmp_path / "outside")
    (root / name).symlink_to(tmp_path / "outside")
    with pytest.raises(DataError, match="leads outside the dataset"):
        list(LeRobotSource(root).episodes)


def test_links_within_the_root_are_followed(tmp_path: Path) -> None:
    root = build_v2(tmp_path)
    path = root / f"videos/chunk-000/{CAMERA}/episode_000001.mp4"
    path.unlink()
    path.symlink_to(root / f"videos/chunk-000/{CAMERA}/episode_000000.mp4")
    assert LeRobotSource(root).episodes[1].videos[CAMERA].path == path


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    root = build_v2(tmp_path)
    path = root / "meta/episodes.jsonl"
    path.unlink()
    path.symlink_to(path)
    with pytest.raises(DataError, match=r"meta/episodes\.jsonl"):
        LeRobotSource(root)


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    root = build_v2(tmp_path)
    (root / "meta/tasks.jsonl").unlink()
    os.mkfifo(root / "meta/tasks.jsonl")
    with pytest.raises(DataError, match=r"there is no file meta/tasks\.jsonl"):
        LeRobotSource(root)


def test_a_snapshot_of_the_hub_cache_is_read(tmp_path: Path) -> None:
    """Its files are links to ``blobs`` beside ``snapshots``; nothing else outside is allowed."""
    root = build_v3(tmp_path / "snapshots/0123abcd")
    blobs = tmp_path / "blobs"
    blobs.mkdir()
    for number, path in enumerate(sorted(root.rglob("*.*"))):
        if path.is_file():
            path.rename(blobs / str(number))
            path.symlink_to(os.path.relpath(blobs / str(number), path.parent))
    source = LeRobotSource(root)
    assert [source.table(e).num_rows for e in source.episodes] == [3, 2, 4]
    (tmp_path / "refs").write_text("main")
    (root / "meta/stats.json").symlink_to(tmp_path / "refs")
    with pytest.raises(DataError, match="leads outside"):
        LeRobotSource(root)


def test_a_path_that_is_too_long_for_the_system_is_refused(tmp_path: Path) -> None:
    assert DatasetRoot(tmp_path).find("a/b", "x") is None
    with pytest.raises(DataError, match="cannot be resolved"):
        DatasetRoot(tmp_path).find("a" * 1000, "x")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("fps", 0),
        ("fps", -30),
        ("fps", "30"),
        ("fps", True),
        ("fps", None),
        ("fps", float("nan")),
        ("fps", float("inf")),
        ("fps", 10**400),
        ("features", []),
        ("features", {"a": 3}),
        ("features", {"a": {"shape": [1]}}),
        ("features", {"a": {"dtype": 3, "shape": [1]}}),
        ("chunks_size", 0),
        ("chunks_size", "1000"),
        ("total_episodes", -1),
        ("total_episodes", 2.5),
        ("total_frames", True),
        ("robot_type", ["so101"]),
        ("data_path", 7),
        ("codebase_version", None),
        ("codebase_version", 2),
        ("storage_format", 2),
    ],
)
def test_a_wrong_value_of_info_is_named(tmp_path: Path, key: str, value: object) -> None:
    build_v2(tmp_path)
    edit_info(tmp_path, **{key: value})
    with pytest.raises(DataError, match=rf"meta/info\.json: .*{'dtype' if value == {} else key}"):
        LeRobotSource(tmp_path)


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("episodes", {"episode_index": "0", "length": 3}, "episode_index is '0'"),
        ("episodes", {"length": 3}, "episode_index is missing"),
        ("episodes", {"episode_index": 0, "length": 0}, "length is 0"),
        ("episodes", {"episode_index": 0, "length": 10**30}, "length is 1000"),
        ("episodes", {"episode_index": -1, "length": 1}, "episode_index is -1"),
        ("episodes", {"episode_index": 0, "length": 3, "tasks": "a"}, "tasks is 'a'"),
        ("episodes", {"episode_index": 0, "length": 3, "tasks": [1]}, r"tasks is \[1\]"),
        ("episodes", [1], r"\[1\], expected an object"),
        ("tasks", {"task_index": 0}, "task is missing"),
        ("tasks", {"task_index": 0, "task": None}, "task is None"),
        ("episodes_stats", {"episode_index": 0}, "stats is missing"),
        ("episodes_stats", {"episode_index": 0, "stats": []}, "stats is"),
        ("episodes_stats", {"stats": {}}, "episode_index is missing"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, name: str, line: object, said: str) -> None:
    build_v2(tmp_path, (3,))
    (tmp_path / f"meta/{name}.jsonl").write_text(json.dumps(line))
    with pytest.raises(DataError, match=rf"meta/{name}\.jsonl: line at byte 0: {said}"):
        list(LeRobotSource(tmp_path).episodes)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"a": "\\ud800"}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a":' * 100_000,
    ],
    ids=["empty", "cut", "list", "null", "bytes", "surrogate", "digits", "depth"],
)
@pytest.mark.parametrize("name", ["info.json", "episodes.jsonl", "stats.json"])
def test_what_is_not_json_is_named(tmp_path: Path, name: str, text: bytes) -> None:
    build_v2(tmp_path, ())
    (tmp_path / "meta" / name).write_bytes(text)
    if name == "episodes.jsonl" and not text:
        assert len(LeRobotSource(tmp_path).episodes) == 0
        return
    with pytest.raises(DataError, match=rf"meta/{name}"):
        LeRobotSource(tmp_path)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    build_v2(tmp_path)
    path = tmp_path / "meta/info.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert LeRobotSource(tmp_path).fps == 10


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["video", "image", "float32", "string", "v3.0", "{episode_index}", "../x"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=5) | st.sampled_from(["dtype", "shape"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


def replace_somewhere(data: st.DataObject, value: Any) -> Any:
    """The value with one part, at any depth, replaced or removed."""
    if isinstance(value, dict) and value and data.draw(st.integers(0, 7)):
        key = data.draw(st.sampled_from(sorted(value)))
        if data.draw(st.integers(0, 5)) == 0:
            return {name: part for name, part in value.items() if name != key}
        return value | {key: replace_somewhere(data, value[key])}
    if isinstance(value, list) and value and data.draw(st.integers(0, 3)):
        index = data.draw(st.integers(0, len(value) - 1))
        return [*value[:index], replace_somewhere(data, value[index]), *value[index + 1 :]]
    return data.draw(json_values)


@settings(max_examples=100)
@given(st.data())
def test_damaged_json_never_escapes(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whatever the metadata holds, the source reads its rows or raises an error of its own."""
    major = data.draw(st.sampled_from([2, 3]))
    root = tmp_path_factory.getbasetemp() / f"damaged-v{major}"
    if not root.exists():
        extra = {"observation.state": feature("float32", 2), "image": feature("image", 4, 6, 3)}
        (build_v2 if major == 2 else build_v3)(root, features=extra)
    names = ["info.json"] * 4
    if major == 2:
        names += ["episodes.jsonl", "tasks.jsonl", "episodes_stats.jsonl"]
    path = root / "meta" / data.draw(st.sampled_from(names))
    good = path.read_text()
    lines = [json.loads(line) for line in good.splitlines()] if path.suffix == ".jsonl" else []
    damaged = replace_somewhere(data, lines or json.loads(good))
    if lines and isinstance(damaged, list):
        path.write_text("\n".join(json.dumps(line) for line in damaged))
    else:
        path.write_text(json.dumps(damaged))
    try:
        source = LeRobotSource(root)
        for episode in source.episodes:
            assert source.table(episode).num_rows == episode.length
    except (DataError, UnsupportedStreamError) as error:
        if len(str(error)) > 1000:
            pytest.fail(f"a message of {len(str(error))} characters")
    finally:
        path.write_text(good)


@settings(max_examples=100)
@given(st.data())
def test_flipped_bytes_of_json_never_escape(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    root = tmp_path_factory.getbasetemp() / "flipped-json"
    if not root.exists():
        build_v2(root)
    names = ["info.json", "episodes.jsonl", "tasks.jsonl", "episodes_stats.jsonl"]
    path = root / "meta" / data.draw(st.sampled_from(names))
    good = path.read_bytes()
    damaged = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(damaged[: data.draw(st.integers(1, 2 * len(good)))])
    try:
        source = LeRobotSource(root)
        for episode in source.episodes:
            source.table(episode)
    except (DataError, UnsupportedStreamError):
        pass
    finally:
        path.write_bytes(good)


def test_a_table_that_is_a_folder_is_named(tmp_path: Path) -> None:
    build_v3(tmp_path)
    (tmp_path / EPISODES_V3).unlink()
    (tmp_path / EPISODES_V3).mkdir()
    with pytest.raises(DataError, match=EPISODES_V3):
        LeRobotSource(tmp_path)
