"""``videoformat info``: what is in a dataset."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from videoformat.commands.arguments import (
    Commands,
    add_command,
    add_dataset,
    add_json,
    open_table,
)
from videoformat.commands.camera_facts import CameraFacts, StreamKind, camera_facts
from videoformat.commands.text import aligned, byte_text, duration_text, print_json
from videoformat.dataset import Dataset
from videoformat.table import Table

__all__ = ["add"]

SHOWN_TASKS = 10
_DESCRIPTION = """\
Shows what is in a dataset: episodes, frames, features, tasks, and for each camera how its pictures
were made, how many a frame needs (its closure: mean and worst) and what they take."""
_EXAMPLES = """\
  videoformat info data.vf
  videoformat info s3://bucket/data.vf --version 12 --json"""


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(commands, "info", "show what is in a dataset", _DESCRIPTION, _EXAMPLES)
    add_dataset(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    table = open_table(args)
    facts = describe(table, Dataset(table, allowed_sources=args.allowed_sources))
    if args.json:
        print_json(facts)
    else:
        print("\n".join(as_text(facts)))
    return 0


def describe(table: Table, dataset: Dataset) -> dict[str, Any]:
    """The facts, as JSON has them."""
    lengths = dataset.directory.lengths
    cameras = {key: camera_facts(table, dataset, feature)
               for key, feature in table.info.cameras.items()}  # fmt: skip
    return {
        "uri": dataset.uri,
        "version": dataset.version,
        "format_version": table.info.format_version,
        "videoformat": version("videoformat"),
        "fps": dataset.fps,
        "robot_type": dataset.robot_type,
        "episodes": dataset.num_episodes,
        "frames": dataset.num_frames,
        "chunks": dataset.directory.row_count,
        "episode_length": {
            "shortest": int(lengths.min()) if len(lengths) else None,
            "longest": int(lengths.max()) if len(lengths) else None,
        },
        "cameras": {key: _camera_json(facts) for key, facts in cameras.items()},
        "features": {
            key: {"dtype": feature.dtype, "shape": list(feature.shape)}
            for key, feature in table.info.tabular.items()
        },
        "tasks": dataset.tasks,
        "media_bytes": sum(facts.media_bytes for facts in cameras.values()),
        "store_bytes": table.local_size(),
    }


def _camera_json(facts: CameraFacts) -> dict[str, Any]:
    return {
        "width": facts.width,
        "height": facts.height,
        "media_bytes": facts.media_bytes,
        "bytes_per_frame": facts.bytes_per_frame,
        "closure": {
            "mean": facts.mean_closure,
            "worst": facts.worst_closure,
            "mean_over_frames": facts.sampled_frames,
        },
        "streams": [
            {**_stream_json(kind), "chunks": chunks} for kind, chunks in facts.streams.items()
        ],
    }


def _stream_json(kind: StreamKind) -> dict[str, Any]:
    return {
        "codec": kind.codec,
        "structure": kind.structure,
        "interval": kind.interval,
        "access": kind.access,
        "profile": kind.profile,
        "crf": kind.crf,
        "preset": kind.preset,
        "pixel_format": kind.pixel_format,
        "color_matrix": kind.color_matrix,
        "color_range": kind.color_range,
        "media": "source files" if kind.in_source else "stored",
    }


def as_text(facts: Mapping[str, Any]) -> list[str]:
    """The facts for people."""
    shortest, longest = facts["episode_length"]["shortest"], facts["episode_length"]["longest"]
    lengths = f" of {shortest} to {longest} frames" if facts["episodes"] else ""
    duration = duration_text(facts["frames"] / facts["fps"])
    lines = [
        f"{facts['uri']}, version {facts['version']}, format {facts['format_version']}",
        f"{facts['episodes']} episodes{lengths} in {facts['chunks']} chunks",
        f"{facts['frames']} frames at {facts['fps']:g} a second: {duration} a camera",
    ]
    if facts["robot_type"]:
        lines.append(f"robot: {facts['robot_type']}")
    lines += _cameras_text(facts)
    features = facts["features"]
    if features:
        rows = [(f"  {key}", f"{item['dtype']} {item['shape']}") for key, item in features.items()]
        lines += ["", "features", *aligned(rows, left=2)]
    tasks = facts["tasks"]
    if tasks:
        lines += ["", f"tasks ({len(tasks)})", *(f"  {task}" for task in tasks[:SHOWN_TASKS])]
        if len(tasks) > SHOWN_TASKS:
            lines.append(f"  … and {len(tasks) - SHOWN_TASKS} more (--json lists them)")
    return lines


def _cameras_text(facts: Mapping[str, Any]) -> list[str]:
    rows: list[tuple[object, ...]] = [
        ("camera", "size", "pictures", "closure mean", "worst", "bytes a frame", "media")
    ]
    for key, item in facts["cameras"].items():
        closure = item["closure"]
        mean = "-" if closure["mean"] is None else f"{closure['mean']:.2f}"
        each = "-" if item["bytes_per_frame"] is None else f"{item['bytes_per_frame']:.0f}"
        first, *others = [_stream_text(stream) for stream in item["streams"]] or ["-"]
        size = f"{item['width']}x{item['height']}"
        worst = "-" if closure["worst"] is None else closure["worst"]
        rows.append((key, size, first, mean, worst, each, byte_text(item["media_bytes"])))
        rows += [("", "", other, "", "", "", "") for other in others]
    media = f"media: {byte_text(facts['media_bytes'])}"
    if facts["store_bytes"] is not None:
        media += f"; everything, older versions included: {byte_text(facts['store_bytes'])}"
    return ["", *(aligned(rows, left=3) if len(rows) > 1 else ["no cameras"]), media]


def _stream_text(stream: Mapping[str, Any]) -> str:
    parts = [stream["codec"], stream["structure"]]
    if stream["interval"] is not None:
        parts[-1] += f"-{stream['interval']}"
    if stream["access"] != "direct":
        parts.append(stream["access"])
    parts += ["in source files"] if stream["media"] != "stored" else []
    parts += [stream["profile"]] if stream["profile"] else []
    parts += [f"crf {stream['crf']:g}"] if isinstance(stream["crf"], int | float) else []
    return " ".join(parts)
