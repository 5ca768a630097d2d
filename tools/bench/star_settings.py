"""Why stars have the intervals and the settings that they have: AV1, several clips.

    python tools/bench/star_settings.py --shared FOLDER [--clips g1,top,…] [--frames 48] [--out FOLDER]

Per clip, bytes a frame at one luma PSNR (the middle of what two rate factors give, by interpolation):
intervals that follow the content against fixed ones of 8, 16 and 24 frames; anchors that are finer than
the other frames by none, some or many steps of AV1's quantiser; what a bit has to save everywhere as SVT-AV1
has it; the deblocking filter on; tools for screen content where the encoder finds any; the other presets;
and one frame from each copy of an anchor in place of two. Behind some, the CPU time of encoding a frame (one
thread, choosing of intervals and proof included). Writes FOLDER/star_settings.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
from machine import sentence
from star import CLIPS, ROOT
from star_encodings import RATE, Clip, Encoding, read_clip, structured

from videoformat.media import star
from videoformat.media.star import Star, StarSettings, Tuning
from videoformat.media.structures import make_encoder

Change = Callable[[StarSettings], StarSettings]
CRFS = (27, 39)


def tuned(change: Callable[[Tuning], Tuning]) -> Change:
    """Every preset's settings of both kinds of intervals, changed."""

    def changed(settings: StarSettings) -> StarSettings:
        presets = {
            name: (change(little), change(much))
            for name, (little, much) in settings.presets.items()
        }
        return replace(settings, presets=MappingProxyType(presets))

    return changed


def told(name: str, value: str) -> Change:
    """One more parameter of the encoder, in place of what it was."""
    return tuned(lambda tuning: replace(tuning, parameters=(*tuning.parameters, (name, value))))


def offset(steps: int) -> Change:
    """Anchors that are finer by so many steps, in all intervals."""
    return tuned(lambda tuning: replace(tuning, anchor_offset=steps))


# By the column: what the star is asked for, and what else is changed; whether the time is measured too.
VARIANTS: dict[str, tuple[dict[str, object], Change | None, bool]] = {
    **{f"interval: fixed {n}": ({"interval": n, "adaptive": False}, None, False) for n in (8, 16, 24)},
    "anchors 0": ({}, offset(0), False),
    "anchors −28": ({}, offset(-28), False),
    "anchors −60": ({}, offset(-60), False),
    "all bits as SVT-AV1 weighs them": (
        {}, told("lambda-scale-factors", "[128,128,128,128,128,128,128]"), False,
    ),
    "deblocking": ({}, told("enable-dlf", "1"), False),
    "screen content looked for": ({}, told("scm", "2"), True),
    "not looked for": ({}, told("scm", "0"), True),
    "preset: faster": ({"preset": "faster"}, None, True),
    "preset: smaller": ({"preset": "smaller"}, None, True),
    "one frame a copy": ({}, lambda settings: replace(settings, leaves=1), True),
}  # fmt: skip


@contextmanager
def changed(change: Change | None) -> Iterator[None]:
    """Other settings of AV1."""
    codecs = star.STARS
    if change is not None:
        star.STARS = MappingProxyType({**codecs, "av1": change(codecs["av1"])})
    try:
        yield
    finally:
        star.STARS = codecs


def pair(clip: Clip, given: dict[str, object], change: Change | None = None) -> list[Encoding]:
    """The clip at both rate factors."""
    with changed(change):
        return [structured(clip, "star", Star(crf=crf, **given)) for crf in CRFS]  # type: ignore[arg-type]


def cost(clip: Clip, given: dict[str, object], change: Change | None = None) -> float:
    """The CPU milliseconds of encoding a frame of the clip with a rate factor in the middle."""
    with changed(change):
        encoder = make_encoder(Star(**given), *clip.size, clip.color, RATE, 1)  # type: ignore[arg-type]
        begin = time.process_time()
        for picture in clip.pictures:
            encoder.push(picture)
        encoder.finish()
        return (time.process_time() - begin) / len(clip.pictures) * 1e3


def bytes_at(made: list[Encoding], psnr: float) -> float:
    """Bytes a frame at a PSNR, on the line through two encodings."""
    fine, coarse = made
    logs = np.log([coarse.bytes_per_frame, fine.bytes_per_frame])
    slope = (logs[1] - logs[0]) / (fine.psnr - coarse.psnr)
    return float(np.exp(logs[0] + slope * (psnr - coarse.psnr)))


def line_of(clip: Clip) -> str:
    """The clip's row."""
    base = pair(clip, {})
    psnr = (base[0].psnr + base[1].psnr) / 2
    best = bytes_at(base, psnr)
    anchors = sum(not references for references in base[1].references)
    cells = [f"{best:.0f}, {cost(clip, {}):.0f} ms"]

    def add(made: list[Encoding], spent: float | None = None) -> None:
        ending = "" if spent is None else f", {spent:.0f} ms"
        cells.append(f"{bytes_at(made, psnr) / best:.2f}{ending}")
        print(clip.name, cells, flush=True)

    for given, change, is_timed in VARIANTS.values():
        add(pair(clip, given, change), cost(clip, given, change) if is_timed else None)
    mean = len(base[1].frames) / anchors
    return f"| {clip.name} | {psnr:.1f} | {mean:.1f} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--clips", default="g1,top,left wrist,gr00t")
    parser.add_argument("--frames", type=int, default=48)
    parser.add_argument("--out", type=Path, default=ROOT / "tools/bench/results")
    options = parser.parse_args()
    heads = [
        "clip", "luma PSNR, dB", "mean interval", "bytes/frame as chosen",
        *VARIANTS,
    ]  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name in options.clips.split(","):
        clip = read_clip(name, options.shared / CLIPS[name][0], options.frames)
        lines.append(line_of(clip))
    text = "\n".join(lines) + (
        "\n\nBytes at equal PSNR as a part of what is chosen; above 1 is worse. Milliseconds are CPU time of "
        "encoding a frame in one thread. Fixed intervals are encoded as where little is taken from anchors. "
        f"{options.frames} frames a clip. "
        f"{sentence()}. Made by `tools/bench/star_settings.py`."
    )
    print(text)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "star_settings.md").write_text(text + "\n")


if __name__ == "__main__":
    main()
