"""``videoformat convert``: LeRobot datasets and video files into a dataset."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from videoformat.commands.arguments import (
    Commands,
    add_command,
    add_json,
    add_storage_options,
    storage_options,
)
from videoformat.commands.progress import ProgressLine
from videoformat.commands.selection import Indices
from videoformat.commands.text import byte_text, duration_text, print_json
from videoformat.convert import ConvertReport, Progress, convert
from videoformat.errors import InvalidArgumentError
from videoformat.media.gop import DDRA, MAXIMUM_INTERVAL, MINIMUM_INTERVAL, PROFILES
from videoformat.media.star import MAXIMUM_INTERVAL as MAXIMUM_STAR_INTERVAL
from videoformat.media.star import STAR_NAMES, STARS, Star
from videoformat.media.structures import STRUCTURE_NAMES, Structure

__all__ = ["add"]

# The source's own pictures: copied, or left where they are.
UNCODED = ("native", "reference")
MAXIMUM_EPISODE = 10_000_000
_DESCRIPTION = """\
Converts a LeRobot dataset (v2.0, v2.1 or v3.0), a video file or a folder of video files (one
episode each). Episodes are appended as they are finished; a conversion that was interrupted, run
again with the same arguments, continues after the last one that was stored."""
_EXAMPLES = """\
  videoformat convert lerobot/pusht data.vf
  videoformat convert lerobot/pusht data.vf --video small --interval 12 --crf 18
  videoformat convert clip.mp4 s3://bucket/clip.vf --video native"""


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "convert",
        "convert a LeRobot dataset or video files",
        _DESCRIPTION,
        _EXAMPLES,
    )
    parser.add_argument(
        "source", metavar="SRC", help="a dataset's folder, a video file, or a folder"
    )
    parser.add_argument("uri", metavar="DST", help="a local path, s3://…, gs://…, az://…")
    parser.add_argument(
        "--video",
        choices=[*STRUCTURE_NAMES, *UNCODED],
        default="fast",
        help="fast: H.264 that decodes quickly (default); balanced: H.264, smaller; small: HEVC; "
        "star: AV1, two pictures a frame in place of three; star-h264: the same in H.264; "
        "native: the source's own pictures, not encoded again; reference: the same, left in the "
        "source's files (readers then need --allow-source)",
    )
    parser.add_argument(
        "--interval",
        type=int,
        metavar="N",
        help=f"frames from one anchor to the next, {MINIMUM_INTERVAL} to {MAXIMUM_INTERVAL} "
        f"(default: {DDRA().interval}); larger is smaller on disk; of a star the most frames that an "
        f"anchor serves, to {MAXIMUM_STAR_INTERVAL} (default: {Star().interval})",
    )
    parser.add_argument(
        "--crf",
        type=float,
        metavar="C",
        help=f"constant rate factor, lower is better (default: {_defaults('crf')})",
    )
    parser.add_argument(
        "--preset",
        metavar="P",
        help=f"the encoder's effort, such as veryfast (default: {_defaults('preset')}); of a star: "
        f"{', '.join(STARS['av1'].presets)}",
    )
    parser.add_argument(
        "--episodes",
        type=Indices.parse,
        metavar="E",
        help="the source's episodes to convert: numbers and ranges such as 0,3,10:20 (default: all)",
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help="threads (default: the machine's cores)"
    )
    add_storage_options(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def _defaults(setting: str) -> str:
    """Each profile's value of a setting, for the help."""
    values = {name: getattr(item, setting) for name, item in PROFILES.items()}
    if setting == "crf":
        values |= {name: STARS[codec].crf for name, codec in STAR_NAMES.items()}
    return ", ".join(f"{name} {value}" for name, value in values.items())


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    with ProgressLine() as line:

        def show(progress: Progress) -> None:
            line.update(progress_text(progress))

        report = convert(
            args.source,
            args.uri,
            video=_video(args),
            storage_options=storage_options(args),
            workers=args.workers,
            episodes=_episodes(args.episodes),
            progress=show,
        )
    if args.json:
        print_json(asdict(report))
    else:
        print("\n".join(report_text(report)))
    return 0


def _video(args: argparse.Namespace) -> Structure | str:
    own = {"interval": args.interval, "crf": args.crf, "preset": args.preset}
    given = {name: value for name, value in own.items() if value is not None}
    if args.video in STAR_NAMES:
        if args.crf is not None and args.crf == int(args.crf):
            given["crf"] = int(args.crf)
        return Star(codec=STAR_NAMES[args.video], **given)
    if args.video in PROFILES:
        return DDRA(profile=args.video, **given)
    if given:
        raise InvalidArgumentError(
            f"--{', --'.join(given)}: nothing is encoded with --video {args.video}"
        )
    return str(args.video)


def _episodes(indices: Indices | None) -> list[int] | None:
    """Episode numbers; how many the source has is not known here, so ranges have an end."""
    if indices is None:
        return None
    for part in indices.parts:
        ends = (part.start or 0, part.stop) if isinstance(part, slice) else (part, part)
        if ends[1] is None or min(ends) < 0 or max(ends) > MAXIMUM_EPISODE:
            raise InvalidArgumentError(
                f"--episodes takes numbers from 0 to {MAXIMUM_EPISODE} and ranges with an end"
            )
    return indices.of(MAXIMUM_EPISODE)


def progress_text(progress: Progress) -> str:
    """One line about how far it is."""
    text = (
        f"{progress.episodes_done} of {progress.episodes_total} episodes, "
        f"{progress.frames_done} of {progress.frames_total} frames, "
        f"{progress.frames_per_second:.0f} frames a second"
    )
    if progress.seconds_left is not None:
        text += f", {duration_text(progress.seconds_left)} left"
    return f"{text}, {progress.message}" if progress.message else text


def report_text(report: ConvertReport) -> list[str]:
    """What was done, and what the source had to say."""
    lines = [f"note: {note}" for note in report.notes]
    if report.skipped_episodes:
        lines.append(f"{report.skipped_episodes} episodes were there already")
    rate = report.frames / report.seconds if report.seconds else 0.0
    lines.append(
        f"converted {report.episodes} episodes, {report.frames} frames to {report.uri} in "
        f"{duration_text(report.seconds)} ({rate:.0f} frames a second)"
    )
    if report.frames:
        size = f"{byte_text(report.media_bytes)} of media"
        if report.source_bytes and not report.skipped_episodes:
            size += f", {report.media_bytes / report.source_bytes:.2f} of the source's video"
        lines.append(size)
    return lines
