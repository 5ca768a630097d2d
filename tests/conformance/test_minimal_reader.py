"""Every vector, read by a reader written from the specification alone."""

import ast
import hashlib
import itertools
import sys
from pathlib import Path
from typing import Any

import minimal_reader
import pytest
from vectors import BAD, GOOD, Vector

HERE = Path(__file__).parent


def sha256(*arrays: Any) -> str:
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


def byte_ranges(pictures: list[dict[str, Any]], positions: list[int]) -> list[list[int]]:
    ranges: list[list[int]] = []
    for picture in sorted((pictures[at] for at in positions), key=lambda p: p["offset"]):
        start, end = picture["offset"], picture["offset"] + picture["size"]
        if ranges and ranges[-1][1] == start:
            ranges[-1][1] = end
        else:
            ranges.append([start, end])
    return ranges


def test_the_reader_is_short_and_imports_nothing_of_the_package() -> None:
    text = (HERE / "minimal_reader.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 250
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
    assert imported - sys.stdlib_module_names <= {"av", "lance", "numpy", "pyarrow"}


@pytest.mark.parametrize("vector", GOOD, ids=str)
def test_every_frame_comes_back_exactly(vector: Vector) -> None:
    """Each frame alone, so that each closure decodes from a decoder of its own."""
    reader = minimal_reader.Reader(vector.path)
    assert len(reader.episodes) == len(vector.expected["episodes"])
    for episode, expected in enumerate(vector.expected["episodes"]):
        for camera, facts in expected["cameras"].items():
            assert len(facts["frames"]) == expected["length"]
            for frame in facts["frames"]:
                number = frame["frame"]
                planes, time, stream = reader.read(episode, camera, [number])[number]
                assert sha256(*planes) == frame["yuv_sha256"], (episode, camera, number)
                assert sha256(minimal_reader.to_rgb(planes, stream)) == frame["rgb_sha256"]
                assert (None if time is None else str(time)) == frame["time"]


@pytest.mark.parametrize("vector", GOOD, ids=str)
def test_closures_groups_and_ranges_are_the_expected_ones(vector: Vector) -> None:
    reader = minimal_reader.Reader(vector.path)
    for episode, expected in enumerate(vector.expected["episodes"]):
        chunks = reader.chunks(episode)
        for camera, facts in expected["cameras"].items():
            indexes = {row: reader.index(camera, row, held)[0] for row, held in chunks.items()}
            assert list(indexes) == [chunk["row"] for chunk in facts["chunks"]]
            for chunk in facts["chunks"]:
                pictures = indexes[chunk["row"]]
                whole = byte_ranges(pictures, list(range(len(pictures))))
                assert whole == [[0, sum(picture["size"] for picture in pictures)]]
                assert [p["references"] for p in pictures] == chunk["references"]
                by_offset = sorted(range(len(pictures)), key=lambda at: pictures[at]["offset"])
                assert by_offset == chunk["order"]
            for frame in facts["frames"]:
                (row,) = [row for row, held in chunks.items() if frame["frame"] in held]
                at = positions(indexes[row], [frame["frame"]])
                assert minimal_reader.closure(indexes[row], at) == frame["closure"]
            for request in facts["requests"]:
                row = request["row"]
                pictures, stream = reader.index(camera, row, chunks[row])
                closed = minimal_reader.closure(pictures, positions(pictures, request["frames"]))
                assert minimal_reader.split_groups(pictures, closed, stream) == request["groups"]
                assert byte_ranges(pictures, closed) == request["ranges"]


DDRA = [vector for vector in GOOD if "star" not in vector.name]
STARS = [vector for vector in GOOD if "star" in vector.name]


@pytest.mark.parametrize("vector", STARS, ids=str)
def test_every_chunk_keeps_the_promise_of_stars(vector: Vector) -> None:
    """bitstream.md, section 7, word by word."""
    reader = minimal_reader.Reader(vector.path)
    for episode, expected in enumerate(vector.expected["episodes"]):
        for row, held in reader.chunks(episode).items():
            for camera in expected["cameras"]:
                pictures, stream = reader.index(camera, row, held)
                assert (stream["structure"], stream["closure_bound"] <= 2) == ("star", True)
                starts = [at for at, picture in enumerate(pictures) if picture["is_reference"]]
                assert starts[0] == 0
                begin = held[0]
                for start, end in itertools.pairwise([*starts, len(pictures)]):
                    anchor, *others = pictures[start:end]
                    assert (anchor["references"], anchor["is_random_access"]) == ([], True)
                    assert all(picture["references"] == [start] for picture in others)
                    frames = [picture["frame_index"] for picture in others]
                    assert frames == sorted(frames)
                    together = sorted([anchor["frame_index"], *frames])
                    assert together == list(range(begin, begin + end - start))
                    assert len(together) <= stream["interval"]
                    if stream["codec"] == "av1":
                        assert all(
                            picture["poc"] == (picture["frame_index"] - held[0]) % 128
                            for picture in pictures[start:end]
                        )
                    else:
                        assert anchor["poc"] == 0
                        assert [p["poc"] for p in others] == [2 * (f - begin + 1) for f in frames]
                        assert start or anchor["frame_index"] == held[0]
                    begin += end - start


@pytest.mark.parametrize("vector", DDRA, ids=str)
def test_every_chunk_keeps_the_promise_of_ddra(vector: Vector) -> None:
    """bitstream.md, section 6, word by word."""
    reader = minimal_reader.Reader(vector.path)
    for episode, expected in enumerate(vector.expected["episodes"]):
        for row, held in reader.chunks(episode).items():
            for camera in expected["cameras"]:
                pictures, stream = reader.index(camera, row, held)
                assert (stream["structure"], stream["closure_bound"] <= 3) == ("ddra", True)
                shown = {picture["frame_index"]: at for at, picture in enumerate(pictures)}
                assert None not in shown
                anchors = [f for f in held if pictures[shown[f]]["is_reference"]]
                assert (anchors[0], anchors[-1]) == (held[0], held[-1])
                for frame in anchors:
                    picture = pictures[shown[frame]]
                    assert (picture["references"], picture["is_random_access"]) == ([], True)
                for before, after in itertools.pairwise(anchors):
                    assert after - before <= stream["interval"]
                    around = {shown[before], shown[after]}
                    for frame in range(before + 1, after):
                        assert set(pictures[shown[frame]]["references"]) <= around


def positions(pictures: list[dict[str, Any]], frames: list[int]) -> list[int]:
    return [at for at, picture in enumerate(pictures) if picture["frame_index"] in frames]


@pytest.mark.parametrize("vector", GOOD, ids=str)
def test_requests_of_several_frames_come_back_exactly(vector: Vector) -> None:
    reader = minimal_reader.Reader(vector.path)
    for episode, expected in enumerate(vector.expected["episodes"]):
        for camera, facts in expected["cameras"].items():
            hashes = {frame["frame"]: frame["yuv_sha256"] for frame in facts["frames"]}
            for request in facts["requests"]:
                found = reader.read(episode, camera, request["frames"])
                assert {number: sha256(*planes) for number, (planes, _, _) in found.items()} == {
                    number: hashes[number] for number in request["frames"]
                }


@pytest.mark.parametrize("vector", GOOD, ids=str)
def test_tabular_values_come_back(vector: Vector) -> None:
    reader = minimal_reader.Reader(vector.path)
    for episode, expected in enumerate(vector.expected["episodes"]):
        for key, values in expected["values"].items():
            assert reader.values(episode, key) == values


@pytest.mark.parametrize("vector", BAD, ids=str)
def test_what_is_wrong_is_refused(vector: Vector) -> None:
    with pytest.raises(minimal_reader.RefusedError):
        minimal_reader.Reader(vector.path).read(**vector.expected["request"])
