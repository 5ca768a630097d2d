"""Batches from an object store: how many requests, how many bytes, and what faults do to them."""

import os
import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import object_store
import pytest
import small_dataset
from faulty_proxy import FaultyProxy, faulty_proxy

import videoformat as vf
from videoformat.errors import VideoFormatError
from videoformat.table.media import StoreFiles

pytestmark = pytest.mark.object_store

LENGTHS = (40, 33, 52, 41, 38, 60, 35, 44)
CAMERAS = small_dataset.CAMERAS
BATCHES = int(os.environ.get("VIDEOFORMAT_FAULTY_BATCHES", "300"))


@pytest.fixture(scope="module")
def uri(s3: object_store.ObjectStore) -> str:
    uri = s3.uri("reads")
    small_dataset.write_dataset(
        uri,
        lengths=LENGTHS,
        size=(120, 160),
        noise=90,
        crf=12,
        chunk_frames=64,
        interval=8,
        storage_options=s3.storage_options,
    )
    return uri


@pytest.fixture(scope="module")
def options(s3: object_store.ObjectStore, proxy: FaultyProxy) -> dict[str, str]:
    endpoint = f"http://127.0.0.1:{proxy.port}"
    return {**s3.storage_options, "aws_endpoint": endpoint, "client_max_retries": "20"}


def random_requests(rng: random.Random, count: int) -> list[tuple[int, str, int]]:
    return [
        (
            episode := rng.randrange(len(LENGTHS)),
            rng.choice(CAMERAS),
            rng.randrange(LENGTHS[episode]),
        )
        for _ in range(count)
    ]


@pytest.fixture(scope="module")
def frames(uri: str, s3: object_store.ObjectStore) -> dict[tuple[int, str, int], Any]:
    """Every frame, read whole without the proxy."""
    ds = vf.open(uri, s3.storage_options)
    return {
        (episode, camera, at): frame
        for episode, length in enumerate(LENGTHS)
        for camera in CAMERAS
        for at, frame in enumerate(ds.read_frames(episode, camera, range(length)))
    }


def test_one_take_and_one_range_read_a_camera(
    uri: str, options: dict[str, str], proxy: FaultyProxy, frames: dict[Any, Any]
) -> None:
    ds = vf.open(uri, options)
    assert ds.num_episodes == len(LENGTHS)
    requests = random_requests(random.Random(4), 64)
    assert len({episode for episode, _, _ in requests}) == 8
    proxy.traffic.clear()
    batch = ds.read_batch(requests)
    cold = ds.last_read
    assert cold is not None
    assert (cold.takes, cold.range_reads, cold.direct_reads) == (1, len(CAMERAS), 0)
    cold_requests = len(proxy.traffic.requests)
    proxy.traffic.clear()
    ds.read_batch(requests)
    warm = ds.last_read
    assert warm is not None
    assert (warm.takes, warm.range_reads) == (0, len(CAMERAS))
    closures = ds.plan(requests).byte_count
    assert warm.media_bytes == closures
    # What Lance counts is what the server saw.
    assert warm.store_requests == len(proxy.traffic.requests)
    assert warm.store_bytes == proxy.traffic.body_bytes
    # Some ranges that lie close together come in one request, with what is between them. A request
    # for where the media lies is a few bytes a fragment.
    assert closures <= proxy.traffic.body_bytes <= 1.3 * closures
    assert len(proxy.traffic.requests) <= cold_requests
    assert all(
        np.array_equal(frame, frames[key]) for frame, key in zip(batch, requests, strict=True)
    )


def test_a_wider_gap_takes_fewer_requests_and_more_bytes(
    uri: str, options: dict[str, str], proxy: FaultyProxy
) -> None:
    requests = random_requests(random.Random(5), 64)
    costs = []
    frames = []
    for gap in (2**12, 2**16):
        ds = vf.open(uri, options, options=vf.ReadOptions(gap_bytes=gap))
        ds.read_batch(requests)
        proxy.traffic.clear()
        frames.append(ds.read_batch(requests, out="stack"))
        costs.append((len(proxy.traffic.requests), proxy.traffic.body_bytes))
    (many, few_bytes), (few, many_bytes) = costs
    assert many > few
    assert few_bytes < many_bytes
    assert np.array_equal(*frames)


def test_a_batch_waits_for_few_round_trips(
    uri: str, options: dict[str, str], proxy: FaultyProxy, frames: dict[Any, Any]
) -> None:
    """Counted, with 20 ms added to every request so that what can run side by side does."""
    requests = random_requests(random.Random(6), 64)
    ds = vf.open(uri, options)
    assert ds.num_episodes == len(LENGTHS)
    proxy.faults.delay = 0.02
    try:
        proxy.traffic.clear()
        ds.read_batch(requests)
        cold = proxy.traffic.rounds()
        proxy.traffic.clear()
        ds.read_batch(requests)
        warm = proxy.traffic.rounds()
        proxy.traffic.clear()
        for request in requests[:16]:
            ds.read_batch([request])
        singly = proxy.traffic.rounds()
    finally:
        proxy.faults.delay = 0.0
    # Two for each camera, both cameras at once; before them the rows, and the media's own handle.
    # Sixteen frames are a quarter of the batch, so theirs are a quarter of what its frames take one by one.
    assert 2 <= warm <= cold < singly / 2
    assert singly >= 16


def test_one_chunk_waits_for_the_store_once_its_index_is_known(
    uri: str, options: dict[str, str], proxy: FaultyProxy, frames: dict[Any, Any]
) -> None:
    """Counted, with 0.1 s added to every request so that what can run side by side does."""
    ds = vf.open(uri, options, options=vf.ReadOptions(index_cache_bytes=2**20))
    anew = vf.open(uri, options, options=vf.ReadOptions(index_cache_bytes=0))
    camera, wanted = CAMERAS[0], range(10, 20)

    def read(dataset: vf.Dataset, frames_wanted: range) -> tuple[int, Any]:
        proxy.traffic.clear()
        read_frames = dataset.read_frames(3, camera, frames_wanted)
        return proxy.traffic.rounds(), read_frames

    for dataset in (ds, anew):
        for frame in (0, 1):  # the files' ends, and where the media lies
            dataset.read_frames(3, camera, [frame])
    proxy.faults.delay = 0.1
    try:
        known, found = read(ds, wanted)
        unknown, found_anew = read(anew, wanted)
    finally:
        proxy.faults.delay = 0.0
    # The index, and with it where the media lies; then the media.
    assert (known, unknown) == (1, 2)
    for images in (found, found_anew):
        assert all(
            np.array_equal(image, frames[3, camera, at])
            for image, at in zip(images, wanted, strict=True)
        )
    report = anew.last_read
    assert report is not None
    assert (report.takes, report.range_reads) == (1, 1)
    # What is read straight from the media's file is counted as well.
    assert report.store_requests == len(proxy.traffic.requests)
    assert report.store_bytes == proxy.traffic.body_bytes


@pytest.mark.parametrize("wrong", [False, True], ids=["not found", "wrong bytes"])
def test_media_that_is_not_where_it_seems_to_be_is_read_by_lance(
    uri: str,
    s3: object_store.ObjectStore,
    frames: dict[tuple[int, str, int], Any],
    monkeypatch: pytest.MonkeyPatch,
    *,
    wrong: bool,
) -> None:
    tried = []

    def read(_: StoreFiles, path: str, ranges: list[tuple[int, int]]) -> list[bytes] | None:
        tried.append(path)
        return [bytes(size) for _, size in ranges] if wrong else None

    monkeypatch.setattr(StoreFiles, "read", read)
    ds = vf.open(uri, s3.storage_options)
    camera, wanted = CAMERAS[1], range(20, 26)
    found = ds.read_frames(5, camera, wanted)
    assert tried
    assert all(
        np.array_equal(image, frames[5, camera, at])
        for image, at in zip(found, wanted, strict=True)
    )


def test_faults_end_in_right_frames(
    uri: str, options: dict[str, str], proxy: FaultyProxy, frames: dict[Any, Any]
) -> None:
    """Five in a hundred requests fail, in three ways; every frame is right and nothing is left."""
    # One that takes rows for every batch, two turns for one that has them.
    forgetful = vf.open(uri, options, options=vf.ReadOptions(index_cache_bytes=0, decode_threads=2))
    mindful = vf.open(uri, options, options=vf.ReadOptions(decode_threads=2))
    rng = random.Random(9)
    for ds in (forgetful, mindful):
        ds.read_batch(random_requests(rng, 8))
    proxy.faults.unavailable, proxy.faults.reset, proxy.faults.truncated = 0.03, 0.01, 0.01
    proxy.traffic.clear()
    threads = None
    refused = 0
    try:
        for turn in range(BATCHES):
            requests = random_requests(rng, 8)
            ds = mindful if turn % 3 else forgetful
            try:
                batch = ds.read_batch(requests)
            except VideoFormatError:
                # Retried within limits and then given up, in words: no frame at all.
                refused += 1
                continue
            for frame, key in zip(batch, requests, strict=True):
                assert np.array_equal(frame, frames[key])
            if turn == BATCHES // 3:
                threads = threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))
        assert proxy.traffic.faults > BATCHES // 20
        assert threads is not None
        # The proxy's own threads and sockets are in this process too, so there is some slack.
        assert threading.active_count() <= threads[0] + 24
        assert len(list(Path("/proc/self/fd").iterdir())) <= threads[1] + 64
        assert refused <= BATCHES // 50
    finally:
        proxy.faults.unavailable = proxy.faults.reset = proxy.faults.truncated = 0.0


def test_a_store_that_only_fails_ends_in_a_clear_error(
    uri: str, s3: object_store.ObjectStore
) -> None:
    with faulty_proxy(s3.port, seed=2) as broken:
        options = {
            **s3.storage_options,
            "aws_endpoint": f"http://127.0.0.1:{broken.port}",
            "client_max_retries": "1",
            "client_retry_timeout": "2",
        }
        ds = vf.open(uri, options)
        assert ds.num_frames == sum(LENGTHS)
        broken.faults.unavailable = 1.0
        with pytest.raises(VideoFormatError, match="s3://"):
            ds.read_batch([(0, CAMERAS[0], 3)])
