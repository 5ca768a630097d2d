"""Marking and reference lists of H.264: worked by hand, and as an independent oracle has them."""

import pytest
from bitstream import h264_syntax
from bitstream.h264_oracle import oracle
from bitstream.h264_streams import SETTINGS, stream
from bitstream.h264_syntax import B, I, P, coded_slice, unit

from videoformat.bitstream.h264 import H264Indexer
from videoformat.bitstream.picture import Picture
from videoformat.errors import BitstreamError, UnsupportedStreamError


def index(slices: list[bytes], sps: dict | None = None, pps: dict | None = None) -> list[Picture]:
    """Pictures of one slice each, after the given parameter sets."""
    indexer = H264Indexer(unit(h264_syntax.sps(**(sps or {})), h264_syntax.pps(**(pps or {}))))
    return [indexer.push(unit(each))[0] for each in slices]


IDR = coded_slice(I, 0, 0, idr=True)


def test_lists_of_p_slices_are_newest_first() -> None:
    pictures = index(
        [IDR, *(coded_slice(P, n, 2 * n, active=(min(n, 4),)) for n in range(1, 7))],
        {"max_num_ref_frames": 4},
    )
    # The sliding window keeps four.
    assert [picture.reference_lists for picture in pictures[1:]] == [
        ((0,),),
        ((1, 0),),
        ((2, 1, 0),),
        ((3, 2, 1, 0),),
        ((4, 3, 2, 1),),
        ((5, 4, 3, 2),),
    ]
    assert pictures[5].references == (1, 2, 3, 4)


def test_lists_are_newest_first_across_the_wrap_of_frame_num() -> None:
    slices = [IDR, *(coded_slice(P, n % 16, 2 * n % 64, active=(min(n, 3),)) for n in range(1, 40))]
    for picture in index(slices)[3:]:
        at = picture.position
        assert picture.reference_lists == ((at - 1, at - 2, at - 3),)


def test_a_list_is_cut_to_the_active_entries() -> None:
    slices = [IDR, coded_slice(P, 1, 2), coded_slice(P, 2, 4), coded_slice(P, 3, 6, active=(2,))]
    assert index(slices)[3].reference_lists == ((2, 1),)


def b_pictures(active: tuple[int, int], lsb: int = 9, **fields) -> Picture:
    """A B picture after references 0, 1, 2, 3 with order counts 0, 16, 8, 4."""
    slices = [
        IDR,
        coded_slice(P, 1, 16),
        coded_slice(B, 2, 8, active=(1, 1)),
        coded_slice(B, 3, 4, active=(1, 1)),
        coded_slice(B, 4, lsb, reference=False, active=active, **fields),
    ]
    return index(slices)[4]


@pytest.mark.parametrize(
    ("lsb", "lists"),
    [
        # Nearest before, then nearest after; and the other way round (8.2.4.2.3).
        (9, ((2, 3, 0, 1), (1, 2, 3, 0))),
        (5, ((3, 0, 2, 1), (2, 1, 3, 0))),
        (2, ((0, 3, 2, 1), (3, 2, 1, 0))),
        # All on one side: the lists would be equal, so the first two of list 1 change places.
        (20, ((1, 2, 3, 0), (2, 1, 3, 0))),
    ],
)
def test_lists_of_b_slices(lsb: int, lists) -> None:
    assert b_pictures((4, 4), lsb).reference_lists == lists


def test_equal_lists_change_places_before_they_are_cut() -> None:
    assert b_pictures((1, 1), 20).reference_lists == ((1,), (2,))
    # Entries that are cut off count: here the lists differ from the second entry on.
    assert b_pictures((1, 1), 9).reference_lists == ((2,), (1,))
    assert b_pictures((1, 1), 9).references == (1, 2)


def test_one_reference_is_both_lists() -> None:
    pictures = index([IDR, coded_slice(B, 1, 2, active=(1, 1))])
    assert pictures[1].reference_lists == ((0,), (0,))
    assert pictures[1].picture_type == "B"


@pytest.mark.parametrize(
    ("modification", "entries"),
    [
        # frame_num 5 refers to 4 3 2 1 at positions 4 3 2 1; operands are one less (7.4.3.1).
        (((0, 1),), (3, 4, 2, 1)),
        (((0, 3),), (1, 4, 3, 2)),
        (((0, 3), (1, 0)), (1, 2, 4, 3)),
        (((0, 0), (0, 0), (0, 0), (0, 0)), (4, 3, 2, 1)),
        (((1, 13),), (3, 4, 2, 1)),  # 5 + 14 = 19, and 19 - 16 = 3
        # 0 less is written as MaxPicNum less: the same picture again. The last entry falls off.
        (((0, 1), (0, 15)), (3, 3, 4, 2)),
        (((0, 1), (0, 15), (0, 15), (0, 15)), (3, 3, 3, 3)),
    ],
)
def test_list_modification(modification, entries: tuple[int, ...]) -> None:
    slices = [IDR, *(coded_slice(P, n, 2 * n) for n in range(1, 5))]
    slices.append(coded_slice(P, 5, 10, active=(4,), modifications=(modification,)))
    picture = index(slices)[5]
    assert picture.reference_lists == (entries,)
    assert picture.references == tuple(sorted(set(entries)))


def test_list_modification_fills_entries_that_would_be_empty() -> None:
    slices = [IDR, coded_slice(P, 1, 2), coded_slice(P, 2, 4, active=(3,))]
    with pytest.raises(UnsupportedStreamError) as refused:
        index(slices)
    assert refused.value.kind == "missing reference"
    # An explicit weight for a second use of a picture: x264 writes such lists.
    modification = ((0, 0), (0, 0), (0, 15))
    slices[2] = coded_slice(P, 2, 4, active=(3,), modifications=(modification,))
    assert index(slices)[2].reference_lists == ((1, 0, 0),)


def test_each_list_of_a_b_slice_is_modified_by_itself() -> None:
    picture = b_pictures((2, 2), 9, modifications=((), ((0, 0), (0, 0))))
    assert picture.reference_lists == ((2, 3), (3, 2))
    picture = b_pictures((2, 2), 9, modifications=(((0, 3),), ()))
    assert picture.reference_lists == ((0, 2), (1, 2))


def test_marking_operation_1() -> None:
    slices = [
        IDR,
        coded_slice(P, 1, 2),
        coded_slice(P, 2, 4, operations=((1, 0),)),  # 2 - 1: forgets 1
        coded_slice(P, 3, 6, active=(2,)),
        coded_slice(P, 4, 8, active=(3,), operations=((1, 3), (1, 1))),  # forgets 0 and 2
        coded_slice(P, 5, 10, active=(2,), operations=((1, 2),)),  # 2 again: nothing to forget
        coded_slice(P, 6, 12, active=(3,), operations=()),
    ]
    pictures = index(slices)
    assert pictures[3].reference_lists == ((2, 0),)
    assert pictures[4].reference_lists == ((3, 2, 0),)
    assert pictures[5].reference_lists == ((4, 3),)
    assert pictures[6].reference_lists == ((5, 4, 3),)


def test_marking_operation_1_across_the_wrap_of_frame_num() -> None:
    slices = [IDR, *(coded_slice(P, n, 2 * n) for n in range(1, 16))]
    slices.append(coded_slice(P, 0, 32, operations=((1, 1),)))  # 0 - 2: frame_num 14
    slices.append(coded_slice(P, 1, 34, active=(3,)))
    assert index(slices)[17].reference_lists == ((16, 15, 13),)


def test_marking_without_effect() -> None:
    # Operation 4 bounds the indices of long-term pictures, of which there are none.
    slices = [
        IDR,
        coded_slice(P, 1, 2, operations=((4, 0), (4, 3))),
        coded_slice(P, 2, 4, active=(2,)),
    ]
    assert index(slices)[2].reference_lists == ((1, 0),)


def test_pictures_that_are_no_references() -> None:
    slices = [
        IDR,
        coded_slice(P, 1, 4),
        coded_slice(B, 2, 2, reference=False, active=(1, 1)),
        coded_slice(B, 2, 3, reference=False, active=(1, 1)),
        coded_slice(P, 2, 8, active=(2,)),
    ]
    pictures = index(slices)
    assert [picture.is_reference for picture in pictures] == [True, True, False, False, True]
    assert pictures[3].reference_lists == ((0,), (1,))
    assert pictures[4].reference_lists == ((1, 0),)


def test_an_idr_picture_forgets_all() -> None:
    slices = [IDR, coded_slice(P, 1, 2), IDR, coded_slice(P, 1, 2)]
    pictures = index(slices)
    assert pictures[3].reference_lists == ((2,),)
    assert [picture.is_random_access for picture in pictures] == [True, False, True, False]
    with pytest.raises(UnsupportedStreamError, match="a list of 2 has only 1 pictures"):
        index([*slices[:3], coded_slice(P, 1, 2, active=(2,))])


@pytest.mark.parametrize(
    ("kind", "slices"),
    [
        ("frame_num gaps", [IDR, coded_slice(P, 2, 2)]),
        ("frame_num gaps", [IDR, coded_slice(P, 1, 2), coded_slice(P, 0, 4)]),
        ("frame_num gaps", [IDR, coded_slice(P, 15, 2, reference=False)]),
        ("long-term references", [coded_slice(I, 0, 0, idr=True, long_term=True)]),
        ("long-term references", [IDR, coded_slice(P, 1, 2, operations=((2, 0),))]),
        ("long-term references", [IDR, coded_slice(P, 1, 2, operations=((3, 0, 0),))]),
        ("long-term references", [IDR, coded_slice(P, 1, 2, operations=((6, 0),))]),
        (
            "memory_management_control_operation 5",
            [IDR, coded_slice(P, 1, 2, operations=((5,),))],
        ),
        ("missing reference", [coded_slice(P, 0, 2)]),
        ("missing reference", [IDR, coded_slice(P, 1, 2, modifications=(((0, 1),),))]),
        ("missing reference", [IDR, coded_slice(B, 1, 2, active=(1, 2))]),
    ],
)
def test_what_is_refused_by_name(kind: str, slices: list[bytes]) -> None:
    with pytest.raises(UnsupportedStreamError) as refused:
        index(slices)
    assert refused.value.kind == kind


@pytest.mark.parametrize(
    ("message", "slices"),
    [
        ("frame_num of an IDR picture is 3", [coded_slice(I, 3, 0, idr=True)]),
        ("frame_num 1 is given to two reference", [IDR, *[coded_slice(P, 1, 2)] * 2]),
        (
            "5 reference frames, max_num_ref_frames is 4",
            [IDR, *(coded_slice(P, n, 2 * n, operations=()) for n in range(1, 5))],
        ),
        ("order count 0 is that of the reference", [IDR, coded_slice(B, 1, 0, active=(1, 1))]),
        (
            # Position 0 is kept by operation 1 on its successors until frame_num comes round.
            "frame_num 0 is that of a reference frame in use",
            [IDR, coded_slice(P, 1, 2)]
            + [coded_slice(P, n % 16, 2 * n % 64, operations=((1, 0),)) for n in range(2, 17)],
        ),
    ],
)
def test_what_breaks_the_semantics(message: str, slices: list[bytes]) -> None:
    with pytest.raises(BitstreamError, match=message):
        index(slices)


def test_a_non_reference_picture_may_repeat_frame_num() -> None:
    slices = [IDR, coded_slice(P, 0, 2, reference=False), coded_slice(P, 1, 4)]
    assert index(slices)[2].reference_lists == ((0,),)


@pytest.mark.parametrize("name", list(SETTINGS))
def test_lists_and_marking_as_the_oracle_has_them(name: str) -> None:
    access_units = stream(name).access_units
    indexer = H264Indexer()
    pictures = [indexer.push(access_unit)[0] for access_unit in access_units]
    frames = [(picture.detail[0].frame_num, picture.order_count) for picture in pictures]
    for picture, expected in zip(pictures, oracle(access_units), strict=True):
        assert picture.order_count == expected.order_count
        named = [tuple(frames[at] for at in entries) for entries in picture.reference_lists]
        assert tuple(named) == expected.lists, picture
        assert picture.references == tuple(sorted(set().union(*picture.reference_lists)))
        types = {header["slice_type"] % 5 for header in expected.slices}
        assert picture.picture_type == ("B" if B in types else "P" if P in types else "I")
        assert picture.is_reference == (expected.slices[0]["nal_ref_idc"] > 0)


def test_the_settings_exercise_what_they_are_named_after() -> None:
    def lists_of(name: str) -> list[tuple[int, ...]]:
        indexer = H264Indexer()
        pictures = [indexer.push(access_unit)[0] for access_unit in stream(name).access_units]
        return [entries for picture in pictures for entries in picture.reference_lists]

    assert any(len(set(entries)) < len(entries) for entries in lists_of("duplicates"))
    assert max(len(entries) for entries in lists_of("veryslow")) > 8
    assert {len(entries) for entries in lists_of("ultrafast")} == {1}
