"""Batches from an object store: how many requests, how many bytes, and what faults do to them."""

import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import object_store
import pytest
import small_dataset
from faulty_proxy import FaultyProxy, faulty_proxy

import videoformat as vf
from videoformat.errors import VideoFormatError

pytestmark = pytest.mark.object_store

LENGTHS = (40, 33, 52, 41, 38, 60, 35, 44)
CAMERAS = small_dataset.CAMERAS
BATCHES = int(os.environ.get("VIDEOFORMAT_FAULTY_BATCHES", "300"))


@pytest.fixture(scope="module")
def proxy(s3: object_store.ObjectStore) -> Iterator[FaultyProxy]:
    with faulty_proxy(s3.port, seed=1) as running:
        yield running


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
    # Lance coalesces ranges that lie within 64 KiB of each other in a store, which with frames this
    # small is many: more than the closures, and still not the media.
    media = sum(
        stream["media_size"]
        for episode in range(len(LENGTHS))
        for camera in CAMERAS
        for stream in ds.streams(episode, camera)
    )
    assert closures <= proxy.traffic.body_bytes < media
    assert len(proxy.traffic.requests) <= cold_requests
    assert all(
        np.array_equal(frame, frames[key]) for frame, key in zip(batch, requests, strict=True)
    )


def test_faults_end_in_right_frames(
    uri: str, options: dict[str, str], proxy: FaultyProxy, frames: dict[Any, Any]
) -> None:
    """Five in a hundred requests fail, in three ways; every frame is right and nothing is left."""
    ds = vf.open(uri, options, options=vf.ReadOptions(index_cache_bytes=0, decode_threads=2))
    rng = random.Random(9)
    ds.read_batch(random_requests(rng, 8))
    proxy.faults.unavailable, proxy.faults.reset, proxy.faults.truncated = 0.03, 0.01, 0.01
    proxy.traffic.clear()
    threads = None
    refused = 0
    try:
        for turn in range(BATCHES):
            requests = random_requests(rng, 8)
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
