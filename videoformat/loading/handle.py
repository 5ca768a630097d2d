"""A dataset in the process that uses it: its address and version travel, the open one does not."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from videoformat.dataset import Dataset
from videoformat.forks import enter_lance, is_lance_used
from videoformat.loading.facts import Address, DatasetFacts, Question, answer, ask_elsewhere
from videoformat.table import address_of

__all__ = ["DatasetHandle"]


class DatasetHandle:
    """A dataset by its address and version, opened at the first read in each process.

    ``facts`` are known from the start. Where the dataset is given by its address, and this process
    has not used any dataset yet, a process of its own reads them, so that workers may be forked
    from this one. After a read in this process they may not (``videoformat.forks``): a worker that
    is forked then refuses to read, one that is started by forkserver or spawn opens the same
    version.
    """

    def __init__(
        self,
        dataset: Dataset | str | os.PathLike[str],
        *,
        storage_options: Mapping[str, str] | None = None,
        version: int | str | None = None,
        allowed_sources: Sequence[str | os.PathLike[str]] = (),
    ) -> None:
        self._open: Dataset | None = None
        self._episodes: pa.Table | None = None
        if isinstance(dataset, Dataset):
            self._open = dataset
            self._address = Address.of(dataset)
        else:
            self._address = Address(
                address_of(dataset),
                dict(storage_options) if storage_options else None,
                version,
                tuple(os.fspath(item) for item in allowed_sources),
            )
        self._pid = os.getpid()
        self.facts: DatasetFacts = self._ask("facts")
        self._address = self.facts.address

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open": None}

    @property
    def uri(self) -> str:
        """The dataset's address."""
        return self._address.uri

    @property
    def version(self) -> int:
        """The number of its version."""
        return int(self._address.version or 0)

    @property
    def dataset(self) -> Dataset:
        """The dataset, opened in this process.

        Raises ``InvalidArgumentError`` in a process that was forked from one that had used it.
        """
        if self._open is None or self._pid != os.getpid():
            enter_lance()
            self._open, self._pid = self._address.open(), os.getpid()
        return self._open

    @property
    def episodes(self) -> pa.Table:
        """``Dataset.episodes``, read once."""
        if self._episodes is None:
            self._episodes = self._ask("episodes")
        return self._episodes

    def _ask(self, question: Question) -> Any:
        if self._open is None and not is_lance_used() and sys.executable:
            return ask_elsewhere(self._address, question)
        return answer(self.dataset, question)
