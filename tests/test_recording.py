"""A recorder waits or refuses, never drops; what is abandoned leaves nothing behind."""

import gc
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest
from numbered_frames import HEIGHT, WIDTH, image, numbers_of
from object_store import ObjectStore

import videoformat as vf
from videoformat import appending
from videoformat.errors import BacklogError, InvalidArgumentError, StoreError
from videoformat.verify import verify

FEATURES = {"cam": {"dtype": "video", "shape": (HEIGHT, WIDTH, 3)}, "n": {"dtype": "int64"}}
PATIENCE_S = 60


class Gate(vf.Writer):
    """A writer that encodes a frame only when it is let to."""

    entered: threading.Event
    opened: threading.Event
    fails_at = -1

    def add_frame(self, frame: Any) -> None:
        self.entered.set()
        assert self.opened.wait(PATIENCE_S)
        if frame["n"] == self.fails_at:
            raise StoreError("the store is gone")
        super().add_frame(frame)


def frame(number: int) -> dict[str, Any]:
    return {"cam": image(number), "n": number, "task": ""}


def make(uri: Path | str, *, mode: str = "create", **options: Any) -> vf.Writer:
    made = {"fps": 10, "features": FEATURES} if mode == "create" else {}
    return vf.create(
        uri,
        mode=mode,
        video=vf.DDRA(interval=3, crf=12),
        chunk_bounds=vf.ChunkBounds(frames=4),
        encoder_threads=1,
        **made,
        **options,
    )  # type: ignore[call-overload]


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    writer = make(tmp_path / "d.vf")
    writer.__class__ = Gate
    assert isinstance(writer, Gate)
    writer.entered, writer.opened = threading.Event(), threading.Event()
    yield writer
    writer.opened.set()


def numbers(uri: Path | str) -> list[list[int]]:
    dataset = vf.open(uri)
    found = []
    for episode in range(dataset.num_episodes):
        rows = dataset.rows(episode, columns=["n"]).column("n").to_pylist()
        assert numbers_of(dataset.read_frames(episode, "cam", range(len(rows)))) == rows
        found.append(rows)
    return found


def test_a_recorder_that_may_not_wait_refuses_and_drops_nothing(gate: Gate) -> None:
    with vf.Recorder(gate, backlog=3, when_full="raise") as recorder:
        for number in range(3):
            recorder.add_frame(frame(number))
        with pytest.raises(BacklogError, match=r"3 frames wait .* frame 3 was not taken"):
            recorder.add_frame(frame(3))
        assert (recorder.num_pending_frames, recorder.num_waiting_frames) == (3, 3)
        gate.opened.set()
        first = recorder.save_episode(metadata={"a": 1})
        uid = first.result(PATIENCE_S)
        recorder.add_frame(frame(7))
        recorder.save_episode()
    assert numbers(gate.uri) == [[0, 1, 2], [7]]
    dataset = vf.open(gate.uri)
    assert dataset.directory.uids()[0] == uid
    assert dataset.episodes.column("metadata").to_pylist()[0] == '{"a": 1}'


def test_a_recorder_that_may_wait_waits(gate: Gate) -> None:
    recorder = vf.Recorder(gate, backlog=3)
    for number in range(3):
        recorder.add_frame(frame(number))
    assert gate.entered.wait(PATIENCE_S)
    fourth = threading.Thread(target=recorder.add_frame, args=(frame(3),))
    fourth.start()
    fourth.join(0.1)
    assert fourth.is_alive()
    gate.opened.set()
    fourth.join(PATIENCE_S)
    assert not fourth.is_alive()
    recorder.save_episode()
    recorder.close()
    assert numbers(gate.uri) == [[0, 1, 2, 3]]


def test_arrays_may_be_used_again_at_once(gate: Gate) -> None:
    shown = np.array(image(0))
    with vf.Recorder(gate) as recorder:
        for number in range(9):
            shown[:] = image(number)
            recorder.add_frame({"cam": shown, "n": number, "task": ""})
        gate.opened.set()
        recorder.save_episode()
    assert numbers(gate.uri) == [list(range(9))]


def test_a_frame_that_is_wrong_is_refused_at_once_and_the_take_goes_on(gate: Gate) -> None:
    gate.opened.set()
    with vf.Recorder(gate) as recorder:
        recorder.add_frame(frame(0))
        with pytest.raises(InvalidArgumentError, match="missing"):
            recorder.add_frame({"n": 1})
        with pytest.raises(InvalidArgumentError):
            recorder.add_frame({"cam": image(1)[1:], "n": 1})
        recorder.add_frame(frame(1))
        recorder.save_episode()
    assert numbers(gate.uri) == [[0, 1]]


def test_an_abandoned_take_is_forgotten_and_what_was_saved_before_is_kept(gate: Gate) -> None:
    with vf.Recorder(gate) as recorder:
        recorder.add_frame(frame(0))
        saved = recorder.save_episode()
        for number in range(10, 20):
            recorder.add_frame(frame(number))
        gate.opened.set()
        recorder.clear_episode()
        assert saved.result(0)
        assert (recorder.num_pending_frames, recorder.num_waiting_frames) == (0, 0)
        recorder.add_frame(frame(1))
        recorder.save_episode()
    assert numbers(gate.uri) == [[0], [1]]
    with pytest.raises(InvalidArgumentError, match="closed"):
        recorder.add_frame(frame(2))


def test_an_error_of_the_thread_reaches_every_caller_until_it_is_cleared(gate: Gate) -> None:
    recorder = vf.Recorder(gate)
    gate.fails_at = 2
    for number in range(4):
        recorder.add_frame(frame(number))
    saved = recorder.save_episode()
    gate.opened.set()
    assert isinstance(saved.exception(PATIENCE_S), StoreError)
    for call in (lambda: recorder.add_frame(frame(5)), recorder.save_episode, recorder.close):
        with pytest.raises(StoreError, match="the store is gone"):
            call()
    recorder.clear_episode()
    assert recorder.num_waiting_frames == 0  # not those that were refused with the error
    recorder.add_frame(frame(6))
    recorder.save_episode()
    recorder.close()
    assert numbers(gate.uri) == [[6]]


def test_what_was_not_saved_is_said_at_the_end(gate: Gate) -> None:
    gate.opened.set()
    recorder = vf.Recorder(gate)
    recorder.add_frame(frame(0))
    with pytest.raises(InvalidArgumentError, match="1 frames were added and not saved"):
        recorder.close()
    with pytest.raises(ValueError, match="stop"), recorder:
        raise ValueError("stop")
    assert numbers(gate.uri) == []


@pytest.mark.parametrize(
    "options", [{"backlog": 0}, {"backlog": True}, {"backlog": 1.5}, {"when_full": "drop"}]
)
def test_calls_that_cannot_be_right(gate: Gate, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        vf.Recorder(gate, **options)


def abandon(uri: str, options: dict[str, str] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A take that is in the store in part, with media in files of its own, is given up."""
    big = {"cam": {"dtype": "video", "shape": (256, 256, 3)}}
    random = np.random.default_rng(0)
    writer = vf.create(
        uri,
        fps=10,
        features=big,
        video=vf.DDRA(crf=1),
        chunk_bounds=vf.ChunkBounds(frames=4),
        storage_options=options,
    )

    def take(frames: int) -> None:
        for _ in range(frames):
            noise = random.integers(0, 256, (256, 256, 3)).astype(np.uint8)
            writer.add_frame({"cam": noise, "task": ""})

    def stored() -> set[str]:
        session = lance.dataset(uri, storage_options=options).new_file_session()
        return set(session.list("data"))

    take(2)
    writer.save_episode()
    before = stored()
    monkeypatch.setattr(appending, "SPILL_BYTES", 1)
    take(14)
    assert len(stored()) > len(before) + 2
    writer.clear_episode()
    assert stored() == before
    with pytest.raises(ValueError, match="stop"), writer:  # noqa: PT012
        take(14)
        assert stored() > before
        raise ValueError("stop")
    assert stored() == before
    assert verify(uri, storage_options=options).ok
    assert vf.open(uri, options).num_episodes == 1


def test_an_abandoned_take_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    abandon(str(tmp_path / "d.vf"), None, monkeypatch)
    left = [path for path in (tmp_path / "d.vf/data").iterdir() if path.is_dir()]
    assert all(any(path.iterdir()) for path in left)


@pytest.mark.object_store
def test_an_abandoned_take_leaves_no_object(
    s3: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    abandon(s3.uri("abandoned.vf"), s3.storage_options, monkeypatch)


def test_an_abandoned_take_leaves_no_memory(tmp_path: Path) -> None:
    with make(tmp_path / "d.vf") as writer:

        def take() -> tuple[int, int]:
            for number in range(60):
                writer.add_frame(frame(number))
            full = pa.total_allocated_bytes() + tracemalloc.get_traced_memory()[0]
            writer.clear_episode()
            gc.collect()
            return full, pa.total_allocated_bytes() + tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        try:
            take()
            _, before = take()
            full, after = take()
        finally:
            tracemalloc.stop()
    assert after - before < (full - before) / 10


def test_a_frame_that_was_not_taken_whole_ends_the_episode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make(tmp_path / "d.vf") as writer:
        monkeypatch.setattr(appending, "SPILL_BYTES", 1)

        def refuse(*_: object) -> None:
            raise StoreError("full")

        with monkeypatch.context() as broken, pytest.raises(StoreError):  # noqa: PT012
            broken.setattr(appending.EpisodeRowsBuffer, "_spill", refuse)
            for number in range(20):
                writer.add_frame(frame(number))
        for call in (lambda: writer.add_frame(frame(0)), writer.save_episode):
            with pytest.raises(InvalidArgumentError, match=r"call clear_episode\(\)"):
                call()
        writer.clear_episode()
        for number in range(9):
            writer.add_frame(frame(number))
        writer.save_episode()
    assert numbers(writer.uri) == [list(range(9))]
