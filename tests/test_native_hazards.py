"""Streams that encoders do not make: exact all the same, marked, or refused by name."""

import random
from collections.abc import Sequence
from pathlib import Path

import native_requests as requests
import pytest
from coded_video.encode import write_video
from coded_video.settings import SETTINGS, Setting
from native_hand_made import (
    RECOVERY_POINT,
    SPS,
    P,
    copy,
    intra,
    pps,
    slice_of,
    sps,
    write,
    write_mp4,
)

import videoformat as vf
from videoformat.errors import UnsupportedStreamError
from videoformat.index.pictures import PictureIndex
from videoformat.media.coded import index_file
from videoformat.verify import verify

Unit = list[bytes]
SETS = [sps(**SPS), pps()]
TWO_REFERENCES = pps(active=(2, 2))  # the same id, another meaning for the slices that follow
CHANGES = "parameter sets that change"


def sequence(grey: int, head: Sequence[bytes] = (), count: int = 5, **header: int) -> list[Unit]:
    """An IDR picture and copies of it."""
    first = intra(grey, 0, 0, idr=True, idr_pic_id=grey % 7, **header)
    return [[*head, first], *[[copy(grey + i, i, 2 * i, **header)] for i in range(1, count)]]


def two_references(grey: int, head: Sequence[bytes] = (), count: int = 5) -> list[Unit]:
    """The same where a list has two entries unless a slice says otherwise; the second is copied."""
    first = intra(grey, 0, 0, idr=True, idr_pic_id=grey % 7)
    second = slice_of(P, 1, 2, [grey + 1, *[("copy", 0, 1)] * 3], active=(1,))
    rest = [[slice_of(P, i, 2 * i, [grey + i, *[("copy", 1, 2)] * 3])] for i in range(2, count)]
    return [[*head, first], [second], *rest]


def long_term() -> list[Unit]:
    return [
        [*SETS, intra(40, 0, 0, idr=True, long_term=True)],
        *[[copy(50 + i, i, 2 * i)] for i in range(1, 4)],
        *[[copy(90 + i, i, 2 * i, modifications=(((2, 0),),))] for i in range(4, 8)],
        *sequence(150),
    ]


def memory_reset() -> list[Unit]:
    """Operation 5 makes a picture count anew, as an IDR picture does, and forget the others."""
    return [
        *sequence(40, SETS, 4),
        [copy(99, 4, 8, operations=((5,),))],
        *[[copy(110 + i, i, 2 * i)] for i in range(1, 6)],
        *sequence(200),
    ]


def frame_num_gaps() -> list[Unit]:
    sets = [sps(**SPS, gaps=True), pps()]
    return [*sequence(40, sets, 2), [copy(54, 4, 8)], [copy(55, 5, 10)], *sequence(200)]


def changed_in_mid_sequence() -> list[Unit]:
    units = sequence(40, SETS, 2)
    units.append([TWO_REFERENCES, slice_of(P, 2, 4, [90, *[("copy", 1, 2)] * 3])])
    units += [[slice_of(P, i, 2 * i, [90 + i, *[("copy", i % 2, 2)] * 3])] for i in range(3, 6)]
    return [*units, *two_references(120, [SETS[0], TWO_REFERENCES]), *two_references(180)]


def other_ids() -> list[Unit]:
    sets = [*SETS, sps(**SPS, identifier=1), pps(identifier=1, sps_identifier=1)]
    return [*sequence(40, sets), *sequence(120, pps_identifier=1), *sequence(200)]


def mid_sequence_starts() -> list[Unit]:
    """Leading pictures over a recovery point: one that it suffices for, one that needs more."""
    return [
        *sequence(40, SETS),
        [RECOVERY_POINT, intra(90, 5, 20)],
        [copy(60, 6, 14, reference=False)],
        [copy(61, 6, 16, ref_idx=1, active=2, reference=False)],
        *[[copy(150 + i, 5 + i, 20 + 2 * i)] for i in range(1, 4)],
    ]


def leading_references() -> list[Unit]:
    """The leading picture is a reference: left out, it would be missed in the count of frames."""
    return [
        *sequence(40, SETS),
        [RECOVERY_POINT, intra(90, 5, 20)],
        [copy(60, 6, 14, ref_idx=1, active=2)],
        [copy(61, 7, 16, reference=False)],
        [copy(150, 7, 22, modifications=(((0, 1),),))],
        [copy(151, 8, 24)],
    ]


# Each with the access kind and how many pictures are decoded in sequence for what reason.
STREAMS: dict[str, tuple[list[Unit], str, dict[str, int]]] = {
    "plain": (sequence(40, SETS, 9), "rewrite", {}),
    "long term": (long_term(), "rewrite", {"long-term references": 8}),
    "memory reset": (
        memory_reset(),
        "rewrite",
        {"memory_management_control_operation 5": 10},
    ),
    "gaps": (frame_num_gaps(), "rewrite", {"frame_num gaps": 4}),
    "all sets anew": (
        [
            *sequence(40, SETS),
            *two_references(120, [SETS[0], TWO_REFERENCES]),
            *sequence(200, SETS),
        ],
        "rewrite",
        {CHANGES: 10},
    ),
    "one set anew": (
        [
            *sequence(40, SETS),
            *two_references(120, [TWO_REFERENCES]),
            *two_references(160),
            *sequence(200, [SETS[1]]),
        ],
        "sequential",
        {CHANGES: 20},
    ),
    "sets anew, then none": (
        [
            *sequence(40, SETS),
            *two_references(120, [SETS[0], TWO_REFERENCES]),
            *two_references(160),
            *sequence(200, SETS),
        ],
        "rewrite",
        {CHANGES: 15},
    ),
    "a set in mid-sequence": (changed_in_mid_sequence(), "sequential", {CHANGES: 16}),
    "other ids": (other_ids(), "sequential", {CHANGES: 15}),
    "recovery points": (mid_sequence_starts(), "rewrite", {}),
    "leading references": (leading_references(), "rewrite", {}),
    "starts at a recovery point": (
        [[*SETS, RECOVERY_POINT, intra(40, 3, 6)], *[[copy(50 + i, 3 + i, 6 + 2 * i)] for i in range(1, 6)]],
        "rewrite",
        {},
    ),
    "leads over its start": (
        [
            [*SETS, RECOVERY_POINT, intra(40, 3, 20)],
            [copy(60, 4, 16, reference=False)],
            [copy(61, 4, 18, ref_idx=1, active=2, reference=False)],
            *[[copy(50 + i, 3 + i, 20 + 2 * i)] for i in range(1, 6)],
            *sequence(200),
        ],
        "rewrite",
        {},
    ),
}  # fmt: skip


FIELD_SETS = [
    sps(width_in_mbs=2, height_in_map_units=1, level_idc=10, frame_mbs_only_flag=False),
    pps(),
]


def fields(grey: int, frame_num: int, lsb: int, **header: int) -> Unit:
    """A frame as two fields, the second a copy of the first."""
    if header:
        top = intra(grey, 0, 0, 2, bottom=False, **header)
    else:
        top = copy(grey, frame_num, lsb, count=2, bottom=False)
    return [top, copy(grey + 5, frame_num, lsb + 1, count=2, bottom=True)]


def field_pictures() -> list[Unit]:
    units = []
    for idr, grey in enumerate((40, 150)):
        head = [] if idr else FIELD_SETS
        units.append([*head, *fields(grey, 0, 0, idr=True, idr_pic_id=idr)])
        units += [fields(grey + 6 * i, i, 2 * i) for i in range(1, 5)]
        units.append([copy(grey + 40, 5, 10, field=False)])
    return units


def test_field_pictures_are_decoded_in_sequence(tmp_path: Path) -> None:
    path = write_mp4(tmp_path / "a.mp4", *field_pictures())
    expected = requests.sequential_digests(path)
    assert len(set(expected)) == 12
    vf.convert(path, tmp_path / "d", video="native")
    dataset = vf.open(tmp_path / "d")
    index = stored_index(dataset)
    assert index.stream.access == "sequential"
    assert index.stream.access_reason == "12 of 12 pictures are decoded in sequence: field pictures"
    outcome = requests.Outcome()
    for frame in (*range(12), *range(12)[::-1]):
        requests.compare(dataset, 0, dataset.cameras[0], expected, [frame], outcome)
    assert not outcome.wrong
    # Decoding begins at the IDR picture before the frame, not at the beginning.
    assert dataset.plan([(0, dataset.cameras[0], 8)]).picture_count == 3


def test_fields_in_access_units_of_their_own_are_refused(tmp_path: Path) -> None:
    """FFmpeg takes a raw stream apart at every field."""
    path = write(tmp_path / "a.h264", *field_pictures())
    with pytest.raises(UnsupportedStreamError, match="holds one field of a frame") as caught:
        vf.convert(path, tmp_path / "d", video="native")
    assert caught.value.kind == "field pictures"


def stored_index(dataset: vf.Dataset) -> PictureIndex:
    (chunk,) = dataset.plan([(0, dataset.cameras[0], 0)]).chunks
    return chunk.index


@pytest.mark.parametrize("name", STREAMS)
def test_exact_in_any_order(name: str, tmp_path: Path) -> None:
    """Also where a decoder has seen other parameter sets before: every frame after every other."""
    units, access, fallbacks = STREAMS[name]
    path = write(tmp_path / "a.h264", *units)
    expected = requests.sequential_digests(path)
    assert dict(index_file(path).stream.fallbacks) == fallbacks
    vf.convert(path, tmp_path / "d", video="native")
    dataset = vf.open(tmp_path / "d")
    assert dataset.num_frames == len(expected)
    index = stored_index(dataset)
    assert index.stream.access == access
    assert (index.stream.access_reason is None) is (not fallbacks)
    outcome = requests.Outcome()
    camera = dataset.cameras[0]
    for first in range(len(expected)):
        for second in (0, len(expected) // 2, len(expected) - 1):
            requests.compare(dataset, 0, camera, expected, [first], outcome)
            requests.compare(dataset, 0, camera, expected, [second, first], outcome)
    rng = random.Random(name)
    for _ in range(20):
        frames = requests.random_request(rng, len(expected))
        requests.compare(dataset, 0, camera, expected, frames, outcome)
    assert not outcome.wrong
    assert not verify(tmp_path / "d", decode=True, workers=1).problems


@pytest.mark.parametrize(
    ("units", "kind"),
    [
        ([[*SETS, intra(40, 3, 6)], [copy(50, 4, 8)]], "no random access point"),
        ([[*SETS, copy(40, 3, 6)], *sequence(90)], "missing reference"),
        (
            [
                [*SETS, RECOVERY_POINT, intra(40, 3, 6)],
                [copy(50, 4, 8, ref_idx=1, active=2)],
                *sequence(90),
            ],
            "missing reference",
        ),
        (
            [
                *sequence(40, SETS),
                [sps(**{**SPS, "width_in_mbs": 3}), SETS[1], intra(90, 0, 0, 6, idr=True)],
            ],
            "resolution changes in mid-stream",
        ),
    ],
)
def test_refused_by_name(units: list[Unit], kind: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.h264", *units)
    with pytest.raises(UnsupportedStreamError) as caught:
        vf.convert(path, tmp_path / "d", video="native")
    assert caught.value.kind == kind
    assert vf.open(tmp_path / "d").num_episodes == 0


def cut(source: Path, target: Path, first: int, before: bytes = b"") -> Path:
    """A raw stream from one of its access units on, with bytes of our own before each random one."""
    coded = index_file(source)
    units = dict(coded.units(range(len(coded.places))))
    parts = [coded.facts.configuration]
    for number in range(first, len(units)):
        if number > first and coded.stream.pictures[number].is_random_access:
            parts.append(before)
        parts.append(units[number])
    target.write_bytes(b"".join(parts))
    return target


OPEN_GOPS = {
    "x264": Setting(
        "libx264",
        ".h264",
        options={"preset": "medium", "crf": "26"},
        parameters={
            "open-gop": "1", "keyint": "12", "min-keyint": "12", "scenecut": "0", "bframes": "5",
            "b-adapt": "0", "ref": "4",
        },
    ),
    "x265": SETTINGS["x265 open GOP raw"],
}  # fmt: skip
END_OF_SEQUENCE = b"\0\0\1\x48\1"


@pytest.mark.parametrize("name", OPEN_GOPS)
def test_a_file_that_begins_in_mid_recording(name: str, tmp_path: Path) -> None:
    """What leads over its first picture is no frame, as it is none for a player."""
    setting = OPEN_GOPS[name]
    write_video(tmp_path / f"whole{setting.suffix}", setting, 48)
    whole = index_file(tmp_path / f"whole{setting.suffix}")
    pictures = whole.stream.pictures
    start = next(
        at
        for at, picture in enumerate(pictures)
        if picture.is_random_access and any(led.frame < picture.frame for led in pictures[at:])
    )
    path = cut(whole.path, tmp_path / f"cut{setting.suffix}", start)
    expected = requests.sequential_digests(path)
    assert len(expected) < 48 - start
    vf.convert(path, tmp_path / "d", video="native")
    dataset = vf.open(tmp_path / "d")
    assert dataset.num_frames == len(expected)
    outcome = requests.Outcome()
    for frame in range(len(expected)):
        requests.compare(dataset, 0, dataset.cameras[0], expected, [frame], outcome)
    assert not outcome.wrong
    assert not verify(tmp_path / "d", decode=True, workers=1).problems


def test_sequences_that_end_before_a_cra_picture(tmp_path: Path) -> None:
    """Order counts start anew there, and leading pictures are dropped, in the middle of the file."""
    setting = OPEN_GOPS["x265"]
    write_video(tmp_path / "whole.hevc", setting, 48)
    path = cut(tmp_path / "whole.hevc", tmp_path / "ended.hevc", 0, END_OF_SEQUENCE)
    expected = requests.sequential_digests(path)
    stream = index_file(path).stream
    assert stream.frame_count == len(expected) < 48
    vf.convert(path, tmp_path / "d", video="native")
    dataset = vf.open(tmp_path / "d")
    outcome = requests.Outcome()
    for frame in range(len(expected)):
        requests.compare(dataset, 0, dataset.cameras[0], expected, [frame], outcome)
    assert not outcome.wrong
