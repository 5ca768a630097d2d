"""Every vector, read by the library."""

import hashlib
from typing import Any

import minimal_reader
import numpy as np
import pytest
from vectors import BAD, GOOD, Vector, as_lance

import videoformat as vf
from videoformat import errors

# bitstream.md, section 5: how far a reader's RGB may be from the formula.
RGB_TOLERANCE = 4


@pytest.fixture(scope="session")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The vectors as Lance datasets, by name."""
    folder = tmp_path_factory.mktemp("vectors")
    return {vector.name: as_lance(vector, folder) for vector in [*GOOD, *BAD]}


def formula(vector: Vector, episode: int, camera: str, frames: list[int]) -> np.ndarray[Any, Any]:
    """Frames as the formula of the specification gives them."""
    read = minimal_reader.Reader(vector.path).read(episode, camera, frames)
    return np.stack([minimal_reader.to_rgb(*read[frame][::2]) for frame in frames])


def distance(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> int:
    assert one.shape == other.shape
    return int(np.abs(one.astype(int) - other).max())


@pytest.mark.parametrize("vector", GOOD, ids=str)
def test_frames_are_within_the_tolerance_of_the_formula(
    vector: Vector, addresses: dict[str, str]
) -> None:
    """The samples under the formula are exact: ``test_minimal_reader`` compares their hashes."""
    dataset = vf.open(addresses[vector.name])
    assert dataset.num_episodes == len(vector.expected["episodes"])
    for episode, expected in enumerate(vector.expected["episodes"]):
        assert sorted(dataset.cameras) == sorted(expected["cameras"])
        for camera in expected["cameras"]:
            frames = list(range(expected["length"]))
            wanted = formula(vector, episode, camera, frames)
            found = dataset.read_frames(episode, camera, frames)
            assert distance(found, wanted) <= RGB_TOLERANCE
            for frame in frames:
                alone = dataset.read_frames(episode, camera, [frame])
                assert np.array_equal(alone[0], found[frame])


@pytest.mark.parametrize("vector", GOOD, ids=str)
def test_plans_are_the_expected_ones(vector: Vector, addresses: dict[str, str]) -> None:
    dataset = vf.open(addresses[vector.name])
    for episode, expected in enumerate(vector.expected["episodes"]):
        for camera, facts in expected["cameras"].items():
            for request in facts["requests"]:
                plan = dataset.plan([(episode, camera, frame) for frame in request["frames"]])
                (chunk,) = plan.chunks
                assert chunk.row == request["row"]
                assert [list(group) for group in chunk.plan.groups] == request["groups"]
                assert [[r.start, r.end] for r in chunk.plan.ranges] == request["ranges"]
                assert plan.byte_count == sum(end - start for start, end in request["ranges"])


@pytest.mark.parametrize("vector", GOOD, ids=str)
def test_episodes_and_values_are_the_expected_ones(
    vector: Vector, addresses: dict[str, str]
) -> None:
    dataset = vf.open(addresses[vector.name])
    episodes = dataset.episodes.to_pylist()
    for episode, expected in enumerate(vector.expected["episodes"]):
        found = episodes[episode]
        assert (found["episode_uid"], found["length"], found["tasks"]) == (
            expected["uid"],
            expected["length"],
            expected["tasks"],
        )
        rows = dataset.rows(episode)
        assert set(rows.column_names) == set(expected["values"])
        for key, values in expected["values"].items():
            column = rows.column(key)
            # Arrays of two dimensions come as tensors, whose Python form is their storage's.
            assert [plain(value) for value in column.to_pylist()] == values


def plain(value: Any) -> Any:
    return np.asarray(value).ravel().tolist() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("vector", GOOD, ids=str)
def test_the_closure_bound_is_the_largest_closure(
    vector: Vector, addresses: dict[str, str]
) -> None:
    dataset = vf.open(addresses[vector.name])
    for episode, expected in enumerate(vector.expected["episodes"]):
        for camera, facts in expected["cameras"].items():
            largest = max(len(frame["closure"]) for frame in facts["frames"])
            bounds = [s["closure_bound"] for s in dataset.streams(episode, camera)]
            assert max(bounds) == largest <= 3


@pytest.mark.parametrize("vector", BAD, ids=str)
def test_what_is_wrong_is_refused(vector: Vector, addresses: dict[str, str]) -> None:
    request = vector.expected["request"]
    with pytest.raises(getattr(errors, vector.expected["library_error"])):
        vf.open(addresses[vector.name]).read_frames(
            request["episode"], request["camera"], request["frames"]
        )


def test_tools_cannot_hide_a_hash_of_nothing() -> None:
    """Frames differ from one another, so that a reader that returns another frame is noticed."""
    empty = hashlib.sha256(b"").hexdigest()
    for vector in GOOD:
        for expected in vector.expected["episodes"]:
            for facts in expected["cameras"].values():
                hashes = [frame["yuv_sha256"] for frame in facts["frames"]]
                assert len(set(hashes)) == len(hashes)
                assert empty not in hashes
