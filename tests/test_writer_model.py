"""Any sequence of writing, saving, abandoning, closing and appending, against a list in memory."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from numbered_frames import HEIGHT, WIDTH, image, numbers_of

import videoformat as vf
from videoformat.errors import InvalidArgumentError

CAMERAS = {
    "cam.left": {"dtype": "video", "shape": (HEIGHT, WIDTH, 3), "names": None},
    "cam.right": {"dtype": "video", "shape": (33, 45, 3), "names": None},
}
TABULAR = {
    "action": {"dtype": "float32", "shape": (2,), "names": None},
    "grid": {"dtype": "int16", "shape": (2, 1, 3), "names": None},
    "done": {"dtype": "bool", "shape": (1,), "names": None},
    "label": {"dtype": "string", "shape": (1,), "names": None},
    "index": {"dtype": "int64", "shape": (1,), "names": None},
    "frame_index": {"dtype": "int64", "shape": (1,), "names": None},
    "episode_index": {"dtype": "int64", "shape": (1,), "names": None},
    "task_index": {"dtype": "int64", "shape": (1,), "names": None},
}
TASKS = ["", "pick", "place", "ü"]


@dataclass
class Frame:
    number: int
    task: str


@dataclass
class Model:
    """What was saved, what of it is visible, what is open."""

    saved: list[list[Frame]] = field(default_factory=list)
    visible: int = 0
    pending: list[Frame] = field(default_factory=list)
    uids: list[str] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)  # in the order in which they got their index


class Writing(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.uri = self.folder / "d"
        self.model = Model()
        self.number = 0
        self.batch = 1
        self.writer: vf.Writer | None = None

    @initialize(
        cameras=st.sets(st.sampled_from(sorted(CAMERAS))),
        tabular=st.sets(st.sampled_from(sorted(TABULAR))),
        batch=st.integers(1, 3),
        frames=st.integers(1, 5),
        interval=st.integers(2, 6),
    )
    def create(
        self, cameras: set[str], tabular: set[str], batch: int, frames: int, interval: int
    ) -> None:
        everything = {**CAMERAS, **TABULAR}
        self.features = {key: everything[key] for key in sorted(cameras | tabular)}
        if not self.features:
            self.features = {"done": TABULAR["done"]}
        self.cameras = [key for key in self.features if key in CAMERAS]
        self.batch = batch
        self.choices: dict[str, Any] = {
            "video": vf.DDRA(interval=interval, crf=12),
            "episodes_per_append": batch,
            "chunk_bounds": vf.ChunkBounds(frames=frames),
            "encoder_threads": 1,
        }
        self.writer = vf.create(self.uri, fps=10, features=self.features, **self.choices)

    def frame(self, task: str) -> dict[str, Any]:
        number = self.number
        shapes = {key: item["shape"] for key, item in CAMERAS.items()}
        values: dict[str, Any] = {
            **{key: image(number + 1000 * at, *shapes[key][:2])
               for at, key in enumerate(sorted(CAMERAS))},
            "action": np.array([number, -number], np.float32),
            "grid": np.full((2, 1, 3), number % 300, np.int16),
            "done": number % 3 == 0,
            "label": f"frame {number}",
        }  # fmt: skip
        given = {key: value for key, value in values.items() if key in self.features}
        return {**given, "task": task}

    @rule(tasks=st.lists(st.sampled_from(TASKS), min_size=1, max_size=4))
    def add_frames(self, tasks: list[str]) -> None:
        assert self.writer is not None
        for task in tasks:
            self.writer.add_frame(self.frame(task))
            self.model.pending.append(Frame(self.number, task))
            if "task_index" in self.features and task not in self.model.tasks:
                self.model.tasks.append(task)
            self.number += 1
        assert self.writer.num_pending_frames == len(self.model.pending)

    @rule(data=st.data())
    def add_a_frame_that_is_refused(self, data: st.DataObject) -> None:
        """With a key too few, one too many, or a wrong value; nothing of it is kept."""
        assert self.writer is not None
        frame = self.frame("refused")
        key = data.draw(st.sampled_from(sorted(frame)))
        kind = data.draw(st.sampled_from(["missing", "unknown", "wrong"]))
        if kind == "unknown":
            frame["unknown"] = 1
        elif kind == "missing" and key != "task":
            del frame[key]
        else:
            frame[key] = object()
        with pytest.raises(InvalidArgumentError, match="unknown" if kind == "unknown" else key):
            self.writer.add_frame(frame)
        assert self.writer.num_pending_frames == len(self.model.pending)

    @precondition(lambda self: self.model.pending)
    @rule()
    def save(self) -> None:
        assert self.writer is not None
        self.model.uids.append(self.writer.save_episode())
        self.model.saved.append(self.model.pending)
        self.model.pending = []
        if len(self.model.saved) - self.model.visible >= self.batch:
            self.model.visible = len(self.model.saved)

    @precondition(lambda self: not self.model.pending)
    @rule()
    def save_nothing(self) -> None:
        assert self.writer is not None
        with pytest.raises(InvalidArgumentError, match="no frame"):
            self.writer.save_episode()

    @rule()
    def clear(self) -> None:
        assert self.writer is not None
        self.writer.clear_episode()
        self.model.pending = []

    @rule()
    def flush(self) -> None:
        assert self.writer is not None
        self.writer.flush()
        self.model.visible = len(self.model.saved)

    @rule(fails=st.booleans())
    def close_and_append(self, fails: bool) -> None:
        """Leaves the with block, by an exception or not, and opens another writer."""
        assert self.writer is not None
        writer = self.writer
        if self.model.pending and not fails:
            writer.clear_episode()
        with pytest.raises(ZeroDivisionError) if fails else nullcontext(), writer:
            assert 1 // (not fails)
        self.model.pending = []
        self.model.visible = len(self.model.saved)
        self.writer = vf.create(self.uri, mode="append", **self.choices)

    @invariant()
    def what_is_visible_is_what_was_saved(self) -> None:
        if self.writer is None:
            return
        visible = self.model.saved[: self.model.visible]
        ds = vf.open(self.uri)
        assert ds.num_episodes == len(visible)
        assert ds.num_frames == sum(map(len, visible))
        table = ds.episodes
        assert table["episode_uid"].to_pylist() == self.model.uids[: len(visible)]
        assert table["length"].to_pylist() == [len(frames) for frames in visible]
        assert table["tasks"].to_pylist() == [
            list(dict.fromkeys(frame.task for frame in frames if frame.task)) for frames in visible
        ]
        assert ds.frames_table().to_pydict() == self.expected_rows(visible)
        if visible:
            last = len(visible) - 1
            for at, camera in enumerate(sorted(CAMERAS)):
                if camera in self.cameras:
                    frames = ds.read_frames(last, camera, range(len(visible[last])))
                    expected = [frame.number + 1000 * at for frame in visible[last]]
                    assert numbers_of(frames) == expected

    def expected_rows(self, episodes: list[list[Frame]]) -> dict[str, list[Any]]:
        names = [key for key in self.features if key not in CAMERAS]
        names += [name for name in ("timestamp", "task") if name not in names]
        rows: dict[str, list[Any]] = {name: [] for name in names}
        total = 0
        for episode, frames in enumerate(episodes):
            for at, frame in enumerate(frames):
                number = frame.number
                everything: dict[str, Any] = {
                    "action": [number, -number],
                    "grid": [number % 300] * 6,
                    "done": number % 3 == 0,
                    "label": f"frame {number}",
                    "index": total,
                    "frame_index": at,
                    "episode_index": episode,
                    "task_index": (
                        self.model.tasks.index(frame.task)
                        if frame.task in self.model.tasks else None
                    ),
                    "timestamp": float(np.float32(at / 10)),
                    "task": frame.task,
                }  # fmt: skip
                for name in names:
                    rows[name].append(everything[name])
                total += 1
        return rows

    def teardown(self) -> None:
        if self.writer is not None:
            ds = vf.open(self.uri)
            visible = self.model.saved[: self.model.visible]
            requests = [
                (episode, camera, at)
                for episode, frames in enumerate(visible)
                for camera in self.cameras
                for at in range(len(frames))
            ]
            expected = [
                visible[episode][at].number + 1000 * sorted(CAMERAS).index(camera)
                for episode, camera, at in requests
            ]
            assert numbers_of(ds.read_batch(requests)) == expected
        shutil.rmtree(self.folder)


TestWriting = Writing.TestCase
TestWriting.settings = settings(max_examples=25, stateful_step_count=20)
