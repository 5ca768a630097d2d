"""Writes a dataset into an object store and reads frames of it there.

``python examples/write_to_s3.py s3://BUCKET/NAME``; the keys come from the environment
(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, and AWS_ENDPOINT, with AWS_ALLOW_HTTP=true
for a server without TLS). ``storage_options={...}`` takes the same names in lower case.
"""

import sys

import numpy as np

import videoformat as vf

CAMERA = "observation.images.top"
FEATURES = {CAMERA: {"dtype": "video", "shape": (64, 96, 3), "names": None}}


def main(uri: str) -> None:
    with vf.create(uri, fps=10, features=FEATURES) as writer:
        for episode in range(2):
            for frame in range(30):
                writer.add_frame({CAMERA: np.full((64, 96, 3), 60 * episode + 4 * frame, np.uint8)})
            writer.save_episode()
    dataset = vf.open(uri)
    for image in dataset.read_batch([(0, CAMERA, 3), (1, CAMERA, 29), (1, CAMERA, 0)]):
        print(f"grey level {image.mean():.0f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
