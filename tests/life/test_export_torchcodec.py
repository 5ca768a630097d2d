"""DDRA streams in MP4, decoded by torchcodec: by number and by time, in any order, frame by frame."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_dataset import CAMERAS, FPS, write_dataset

import videoformat as vf
from videoformat.media.gop import ProfileName

torchcodec = pytest.importorskip("torchcodec.decoders", reason="torchcodec is not installed")

LENGTHS = (21, 9)


def decoder(path: Path, seek_mode: str) -> Any:
    return torchcodec.VideoDecoder(
        str(path), dimension_order="NHWC", num_ffmpeg_threads=1, seek_mode=seek_mode
    )


@pytest.mark.parametrize("seek_mode", ["exact", "approximate"])
@pytest.mark.parametrize("to", ["lerobot-v3", "lerobot-v2.1", "mp4"])
@pytest.mark.parametrize("profile", ["fast", "balanced", "small"])
def test_seeking_gives_the_frames_of_a_sequential_decode(
    profile: ProfileName, to: str, seek_mode: str, tmp_path: Path
) -> None:
    uri, camera = tmp_path / "d.vf", CAMERAS[0]
    write_dataset(
        uri, lengths=LENGTHS, profile=profile, interval=4, chunk_frames=11, cameras=(camera,)
    )
    vf.export(uri, tmp_path / "out", to)
    dataset = vf.open(uri)
    ours = [dataset.read_frames(episode, camera, range(LENGTHS[episode])) for episode in (0, 1)]
    files = sorted((tmp_path / "out").rglob("*.mp4"))
    wanted = [np.concatenate(ours)] if to == "lerobot-v3" else ours
    assert len(files) == len(wanted)
    order = np.random.default_rng(0)
    for path, expected in zip(files, wanted, strict=True):
        sequential = decoder(path, seek_mode)[:].numpy()
        assert sequential.shape == expected.shape
        # Another conversion to RGB; the picture beside would be far off.
        distance = np.abs(sequential.astype(int) - expected).mean((1, 2, 3))
        assert distance.max() < 3
        seeking = decoder(path, seek_mode)
        for frame in order.permutation(len(expected)).tolist():
            found = seeking.get_frame_at(frame)
            assert np.array_equal(found.data.numpy(), sequential[frame]), frame
            assert abs(found.pts_seconds - frame / FPS) < 1e-6
            played = seeking.get_frame_played_at((frame + 0.5) / FPS)
            assert np.array_equal(played.data.numpy(), sequential[frame]), frame
