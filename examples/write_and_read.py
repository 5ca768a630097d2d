"""Writes two short episodes frame by frame, then reads frames of them in any order.

``python examples/write_and_read.py [FOLDER]``
"""

import sys
import tempfile

import numpy as np

import videoformat as vf

CAMERA = "observation.images.top"
FEATURES = {
    CAMERA: {"dtype": "video", "shape": (96, 128, 3), "names": ["height", "width", "channels"]},
    "observation.state": {"dtype": "float32", "shape": (2,), "names": ["x", "y"]},
}


def picture(x: float, y: float) -> np.ndarray:
    """A white ball at (x, y), both within 0..1, over a grey table."""
    rows, columns = np.mgrid[:96, :128]
    image = np.full((96, 128, 3), 90, np.uint8)
    image[np.hypot(rows - 96 * y, columns - 128 * x) < 10] = 255
    return image


def write(uri: str) -> None:
    """Two episodes: the ball goes right, then down."""
    with vf.create(uri, fps=30, features=FEATURES, video=vf.DDRA(interval=8)) as writer:
        for task, length in (("go right", 40), ("go down", 25)):
            for frame in range(length):
                along = 0.1 + 0.8 * frame / length
                x, y = (along, 0.5) if task == "go right" else (0.5, along)
                writer.add_frame(
                    {
                        CAMERA: picture(x, y),
                        "observation.state": np.array([x, y], np.float32),
                        "task": task,
                    }
                )
            writer.save_episode()  # here the episode appears, whole


def read(uri: str) -> None:
    """Frames by number, rows beside them, and what a read would cost before it is made."""
    dataset = vf.open(uri)
    print(f"{dataset.num_episodes} episodes, {dataset.num_frames} frames, {dataset.fps} fps")

    wanted = [33, 5, 5, 17]
    frames = dataset.read_frames(0, CAMERA, wanted)
    states = dataset.rows(0, wanted, columns=["observation.state"])["observation.state"]
    for frame, image, state in zip(wanted, frames, states.to_pylist(), strict=True):
        ball = np.argwhere(image[..., 0] > 200).mean(axis=0)
        print(
            f"frame {frame:2}: the ball is at x={ball[1] / 128:.2f}, the state says {state[0]:.2f}"
        )

    batch = dataset.read_batch([(0, CAMERA, 39), (1, CAMERA, 0), (1, CAMERA, 24)])
    print(f"a batch over both episodes: {len(batch)} images of {batch[0].shape}")

    plan = dataset.plan([(0, CAMERA, 20)])
    print(f"frame 20 takes {plan.picture_count} pictures, {plan.byte_count} bytes")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        folder = sys.argv[1]
        write(folder)
        read(folder)
    else:
        with tempfile.TemporaryDirectory() as folder:
            write(f"{folder}/balls.vf")
            read(f"{folder}/balls.vf")
