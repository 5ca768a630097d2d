"""Sampler and stream: each frame once over ranks and workers, and resumed exactly."""

from typing import Any

import pytest
import small_dataset
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader  # noqa: E402 - needs torch

import videoformat as vf  # noqa: E402
from videoformat.errors import InvalidArgumentError  # noqa: E402
from videoformat.torch import FrameDataset, FrameStream, IntervalSampler  # noqa: E402
from videoformat.torch.stream import _resume  # noqa: E402

LENGTHS = (40, 33, 27, 19)
TOTAL = sum(LENGTHS)


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> FrameDataset:
    uri = tmp_path_factory.mktemp("sampler") / "small.vf"
    small_dataset.write_dataset(
        uri, lengths=LENGTHS, interval=8, chunk_frames=24, cameras=small_dataset.CAMERAS[:1]
    )
    return FrameDataset(vf.open(uri), cameras=[], columns=[])


def sampler(frames: FrameDataset, rank: int = 0, world_size: int = 1, **more: Any) -> Any:
    arguments = {"group": 4, "buffer": 8, "seed": 11, **more}
    return IntervalSampler(frames, rank=rank, world_size=world_size, **arguments)


def stream(frames: FrameDataset, rank: int = 0, world_size: int = 1, **more: Any) -> Any:
    arguments = {"batch_size": 4, "group": 4, "buffer": 16, "seed": 11, **more}
    return FrameStream(frames, rank=rank, world_size=world_size, **arguments)


@pytest.mark.parametrize("world_size", [1, 4])
def test_ranks_share_an_epoch(frames: FrameDataset, world_size: int) -> None:
    shares = [list(sampler(frames, rank, world_size)) for rank in range(world_size)]
    assert sorted(at for share in shares for at in share) == list(range(TOTAL))


@pytest.mark.parametrize("world_size", [1, 4])
def test_a_sampler_resumes_after_any_number_of_frames(
    frames: FrameDataset, world_size: int
) -> None:
    for rank in range(world_size):
        first = sampler(frames, rank, world_size)
        first.set_epoch(2)
        whole = list(first)
        for used in range(len(whole) + 1):
            second = sampler(frames, rank, world_size)
            second.load_state_dict(first.state_after(used))
            assert len(second) == len(whole) - used
            assert list(second) == whole[used:]
            assert second.epoch == 2


def test_after_a_resumed_epoch_the_next_is_whole(frames: FrameDataset) -> None:
    resumed = sampler(frames)
    resumed.load_state_dict(sampler(frames).state_after(100))
    assert len(list(resumed)) == TOTAL - 100
    resumed.set_epoch(1)
    assert sorted(resumed) == list(range(TOTAL))


def batches(loader: Any) -> list[list[int]]:
    return [batch["index"].tolist() for batch in loader]


@pytest.mark.parametrize("world_size", [1, 4])
def test_a_stream_has_every_frame_once_and_resumes_after_any_batch(
    frames: FrameDataset, world_size: int
) -> None:
    seen = []
    for rank in range(world_size):
        first = stream(frames, rank, world_size)
        first.set_epoch(1)
        whole = batches(first)
        assert len(first) == len(whole)
        seen += [at for batch in whole for at in batch]
        for used in range(len(whole) + 1):
            second = stream(frames, rank, world_size)
            second.load_state_dict(first.state_after(used, num_workers=0))
            assert batches(second) == whole[used:]
    assert sorted(seen) == list(range(TOTAL))


def rounds(counts: list[int]) -> list[tuple[int, int]]:
    """(worker, batch) in the order in which a DataLoader asks workers that have so many batches."""
    order = []
    for turn in range(max(counts, default=0)):
        order += [(worker, turn) for worker, count in enumerate(counts) if turn < count]
    return order


@given(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.data())
def test_workers_go_on_where_their_turns_ended(counts: list[int], data: st.DataObject) -> None:
    counts = sorted(counts, reverse=True)
    whole = rounds(counts)
    begin = data.draw(st.integers(0, len(whole)))
    resumed = [_resume(worker, len(counts), begin, counts) for worker in range(len(counts))]
    left = [max(counts[own] - first, 0) for own, first in resumed]
    after = [(resumed[at][0], resumed[at][1] + turn) for at, turn in rounds(left)]
    assert after == whole[begin:]


# Workers are forked, which is quick and safe here: without cameras and columns they read nothing.
@pytest.mark.filterwarnings("ignore:lance is not fork-safe", "ignore:.*use of fork")
def test_a_stream_resumes_with_workers(frames: FrameDataset) -> None:
    def load(source: Any) -> list[list[int]]:
        options = {"num_workers": 2, "multiprocessing_context": "fork", "timeout": 60}
        return batches(DataLoader(source, batch_size=None, **options))

    first = stream(frames)
    whole = load(first)
    assert sorted(at for batch in whole for at in batch) == list(range(TOTAL))
    second = stream(frames)
    second.load_state_dict(first.state_after(7, num_workers=2))
    assert load(second) == whole[7:]


def test_a_stream_drops_what_is_no_whole_batch(frames: FrameDataset) -> None:
    whole = batches(stream(frames, drop_last=True))
    assert {len(batch) for batch in whole} == {4}
    assert len(whole) == TOTAL // 4


def test_what_does_not_fit_is_refused(frames: FrameDataset) -> None:
    with pytest.raises(InvalidArgumentError, match="buffer is 10, expected a multiple"):
        stream(frames, buffer=10)
    with pytest.raises(InvalidArgumentError, match="batch_size is 0"):
        stream(frames, batch_size=0)
    with pytest.raises(InvalidArgumentError, match="frames is 120, the epoch has 119"):
        sampler(frames).state_after(120)
    with pytest.raises(InvalidArgumentError, match="batches is 31, the epoch has 30"):
        stream(frames).state_after(31, num_workers=0)
    with pytest.raises(InvalidArgumentError, match="with seed 11, here it is 12"):
        sampler(frames, seed=12).load_state_dict(sampler(frames).state_after(3))
    with pytest.raises(InvalidArgumentError, match="with batch_size 4, here it is 8"):
        stream(frames, batch_size=8).load_state_dict(stream(frames).state_after(1, num_workers=0))
    with pytest.raises(InvalidArgumentError, match="give both or none"):
        IntervalSampler(frames, rank=1)
    other = stream(frames)
    other.load_state_dict(stream(frames).state_after(3, num_workers=2))
    with pytest.raises(InvalidArgumentError, match="saved with 2 workers, here there are 1"):
        next(iter(other))
