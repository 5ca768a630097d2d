"""An iterable dataset: batches of an epoch, a shuffle buffer of frames read as one plan.

Strategy: what the sampler can share between frames ends at a batch. A stream reads a whole buffer
(several batches) as one plan, mixes it, and cuts it into batches, so that the frames of an interval
are decoded together and yet spread over the buffer's batches.

Workers take buffers in turn: of W workers, worker w reads the buffers w, w + W, … of the rank's
share. A ``DataLoader`` asks its workers in turn, so after n batches every worker's place is known,
and a restored stream lets worker v go on as the worker whose turn it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import default_collate

from videoformat.errors import InvalidArgumentError
from videoformat.sampling import EpochOrder, OrderSettings
from videoformat.torch.frames import FrameDataset
from videoformat.torch.sampler import ranks

__all__ = ["FrameStream"]

_EPOCH, _BATCH, _WORKERS = range(3)


class FrameStream(torch.utils.data.IterableDataset):  # type: ignore[misc]  # torch comes without types here
    """Batches of a ``FrameDataset`` in an order that knows what frames share.

    Each frame comes once an epoch. ``buffer`` is a multiple of ``batch_size``: frames that a worker
    holds at a time, as uint8. Use it as ``DataLoader(stream, batch_size=None, num_workers=…)``, and
    call ``set_epoch`` before each epoch. The order follows from seed, epoch, rank, world size and
    the number of workers.
    """

    def __init__(
        self,
        frames: FrameDataset,
        *,
        batch_size: int,
        group: int = 8,
        buffer: int | None = None,
        seed: int = 0,
        rank: int | None = None,
        world_size: int | None = None,
        drop_last: bool = False,
        collate: Callable[[list[Any]], Any] = default_collate,
        interval: int | None = None,
    ) -> None:
        if not isinstance(batch_size, int) or batch_size < 1:
            raise InvalidArgumentError(f"batch_size is {batch_size!r}, expected 1 or more")
        size = 8 * batch_size if buffer is None else buffer
        if size % batch_size:
            raise InvalidArgumentError(
                f"buffer is {size}, expected a multiple of batch_size, which is {batch_size}"
            )
        self._frames = frames
        self._batch_size = batch_size
        self._settings = OrderSettings(group, size, seed)
        self._starts = frames.interval_starts(interval)
        self._rank, self._world_size = ranks(rank, world_size)
        self._drop_last = drop_last
        self._collate = collate
        # In shared memory: workers that persist see the epoch that is set here.
        self._state = torch.zeros(3, dtype=torch.int64).share_memory_()

    def _order(self, epoch: int) -> EpochOrder:
        return EpochOrder(
            self._starts,
            self._settings,
            epoch,
            rank=self._rank,
            world_size=self._world_size,
        )

    def _batch_count(self, frames: int) -> int:
        return frames // self._batch_size if self._drop_last else -(-frames // self._batch_size)

    def __len__(self) -> int:
        """Batches that are left of the epoch."""
        epoch, begin, _ = self._state.tolist()
        return self._batch_count(len(self._order(epoch))) - int(begin)

    def set_epoch(self, epoch: int) -> None:
        """Begins an epoch."""
        self._state.copy_(torch.tensor([epoch, 0, 0]))

    def state_after(self, batches: int, *, num_workers: int) -> dict[str, int]:
        """The state after ``batches`` of the epoch were used, read by that many workers."""
        epoch = int(self._state[_EPOCH])
        count = self._batch_count(len(self._order(epoch)))
        if not 0 <= batches <= count:
            raise InvalidArgumentError(f"batches is {batches}, the epoch has {count}")
        return {**self._identity(), "epoch": epoch, "batches": batches, "workers": num_workers}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Goes on from a state of a stream with the same arguments, with as many workers."""
        for name, value in self._identity().items():
            if state.get(name) != value:
                raise InvalidArgumentError(
                    f"the state is of a stream with {name} {state.get(name)}, here it is {value}"
                )
        self._state.copy_(torch.tensor([state["epoch"], state["batches"], state["workers"]]))

    def _identity(self) -> dict[str, int]:
        return {
            "seed": self._settings.seed,
            "group": self._settings.group,
            "buffer": self._settings.buffer,
            "batch_size": self._batch_size,
            "rank": self._rank,
            "world_size": self._world_size,
            "frames": int(self._starts[-1]),
        }

    def __iter__(self) -> Iterator[Any]:
        worker = torch.utils.data.get_worker_info()
        at, workers = (worker.id, worker.num_workers) if worker else (0, 1)
        epoch, begin, saved_workers = self._state.tolist()
        if begin and max(saved_workers, 1) != workers:
            raise InvalidArgumentError(
                f"the state was saved with {saved_workers} workers, here there are {workers}"
            )
        order = self._order(epoch)
        own, first = _resume(at, workers, begin, self._counts(len(order), workers))
        return self._batches(order, own, workers, first)

    def _counts(self, frames: int, workers: int) -> list[int]:
        """Batches of each worker; none has fewer than the next."""
        buffer = self._settings.buffer
        counts = []
        for worker in range(workers):
            held = [
                min(buffer, frames - block * buffer)
                for block in range(worker, -(-frames // buffer), workers)
            ]
            counts.append(sum(self._batch_count(size) for size in held))
        return counts

    def _batches(self, order: EpochOrder, worker: int, workers: int, first: int) -> Iterator[Any]:
        buffer, size = self._settings.buffer, self._batch_size
        skip = first % (buffer // size)
        block = worker + workers * (first // (buffer // size))
        while block * buffer < len(order):
            begin = block * buffer + skip * size
            positions = order.frames(begin, (block + 1) * buffer).tolist()
            items: list[Any] = []
            for item in self._frames.iterate(positions):
                items.append(item)
                if len(items) == size:
                    yield self._collate(items)
                    items = []
            if items and not self._drop_last:
                yield self._collate(items)
            block, skip = block + workers, 0


def _resume(worker: int, workers: int, begin: int, counts: list[int]) -> tuple[int, int]:
    """Which worker's batches to go on with after ``begin`` batches, and from which of them.

    A loader asks workers 0, 1, … in rounds and leaves out those that have ended; counts never rise
    from one worker to the next, so round t is asked of those with more than t batches.
    """
    done = 0
    while begin:
        active = sum(count > done for count in counts)
        if begin < active or not active:
            break
        begin -= active
        done += 1
    own = (worker + begin) % workers
    return own, done + (own < begin)
