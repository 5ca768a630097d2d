"""Plans of closures that are fed as they are: the right pictures, groups, byte ranges."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from index.reference_graphs import ddra_indexes, draw_frames, indexes, make_index, reachable

from videoformat.errors import FrameNotFoundError, StructureError
from videoformat.index.pictures import PictureIndex
from videoformat.index.plan import ChunkPlan, group_pictures, merge_ranges, plan_chunk


def check_ranges(index: PictureIndex, plan: ChunkPlan) -> None:
    """The ranges are the bytes of the fed pictures, no more, in as few pieces as can be."""
    fed = {at for group in plan.groups for at in group}
    wanted = {
        byte for at in fed for byte in range(index.offset[at], index.offset[at] + index.size[at])
    }
    covered = [byte for item in plan.ranges for byte in range(item.start, item.end)]
    assert covered == sorted(wanted)
    assert all(a.end < b.start for a, b in zip(plan.ranges, plan.ranges[1:], strict=False))
    assert plan.byte_count == sum(index.size[at] for at in fed)


@settings(max_examples=80)
@given(ddra_indexes(), st.data())
def test_a_plan_of_ddra_is_its_closure_in_groups(index: PictureIndex, data: st.DataObject) -> None:
    frames = draw_frames(data, index)
    plan = plan_chunk(index, frames)
    assert plan.frames == tuple(sorted(set(frames)))
    assert [index.frame_index[at] for at in plan.targets] == list(plan.frames)
    fed = [at for group in plan.groups for at in group]
    assert fed == sorted(reachable(index.references, plan.targets))
    assert plan.picture_count == len(fed)
    assert not any(step.is_rewritten for step in plan.steps)
    if len(plan.frames) == 1:
        assert plan.picture_count <= 3
    for group in plan.groups:
        assert index.is_random_access[group[0]]
        assert {r for at in group for r in index.references[at]} <= set(group)
        left_out = set(range(group[0], group[-1])) - set(group)
        assert not any(index.is_reference[at] for at in left_out)
    check_ranges(index, plan)


def test_a_picture_that_leaves_out_an_anchor_coded_before_it_cannot_be_fed() -> None:
    """Picture 3 lies between the anchors 1 and 2 and references the first alone: no DDRA."""
    index = make_index([[], [], [], [1]], frames=[0, 1, 3, 2], is_reference=[True] * 3 + [False])
    with pytest.raises(StructureError, match="leaves out reference pictures before picture 3"):
        plan_chunk(index, [2])


@settings(max_examples=40)
@given(ddra_indexes())
def test_a_window_of_ddra_is_few_ranges(index: PictureIndex) -> None:
    """References lie together and so do the rest: one range of each, whatever is asked for."""
    plan = plan_chunk(index, range(index.key.first_frame, index.key.end_frame))
    assert len(plan.ranges) == 1
    assert plan.byte_count == index.stream.media_size


def is_decodable(index: PictureIndex, closed: list[int]) -> bool:
    """Whether a decoder that is flushed at every gap in the references decodes all of these."""
    group_of = {}
    number = 0
    for before, at in zip([-1, *closed], closed, strict=False):
        if before >= 0 and any(index.is_reference[gap] for gap in range(before + 1, at)):
            number += 1
        group_of[at] = number
    firsts = {
        group: min(at for at in closed if group_of[at] == group) for group in group_of.values()
    }
    return all(index.is_random_access[at] for at in firsts.values()) and all(
        group_of[reference] == group_of[at] for at in closed for reference in index.references[at]
    )


@settings(max_examples=120)
@given(indexes(access="direct"), st.data())
def test_what_cannot_be_fed_in_groups_is_refused(index: PictureIndex, data: st.DataObject) -> None:
    frames = draw_frames(data, index)
    closed = sorted(reachable(index.references, [index.position_of[frame] for frame in frames]))
    if not is_decodable(index, closed):
        with pytest.raises(StructureError, match="'episode' chunk 0"):
            plan_chunk(index, frames)
        return
    plan = plan_chunk(index, frames)
    assert [at for group in plan.groups for at in group] == closed
    check_ranges(index, plan)


@settings(max_examples=40)
@given(indexes(access="direct", codec="av1"), st.data())
def test_av1_closures_are_one_group(index: PictureIndex, data: st.DataObject) -> None:
    """An AV1 decoder keeps frames in slots: what is left out leaves no gap."""
    frames = draw_frames(data, index)
    closed = sorted(reachable(index.references, [index.position_of[frame] for frame in frames]))
    if not index.is_random_access[closed[0]]:
        with pytest.raises(StructureError, match="not a random access point"):
            plan_chunk(index, frames)
        return
    plan = plan_chunk(index, frames)
    assert plan.groups == (tuple(closed),)
    check_ranges(index, plan)


def test_groups_by_hand() -> None:
    """Anchors 0, 1, 4; 2 and 3 between the first two, 5 between the last two."""
    index = make_index([[], [], [0, 1], [0, 1], [], [1, 4]], frames=[0, 3, 1, 2, 5, 4])
    assert group_pictures(index, [0, 1, 2]) == ((0, 1, 2),)
    assert group_pictures(index, [0, 4]) == ((0,), (4,))
    assert group_pictures(index, [0, 1, 3, 4, 5]) == ((0, 1, 3, 4, 5),)
    assert group_pictures(index, [0]) == ((0,),)


def test_ranges_by_hand() -> None:
    index = make_index([[], [0], [0], []], sizes=[10, 20, 30, 40])
    assert index.offset == (0, 10, 30, 60)
    found = merge_ranges(index, [3, 0, 1, 0])
    assert [(item.start, item.end, item.size) for item in found] == [(0, 30, 30), (60, 100, 40)]
    assert merge_ranges(index, []) == ()


@given(ddra_indexes(), st.integers(-5, 200))
def test_a_frame_of_another_chunk_is_named(index: PictureIndex, frame: int) -> None:
    first, end = index.key.first_frame, index.key.end_frame
    if first <= frame < end:
        assert plan_chunk(index, [frame]).frames == (frame,)
        return
    named = re.escape(f"frame {frame} is not in the chunk, which holds {first} to {end - 1}")
    with pytest.raises(FrameNotFoundError, match=named):
        plan_chunk(index, [first, frame])


def test_nothing_wanted_is_nothing_planned() -> None:
    plan = plan_chunk(make_index([[]]), [])
    assert plan == ChunkPlan((), (), (), ())
    assert (plan.groups, plan.picture_count, plan.byte_count) == ((), 0, 0)
