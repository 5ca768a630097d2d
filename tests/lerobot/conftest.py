"""Datasets that LeRobot's own items are known for, converted once a session."""

from collections.abc import Callable
from pathlib import Path

import pytest

import videoformat as vf


@pytest.fixture(scope="session")
def converted(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """``converted(name)``: a dataset of the shared folder in this format, with native video."""
    made: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in made:
            uri = tmp_path_factory.mktemp("converted") / f"{name}.vf"
            vf.convert(shared / "data/lerobot" / name, uri, video="native", workers=1)
            made[name] = uri
        return made[name]

    return make
