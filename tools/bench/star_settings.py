"""Why stars have the intervals and the quantisers that they have: AV1, several clips.

    python tools/bench/star_settings.py --shared FOLDER [--clips g1,top,…] [--frames 48] [--out FOLDER]

Per clip, bytes a frame at one luma PSNR (the middle of what two rate factors give, by interpolation):
intervals that follow the content against fixed ones of 8, 16 and 24 frames, and anchors that are finer
than the other frames by none, some or many steps of AV1's quantiser. Writes FOLDER/star_settings.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from machine import sentence
from star import CLIPS, ROOT
from star_encodings import Clip, Encoding, read_clip, structured

from videoformat.media import star
from videoformat.media.star import Star

INTERVALS: dict[str, dict[str, object]] = {
    "adaptive": {},
    **{f"fixed {n}": {"interval": n, "adaptive": False} for n in (8, 16, 24)},
}
OFFSETS = {"chosen": None, "0": (0, 0), "−28": (-28, -28), "−60": (-60, -60)}
CRFS = (24, 36)


def pair(clip: Clip, given: dict[str, object], offsets: tuple[int, int] | None) -> list[Encoding]:
    """The clip at both rate factors."""
    chosen = star._ANCHOR_OFFSETS  # noqa: SLF001
    if offsets is not None:
        star._ANCHOR_OFFSETS = type(chosen)({**chosen, "av1": offsets})  # noqa: SLF001
    try:
        return [structured(clip, "star", Star(crf=crf, **given)) for crf in CRFS]  # type: ignore[arg-type]
    finally:
        star._ANCHOR_OFFSETS = chosen  # noqa: SLF001


def bytes_at(made: list[Encoding], psnr: float) -> float:
    """Bytes a frame at a PSNR, on the line through two encodings."""
    fine, coarse = made
    logs = np.log([coarse.bytes_per_frame, fine.bytes_per_frame])
    slope = (logs[1] - logs[0]) / (fine.psnr - coarse.psnr)
    return float(np.exp(logs[0] + slope * (psnr - coarse.psnr)))


def lines_of(clip: Clip) -> list[str]:
    """The clip's rows."""
    base = pair(clip, {}, None)
    psnr = (base[0].psnr + base[1].psnr) / 2
    best = bytes_at(base, psnr)
    anchors = sum(not references for references in base[1].references)
    cells = [f"{best:.0f}"]
    for name, given in INTERVALS.items():
        if given:
            cells.append(f"{bytes_at(pair(clip, given, None), psnr) / best:.2f}")
            print(clip.name, name, cells[-1], flush=True)
    for name, offsets in OFFSETS.items():
        if offsets is not None:
            cells.append(f"{bytes_at(pair(clip, {}, offsets), psnr) / best:.2f}")
            print(clip.name, name, cells[-1], flush=True)
    mean = len(base[1].frames) / anchors
    return [f"| {clip.name} | {psnr:.1f} | {mean:.1f} | {' | '.join(cells)} |"]


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
    ]  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name in options.clips.split(","):
        clip = read_clip(name, options.shared / CLIPS[name][0], options.frames)
        lines += lines_of(clip)
    text = "\n".join(lines) + (
        "\n\nBytes at equal PSNR as a part of what is chosen; above 1 is worse. Fixed intervals have "
        "anchors that are finer by 28 steps. "
        f"{sentence()}. Made by `tools/bench/star_settings.py`."
    )
    print(text)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "star_settings.md").write_text(text + "\n")


if __name__ == "__main__":
    main()
