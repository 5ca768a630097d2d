"""Native video of every kind that encoders make: any frame exact, and never more pictures."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import native_requests as requests
import pytest
from coded_video.encode import write_video
from coded_video.settings import SETTINGS

import videoformat as vf
from videoformat.index import plan
from videoformat.index.pictures import PictureIndex
from videoformat.verify import verify

FRAMES = 48
REQUESTS = 24

# Streams that have no sparse path, and what their rows say about it.
SEQUENTIAL = {"x265 fields": "48 of 48 pictures are decoded in sequence: field pictures"}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """``source(name)``: a file of one of the settings, to be read only."""
    folder = tmp_path_factory.mktemp("streams")

    def make(name: str) -> Path:
        setting = SETTINGS[name]
        path = folder / f"{name.replace(' ', '-').replace(':', '')}{setting.suffix}"
        if not path.exists():
            write_video(path, setting, FRAMES)
        return path

    return make


def sequential_count(index: PictureIndex, frames: Sequence[int]) -> int:
    """Pictures from the last random access point before all that a frame needs, up to the frame."""
    last: dict[int, int] = {}
    for frame in set(frames):
        target = index.position_of[frame]
        earliest = min(index.closure([target]))
        start = max(at for at in range(earliest + 1) if index.is_random_access[at])
        last[start] = max(target, last.get(start, 0))
    return sum(end - start + 1 for start, end in last.items())


@pytest.mark.parametrize("name", SETTINGS)
def test_random_requests_are_exact(
    name: str, source: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = source(name)
    expected = requests.sequential_digests(path)
    assert len(expected) == FRAMES - SETTINGS[name].trim
    assert len(set(expected)) == len(expected)
    vf.convert(path, tmp_path / "d", video="native", workers=1)
    dataset = vf.open(tmp_path / "d")
    (camera,) = dataset.cameras
    assert dataset.num_frames == len(expected)
    (chunk,) = dataset.plan([(0, camera, 0)]).chunks
    assert chunk.index.stream.access_reason == SEQUENTIAL.get(name)
    assert chunk.index.stream.access == (
        "sequential" if name in SEQUENTIAL else "direct" if "av1" in name else "rewrite"
    )
    rng = random.Random(name)
    sequential = 0
    outcome = requests.Outcome()
    for _ in range(REQUESTS):
        frames = requests.random_request(rng, len(expected))
        requests.compare(dataset, 0, camera, expected, frames, outcome)
        sequential += sequential_count(chunk.index, frames)
    assert not outcome.wrong
    assert outcome.pictures <= sequential
    # Rewriting is exact too where decoding in sequence is cheaper.
    monkeypatch.setattr(plan, "_COST_PER_REWRITE", -1e6)
    for _ in range(REQUESTS // 3):
        frames = requests.random_request(rng, len(expected))
        requests.compare(dataset, 0, camera, expected, frames, outcome)
    assert not outcome.wrong


@pytest.mark.parametrize(
    "name",
    [
        "x264 open GOP pyramid",
        "x264 slices temporal strict",
        "x264 tff strict",
        "x264 trimmed",
        "x265 open GOP",
        "x265 RADL",
        "x265 fields",
        "svt-av1 default",
        "svt-av1 open GOP",
    ],
)
@pytest.mark.parametrize("frames", [7, 1000])
def test_verified_in_chunks_of_any_length(
    name: str, frames: int, source: Callable[[str], Path], tmp_path: Path
) -> None:
    """Chunks that are cut in mid-sequence hold the pictures that their frames need."""
    bounds = vf.ChunkBounds(frames=frames)
    report = vf.convert(
        source(name), tmp_path / "d", video="native", chunk_bounds=bounds, workers=1
    )
    checked = verify(tmp_path / "d", decode=True, workers=1)
    assert not checked.problems
    assert checked.closures == report.frames
    expected = requests.sequential_digests(source(name))
    dataset = vf.open(tmp_path / "d")
    outcome = requests.Outcome()
    everything = range(len(expected))
    requests.compare(dataset, 0, dataset.cameras[0], expected, everything, outcome)
    for frame in everything:
        requests.compare(dataset, 0, dataset.cameras[0], expected, [frame], outcome)
    assert not outcome.wrong
