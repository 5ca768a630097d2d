"""What tests of reading from an object store share."""

from collections.abc import Iterator

import object_store
import pytest
from faulty_proxy import FaultyProxy, faulty_proxy


@pytest.fixture(scope="module")
def proxy(s3: object_store.ObjectStore) -> Iterator[FaultyProxy]:
    """What is asked of the S3 server, counted; it may be told to wait and to fail."""
    with faulty_proxy(s3.port, seed=1) as running:
        yield running
