"""The forms in which the pattern benchmark keeps one dataset's frames, made once into a folder.

All of them hold the same whole episodes, and are as close to one quality as their encoders' steps allow:
what the default profile gives. Each search begins at the factor that fits the dataset that the committed
results are of, so there one try does; elsewhere lines through the tries lead on.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

from matching import match
from peers import PEERS, Read
from profiles import media_bytes
from recoding import Source, psnr, write_jpegs

import videoformat as vf
from videoformat.media.gop import PROFILES
from videoformat.media.star import STAR_NAMES

__all__ = ["NAMES", "TOLERANCE", "VIDEO", "Form", "Prepared", "load", "prepare", "reader_of"]

VIDEO = ("av1", "h264")
REFERENCE = next(iter(PROFILES))
# What can be made beside the source and the reference. The costliest to encode come first: they are made
# side by side, and the cheap ones fill up the end.
NAMES = ("small", *STAR_NAMES, "balanced", *VIDEO, "jpeg")
# Rate factors (for JPEG: 100 less the quality): where a search begins, its bounds, its steps.
START = {"balanced": 23.75, "small": 25.5, "star": 32.0, "star-h264": 27.0, "av1": 44.0,
         "h264": 24.75, "jpeg": 41.0}  # fmt: skip
BOUNDS = {"av1": (20.0, 60.0), "star": (15.0, 55.0), "jpeg": (2.0, 60.0)}
STEPS = {"av1": 1.0, "jpeg": 1.0, **dict.fromkeys(STAR_NAMES, 1.0)}
TOLERANCE = 0.2  # dB, over all frames; a search ends a little earlier
TRIES = 4


@dataclass(frozen=True, slots=True)
class Form:
    """What was made: its rate factor, its luma PSNR against the source, its bytes of media.

    ``name`` is ``source``, a profile, a star, ``av1`` or ``h264`` for video files, ``jpeg``.
    """

    name: str
    factor: float | None
    psnr: float | None
    media_bytes: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a folder holds: which of the source's episodes, in which forms."""

    episodes: tuple[int, ...]
    frames: int
    forms: tuple[Form, ...]

    @property
    def target(self) -> float | None:
        """The quality that the forms were to have."""
        return next((form.psnr for form in self.forms if form.name == REFERENCE), None)

    def is_matched(self, form: Form) -> bool:
        """Whether a form has that quality."""
        if form.psnr is None or self.target is None:
            return True
        return abs(form.psnr - self.target) <= TOLERANCE


def reader_of(dataset: vf.Dataset) -> Read:
    """Frames of the only camera."""
    return lambda episode, frames: dataset.read_frames(episode, dataset.cameras[0], frames)


def load(folder: Path) -> Prepared:
    """What a folder holds."""
    facts = json.loads((folder / "forms.json").read_text())
    forms = tuple(Form(**item) for item in facts["forms"])
    return Prepared(tuple(facts["episodes"]), facts["frames"], forms)


class _Maker:
    def __init__(self, root: Path, folder: Path, episodes: Sequence[int], workers: int) -> None:
        self._root, self._folder, self._workers = root, folder, workers
        self._source = Source(root, episodes)
        self._original = reader_of(vf.open(folder / "native"))

    def at_one_quality(self, name: str, target: float) -> tuple[Form, list[Form]]:
        """The form whose quality is nearest to the target of those that were tried, and all those."""
        tried: dict[float, Form] = {}

        def quality(factor: float) -> float:
            tried[factor] = self.make(name, factor, self._folder / "tries" / f"{name}-{factor:g}")
            return tried[factor].psnr or 0.0

        found = match(
            quality, target, START[name], BOUNDS.get(name, (14.0, 40.0)),
            step=STEPS.get(name, 0.25), tries=TRIES,
        )  # fmt: skip
        for suffix in ("", "-index"):
            at = self._folder / "tries" / f"{name}-{found:g}{suffix}"
            if at.exists():
                at.rename(self._folder / f"{name}{suffix}")
        return tried[found], list(tried.values())

    def make(self, name: str, factor: float | None, target: Path, *, compare: bool = True) -> Form:
        """The episodes in one form, and how it compares with the source."""
        read = self._encode(name, factor, target)
        if name == "jpeg":
            stored = sum(path.stat().st_size for path in target.rglob("*.jpg"))
        else:
            at = target
            if name in VIDEO:
                at = target.with_name(f"{target.name}-index")
                vf.convert(target, at, video="native", workers=self._workers)
            stored = media_bytes(vf.open(at))
        quality = psnr(self._original, read, self._source.lengths) if compare else None
        return Form(name, factor, quality, stored)

    def _encode(self, name: str, factor: float | None, target: Path) -> Read:
        """Encodes the episodes, and gives a way to read them."""
        if name in PROFILES or name in STAR_NAMES:
            structure: vf.DDRA | vf.Star = (
                vf.Star(codec=STAR_NAMES[name], crf=None if factor is None else round(factor))
                if name in STAR_NAMES
                else vf.DDRA(profile=name, crf=factor)  # type: ignore[arg-type]
            )
            vf.convert(
                self._root, target, video=structure, episodes=self._source.episodes,
                workers=self._workers,
            )  # fmt: skip
            return reader_of(vf.open(target))
        if factor is None:
            raise SystemExit(f"{name} has no rate factor of its own")
        if name == "jpeg":
            files = write_jpegs(target, self._original, round(100 - factor), self._source.lengths)
            read: Read = files.read
            return read
        player: Read = PEERS["PyAV"](self._source.encode(target, name, factor)).read
        return player


def _make(
    root: Path, folder: Path, episodes: Sequence[int], name: str, target: float
) -> tuple[Form, str]:
    """One form in a process of its own, and what there is to say about it."""
    begin = time.perf_counter()
    form, tried = _Maker(root, folder, episodes, 1).at_one_quality(name, target)
    tries = ", ".join(f"{each.factor:g}: {each.psnr:.2f}" for each in tried)
    return form, f"tries {tries} dB; {time.perf_counter() - begin:.0f} s, side by side with others"


def longest(root: Path, count: int) -> list[int]:
    """The numbers of so many of a dataset's episodes, the longest ones; 0 for all."""
    lengths = Source(root).lengths
    by_length = sorted(lengths, key=lambda number: (-lengths[number], number))
    return sorted(by_length[: count or None])


def prepare(root: Path, folder: Path, count: int, names: Sequence[str]) -> None:
    """Makes forms of so many episodes (0: of all) into an empty folder.

    The source as it is and the default profile are always made, the others at that one's quality; where
    there are no others, it is not compared with the source.
    """
    begin = time.perf_counter()
    episodes = longest(root, count)
    vf.convert(root, folder / "native", video="native", episodes=episodes)
    maker = _Maker(root, folder, episodes, os.cpu_count() or 1)
    found = {
        "source": Form("source", None, None, media_bytes(vf.open(folder / "native"))),
        REFERENCE: maker.make(REFERENCE, None, folder / REFERENCE, compare=bool(names)),
    }
    print(f"{found[REFERENCE]}: {time.perf_counter() - begin:.0f} s", flush=True)
    target = found[REFERENCE].psnr or 0.0
    spawn = get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=spawn) as pool:
        waiting = [
            pool.submit(_make, root, folder, episodes, name, target)
            for name in NAMES
            if name in names
        ]
        for future in as_completed(waiting):
            form, said = future.result()
            found[form.name] = form
            print(f"{form}: {said}", flush=True)
    shutil.rmtree(folder / "tries", ignore_errors=True)
    frames = vf.open(folder / "native").num_frames
    order = ("source", *PROFILES, *STAR_NAMES, *VIDEO, "jpeg")
    forms = tuple(found[name] for name in order if name in found)
    text = json.dumps(asdict(Prepared(tuple(episodes), frames, forms)), indent=2)
    (folder / "forms.json").write_text(text + "\n")
    print(f"forms of {frames} frames: {time.perf_counter() - begin:.0f} s", flush=True)
