"""Why stars have the intervals and the quantisers that they have: AV1, several clips.

    python tools/bench/star_settings.py --shared FOLDER [--clips g1,top,…] [--frames 48] [--out FOLDER]

Per clip, bytes a frame at one luma PSNR (the middle of what two rate factors give, by interpolation):
intervals that follow the content against fixed ones of 8, 16 and 24 frames; anchors that are finer than
the other frames by none, some or many steps of AV1's quantiser; the other presets; and one frame from
each copy of an anchor in place of two. Behind some, the CPU time of encoding a frame (one thread, choosing
of intervals and proof included). Writes FOLDER/star_settings.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from machine import sentence
from star import CLIPS, ROOT
from star_encodings import RATE, Clip, Encoding, read_clip, structured

from videoformat.media import star
from videoformat.media.star import Star
from videoformat.media.structures import make_encoder

INTERVALS: dict[str, dict[str, object]] = {
    "adaptive": {},
    **{f"fixed {n}": {"interval": n, "adaptive": False} for n in (8, 16, 24)},
}
OFFSETS = {"chosen": None, "0": (0, 0), "−28": (-28, -28), "−60": (-60, -60)}
PRESETS = ("faster", "smaller")
CRFS = (24, 36)


@contextmanager
def changed(offsets: tuple[int, int] | None, leaves: int) -> Iterator[None]:
    """Other offsets of anchors, and other groups."""
    chosen, codecs = star._ANCHOR_OFFSETS, star.STARS  # noqa: SLF001
    if offsets is not None:
        star._ANCHOR_OFFSETS = type(chosen)({**chosen, "av1": offsets})  # noqa: SLF001
    star.STARS = type(codecs)({**codecs, "av1": replace(codecs["av1"], leaves=leaves)})
    try:
        yield
    finally:
        star._ANCHOR_OFFSETS, star.STARS = chosen, codecs  # noqa: SLF001


def pair(
    clip: Clip,
    given: dict[str, object],
    offsets: tuple[int, int] | None = None,
    leaves: int = 2,
) -> list[Encoding]:
    """The clip at both rate factors."""
    with changed(offsets, leaves):
        return [structured(clip, "star", Star(crf=crf, **given)) for crf in CRFS]  # type: ignore[arg-type]


def cost(clip: Clip, given: dict[str, object], leaves: int = 2) -> float:
    """The CPU milliseconds of encoding a frame of the clip with a rate factor in the middle."""
    with changed(None, leaves):
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

    for given in INTERVALS.values():
        if given:
            add(pair(clip, given))
    for offsets in OFFSETS.values():
        if offsets is not None:
            add(pair(clip, {}, offsets))
    for preset in PRESETS:
        add(pair(clip, {"preset": preset}), cost(clip, {"preset": preset}))
    add(pair(clip, {}, leaves=1), cost(clip, {}, leaves=1))
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
        *[f"interval: {name}" for name, given in INTERVALS.items() if given],
        *[f"anchors {name}" for name, offsets in OFFSETS.items() if offsets is not None],
        *[f"preset: {name}" for name in PRESETS], "one frame a copy",
    ]  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name in options.clips.split(","):
        clip = read_clip(name, options.shared / CLIPS[name][0], options.frames)
        lines.append(line_of(clip))
    text = "\n".join(lines) + (
        "\n\nBytes at equal PSNR as a part of what is chosen; above 1 is worse. Milliseconds are CPU time of "
        "encoding a frame in one thread. Fixed intervals are encoded as where frames differ much. "
        f"{sentence()}. Made by `tools/bench/star_settings.py`."
    )
    print(text)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "star_settings.md").write_text(text + "\n")


if __name__ == "__main__":
    main()
