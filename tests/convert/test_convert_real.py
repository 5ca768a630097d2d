"""Real LeRobot datasets, re-encoded: every row, every number, every frame where it belongs."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import real_datasets as real

import videoformat as vf
from videoformat.media.color import luma
from videoformat.verify import verify

pytestmark = pytest.mark.shared_data


@pytest.fixture(scope="session")
def converted(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """``converted(name)``: the dataset, converted with the default settings."""
    made: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in made:
            made[name] = tmp_path_factory.mktemp("converted") / name
            vf.convert(shared / "data/lerobot" / name, made[name])
        return made[name]

    return make


@pytest.mark.parametrize("name", real.DATASETS)
def test_rows_and_frames(shared: Path, converted: Callable[[str], Path], name: str) -> None:
    episodes, frame_count, cameras = real.DATASETS[name]
    source = shared / "data/lerobot" / name
    info = json.loads((source / "meta/info.json").read_text())
    ds = vf.open(converted(name))
    assert (ds.num_episodes, ds.num_frames) == (episodes, frame_count)
    assert tuple(ds.cameras) == cameras
    assert ds.fps == info["fps"]
    assert ds.robot_type == info["robot_type"]
    table = real.rows(source)
    assert ds.episodes.column("length").to_pylist() == real.lengths(table)
    whole = ds.frames_table()
    assert whole.num_rows == frame_count
    tabular = [key for key in table.column_names if not key.startswith("observation.images")]
    assert sorted(whole.column_names) == sorted(tabular)
    for key in tabular:
        assert whole.column(key).to_pylist() == table.column(key).to_pylist(), key
        declared = info["features"][key]
        kept = ds.features[key]
        assert (kept["dtype"], list(kept["shape"])) == (declared["dtype"], declared["shape"])
        value = whole.schema.field(key).type
        element = value.value_type if pa.types.is_fixed_size_list(value) else value
        assert str(element).replace("double", "float64").replace("float", "float32").replace(
            "float3264", "float64"
        ) in (declared["dtype"], f"{declared['dtype']}")


@pytest.mark.parametrize("name", real.DATASETS)
def test_tasks_and_statistics_survive(
    shared: Path, converted: Callable[[str], Path], name: str
) -> None:
    source = shared / "data/lerobot" / name
    ds = vf.open(converted(name))
    stats = source / "meta/stats.json"
    assert ds.statistics == (json.loads(stats.read_text()) if stats.exists() else None)
    lines = source / "meta/tasks.jsonl"
    if lines.exists():
        texts = [json.loads(line)["task"] for line in lines.read_text().splitlines()]
        assert ds.tasks == texts
    assert all(
        task in ds.tasks for tasks in ds.episodes.column("tasks").to_pylist() for task in tasks
    )


@pytest.mark.parametrize("name", real.SYNTHETIC)
def test_burnt_in_ids(converted: Callable[[str], Path], name: str) -> None:
    ds = vf.open(converted(name))
    for offset, camera in enumerate(ds.cameras):
        for episode in range(ds.num_episodes):
            index = ds.rows(episode, columns=["index"]).column("index").to_pylist()
            frames = ds.read_frames(episode, camera, range(len(index)))
            assert [real.burnt_in(frame) for frame in frames] == [i + 1000 * offset for i in index]


@pytest.mark.parametrize("name", real.DATASETS)
def test_verify_with_decoding(converted: Callable[[str], Path], name: str) -> None:
    report = verify(converted(name), decode=True)
    assert report.problems == ()
    assert report.frames == real.DATASETS[name][1]


def test_quality_and_size_at_the_default_setting(
    shared: Path, converted: Callable[[str], Path]
) -> None:
    source = shared / "data/lerobot/g1_v30"
    ds = vf.open(converted("g1_v30"))
    camera = ds.cameras[0]
    squared, samples = 0.0, 0
    reader = ds._reader
    for episode, video in enumerate(real.episode_videos(source, camera)):
        plan = ds.plan([(episode, camera, at) for at in range(video.count)])
        decoded: dict[int, Any] = {}
        for chunk, parts in zip(plan.chunks, reader.fetch(plan, vf.ReadReport()), strict=True):
            for frame, picture in reader.decode(chunk, parts, vf.ReadReport()):
                decoded[frame] = luma(picture).copy()
        for at, original in enumerate(real.frames(video)):
            difference = luma(original).astype(np.float64) - decoded[at]
            squared += float((difference**2).sum())
            samples += difference.size
    psnr = 10 * np.log10(255**2 / (squared / samples))
    assert psnr >= 41.0
    stored = sum(
        stream["media_size"] for e in range(ds.num_episodes) for stream in ds.streams(e, camera)
    )
    files = (source / "videos").rglob("*.mp4")
    assert stored <= 0.4 * sum(file.stat().st_size for file in files)


@pytest.mark.parametrize("name", real.DATASETS)
def test_random_requests_equal_a_sequential_decode(
    converted: Callable[[str], Path], name: str
) -> None:
    """1,000 requests over all sets, single and batched."""
    ds = vf.open(converted(name))
    rng = random.Random(name)
    lengths = ds.episodes.column("length").to_pylist()
    whole: dict[tuple[int, str], Any] = {}

    def expected(episode: int, camera: str, frame: int) -> Any:
        if (episode, camera) not in whole:
            everything = range(lengths[episode])
            # All frames in one go: every picture of the chunk is fed, in decode order.
            plan = ds.plan([(episode, camera, at) for at in everything])
            assert all(len(chunk.plan.groups) == 1 for chunk in plan.chunks)
            assert plan.picture_count == lengths[episode]
            whole[episode, camera] = ds.read_frames(episode, camera, everything)
        return whole[episode, camera][frame]

    batch = []
    for _ in range(167):
        episode = rng.randrange(min(3, len(lengths)))
        camera = rng.choice(ds.cameras)
        wanted = [rng.randrange(lengths[episode]) for _ in range(rng.randint(1, 8))]
        got = ds.read_frames(episode, camera, wanted)
        plan = ds.plan([(episode, camera, frame) for frame in wanted])
        assert ds.last_read is not None
        assert ds.last_read.media_bytes == plan.byte_count
        for frame, image in zip(wanted, got, strict=True):
            assert np.array_equal(image, expected(episode, camera, frame))
            batch.append((episode, camera, frame))
    rng.shuffle(batch)
    for request, image in zip(batch[:200], ds.read_batch(batch[:200]), strict=True):
        assert np.array_equal(image, expected(*request))


@pytest.mark.parametrize("name", real.DATASETS)
def test_every_closure_has_at_most_three_pictures(
    converted: Callable[[str], Path], name: str
) -> None:
    ds = vf.open(converted(name))
    for episode in range(ds.num_episodes):
        for camera in ds.cameras:
            assert all(s["closure_bound"] <= 3 for s in ds.streams(episode, camera))
            for frame in range(0, ds.directory.episode(episode).length, 7):
                plan = ds.plan([(episode, camera, frame)])
                assert plan.picture_count <= 3
