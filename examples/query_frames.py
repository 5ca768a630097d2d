"""Asks which frames meet a condition, then reads just those pictures.

``python examples/query_frames.py DATASET``: the frames in which the first entry of the action
grows fastest, one per episode.
"""

import sys

import numpy as np

import videoformat as vf


def main(uri: str) -> None:
    dataset = vf.open(uri)
    # One row per frame of the whole dataset; no picture is touched.
    table = dataset.frames_table(["action"])
    first_action = np.stack(table["action"].to_numpy())[:, 0]

    wanted, start = [], 0
    for episode, length in enumerate(dataset.episodes["length"].to_pylist()):
        steps = np.diff(first_action[start : start + length])
        wanted.append((episode, dataset.cameras[0], int(np.argmax(steps)) if length > 1 else 0))
        start += length

    plan = dataset.plan(wanted)
    print(f"{len(wanted)} frames: {plan.picture_count} pictures, {plan.byte_count:,} bytes")
    for (episode, _, frame), image in zip(wanted, dataset.read_batch(wanted), strict=True):
        print(f"episode {episode}, frame {frame}: mean colour {image.mean(axis=(0, 1)).round()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
