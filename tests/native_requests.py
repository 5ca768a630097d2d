"""Random requests for frames of stored video, and what a sequential decode of the source gives."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import av

import videoformat as vf
from videoformat.media.digest import picture_digest
from videoformat.reading import ReadReport


def sequential_digests(path: Path) -> list[bytes]:
    """A digest of every sample of each frame, as PyAV decodes the file from its beginning."""
    with av.open(str(path)) as container:
        container.streams.video[0].thread_count = 1
        return [picture_digest(frame) for frame in container.decode(video=0)]


def random_request(rng: random.Random, length: int) -> list[int]:
    """One to eight frames anywhere, a window of ten, or every 30th frame."""
    kind = rng.random()
    if kind < 0.6:
        return [rng.randrange(length) for _ in range(rng.randint(1, 8))]
    if kind < 0.8:
        start = rng.randrange(max(1, length - 9))
        return list(range(start, min(length, start + 10)))
    return list(range(rng.randrange(min(length, 30)), length, 30))


@dataclass
class Outcome:
    """What some requests came to; ``wrong`` names (episode, frame) whose samples differ."""

    frames: int = 0
    pictures: int = 0
    byte_count: int = 0
    rewritten: int = 0
    groups: int = 0
    wrong: list[tuple[int, int]] = field(default_factory=list)


def read_digests(
    dataset: vf.Dataset, episode: int, camera: str, frames: Sequence[int], outcome: Outcome
) -> dict[int, bytes]:
    """A digest of each frame, read as ``read_frames`` reads, but before the conversion to RGB."""
    reader = dataset._reader
    report = ReadReport()
    plan = dataset.plan([(episode, camera, frame) for frame in frames])
    digests = {}
    for chunk, parts in zip(plan.chunks, reader.fetch(plan, report), strict=True):
        for frame, picture in reader.decode(chunk, parts, report):
            digests[frame] = picture_digest(picture)
        outcome.groups += len(chunk.plan.steps)
        outcome.rewritten += sum(step.is_rewritten for step in chunk.plan.steps)
    outcome.frames += len(frames)
    outcome.pictures += plan.picture_count
    outcome.byte_count += plan.byte_count
    return digests


def compare(
    dataset: vf.Dataset,
    episode: int,
    camera: str,
    expected: Sequence[bytes],
    frames: Sequence[int],
    outcome: Outcome,
) -> None:
    """Reads some frames of an episode and notes those that are not what was expected of them."""
    digests = read_digests(dataset, episode, camera, frames, outcome)
    outcome.wrong += [(episode, at) for at in frames if digests.get(at) != expected[at]]
