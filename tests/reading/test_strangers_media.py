"""Datasets in an object store whose media is said to lie elsewhere: nothing there is touched unasked."""

from pathlib import Path

import lance
import lance.blob
import object_store
import pyarrow as pa
import pytest
import small_dataset
from faulty_proxy import FaultyProxy

import videoformat as vf
from videoformat.errors import SourceNotAllowedError

pytestmark = pytest.mark.object_store


def _media_said_to_lie_at(
    place: str, size: int | None, like: Path, uri: str, options: dict[str, str]
) -> None:
    """A copy of a dataset in the store whose media of the first camera lies in another object.

    A size that is not said is asked of the store by Lance, as soon as it opens the blob.
    """
    source = lance.dataset(str(like))
    media = small_dataset.CAMERAS[0].replace(".", "/")  # as columns are named
    ours = source.to_table(columns=[name for name in source.schema.names if name != media])
    blob = (
        lance.blob.Blob.from_uri(place)
        if size is None
        else lance.blob.Blob.from_uri(place, 0, size)
    )
    column = lance.blob.blob_array([blob] * len(ours))
    table = pa.table(
        [column if name == media else ours.column(name) for name in source.schema.names],
        schema=source.schema,
    )
    lance.write_dataset(
        table,
        uri,
        data_storage_version="2.2",
        allow_external_blob_outside_bases=True,
        storage_options=options,
    )


@pytest.mark.parametrize("size", [None, 100])
@pytest.mark.parametrize("cached", [False, True])
def test_an_object_that_was_not_allowed_is_not_even_asked_for(
    size: int | None,
    cached: bool,
    s3: object_store.ObjectStore,
    proxy: FaultyProxy,
    tmp_path: Path,
) -> None:
    small_dataset.write_dataset(tmp_path / "d", cameras=small_dataset.CAMERAS[:1], lengths=(6,))
    through_proxy = {**s3.storage_options, "aws_endpoint": f"http://127.0.0.1:{proxy.port}"}
    uri = s3.uri(f"strange-{size}-{cached}")
    _media_said_to_lie_at(s3.uri("secret/object"), size, tmp_path / "d", uri, through_proxy)
    options = vf.ReadOptions() if cached else vf.ReadOptions(index_cache_bytes=0)
    ds = vf.open(uri, through_proxy, options=options)
    proxy.traffic.clear()
    for _ in range(2):
        with pytest.raises(SourceNotAllowedError, match="secret/object"):
            ds.read_frames(0, ds.cameras[0], [3])
    assert proxy.traffic.requests
    assert not [request for request in proxy.traffic.requests if "secret" in request]
