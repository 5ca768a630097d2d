"""Parameter sets of one kind, keyed by their ids (ITU-T H.264 7.4.1.2.1, H.265 7.4.2.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from videoformat.errors import UnsupportedStreamError

__all__ = ["SetsById"]


class _ParameterSet(Protocol):
    @property
    def nal_unit(self) -> bytes: ...


Set = TypeVar("Set", bound=_ParameterSet)


class SetsById(Generic[Set]):
    """The parameter sets of one kind that a stream has brought so far.

    An id keeps its content for the whole stream: a parameter set that comes again must come with
    the same bytes, because a chunk is stored with one configuration. ``name`` is for messages;
    ``id_of`` says which element the id is.
    """

    __slots__ = ("_by_id", "_id_of", "_name", "_parse")

    def __init__(
        self, name: str, parse: Callable[[bytes], Set], id_of: Callable[[Set], int]
    ) -> None:
        self._name = name
        self._parse = parse
        self._id_of = id_of
        self._by_id: dict[int, Set] = {}

    def add(self, nal_unit: bytes) -> None:
        """Takes a NAL unit of this kind.

        Raises ``UnsupportedStreamError`` of the kind ``"parameter sets that change"`` where its id
        is known with other content, and what parsing it raises.
        """
        nal_unit = nal_unit.rstrip(b"\0")  # trailing_zero_8bits are no part of it (B.1.1, B.2.1)
        if any(known.nal_unit == nal_unit for known in self._by_id.values()):
            return
        parsed = self._parse(nal_unit)
        identifier = self._id_of(parsed)
        if identifier in self._by_id:
            raise UnsupportedStreamError(
                "parameter sets that change",
                f"{self._name} {identifier} comes again with other content",
            )
        self._by_id[identifier] = parsed

    def get(self, identifier: int) -> Set | None:
        """The set with an id, if there is one."""
        return self._by_id.get(identifier)

    @property
    def ids(self) -> list[int]:
        """Ascending."""
        return sorted(self._by_id)

    @property
    def in_order(self) -> tuple[Set, ...]:
        """All of them, in order of their ids."""
        return tuple(self._by_id[identifier] for identifier in self.ids)
