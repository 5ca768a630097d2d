"""What a sample dataset is to be: the choices, checked, and the features that follow from them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

VERSIONS = ("v2.0", "v2.1", "v3.0")
CODECS = ("h264", "av1")
BURNT_IN_BITS = 16
CAMERA_ID_STEP = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSpec:
    """A sample dataset, complete: two equal values write equal datasets.

    ``gop`` and ``crf`` default to LeRobot's own. ``lengths`` holds the frames of each episode.
    The file sizes (MiB) decide, as in LeRobot, when v3.0 starts another file.
    """

    version: str = "v3.0"
    lengths: tuple[int, ...] = (23, 17, 31)
    fps: int = 30
    height: int = 96
    width: int = 128
    cameras: tuple[str, ...] = ("front", "wrist")
    codec: str = "h264"
    gop: int = 2
    crf: int = 30
    joints: int = 6
    tasks: tuple[str, ...] = ("Put the ball in the box.", "Push the ball off the table.")
    seed: int = 0
    data_file_mb: float = 100
    video_file_mb: float = 200

    def __post_init__(self) -> None:
        _require(self.version in VERSIONS, f"version {self.version!r} is none of {VERSIONS}")
        _require(self.codec in CODECS, f"codec {self.codec!r} is none of {CODECS}")
        _require(bool(self.lengths) and min(self.lengths) > 0, f"lengths {self.lengths}")
        _require(self.fps > 0 and self.gop > 0, f"fps {self.fps}, gop {self.gop}: both above 0")
        _require(0 <= self.crf <= 51, f"crf {self.crf} is not within 0..51")
        _require(self.joints >= 2, f"joints {self.joints}: at least an arm and a gripper")
        _require(bool(self.tasks) and len(set(self.tasks)) == len(self.tasks), "tasks repeat")
        _require(
            bool(self.cameras) and len(set(self.cameras)) == len(self.cameras), "cameras repeat"
        )
        _require(
            self.width >= 128 and self.height >= 64 and not (self.width % 2 or self.height % 2),
            f"{self.width}x{self.height}: even, and at least 128x64 for the burnt-in number",
        )
        last_id = CAMERA_ID_STEP * (len(self.cameras) - 1) + self.total_frames - 1
        _require(
            last_id < 1 << BURNT_IN_BITS,
            f"the last burnt-in number, {last_id}, needs more than {BURNT_IN_BITS} bits",
        )

    @property
    def total_frames(self) -> int:
        return sum(self.lengths)

    @property
    def video_keys(self) -> tuple[str, ...]:
        return tuple(f"observation.images.{camera}" for camera in self.cameras)

    def task_of(self, episode: int) -> int:
        return episode % len(self.tasks)

    def features(self) -> dict[str, dict[str, Any]]:
        """The ``features`` of info.json, in LeRobot's order."""
        joint_names = [*(f"joint_{j}" for j in range(self.joints - 1)), "gripper"]
        vector = {"dtype": "float32", "shape": [self.joints], "names": joint_names}
        features: dict[str, dict[str, Any]] = {"observation.state": vector, "action": dict(vector)}
        for key in self.video_keys:
            features[key] = {
                "dtype": "video",
                "shape": [self.height, self.width, 3],
                "names": ["height", "width", "channels"],
                # v2.0 spelled the key otherwise than every later version.
                "video_info" if self.version == "v2.0" else "info": self._video_info(),
            }
        features["timestamp"] = {"dtype": "float32", "shape": [1], "names": None}
        for key in ("frame_index", "episode_index", "index", "task_index"):
            features[key] = {"dtype": "int64", "shape": [1], "names": None}
        return features

    def _video_info(self) -> dict[str, Any]:
        size: dict[str, Any] = {
            "video.height": self.height,
            "video.width": self.width,
            "video.channels": 3,
        }
        info = {
            "video.fps": self.fps,
            "video.codec": self.codec,
            "video.pix_fmt": "yuv420p",
            "video.is_depth_map": False,
            "has_audio": False,
        }
        return info if self.version == "v2.0" else size | info


def random_lengths(episodes: int, shortest: int, longest: int, seed: int) -> tuple[int, ...]:
    """Draws the lengths of so many episodes, both bounds included."""
    draw = random.Random(f"lengths {seed}")
    return tuple(draw.randint(shortest, longest) for _ in range(episodes))


def _require(condition: bool, message: str) -> None:  # noqa: FBT001
    if not condition:
        raise ValueError(message)
