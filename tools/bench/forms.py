"""The forms in which the pattern benchmark keeps one dataset's frames, made once into a folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from peers import PEERS, EpisodeVideo, Read
from profiles import media_bytes
from recoding import Source, match, psnr, write_jpegs

import videoformat as vf
from videoformat.media.gop import PROFILES
from videoformat.media.star import STAR_NAMES

__all__ = ["Form", "load", "prepare", "reader_of"]

# Rate factors (for JPEG: 100 less the quality) that are searched, and their steps.
BOUNDS = {"av1": (20.0, 50.0), "h264": (14.0, 34.0), "jpeg": (2.0, 60.0)}
STEPS = {"av1": 1.0, "jpeg": 1.0, **dict.fromkeys(STAR_NAMES, 1.0)}
TOLERANCE = 0.2  # dB, over all episodes
VIDEO = ("av1", "h264")


@dataclass(frozen=True, slots=True)
class Form:
    """What was made: its rate factor, its luma PSNR against the source, its bytes of media.

    ``name`` is ``source``, a profile, a star, ``av1`` or ``h264`` for video files, ``jpeg``.
    """

    name: str
    factor: float | None
    psnr: float | None
    media_bytes: int


def reader_of(dataset: vf.Dataset) -> Read:
    """Frames of the only camera."""
    return lambda episode, frames: dataset.read_frames(episode, dataset.cameras[0], frames)


def load(folder: Path) -> list[Form]:
    """The forms that a folder holds."""
    return [Form(**item) for item in json.loads((folder / "forms.json").read_text())]


class _Maker:
    def __init__(self, root: Path, folder: Path) -> None:
        self._root, self._folder = root, folder
        self._source = Source(root)
        self._original = reader_of(vf.open(folder / "native"))
        longest = max(self._source.lengths.items(), key=lambda item: item[1])
        self._sample = dict([longest])

    def make(self, name: str, factor: float | None) -> Form:
        """All episodes in one form."""
        lengths = self._source.lengths
        read = self._read(name, factor, self._folder / name, lengths)
        if name == "jpeg":
            stored = sum(path.stat().st_size for path in (self._folder / name).rglob("*.jpg"))
        else:
            at = self._folder / (f"{name}-index" if name in VIDEO else name)
            if name in VIDEO:
                vf.convert(self._folder / name, at, video="native")
            stored = media_bytes(vf.open(at))
        return Form(name, factor, psnr(self._original, read, lengths), stored)

    def remove(self, name: str) -> None:
        """Forgets a form that was made."""
        for at in (name, f"{name}-index"):
            shutil.rmtree(self._folder / at, ignore_errors=True)

    def match(self, name: str, target: float) -> float:
        """The factor that gives this PSNR on the longest episode."""

        def quality(factor: float) -> float:
            tried = self._folder / "tries" / f"{name}-{factor:g}"
            read = self._read(name, factor, tried, self._sample)
            return psnr(self._original, read, self._sample)

        kind = STAR_NAMES.get(name, name)
        bounds = BOUNDS.get(kind, BOUNDS["h264"])
        return match(quality, target, bounds, step=STEPS.get(name, 0.25))

    def quality(self, name: str) -> float:
        """The PSNR of a form that is there, on the longest episode."""
        return psnr(self._original, reader_of(vf.open(self._folder / name)), self._sample)

    def _read(
        self, name: str, factor: float | None, target: Path, lengths: Mapping[int, int]
    ) -> Read:
        """Encodes some episodes, and a way to read them."""
        if name in PROFILES or name in STAR_NAMES:
            structure: vf.DDRA | vf.Star = (
                vf.Star(codec=STAR_NAMES[name], crf=None if factor is None else round(factor))
                if name in STAR_NAMES
                else vf.DDRA(profile=name, crf=factor)  # type: ignore[arg-type]
            )
            vf.convert(self._root, target, video=structure, episodes=list(lengths))
            plain = reader_of(vf.open(target))
            order = {episode: number for number, episode in enumerate(lengths)}
            return lambda episode, frames: plain(order[episode], frames)
        if factor is None:
            raise SystemExit(f"{name} has no rate factor of its own")
        if name == "jpeg":
            files = write_jpegs(target, self._original, round(100 - factor), lengths)
            read: Read = files.read
            return read
        videos: dict[int, EpisodeVideo] = self._source.encode(target, name, factor, lengths)
        player: Read = PEERS["PyAV"](videos).read
        return player


def prepare(root: Path, folder: Path) -> None:
    """Makes every form into an empty folder; all but the source at the PSNR of the first profile."""
    native = vf.convert(root, folder / "native", video="native")
    print(f"native: {native.frames} frames")
    maker = _Maker(root, folder)
    forms = [Form("source", None, None, media_bytes(vf.open(folder / "native")))]
    first, *others = PROFILES
    forms.append(maker.make(first, None))
    print(forms[-1], flush=True)
    target = maker.quality(first)
    for name in (*others, *STAR_NAMES, *VIDEO, "jpeg"):
        factor = maker.match(name, target)
        forms.append(maker.make(name, factor))
        aim, found = forms[1].psnr or 0.0, forms[-1].psnr or 0.0
        if abs(found - aim) > TOLERANCE:
            # The sample was not like the rest: once more, by half a decibel a step of the factor.
            step = STEPS.get(name, 0.25)
            maker.remove(name)
            forms[-1] = maker.make(name, factor + round((found - aim) / 0.5 / step) * step)
        print(forms[-1], flush=True)
    (folder / "forms.json").write_text(
        json.dumps([asdict(form) for form in forms], indent=2) + "\n"
    )
