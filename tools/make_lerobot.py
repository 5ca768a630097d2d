#!/usr/bin/env python3
"""Writes a small LeRobot dataset (v2.0, v2.1 or v3.0) without LeRobot.

An arm moves over a table; a fixed camera sees it, and further cameras ride on its gripper. Every
frame carries its number as black and white blocks (``read_burnt_in``): the row's dataset-wide index,
plus 1000 for each camera before it. The same options write the same dataset.

As a script: ``tools/make_lerobot.py OUT --help``. As a module: ``write_dataset(root, SampleSpec(…))``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lerobot_sample.episode import record
from lerobot_sample.layout_v2 import LayoutV2
from lerobot_sample.layout_v3 import LayoutV3
from lerobot_sample.scene import Camera, read_burnt_in
from lerobot_sample.spec import CODECS, VERSIONS, SampleSpec, random_lengths

__all__ = ["SampleSpec", "random_lengths", "read_burnt_in", "write_dataset"]


def write_dataset(root: str | Path, spec: SampleSpec) -> Path:
    """Writes the dataset into ``root``, which must not exist or be empty, and returns it."""
    root = Path(root)
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise FileExistsError(f"{root} exists and is not an empty folder")
    root.mkdir(parents=True, exist_ok=True)
    cameras = [Camera(spec, position) for position in range(len(spec.cameras))]
    layout = LayoutV3(root, spec) if spec.version == "v3.0" else LayoutV2(root, spec)
    # Beside the target, so that a finished video is moved and not copied.
    with tempfile.TemporaryDirectory(prefix=f".{root.name}-", dir=root.parent) as folder:
        for episode in range(len(spec.lengths)):
            layout.add(record(spec, episode, cameras, Path(folder)))
        layout.finish()
    return root


def _parser() -> argparse.ArgumentParser:
    defaults = SampleSpec()
    parser = argparse.ArgumentParser(
        description="Write a small LeRobot dataset of a moving arm, with numbered frames.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("out", type=Path, help="folder to write; must not exist or be empty")
    parser.add_argument("--version", choices=VERSIONS, default=defaults.version)
    parser.add_argument("--episodes", type=int, default=5, help="how many")
    parser.add_argument(
        "--frames", default="60-120", metavar="MIN-MAX", help="length of an episode, drawn"
    )
    parser.add_argument("--lengths", metavar="N,N,…", help="the lengths themselves, instead")
    parser.add_argument("--cameras", type=int, default=2, choices=range(1, 5))
    parser.add_argument("--size", default="640x480", metavar="WxH")
    parser.add_argument("--fps", type=int, default=defaults.fps)
    parser.add_argument("--codec", choices=CODECS, default="av1", help="LeRobot's default is av1")
    parser.add_argument("--gop", type=int, default=defaults.gop, help="pictures from key to key")
    parser.add_argument("--crf", type=int, default=defaults.crf, help="quality; lower is better")
    parser.add_argument("--joints", type=int, default=defaults.joints)
    parser.add_argument("--task", action="append", help="what is done; may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data-file-mb", type=float, default=defaults.data_file_mb)
    parser.add_argument("--video-file-mb", type=float, default=defaults.video_file_mb)
    return parser


def _spec(args: argparse.Namespace) -> SampleSpec:
    if args.lengths:
        lengths = tuple(int(length) for length in args.lengths.split(","))
    else:
        shortest, _, longest = args.frames.partition("-")
        lengths = random_lengths(args.episodes, int(shortest), int(longest or shortest), args.seed)
    width, _, height = args.size.partition("x")
    return SampleSpec(
        version=args.version,
        lengths=lengths,
        fps=args.fps,
        height=int(height),
        width=int(width),
        cameras=("front", "wrist", "wrist_2", "wrist_3")[: args.cameras],
        codec=args.codec,
        gop=args.gop,
        crf=args.crf,
        joints=args.joints,
        tasks=tuple(args.task or SampleSpec().tasks),
        seed=args.seed,
        data_file_mb=args.data_file_mb,
        video_file_mb=args.video_file_mb,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The script; 0 when the dataset is written, 2 when the call is at fault."""
    parser = _parser()
    args = parser.parse_args(arguments)
    try:
        spec = _spec(args)
        write_dataset(args.out, spec)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    size = sum(path.stat().st_size for path in args.out.rglob("*") if path.is_file())
    print(
        f"{args.out}: LeRobot {spec.version}, {len(spec.lengths)} episodes, "
        f"{spec.total_frames} frames, {len(spec.cameras)} cameras "
        f"{spec.width}x{spec.height} {spec.codec}, {size:,} bytes"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
