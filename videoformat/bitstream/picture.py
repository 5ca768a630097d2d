"""What the headers of one coded picture say, in the terms that every codec shares."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

__all__ = ["Picture", "PictureIndexer", "PictureType"]

PictureType = Literal["I", "P", "B"]


class Picture(NamedTuple):
    """One coded picture. A named tuple, for these are made by the million: it is built fastest.

    ``position`` counts pictures in decode order from 0. ``order_count`` is PicOrderCntVal (H.264
    8.2.1, for a frame the smaller of its two fields'; H.265 8.3.1) or AV1's ``OrderHint``; it is
    comparable only between pictures of one coded video sequence. ``picture_type`` is ``"I"`` where
    every slice is intra, ``"B"`` where any slice is a B slice, else ``"P"``.

    ``is_random_access``: a decoder that is given this picture first reconstructs it exactly, and
    every later picture whose references follow it. ``is_reference``: the stream marks it as one
    that others may reference. ``references`` are the positions of the pictures that its active
    reference lists name, ascending and unique. ``reference_lists`` are those lists themselves, in
    order and with repetitions: for each slice, list 0 of a P slice, lists 0 and 1 of a B slice
    (AV1: one list, the pictures that ``ref_frame_idx`` selects).

    ``start`` and ``end`` (exclusive) are its byte range within the access unit that was pushed.
    ``detail`` is the codec's own parse of the headers, for rewriting and for tests.
    """

    position: int
    order_count: int
    picture_type: PictureType
    is_random_access: bool
    is_reference: bool
    is_shown: bool
    references: tuple[int, ...]
    reference_lists: tuple[tuple[int, ...], ...]
    start: int
    end: int
    detail: object = None


class PictureIndexer(Protocol):
    """Reads access units in decode order and says what each picture references.

    An indexer holds the state that the standard carries from picture to picture (parameter sets,
    order counts, the decoded picture buffer's marking), and nothing of the pictures' bytes.
    """

    def push(self, access_unit: bytes) -> list[Picture]:
        """The pictures that the access unit holds: one, or for AV1 one a frame header.

        Raises ``BitstreamError`` where the bytes break the syntax, and ``UnsupportedStreamError``
        for a stream of a kind whose references this indexer cannot be right about.
        """
        ...
