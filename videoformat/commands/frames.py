"""``videoformat frames``: frames as PNG files."""

from __future__ import annotations

import argparse
from pathlib import Path
from urllib.parse import quote

from videoformat.commands.arguments import (
    Commands,
    add_command,
    add_dataset,
    add_json,
    open_dataset,
)
from videoformat.commands.progress import ProgressLine
from videoformat.commands.selection import add_selection, selected
from videoformat.commands.text import print_json
from videoformat.errors import InvalidArgumentError
from videoformat.media.png import encode_png

__all__ = ["add"]

# Frames that are decoded together: neighbours share their anchors, and memory stays bounded.
BATCH_FRAMES = 32

_DESCRIPTION = """\
Writes frames as PNG files, named by episode, camera and frame index:
  episode_000003_observation.images.top_frame_000017.png
Files of the same name are replaced."""
_EXAMPLES = """\
  videoformat frames data.vf --episode 3 --camera observation.images.top \\
      --indices 0,17,-1 --out stills
  videoformat frames s3://bucket/data.vf --episode 0 --indices 100:200:10 --out stills"""


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(commands, "frames", "write frames as PNG files", _DESCRIPTION, _EXAMPLES)
    add_dataset(parser)
    add_selection(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder to fill")
    add_json(parser)
    parser.set_defaults(run=run)


def file_name(episode: int, camera: str, frame: int) -> str:
    """The name of a frame's file; what a file name cannot hold is percent-encoded."""
    return f"episode_{episode:06}_{quote(camera, safe=' ')}_frame_{frame:06}.png"


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    dataset = open_dataset(args)
    chosen = list(selected(dataset, args))
    # A camera that is not there is found before anything is written.
    dataset.plan((episode, camera, frames[0]) for episode, camera, frames in chosen)
    try:
        args.out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InvalidArgumentError(f"--out {args.out} is no folder") from None
    total = sum(len(frames) for _, _, frames in chosen)
    written = []
    with ProgressLine() as progress:
        for episode, camera, frames in chosen:
            ordered = sorted(frames)
            for begin in range(0, len(ordered), BATCH_FRAMES):
                batch = ordered[begin : begin + BATCH_FRAMES]
                images = dataset.read_frames(episode, camera, batch)
                for frame, rgb in zip(batch, images, strict=True):
                    path = args.out / file_name(episode, camera, frame)
                    path.write_bytes(encode_png(rgb))
                    written.append(
                        {"episode": episode, "camera": camera, "index": frame, "file": str(path)}
                    )
                    progress.update(f"{len(written)} of {total} frames")
    if args.json:
        print_json(written)
    else:
        print(f"wrote {len(written)} frames to {args.out}")
    return 0
