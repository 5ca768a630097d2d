"""The order of an epoch: a permutation, a function of its arguments, dealt without loss, local."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from videoformat.errors import InvalidArgumentError
from videoformat.sampling import EpochOrder, OrderSettings, intervals_of

chunks = st.lists(st.integers(1, 60), min_size=1, max_size=12)
settings = st.builds(
    OrderSettings, group=st.integers(1, 20), buffer=st.integers(1, 70), seed=st.integers(0, 2**40)
)


def order(
    frames: list[int], interval: int, setting: OrderSettings, epoch: int = 0, **share: int
) -> EpochOrder:
    return EpochOrder(intervals_of(np.array(frames), interval), setting, epoch, **share)


def test_intervals_begin_anew_with_each_chunk() -> None:
    starts = intervals_of(np.array([9, 4, 1]), 4)
    assert starts.tolist() == [0, 4, 8, 9, 13, 14]


@given(chunks, st.integers(1, 20), settings, st.integers(0, 5), st.integers(1, 5))
def test_every_frame_comes_once_over_all_ranks(
    frames: list[int], interval: int, setting: OrderSettings, epoch: int, world_size: int
) -> None:
    shares = [
        list(order(frames, interval, setting, epoch, rank=rank, world_size=world_size))
        for rank in range(world_size)
    ]
    assert sorted(at for share in shares for at in share) == list(range(sum(frames)))
    lengths = [len(share) for share in shares]
    assert max(lengths) - min(lengths) <= 1


@given(chunks, st.integers(1, 20), settings, st.data())
def test_any_stretch_is_a_part_of_the_whole(
    frames: list[int], interval: int, setting: OrderSettings, data: st.DataObject
) -> None:
    whole = list(order(frames, interval, setting, 3))
    begin = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(0, len(whole) + 5))
    fresh = order(frames, interval, setting, 3)
    assert fresh.frames(begin, end).tolist() == whole[begin:end]
    assert list(fresh.iterate(begin)) == whole[begin:]


def test_seed_and_epoch_change_the_order_and_nothing_else_does() -> None:
    seen = {
        (seed, epoch): tuple(order([50, 70], 16, OrderSettings(4, 16, seed), epoch))
        for seed in range(3)
        for epoch in range(3)
    }
    assert len(set(seen.values())) == 9
    assert tuple(order([50, 70], 16, OrderSettings(4, 16, 1), 2)) == seen[1, 2]


def test_a_batch_of_the_buffers_size_is_whole_groups() -> None:
    # 64 frames a chunk in intervals of 16 and groups of 8: no group is cut, a batch holds four.
    whole = list(order([64] * 10, 16, OrderSettings(8, 32, 5)))
    for begin in range(0, len(whole), 32):
        intervals, counts = np.unique(np.array(whole[begin : begin + 32]) // 16, return_counts=True)
        assert counts.sum() == 32
        assert set(counts % 8) == {0}
        assert len(intervals) <= 4


def test_a_group_of_one_is_as_random_as_a_permutation() -> None:
    """Successive distances of a uniform permutation of n have mean (n + 1) / 3."""
    count = 20_000
    whole = np.array(list(order([count], 16, OrderSettings(1, 64, 9))))
    assert np.abs(np.diff(whole)).mean() == pytest.approx((count + 1) / 3, rel=0.02)
    # No position keeps its frames: rank correlation near 0.
    assert abs(np.corrcoef(np.arange(count), whole)[0, 1]) < 0.03


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OrderSettings(group=0), "group is 0"),
        (lambda: OrderSettings(buffer=0), "buffer is 0"),
        (lambda: intervals_of(np.array([4]), 0), "interval is 0"),
        (lambda: order([4], 2, OrderSettings(), rank=2, world_size=2), "rank is 2 of a world of 2"),
    ],
)
def test_arguments_that_cannot_be_are_refused(make: object, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        make()  # type: ignore[operator]
