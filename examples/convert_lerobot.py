"""Converts a LeRobot dataset on disk (v2.0, v2.1 or v3.0) and compares what is stored.

``python examples/convert_lerobot.py SOURCE TARGET``; ``tools/make_lerobot.py`` makes a SOURCE.
"""

import sys

import videoformat as vf


def main(source: str, target: str) -> None:
    # Run again after an interruption, it goes on where it stopped.
    report = vf.convert(source, target, video=vf.DDRA(profile="fast", interval=16))
    print(f"{report.episodes} episodes, {report.frames} frames")
    print(f"{report.source_bytes:,} bytes of video became {report.media_bytes:,}")
    for note in report.notes:
        print("note:", note)

    dataset = vf.open(target)
    for episode in dataset.episodes.select(["episode_index", "length", "tasks"]).to_pylist():
        print(episode)
    camera = dataset.cameras[0]
    last = dataset.episodes["length"][0].as_py() - 1
    frames = dataset.read_frames(0, camera, [0, last // 2, last])
    print(f"{camera}: {frames.shape} {frames.dtype}")


if __name__ == "__main__":
    main(*sys.argv[1:])
