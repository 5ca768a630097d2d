"""Image features: encoded images in the Parquet file, or in files of their own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lerobot_builder import build_v2, build_v3, feature

from videoformat.convert import lerobot_images
from videoformat.convert.lerobot_source import LeRobotSource
from videoformat.errors import DataError

KEY = "observation.images.front"
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def images(root: Path, column: pa.Array, build: Any = build_v2, **options: Any) -> list[bytes]:
    """What is read of one episode whose image column is given."""
    build(
        root,
        (len(column),),
        cameras=(),
        features={KEY: feature("image", 4, 6, 3)},
        columns=lambda *_: {KEY: column},
        **options,
    )
    source = LeRobotSource(root)
    assert source.image_keys == [KEY]
    assert KEY not in source.tabular_keys
    assert KEY not in source.table(source.episodes[0]).column_names
    return list(source.images(source.episodes[0], KEY))


@pytest.mark.parametrize(
    "stored",
    [
        IMAGE,
        pa.struct([("path", pa.large_string()), ("bytes", pa.large_binary())]),
        pa.struct([("bytes", pa.binary())]),
    ],
)
def test_bytes_in_the_table(tmp_path: Path, stored: pa.DataType) -> None:
    data = [f"image {i}".encode() for i in range(40)]
    rows = [{"bytes": value, "path": "frame_000000.png"} for value in data]
    if stored.num_fields == 1:
        rows = [{"bytes": value} for value in data]
    assert images(tmp_path, pa.array(rows, stored)) == data


@pytest.mark.parametrize("stored", [pa.binary(), pa.large_binary()])
def test_a_plain_column_of_bytes(tmp_path: Path, stored: pa.DataType) -> None:
    assert images(tmp_path, pa.array([b"a", b"b"], stored)) == [b"a", b"b"]


@pytest.mark.parametrize("struct", [True, False])
def test_paths_below_the_root(tmp_path: Path, struct: bool) -> None:
    folder = tmp_path / f"images/{KEY}/episode_000000"
    folder.mkdir(parents=True)
    paths = []
    for frame in range(3):
        (folder / f"frame_{frame:06d}.png").write_bytes(bytes([frame] * 5))
        paths.append(f"images/{KEY}/episode_000000/frame_{frame:06d}.png")
    column = (
        pa.array([{"bytes": None, "path": path} for path in paths], IMAGE)
        if struct
        else pa.array(paths)
    )
    assert images(tmp_path, column) == [bytes([frame] * 5) for frame in range(3)]


@pytest.mark.parametrize("path", ["../secret.png", "/etc/hostname", "a/../../secret.png", "link"])
def test_paths_outside_the_root_are_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "secret.png").write_bytes(b"secret")
    root = tmp_path / "dataset"
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "secret.png")
    with pytest.raises(DataError, match=rf"{KEY} in row 0: .*(relative path|leads outside)"):
        images(root, pa.array([{"bytes": None, "path": path}], IMAGE))


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([{"bytes": b"a"}, {"bytes": None}], IMAGE), "row 1 has neither bytes nor a path"),
        (pa.array([{"bytes": b"a"}, None], IMAGE), "row 1 has neither"),
        (pa.array([{"path": "images/none.png"}], IMAGE), "row 0: there is no file images/none.png"),
        (pa.array([[1, 2]]), r"is list<.*>, expected struct<bytes"),
        (pa.array([{"jpeg": b"a"}]), r"is struct<.*>, expected struct<bytes"),
        (pa.array([{"bytes": "text"}]), "row 0 has neither bytes"),
    ],
)
def test_a_row_without_an_image_is_named(tmp_path: Path, column: pa.Array, said: str) -> None:
    with pytest.raises(DataError, match=rf"000000\.parquet: {KEY}.*{said}"):
        images(tmp_path, column)


def test_only_the_rows_of_the_episode_and_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row group for three episodes; no more than a batch is asked of Arrow at once."""
    lengths = (30, 50, 20)

    def column(episode: int, length: int) -> dict[str, pa.Array]:
        rows = [{"bytes": f"{episode} {frame}".encode(), "path": None} for frame in range(length)]
        return {KEY: pa.array(rows, IMAGE)}

    build_v3(
        tmp_path,
        lengths,
        data_files=(0, 0, 0),
        cameras=(),
        features={KEY: feature("image", 4, 6, 3)},
        columns=column,
    )
    sizes = []
    stream = lerobot_images.stream

    def spy(*arguments: Any) -> Iterator[pa.Table]:
        for table in stream(*arguments):
            sizes.append(table.num_rows)
            yield table

    monkeypatch.setattr(lerobot_images, "stream", spy)
    source = LeRobotSource(tmp_path)
    got = list(source.images(source.episodes[1], KEY))
    assert got == [f"1 {frame}".encode() for frame in range(50)]
    assert sum(sizes) == 50
    assert max(sizes) <= 16
    first = source.images(source.episodes[2], KEY)
    assert next(first) == b"2 0"
    first.close()  # type: ignore[attr-defined]


def test_images_that_were_not_kept_are_dropped(tmp_path: Path) -> None:
    build_v2(tmp_path, features={KEY: feature("image", 4, 6, 3)})
    source = LeRobotSource(tmp_path)
    assert source.image_keys == []
    assert [note for note in source.notes if KEY in note]
