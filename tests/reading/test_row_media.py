"""One row's media by its handle: the same bytes as a planned read over rows, and the same refusals."""

import pytest
import small_dataset
from hypothesis import given
from hypothesis import strategies as st

from videoformat.errors import ColumnNotFoundError, DataError
from videoformat.index.schema import media_columns
from videoformat.table import Table

ROWS = 3


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    path = tmp_path_factory.mktemp("media") / "out"
    small_dataset.write_dataset(path, lengths=(13, 6), chunk_frames=8)
    return Table.open(path)


@pytest.fixture(scope="module")
def column(table: Table) -> str:
    return media_columns(table.info.cameras[small_dataset.CAMERAS[1]])[0]


@pytest.fixture(scope="module")
def sizes(table: Table, column: str) -> list[int]:
    return [size or 0 for size in table.media_sizes(column, range(ROWS))]


@given(st.data())
def test_the_bytes_are_those_of_a_planned_read(
    table: Table, column: str, sizes: list[int], data: st.DataObject
) -> None:
    row = data.draw(st.integers(0, ROWS - 1))
    ranges = []
    for _ in range(data.draw(st.integers(1, 4))):
        offset = data.draw(st.integers(0, sizes[row] - 1))
        ranges.append((offset, data.draw(st.integers(1, sizes[row] - offset))))
    media = table.row_media(column, row)
    expected = table.read_ranges(column, [(row, *item) for item in ranges])
    assert media.read_ranges(ranges) == expected
    assert media.read_ranges(ranges[:1]) == expected[:1]  # by what is known from the first time


@given(st.data())
def test_what_lies_outside_the_media_is_refused(
    table: Table, column: str, sizes: list[int], data: st.DataObject
) -> None:
    row = data.draw(st.integers(0, ROWS - 1))
    beyond = data.draw(
        st.tuples(st.integers(0, 2**63 - 1), st.integers(1, 2**63 - 1)).filter(
            lambda item: sum(item) > sizes[row]
        )
        | st.tuples(st.integers(-(2**63), -1), st.integers(1, 9))
    )
    with pytest.raises(DataError, match=f"{column} of row {row}: {beyond[1]} bytes at {beyond[0]}"):
        table.row_media(column, row).read_ranges([(0, 1), beyond])


def test_a_row_or_column_that_is_not_there_is_refused(table: Table, column: str) -> None:
    with pytest.raises(DataError):
        table.row_media(column, ROWS + 5).read_ranges([(0, 1)])
    with pytest.raises(ColumnNotFoundError):
        table.row_media("nowhere", 0)
