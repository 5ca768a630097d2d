"""Datasets that LeRobot's own items are known for, converted once a session."""

from collections.abc import Callable
from pathlib import Path

import pytest

import videoformat as vf


@pytest.fixture(scope="session")
def converted(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """``converted(name, video)``: a dataset of the shared folder in this format."""
    made: dict[tuple[str, str], Path] = {}

    def make(name: str, video: str = "native") -> Path:
        if (name, video) not in made:
            uri = tmp_path_factory.mktemp("converted") / f"{name}.vf"
            structure = video if video == "native" else vf.DDRA(profile="fast", crf=4, interval=8)
            vf.convert(shared / "data/lerobot" / name, uri, video=structure, workers=1)
            made[name, video] = uri
        return made[name, video]

    return make
