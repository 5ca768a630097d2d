"""A sampler whose order knows what frames share, and whose state is a position."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import torch

from videoformat.errors import InvalidArgumentError
from videoformat.sampling import EpochOrder, OrderSettings

__all__ = ["HasIntervals", "IntervalSampler", "ranks"]


class HasIntervals(Protocol):
    """A dataset that knows its intervals: ``FrameDataset``, ``LeRobotDataset``."""

    def interval_starts(self, interval: int | None = None) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Where the intervals begin, counted in positions, and where the last one ends."""


def ranks(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """The rank and world size that were given, or those of ``torch.distributed``, or 0 of 1."""
    if (rank is None) != (world_size is None):
        raise InvalidArgumentError(f"rank is {rank}, world_size is {world_size}: give both or none")
    if rank is not None and world_size is not None:
        return rank, world_size
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1


class IntervalSampler(torch.utils.data.Sampler):  # type: ignore[misc]  # torch comes without types here
    """Positions of a map-style dataset: each once an epoch, frames of one interval near each other.

    ``group`` frames of an interval come together and are mixed within ``buffer`` frames: make that
    the batch size, so that a batch is whole groups. ``group=1`` is a uniform shuffle. The order is
    a function of ``seed`` and the epoch alone. Ranks share an epoch without overlap or loss; their
    lengths differ by one at most (give ``DataLoader`` ``drop_last=True`` where steps must agree).

    Loader workers read ahead, so a sampler has handed out more than was trained on. A checkpoint
    keeps ``state_after(frames)``, with the frames that were, and ``load_state_dict`` goes on after
    them.
    """

    def __init__(
        self,
        dataset: HasIntervals,
        *,
        group: int = 8,
        buffer: int = 32,
        seed: int = 0,
        rank: int | None = None,
        world_size: int | None = None,
        interval: int | None = None,
    ) -> None:
        self._settings = OrderSettings(group, buffer, seed)
        self._starts = dataset.interval_starts(interval)
        self._rank, self._world_size = ranks(rank, world_size)
        self._epoch = 0
        self._position = 0
        self._order = self._make()

    def _make(self) -> EpochOrder:
        return EpochOrder(
            self._starts,
            self._settings,
            self._epoch,
            rank=self._rank,
            world_size=self._world_size,
        )

    def __len__(self) -> int:
        """What is left of the epoch."""
        return len(self._order) - self._position

    def __iter__(self) -> Iterator[int]:
        """The positions that are left, then the epoch begins again unless ``set_epoch`` is called."""
        begin, self._position = self._position, 0
        return self._order.iterate(begin)

    @property
    def epoch(self) -> int:
        """The epoch whose order is handed out."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Begins an epoch."""
        self._epoch, self._position = epoch, 0
        self._order = self._make()

    def state_after(self, frames: int) -> dict[str, int]:
        """The state after ``frames`` of this rank's share of the epoch were used."""
        if not 0 <= frames <= len(self._order):
            raise InvalidArgumentError(f"frames is {frames}, the epoch has {len(self._order)}")
        return {**self._identity(), "epoch": self._epoch, "position": frames}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Goes on from a state of a sampler with the same arguments over the same dataset."""
        for name, value in self._identity().items():
            if state.get(name) != value:
                raise InvalidArgumentError(
                    f"the state is of a sampler with {name} {state.get(name)}, here it is {value}"
                )
        self.set_epoch(state["epoch"])
        self._position = state["position"]

    def _identity(self) -> dict[str, int]:
        return {
            "seed": self._settings.seed,
            "group": self._settings.group,
            "buffer": self._settings.buffer,
            "rank": self._rank,
            "world_size": self._world_size,
            "frames": int(self._starts[-1]),
        }
