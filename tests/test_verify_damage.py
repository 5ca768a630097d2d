"""Every kind of damage that rows can have becomes a problem that says where it is."""

import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from damage import (
    Row,
    at,
    change_index,
    change_key,
    change_stream,
    column_of,
    index_of,
    rewritten,
    set_index,
)
from small_dataset import CAMERAS, write_dataset

import videoformat as vf
from videoformat.index.schema import PICTURE_TYPE, STREAM_TYPE
from videoformat.verify import Problem, verify

TOP, WRIST = CAMERAS
MEDIA = column_of(WRIST)
# Rows of the dataset: episode 0 has chunks of 8 and 5 frames, episode 1 one of 6.
SECOND_CHUNK, SECOND_EPISODE = 1, 2


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    uri = tmp_path_factory.mktemp("verify") / "source"
    write_dataset(uri, lengths=(13, 6))
    return uri


def problems(
    source: Path, target: Path, change: Callable[[list[Row]], object], *, decode: bool = False
) -> list[Problem]:
    report = verify(rewritten(source, target, change), decode=decode)
    # Whatever is wrong, all of the rest was looked at.
    assert (report.chunks, len(report.problems) > 0) == (3, True)
    return list(report.problems)


def places(found: list[Problem]) -> set[tuple[int | None, str | None, int | None, str]]:
    return {(item.episode, item.camera, item.chunk, item.what) for item in found}


def test_a_copy_without_a_change_is_right(source: Path, tmp_path: Path) -> None:
    assert verify(rewritten(source, tmp_path / "d", lambda rows: None), decode=True).ok


def other(value: Any) -> Any:
    """A value of the same type that is not the value."""
    match value:
        case bool():
            return not value
        case str():
            return value + "x"
        case bytes():
            return value + b"\0"
        case list():
            return [*value, 0] if not value or isinstance(value[0], int) else [*value, [0]]
        case None:
            return None
        case _:
            return value + 1


@pytest.mark.parametrize("name", [field.name for field in PICTURE_TYPE])
@pytest.mark.parametrize("empty", [False, True], ids=["changed", "null"])
def test_a_changed_index_cell_is_named_and_refused(
    source: Path, tmp_path: Path, name: str, empty: bool
) -> None:
    def change(rows: list[Row]) -> None:
        cell = rows[SECOND_CHUNK][f"{MEDIA}/pictures"][2]
        new = [[0]] if name == "reference_lists" else other(cell[name])
        cell[name] = None if empty and name != "reference_lists" else new
        if name == "crc32":
            cell[name] = cell[name] and cell[name] % 2**32

    assert places(problems(source, tmp_path / "d", change)) == {(0, WRIST, 1, "index")}
    dataset = vf.open(tmp_path / "d")
    with pytest.raises(vf.VideoFormatError, match=r"camera 'observation\.images\.wrist'"):
        dataset.read_frames(0, WRIST, [9])
    assert dataset.read_frames(0, WRIST, [3]).shape[0] == 1
    assert dataset.read_frames(0, TOP, [9]).shape[0] == 1


@pytest.mark.parametrize("name", [field.name for field in STREAM_TYPE])
def test_a_changed_stream_fact_is_named_and_refused(
    source: Path, tmp_path: Path, name: str
) -> None:
    def change(rows: list[Row]) -> None:
        facts = rows[SECOND_EPISODE][f"{MEDIA}/stream"]
        empty = 7 if pa.types.is_integer(STREAM_TYPE.field(name).type) else "why"
        facts[name] = empty if facts[name] is None else other(facts[name])
        if name == "checksum":
            facts[name] %= 2**32

    assert places(problems(source, tmp_path / "d", change)) == {(1, WRIST, 0, "index")}
    with pytest.raises(vf.VideoFormatError, match=r"camera 'observation\.images\.wrist'"):
        vf.open(tmp_path / "d").read_batch([(1, TOP, 0), (1, WRIST, 0)])


def test_one_fault_hides_no_other(source: Path, tmp_path: Path) -> None:
    def change(rows: list[Row]) -> None:
        media = rows[0][column_of(TOP)]
        rows[0][column_of(TOP)] = media[:-1] + bytes([media[-1] ^ 1])
        rows[1][f"{MEDIA}/pictures"].pop()
        rows[2]["action"].pop()
        rows[2]["episode_length"] = 7

    assert places(problems(source, tmp_path / "d", change)) == {
        (0, TOP, 0, "checksum"),
        (0, WRIST, 1, "index"),
        (1, None, None, "directory"),
        (1, None, 0, "column"),
    }


@pytest.mark.parametrize(
    ("name", "row", "value"),
    [
        ("chunk_index", SECOND_CHUNK, 2),
        ("first_frame", SECOND_CHUNK, 9),
        ("episode_uid", SECOND_CHUNK, "another"),
        ("episode_length", 0, 12),
        ("episode_length", 0, None),
    ],
)
def test_rows_that_contradict_each_other(
    source: Path, tmp_path: Path, name: str, row: int, value: Any
) -> None:
    found = problems(source, tmp_path / "d", lambda rows: rows[row].update({name: value}))
    assert (0, None, None, "directory") in places(found)
    assert {item.episode for item in found} == {0}
    with pytest.raises(vf.VideoFormatError, match="episode 0"):
        vf.open(tmp_path / "d").read_frames(0, TOP, [0])


def test_chunks_in_the_wrong_order(source: Path, tmp_path: Path) -> None:
    found = problems(source, tmp_path / "d", lambda rows: rows.insert(1, rows.pop(2)))
    assert {"directory"} <= {item.what for item in found}


def test_a_table_that_begins_in_the_middle_of_an_episode(source: Path, tmp_path: Path) -> None:
    report = verify(rewritten(source, tmp_path / "d", lambda rows: rows.pop(0)))
    assert [(item.episode, item.what) for item in report.problems] == [(None, "directory")]
    assert "chunk 1" in report.problems[0].detail


@pytest.mark.parametrize("uid", ["same", ""])
def test_an_identity_that_two_episodes_have_or_one_lacks(
    source: Path, tmp_path: Path, uid: str
) -> None:
    def change(rows: list[Row]) -> None:
        for row in rows:
            change_key(row, CAMERAS, episode_uid=uid)

    found = problems(source, tmp_path / "d", change)
    expected = {(1, None, None, "identity")} | ({(0, None, None, "identity")} if not uid else set())
    assert places(found) == expected


@pytest.mark.parametrize("value", [[], None], ids=["empty", "null"])
@pytest.mark.parametrize("key", ["action", "timestamp", "task"])
def test_a_column_of_another_length(source: Path, tmp_path: Path, key: str, value: Any) -> None:
    found = problems(source, tmp_path / "d", lambda rows: rows[SECOND_CHUNK].update({key: value}))
    assert places(found) == {(0, None, 1, "column")}
    assert f"feature '{key}'" in found[0].detail


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        (lambda media: media[:-1], "bytes are stored"),
        (lambda media: media + b"\0", "bytes are stored"),
        (lambda media: None, "None bytes are stored"),
    ],
    ids=["short", "long", "null"],
)
def test_media_of_another_size(
    source: Path, tmp_path: Path, change: Callable[[bytes], bytes | None], detail: str
) -> None:
    found = problems(
        source, tmp_path / "d", lambda rows: rows[0].update({MEDIA: change(rows[0][MEDIA])})
    )
    assert places(found) == {(0, WRIST, 0, "media")}
    assert detail in found[0].detail


def test_bytes_that_no_picture_owns(source: Path, tmp_path: Path) -> None:
    def change(rows: list[Row]) -> None:
        rows[0][MEDIA] += b"\0"
        change_stream(rows[0], WRIST, media_size=len(rows[0][MEDIA]))

    found = problems(source, tmp_path / "d", change)
    assert places(found) == {(0, WRIST, 0, "layout")}


def test_a_gap_between_pictures(source: Path, tmp_path: Path) -> None:
    def change(rows: list[Row]) -> None:
        index = index_of(rows[0], WRIST)
        last = max(index.offset)
        rows[0][MEDIA] = rows[0][MEDIA][:last] + b"\0" + rows[0][MEDIA][last:]
        moved = replace(index, stream=replace(index.stream, media_size=index.stream.media_size + 1))
        offsets = at(index.offset, index.offset.index(last), last + 1)
        set_index(rows[0], WRIST, replace(moved, offset=offsets))

    assert places(problems(source, tmp_path / "d", change)) == {(0, WRIST, 0, "layout")}


def test_pictures_in_another_order_than_documented(source: Path, tmp_path: Path) -> None:
    """References in presentation order after the rest: every byte is there, every read works."""

    def change(rows: list[Row]) -> None:
        index, media = index_of(rows[0], WRIST), rows[0][MEDIA]
        parts = [media[o : o + s] for o, s in zip(index.offset, index.size, strict=True)]
        offsets = [sum(index.size[:number]) for number in range(len(index))]
        rows[0][MEDIA] = b"".join(parts)
        set_index(rows[0], WRIST, replace(index, offset=tuple(offsets)))

    found = problems(source, tmp_path / "d", change, decode=True)
    assert places(found) == {(0, WRIST, 0, "layout")}


@pytest.mark.parametrize(
    ("facts", "detail"),
    [
        ({"interval": 3}, "neighbouring anchors"),
        ({"interval": None}, "interval None"),
        ({"structure": "tree"}, "'tree' is not one of ddra, star, native"),
        ({"closure_bound": 4}, "the largest closure has 3 pictures"),
    ],
)
def test_a_promise_that_is_not_kept(
    source: Path, tmp_path: Path, facts: dict[str, Any], detail: str
) -> None:
    found = problems(source, tmp_path / "d", lambda rows: change_stream(rows[0], TOP, **facts))
    assert places(found) == {(0, TOP, 0, "structure")}
    assert detail in found[0].detail


def test_a_native_chunk_promises_its_bound_alone(source: Path, tmp_path: Path) -> None:
    uri = rewritten(
        source,
        tmp_path / "d",
        lambda rows: change_stream(rows[0], TOP, structure="native", interval=None),
    )
    assert verify(uri, decode=True).ok


@pytest.mark.parametrize("side", ["width", "height"])
def test_frames_of_another_size_than_the_feature(source: Path, tmp_path: Path, side: str) -> None:
    found = problems(source, tmp_path / "d", lambda rows: change_stream(rows[0], TOP, **{side: 30}))
    assert places(found) == {(0, TOP, 0, "stream")}


def test_pictures_of_another_size_than_the_stream_says(source: Path, tmp_path: Path) -> None:
    found = problems(
        source,
        tmp_path / "d",
        lambda rows: change_stream(rows[0], TOP, decoded_width=64),
        decode=True,
    )
    assert places(found) == {(0, TOP, 0, "decode")}
    assert "64x" in found[0].detail


@pytest.mark.parametrize("profile", ["fast", "small"])
@pytest.mark.parametrize(
    "name", ["poc", "picture_type", "is_random_access", "is_reference", "references"]
)
def test_an_index_that_the_bytes_contradict(tmp_path: Path, profile: Any, name: str) -> None:
    """The cell has a checksum that is right for it: only the bytes can tell."""
    write_dataset(tmp_path / "s", lengths=(5,), profile=profile, cameras=CAMERAS[1:])

    def change(rows: list[Row]) -> None:
        index = index_of(rows[0], WRIST)
        # The last picture in decode order is a B picture that references two anchors.
        assert (index.picture_type[4], len(index.references[4])) == ("B", 2)
        value = {
            "poc": 99,
            "picture_type": "P",
            "is_random_access": True,
            "is_reference": True,
            "references": index.references[4][:1],
        }[name]
        change_index(rows[0], WRIST, **{name: at(getattr(index, name), 4, value)})

    found = verify(rewritten(tmp_path / "s", tmp_path / "d", change)).problems
    derived = [item for item in found if item.what == "bitstream"]
    assert [(item.episode, item.camera, item.chunk) for item in derived] == [(0, WRIST, 0)]
    assert derived[0].detail.startswith(f"{name} of pictures 4: stored")


def test_frames_that_are_swapped_in_the_index(source: Path, tmp_path: Path) -> None:
    def change(rows: list[Row]) -> None:
        index = index_of(rows[0], WRIST)
        one, two = index.position_of[1], index.position_of[2]
        frames = at(at(index.frame_index, one, 2), two, 1)
        change_index(rows[0], WRIST, frame_index=frames)

    found = problems(source, tmp_path / "d", change)
    assert places(found) == {(0, WRIST, 0, "bitstream"), (0, WRIST, 0, "layout")}
    assert any("is presented before" in item.detail for item in found)


def test_parameter_sets_of_another_size_do_not_parse_as_the_stored_index(
    source: Path, tmp_path: Path
) -> None:
    found = problems(
        source,
        tmp_path / "d",
        lambda rows: change_stream(rows[0], TOP, configuration=b"\0\0\1\x67"),
    )
    assert (0, TOP, 0, "bitstream") in places(found)


@pytest.mark.parametrize("left_out", [0, 1])
@pytest.mark.parametrize("profile", ["fast", "small"])
def test_a_closure_that_lacks_a_reference_is_caught_by_decoding_it(
    tmp_path: Path, profile: Any, left_out: int
) -> None:
    """Decoding proves what parsing says: it fails by itself where a needed picture is left out."""
    write_dataset(tmp_path / "s", lengths=(5,), profile=profile, cameras=CAMERAS[1:])

    def change(rows: list[Row]) -> None:
        index = index_of(rows[0], WRIST)
        target = index.position_of[2]
        kept = (index.references[target][1 - left_out],)
        change_index(rows[0], WRIST, references=at(index.references, target, kept))

    uri = rewritten(tmp_path / "s", tmp_path / "d", change)
    found = [item for item in verify(uri, decode=True).problems if item.what == "decode"]
    assert [(item.episode, item.camera, item.chunk) for item in found] == [(0, WRIST, 0)]
    assert "frames 2 " in found[0].detail
    assert "decode" not in {item.what for item in verify(uri).problems}


def test_a_frame_that_a_decoder_cannot_return(source: Path, tmp_path: Path) -> None:
    """An access unit replaced by bytes of no slice, with everything about it recomputed."""

    def change(rows: list[Row]) -> None:
        index, media = index_of(rows[0], WRIST), rows[0][MEDIA]
        target = index.position_of[1]
        begin, size = index.offset[target], index.size[target]
        filler = b"\0\0\0\1\x0c" + b"\xff" * (size - 6) + b"\x80"
        rows[0][MEDIA] = media[:begin] + filler + media[begin + size :]
        change_index(rows[0], WRIST, crc32=at(index.crc32, target, zlib.crc32(filler)))

    found = places(problems(source, tmp_path / "d", change, decode=True))
    assert found == {(0, WRIST, 0, "bitstream"), (0, WRIST, 0, "decode")}
