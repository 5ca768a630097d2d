"""Plans of native streams: exact, never costlier than decoding in sequence, decodable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index.reference_graphs import draw_frames, indexes, lists_of, make_index, reachable

from videoformat.errors import StructureError
from videoformat.index.pictures import PictureIndex
from videoformat.index.plan import _cost, plan_chunk


@st.composite
def native_indexes(draw: st.DrawFn) -> PictureIndex:
    """Rewritable and not, some pictures without lists, as where a parser fell back."""
    index = draw(indexes(access=draw(st.sampled_from(["rewrite", "sequential"]))))
    without = draw(st.sets(st.integers(0, len(index) - 1), max_size=2))
    lists = tuple(
        None if at in without else items for at, items in enumerate(index.reference_lists)
    )
    return replace(index, reference_lists=lists)


def leads(index: PictureIndex, target: int, start: int) -> bool:
    """Whether a decoder that starts there would hold the target back; IDR pictures count from 0."""
    own, first = index.poc[target], index.poc[start]
    return own is not None and first is not None and own < first != 0


def start_of(index: PictureIndex, target: int) -> int | None:
    """The last random access point that comes before all that a target needs, and before itself."""
    earliest = min(reachable(index.references, [target]))
    points = [at for at in range(earliest + 1) if index.is_random_access[at]]
    while len(points) > 1 and leads(index, target, points[-1]):
        points.pop()
    return points[-1] if points else None


def in_sequence(index: PictureIndex, start: int, targets: Sequence[int]) -> list[int]:
    """What a decoder that starts there is fed up to the last target.

    Pictures that lead over the start are left out, unless an H.264 decoder would miss them in its
    count of reference pictures.
    """
    return [
        at
        for at in range(start, max(targets) + 1)
        if index.is_reference[at] or min(reachable(index.references, [at])) >= start
    ]


@settings(max_examples=150)
@given(native_indexes(), st.data())
def test_every_step_is_decodable_and_holds_what_its_targets_need(
    index: PictureIndex, data: st.DataObject
) -> None:
    plan = plan_chunk(index, draw_frames(data, index))
    fed = {at for step in plan.steps for at in step.pictures}
    assert fed >= reachable(index.references, plan.targets)
    assert sorted(at for step in plan.steps for at in step.targets) == sorted(plan.targets)
    for step in plan.steps:
        pictures = list(step.pictures)
        assert pictures == sorted(set(pictures))
        complete = [at for at in pictures if min(reachable(index.references, [at])) >= pictures[0]]
        assert {r for at in complete for r in index.references[at]} <= set(pictures)
        own = step.targets
        assert set(own) <= set(complete)
        if step.is_rewritten:
            assert index.stream.access == "rewrite"
            assert index.picture_type[pictures[0]] == "I"
            assert all(index.reference_lists[at] is not None for at in pictures)
            assert set(pictures) <= reachable(index.references, own)
        else:
            # As it is: from a random access point on, without gaps in the reference pictures but
            # those that lead over it.
            assert index.is_random_access[pictures[0]]
            left_out = set(in_sequence(index, pictures[0], own)) - set(pictures)
            assert not any(index.is_reference[at] for at in left_out)
    wanted = {
        byte for at in fed for byte in range(index.offset[at], index.offset[at] + index.size[at])
    }
    covered = [byte for item in plan.ranges for byte in range(item.start, item.end)]
    assert covered == sorted(wanted)


@settings(max_examples=100)
@given(native_indexes(), st.data())
def test_no_plan_costs_more_than_decoding_in_sequence(
    index: PictureIndex, data: st.DataObject
) -> None:
    plan = plan_chunk(index, draw_frames(data, index))
    by_start: dict[int, list[int]] = {}
    for target in plan.targets:
        start = start_of(index, target)
        assert start is not None
        by_start.setdefault(start, []).append(target)
    sequential = sum(
        _cost(index, in_sequence(index, start, targets)) for start, targets in by_start.items()
    )
    planned = sum(_cost(index, step.pictures, rewritten=step.is_rewritten) for step in plan.steps)
    assert planned <= sequential * (1 + 1e-12)  # sums in another order
    assert len(plan.steps) == len(by_start)


def test_without_reference_lists_nothing_is_rewritten() -> None:
    graph = [[], [0], [1], [2], [3, 0]]
    index = make_index(graph, access="sequential")
    (step,) = plan_chunk(index, [3]).steps
    assert step.pictures == (0, 1, 2, 3)
    assert not step.is_rewritten


def test_pictures_that_none_references_are_left_out() -> None:
    """x264's usual P, then B pictures between: only the P pictures lead to the last one."""
    graph = [[], [0], [0, 1], [0, 1], [1], [1, 4], [1, 4]]
    frames = [0, 3, 1, 2, 6, 4, 5]
    index = make_index(graph, frames=frames, access="sequential")
    (step,) = plan_chunk(index, [5]).steps
    assert step.pictures == (0, 1, 4, 6)
    assert not step.is_rewritten


def test_a_start_that_nothing_references_is_fed_all_the_same() -> None:
    """Decoding begins at a random access point, and picture 1 is none."""
    index = make_index(
        [[], []],
        is_reference=[False, True],
        is_random_access=[True, False],
        access="sequential",
    )
    assert plan_chunk(index, [1]).groups == ((0, 1),)


def test_what_a_kept_picture_references_is_not_left_out() -> None:
    """Picture 2 is marked as a reference and references 1, which is not: it would not decode."""
    graph = [[], [0], [1], [0]]
    marks = [True, False, True, False]
    index = make_index(graph, is_reference=marks, access="sequential")
    assert plan_chunk(index, [3]).groups == ((0, 1, 2, 3),)
    assert plan_chunk(index, [1]).groups == ((0, 1),)


def test_a_long_way_is_cut_short_by_rewriting() -> None:
    graph = [[], *([at] for at in range(30)), [0]]
    index = make_index(graph, access="rewrite", reference_lists=lists_of(graph))
    (step,) = plan_chunk(index, [31]).steps
    assert step.is_rewritten
    assert step.pictures == (0, 31)


def test_targets_behind_two_points_are_two_steps() -> None:
    graph = [[], [0], [], [2]]
    index = make_index(graph, access="sequential")
    assert plan_chunk(index, [1, 3]).groups == ((0, 1), (2, 3))


def test_leading_pictures_of_another_start_are_not_fed() -> None:
    """An open GOP: picture 3 leads over 2 and references 1, which a start at 2 does not feed."""
    graph = [[], [0], [], [1, 2], [2]]
    index = make_index(graph, frames=[0, 1, 3, 2, 4], access="sequential")
    assert plan_chunk(index, [4]).groups == ((2, 4),)
    assert plan_chunk(index, [2]).groups == ((0, 1, 2, 3),)


def test_a_leading_reference_picture_keeps_the_count_of_h264_whole() -> None:
    """Picture 3 cannot be right from a start at 2, but without it frame_num would have a gap."""
    graph = [[], [0], [], [1, 2], [2]]
    frames, is_reference = [0, 1, 3, 2, 4], [True, True, True, True, False]
    index = make_index(graph, frames=frames, is_reference=is_reference, access="sequential")
    plan = plan_chunk(index, [2, 4])
    assert plan.groups == ((0, 1, 2, 3), (2, 3, 4))
    assert [step.targets for step in plan.steps] == [(3,), (4,)]
    hevc = make_index(
        graph, frames=frames, is_reference=is_reference, access="sequential", codec="hevc"
    )
    assert plan_chunk(hevc, [4]).groups == ((2, 4),)


def test_a_picture_presented_before_a_start_is_decoded_from_an_earlier_one() -> None:
    """Picture 3 needs picture 2 alone, but decoders that start there do not return it."""
    graph = [[], [0], [], [2]]
    index = make_index(graph, frames=[0, 1, 3, 2], access="sequential")
    assert plan_chunk(index, [2]).groups == ((0, 2, 3),)


def test_a_stream_that_begins_nowhere_is_refused() -> None:
    index = make_index([[], [0]], is_random_access=[False, False], access="sequential")
    with pytest.raises(StructureError, match="no random access point at or before picture 0"):
        plan_chunk(index, [1])
