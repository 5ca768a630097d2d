"""What a training loop knows of a dataset before it reads a frame.

The facts can be read in a process of their own, so that this one stays free to fork workers
(``videoformat.forks``). Run as a module, it answers one question: a pickle on standard input, a
pickle on standard output.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from videoformat.dataset import Dataset, open_dataset
from videoformat.errors import StoreError

__all__ = ["Address", "DatasetFacts", "Question", "answer", "ask_elsewhere"]

Int64Array = np.ndarray[Any, np.dtype[np.int64]]
Question = Literal["facts", "episodes"]


@dataclass(frozen=True, slots=True)
class Address:
    """Where a dataset is, and what ``open`` needs to open it again."""

    uri: str
    storage_options: Mapping[str, str] | None
    version: int | str | None
    allowed_sources: tuple[str, ...]

    def open(self) -> Dataset:
        """Opens it in this process."""
        return open_dataset(
            self.uri, self.storage_options, self.version, allowed_sources=self.allowed_sources
        )

    @staticmethod
    def of(dataset: Dataset) -> Address:
        """The address of the version that is open."""
        return Address(
            dataset.uri, dataset.storage_options, dataset.version, dataset.allowed_sources
        )


@dataclass(frozen=True, slots=True, eq=False)
class DatasetFacts:
    """One version's facts.

    ``lengths`` are frames by episode, ``chunk_counts`` chunks by episode, ``chunk_frames`` frames by
    chunk. Chunks follow each other as the frames do. ``interval`` is the distance between the frames at
    which decoding can begin: DDRA's interval, or what the first chunk shows for other streams.
    """

    address: Address
    fps: float
    robot_type: str | None
    features: dict[str, dict[str, Any]]
    cameras: tuple[str, ...]
    tasks: tuple[str, ...]
    statistics: dict[str, Any] | None
    info: dict[str, Any]
    lengths: Int64Array
    chunk_frames: Int64Array
    chunk_counts: Int64Array
    interval: int

    @staticmethod
    def of(dataset: Dataset) -> DatasetFacts:
        """Reads them."""
        return DatasetFacts(
            address=Address.of(dataset),
            fps=dataset.fps,
            robot_type=dataset.robot_type,
            features=dataset.features,
            cameras=tuple(dataset.cameras),
            tasks=tuple(dataset.tasks),
            statistics=dataset.statistics,
            info=dataset.info,
            lengths=np.asarray(dataset.directory.lengths, np.int64),
            chunk_frames=np.asarray(dataset.directory.frame_counts, np.int64),
            chunk_counts=np.asarray(dataset.directory.chunk_counts, np.int64),
            interval=_interval(dataset),
        )


def _interval(dataset: Dataset) -> int:
    """The longest interval of the cameras, by the first episode's first chunk."""
    longest = 1
    if not dataset.num_episodes:
        return longest
    for camera in dataset.cameras:
        declared = dataset.streams(0, camera)[0].get("interval")
        if declared:
            longest = max(longest, int(declared))
            continue
        pictures = dataset.pictures(0, camera)
        first = np.asarray(pictures.column("chunk_index")) == 0
        starts = int(np.asarray(pictures.column("is_random_access"))[first].sum())
        longest = max(longest, round(int(first.sum()) / max(starts, 1)))
    return longest


def answer(dataset: Dataset, question: Question) -> Any:
    """The answer to a question about a dataset."""
    return DatasetFacts.of(dataset) if question == "facts" else dataset.episodes


def ask_elsewhere(address: Address, question: Question) -> Any:
    """Has a fresh process answer a question; raises what it raised."""
    command = [sys.executable, "-c", f"from {__name__} import _main; _main()"]
    done = subprocess.run(  # noqa: S603 - this interpreter and this module
        command,
        input=pickle.dumps((sys.path, address, question)),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise StoreError(
            f"{address.uri}: the process that reads its facts ended with status "
            f"{done.returncode}: {said[-1] if said else 'no message'}"
        )
    # What this very module wrote, in a process that this one started.
    is_error, value = pickle.loads(done.stdout)  # noqa: S301
    if is_error:
        raise value
    return value


def _main() -> None:
    out = sys.stdout.buffer
    sys.stdout = sys.stderr
    path, address, question = pickle.load(sys.stdin.buffer)  # noqa: S301
    sys.path[:] = path
    try:
        reply = (False, answer(address.open(), question))
    except Exception as error:  # noqa: BLE001 - raised again by the process that asked
        reply = (True, error)
    out.write(pickle.dumps(reply))
    out.flush()
