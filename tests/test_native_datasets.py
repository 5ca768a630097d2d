"""Real LeRobot datasets kept as they are: sizes, and random requests against PyAV.

In full: VIDEOFORMAT_NATIVE_REQUESTS=1000 (the default is a sample of them; then every dataset is
verified, too).
"""

import os
import random
from collections.abc import Callable
from pathlib import Path

import av
import native_requests as requests
import pytest

import videoformat as vf
from videoformat.convert.engine import open_source
from videoformat.verify import verify

pytestmark = pytest.mark.shared_data

REQUESTS = int(os.environ.get("VIDEOFORMAT_NATIVE_REQUESTS", "60"))
DATASETS = [
    "g1_v21",
    "g1_v30",
    "gr00t_v20",
    "syn_v30_h264",
    "syn_v30_h264_g30_bframes_drift",
]


@pytest.fixture(scope="module")
def native(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("native")

    def make(name: str) -> Path:
        if not (folder / name).exists():
            vf.convert(shared / "data" / "lerobot" / name, folder / name, video="native")
        return folder / name

    return make


def source_bytes(root: Path) -> int:
    """The sum of the access units of every video file."""
    total = 0
    for path in root.rglob("*.mp4"):
        with av.open(str(path)) as container:
            total += sum(packet.size for packet in container.demux(video=0))
    return total


def source_digests(root: Path) -> Callable[[int, str], list[bytes]]:
    """``digests(episode, camera)`` from a sequential decode of the source's files."""
    origin = open_source(root)
    files: dict[Path, list[bytes]] = {}

    def digests(number: int, camera: str) -> list[bytes]:
        episode = origin.episode(number)
        part = origin.coded(episode)[camera]
        if part.path not in files:
            files[part.path] = requests.sequential_digests(part.path)
            assert len(files[part.path]) == part.file_frame_count
        return files[part.path][part.first_frame : part.first_frame + episode.length]

    return digests


@pytest.mark.parametrize("name", DATASETS)
def test_the_store_holds_the_access_units_and_little_else(
    name: str, shared: Path, native: Callable[[str], Path]
) -> None:
    root = shared / "data" / "lerobot" / name
    dataset = vf.open(native(name))
    media = sum(
        chunk.index.stream.media_size
        for episode in range(dataset.num_episodes)
        for camera in dataset.cameras
        for chunk in dataset.plan([(episode, camera, 0)]).chunks
    )
    blobs = sum(path.stat().st_size for path in native(name).rglob("*.blob"))
    assert blobs in (0, media)  # small blobs lie in the data files
    assert media <= 1.01 * source_bytes(root)


@pytest.mark.parametrize("name", DATASETS)
def test_random_requests_are_exact(name: str, shared: Path, native: Callable[[str], Path]) -> None:
    dataset = vf.open(native(name))
    expected = source_digests(shared / "data" / "lerobot" / name)
    lengths = dataset.episodes.column("length").to_pylist()
    rng = random.Random(name)
    outcome = requests.Outcome()
    for _ in range(REQUESTS):
        episode = rng.randrange(len(lengths))
        camera = rng.choice(dataset.cameras)
        frames = requests.random_request(rng, lengths[episode])
        digests = expected(episode, camera)
        requests.compare(dataset, episode, camera, digests, frames, outcome)
    assert not outcome.wrong
    assert outcome.frames >= REQUESTS


@pytest.mark.parametrize("name", DATASETS if REQUESTS >= 1000 else DATASETS[3:])
def test_verified(name: str, native: Callable[[str], Path]) -> None:
    report = verify(native(name), decode=True)
    assert not report.problems
    assert report.derived == report.pictures
    assert report.closures == report.frames * len(vf.open(native(name)).cameras)


def test_images_do_not_stay_where_they_are(shared: Path, tmp_path: Path) -> None:
    source = shared / "data" / "lerobot" / "syn_v30_image"
    with pytest.raises(vf.VideoFormatError, match=r"images: .*camera .*cannot stay where they are"):
        vf.convert(source, tmp_path / "out.vf", video="reference", workers=1)
