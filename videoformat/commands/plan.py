"""``videoformat plan``: what a request would fetch and decode."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import asdict
from typing import Any

from videoformat.commands.arguments import (
    Commands,
    add_command,
    add_dataset,
    add_json,
    open_dataset,
)
from videoformat.commands.selection import add_selection, selected
from videoformat.commands.text import aligned, byte_text, print_json
from videoformat.reading import ChunkRead, ReadPlan, ReadReport

__all__ = ["add"]

_DESCRIPTION = """\
Shows what reading frames would fetch and decode, without doing either: the pictures of the frames'
closures with their types, the groups in which a decoder gets them, and the byte ranges."""
_EXAMPLES = """\
  videoformat plan data.vf --episode 42 --camera wrist --indices 1733
  videoformat plan data.vf --episode 0 --episode 1 --indices 100:110 --json
  videoformat plan s3://bucket/data.vf --episode 3 --indices 17,250 --explain"""


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands, "plan", "show what a read would fetch and decode", _DESCRIPTION, _EXAMPLES
    )
    add_dataset(parser)
    add_selection(parser)
    parser.add_argument(
        "--explain",
        action="store_true",
        help="read the frames too, and show requests, bytes, pictures and time by stage",
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    dataset = open_dataset(args)
    requests = [
        (episode, camera, frame)
        for episode, camera, frames in selected(dataset, args)
        for frame in frames
    ]
    # Read first: what is planned before has its indexes in the cache.
    report = dataset.explain(requests) if args.explain else None
    plan = dataset.plan(requests)
    if args.json:
        cost = {} if report is None else {"cost": asdict(report)}
        print_json({**as_json(plan), **cost})
    else:
        print("\n".join([*as_text(plan), *(cost_text(report) if report else [])]))
    return 0


def as_json(plan: ReadPlan) -> dict[str, Any]:
    """The whole plan, down to every picture."""
    return {
        "frames": plan.frame_count,
        "pictures": plan.picture_count,
        "ranges": plan.range_count,
        "bytes": plan.byte_count,
        "chunks": [_chunk_json(chunk) for chunk in plan.chunks],
    }


def _chunk_json(chunk: ChunkRead) -> dict[str, Any]:
    index = chunk.index
    return {
        "episode": chunk.episode,
        "episode_uid": index.key.episode_uid,
        "camera": chunk.camera,
        "chunk": index.key.chunk_index,
        "frames": list(chunk.plan.frames),
        "groups": [
            [
                {
                    "picture": at,
                    "frame": index.frame_index[at],
                    "type": index.picture_type[at],
                    "offset": index.offset[at],
                    "size": index.size[at],
                }
                for at in group
            ]
            for group in chunk.plan.groups
        ],
        "ranges": [{"start": item.start, "end": item.end} for item in chunk.plan.ranges],
    }


def as_text(plan: ReadPlan) -> list[str]:
    """One line a chunk, and the sums."""
    head = ("camera", "episode", "chunk", "frames", "pictures", "types", "groups", "ranges", "size")
    lines: list[tuple[object, ...]] = [head]
    kinds: Counter[str] = Counter()
    for chunk in plan.chunks:
        types = Counter(chunk.index.picture_type[at] for group in chunk.plan.groups for at in group)
        kinds += types
        lines.append(
            (
                chunk.camera,
                chunk.episode,
                chunk.index.key.chunk_index,
                len(chunk.plan.frames),
                chunk.plan.picture_count,
                _types(types),
                len(chunk.plan.groups),
                len(chunk.plan.ranges),
                byte_text(chunk.plan.byte_count),
            )
        )
    groups = sum(len(chunk.plan.groups) for chunk in plan.chunks)
    lines.append(
        (
            "total", "", "", plan.frame_count, plan.picture_count, _types(kinds), groups,
            plan.range_count, byte_text(plan.byte_count),
        )
    )  # fmt: skip
    each = f"{plan.picture_count / plan.frame_count:.2f} pictures and " if plan.frame_count else ""
    each += f"{byte_text(plan.byte_count / max(1, plan.frame_count))} a frame"
    return [*aligned(lines), each]


def cost_text(report: ReadReport) -> list[str]:
    """What a read did, and where its time went."""
    pictures = f"{report.pictures} pictures decoded" if report.pictures else "nothing decoded"
    lines: list[tuple[object, ...]] = [
        ("read", f"{report.frames} frames, {pictures}"),
        (
            "indexes",
            f"{report.index_hits} cached, {report.index_misses} read in {report.takes} takes",
        ),
        ("media", f"{byte_text(report.media_bytes)} in {report.ranges} ranges"),
        (
            "read by",
            f"{report.range_reads} range reads, {report.direct_reads} reads of local files",
        ),
        ("store", f"{report.store_requests} requests, {byte_text(report.store_bytes)}"),
    ]
    total = sum(report.seconds.values())
    for stage, seconds in report.seconds.items():
        lines.append((stage, f"{seconds * 1e3:.2f} ms, {seconds / total:.0%}" if total else "0 ms"))
    return ["", *aligned(lines)]


def _types(types: Counter[str]) -> str:
    return " ".join(f"{kind}:{types[kind]}" for kind in "IPB" if types[kind])
