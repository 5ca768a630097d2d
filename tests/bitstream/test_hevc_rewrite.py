"""Rewritten closures: by syntax element, by a second derivation, and by decoded pixels."""

import contextlib
import os
import random
from dataclasses import replace

import av
import av.logging
import pytest
from bitstream.hevc_oracle import derive
from bitstream.hevc_streams import closure, ddra, decode, decode_all, encode
from bitstream.hevc_syntax import (
    nal_unit,
    write_pps,
    write_slice_segment_header,
    write_sps,
    write_vps,
)
from bitstream.trace import trace
from hypothesis import given, settings
from hypothesis import strategies as st

from videoformat.bitstream.closure import ClosurePicture
from videoformat.bitstream.hevc import HevcIndexer
from videoformat.bitstream.hevc_parameter_sets import ParameterSets
from videoformat.bitstream.hevc_rewrite import HevcRewriter
from videoformat.bitstream.hevc_rewrite_headers import (
    NewReferences,
    rewrite_picture_parameter_set,
    rewrite_sequence_parameter_set,
    rewrite_slice_segment,
)
from videoformat.bitstream.hevc_slice import parse_slice_segment_header
from videoformat.bitstream.nal import split_annexb, to_annexb
from videoformat.errors import BitstreamError, DataError, UnsupportedStreamError

OPEN_GOP = "keyint=20:min-keyint=20:open-gop=1:scenecut=0:bframes=4"
STREAMS = {
    "ddra 16": {"params": ddra(16)},
    "default": {},
    "ultrafast": {"preset": "ultrafast"},
    "slow": {"preset": "slow", "params": "bframes=5"},
    "open gop": {"params": OPEN_GOP},
    "closed gop": {"params": "keyint=20:min-keyint=20:open-gop=0:bframes=4"},
    "intra pictures that are no access points": {"params": "keyint=300:min-keyint=150"},
    "temporal layers": {
        "params": "temporal-layers=3:bframes=7:b-adapt=0:keyint=32:min-keyint=32:ref=2"
    },
    "slices": {"params": "slices=2:ref=2"},
    "10 bit": {"pixel_format": "yuv420p10le", "params": "ref=1"},
    "weights": {"params": "weightb=1:ref=4:bframes=3"},
    "low delay": {"tune": "zerolatency", "params": "ref=1"},
    "4-bit order counts": {"params": "log2-max-poc-lsb=4:bframes=2:ref=2"},
    "flat B pictures": {"params": "b-pyramid=0:bframes=6:ref=5"},
}
SEEDS = st.integers(0, 2**32 - 1)
# A long run: VIDEOFORMAT_REWRITE_REQUESTS=300
REQUESTS = int(os.environ.get("VIDEOFORMAT_REWRITE_REQUESTS", "12"))


@pytest.fixture(autouse=True)
def _quiet_ffmpeg():
    level = av.logging.get_level()
    av.logging.set_level(av.logging.PANIC)
    yield
    av.logging.set_level(level)


class Indexed:
    """A stream with its pictures and its rewriter."""

    def __init__(self, params="", count=60, **options):
        self.stream = encode(params, count, **options)
        indexer = HevcIndexer()
        self.pictures = [p for unit in self.stream.access_units for p in indexer.push(unit)]
        self.rewriter = HevcRewriter(to_annexb(indexer.configuration_nal_units))

    def closure(self, *targets):
        return [
            ClosurePicture(
                at,
                self.pictures[at].order_count,
                self.pictures[at].reference_lists,
                self.stream.access_units[at],
            )
            for at in closure(self.pictures, targets)
        ]


def requests(indexed, count, seed):
    """Random targets, runs of neighbours in presentation order, and combs over the stream."""
    source = random.Random(seed)
    size = len(indexed.pictures)
    by_rank = sorted(range(size), key=indexed.stream.pts.__getitem__)
    for number in range(count):
        if number % 4 == 0:
            begin = source.randrange(size - 5)
            yield by_rank[begin : begin + 5]
        elif number % 4 == 1:
            yield by_rank[source.randrange(15) :: 15]
        else:
            yield source.sample(range(size), source.choice((1, 1, 1, 4)))


@pytest.mark.parametrize("name", STREAMS)
def test_rewritten_closures_decode_exactly(name):
    indexed = Indexed(**STREAMS[name])
    expected = decode_all(indexed.stream)
    kept = 0
    groups, tags = [], {}
    for targets in requests(indexed, REQUESTS, name):
        pictures = indexed.closure(*targets)
        units = indexed.rewriter.rewrite(pictures)
        assert len(units) == len(pictures)
        group = []
        for picture, unit in zip(pictures, units, strict=True):
            tags[kept] = expected[picture.position]
            group.append((kept, unit))
            kept += 1
        groups.append(group)
    configuration = indexed.rewriter.configuration
    # Every picture of the closure comes back, not only those that were wanted.
    assert decode(groups, configuration) == tags
    # A decoder that is neither drained nor flushed in between gives the same.
    assert decode(groups, configuration, flush=False) == tags


@pytest.mark.parametrize("name", STREAMS)
def test_rewritten_headers_give_the_same_lists(name):
    indexed = Indexed(**STREAMS[name])
    for targets in requests(indexed, 3, name):
        pictures = indexed.closure(*targets)
        units = indexed.rewriter.rewrite(pictures)
        units[0] = indexed.rewriter.configuration + units[0]
        derived = derive(units)
        for picture, oracle in zip(pictures, derived, strict=True):
            lists = tuple(
                tuple(pictures[at].position for at in entries) for entries in oracle.lists
            )
            assert lists == picture.reference_lists
        indexer = HevcIndexer()
        again = [found for unit in units for found in indexer.push(unit)]
        assert [found.reference_lists for found in again] == [found.lists for found in derived]


def test_a_closure_does_not_depend_on_what_else_is_read():
    indexed = Indexed(OPEN_GOP)
    alone = [indexed.rewriter.rewrite(indexed.closure(at)) for at in range(12)]
    again = Indexed(OPEN_GOP)
    assert [again.rewriter.rewrite(again.closure(at)) for at in reversed(range(12))] == alone[::-1]


def nal_unit_types(units):
    return [sorted({unit[0] >> 1 for unit in split_annexb(access_unit)}) for access_unit in units]


def test_types_of_an_open_gop():
    indexed = Indexed(OPEN_GOP)
    cra = [p.position for p in indexed.pictures if p.detail.nal_unit_type == 21]
    leading = next(p.position for p in indexed.pictures if p.detail.nal_unit_type in (8, 9))
    pictures = indexed.closure(leading)
    types = nal_unit_types(indexed.rewriter.rewrite(pictures))
    by_position = dict(zip([p.position for p in pictures], types, strict=True))
    # The IDR picture that begins the stream, then the CRA picture, which needs what came before.
    assert by_position[0] == [20]
    assert by_position[cra[0]] == [21]
    assert by_position[leading] == [indexed.pictures[leading].detail.nal_unit_type]
    # By itself the second CRA picture begins a sequence: it becomes an IDR picture.
    assert nal_unit_types(indexed.rewriter.rewrite(indexed.closure(cra[1]))) == [[19]]


def test_an_intra_picture_where_nothing_is_needed_begins_a_sequence():
    indexed = Indexed("keyint=300:min-keyint=150:bframes=4:b-adapt=0", 120)
    intra = [p for p in indexed.pictures if p.picture_type == "I" and not p.is_random_access]
    assert intra
    for picture in intra:
        units = indexed.rewriter.rewrite(indexed.closure(picture.position))
        assert nal_unit_types(units) == [[19]]


def test_types_follow_the_order_of_output():
    indexed = Indexed(count=20)
    first, second = indexed.closure(1)
    rewritten = indexed.rewriter.rewrite([first, second])
    assert nal_unit_types(rewritten) == [[20], [1]]
    # Before the IDR picture in output, and with nothing missing: RADL_R.
    before = replace(second, order_count=second.order_count - 256)
    assert nal_unit_types(indexed.rewriter.rewrite([first, before])) == [[20], [7]]
    # A leading picture whose CRA picture is left out is a trailing picture of the one before.
    open_gop = Indexed(OPEN_GOP)
    cra, *_, leading = open_gop.closure(
        next(p.position for p in open_gop.pictures if p.detail.nal_unit_type in (8, 9))
    )
    alone = replace(leading, reference_lists=tuple((0,) * len(r) for r in leading.reference_lists))
    referenced = leading.access_unit[4] >> 1 & 1
    assert nal_unit_types(open_gop.rewriter.rewrite([cra, alone])) == [[20], [referenced]]


def test_new_references_by_hand():
    new = NewReferences(1, 0, 0x1234, ((-1, True), (-4, False)), ((2, True),))
    assert new.num_pic_total_curr == 2
    assert new.bits() == (
        "0001001000110100"  # slice_pic_order_cnt_lsb
        "0"  # short_term_ref_pic_set_sps_flag
        "011"  # num_negative_pics 2
        "010"  # num_positive_pics 1
        "1"  # delta_poc_s0_minus1 0
        "1"  # used_by_curr_pic_s0_flag
        "011"  # delta_poc_s0_minus1 2: from -1 to -4
        "0"  # used_by_curr_pic_s0_flag
        "010"  # delta_poc_s1_minus1 1
        "1"  # used_by_curr_pic_s1_flag
    )


def traced_sets(*units):
    return trace("hevc", [to_annexb(units)])[0]


def elements(unit):
    return [(name, value) for name, value, _ in unit.elements]


IN_SPS = (
    "log2_max_pic_order_cnt_lsb_minus4",
    "num_short_term_ref_pic_sets",
    "long_term_ref_pics_present_flag",
)
OF_SETS = (
    "inter_ref_pic_set_prediction_flag",
    "delta_idx_minus1",
    "delta_rps_sign",
    "abs_delta_rps_minus1",
    "used_by_curr_pic_flag",
    "use_delta_flag",
    "num_negative_pics",
    "num_positive_pics",
    "delta_poc_s0_minus1",
    "used_by_curr_pic_s0_flag",
    "delta_poc_s1_minus1",
    "used_by_curr_pic_s1_flag",
    "num_long_term_ref_pics_sps",
    "lt_ref_pic_poc_lsb_sps",
    "used_by_curr_pic_lt_sps_flag",
)
IN_SLICE = (
    "nal_unit_type",
    "nuh_temporal_id_plus1",
    "no_output_of_prior_pics_flag",
    "slice_pic_order_cnt_lsb",
    "short_term_ref_pic_set_sps_flag",
    "short_term_ref_pic_set_idx",
    "num_long_term_sps",
    "num_long_term_pics",
    "ref_pic_list_modification_flag_l0",
    "ref_pic_list_modification_flag_l1",
    "list_entry_l0",
    "list_entry_l1",
)
ALIGNMENT = (
    "alignment_bit_equal_to_one",
    "alignment_bit_equal_to_zero",
    "rbsp_stop_one_bit",
    "rbsp_alignment_zero_bit",
)


def kept(unit, changed):
    return [
        (name, value)
        for name, value in elements(unit)
        if name.partition("[")[0] not in (*changed, *ALIGNMENT)
    ]


@settings(max_examples=80)
@given(SEEDS, st.booleans())
def test_only_what_has_to_change_changes(seed, dependent):
    source = random.Random(seed)
    while True:
        sps = write_sps(source)
        pps = write_pps(source, sps)
        if not dependent or (pps.dependent and sps.ctbs > 1):
            break
    written = write_slice_segment_header(source, sps, pps, dependent=dependent)
    data = source.randbytes(30) + bytes([0, 0, 3, 0, 0, 3, 1, 0, 0, 3, 2, source.randrange(1, 256)])
    # What follows a header is copied as it is, emulation prevention and all.
    unit = nal_unit(written.nal_unit_type, written.bits) + data
    old = (
        nal_unit(32, write_vps(source)),
        nal_unit(33, sps.bits),
        nal_unit(34, pps.bits),
    )
    sets = ParameterSets()
    for parameter_set in old:
        sets.add(parameter_set[0] >> 1, parameter_set)
    header, bits = parse_slice_segment_header(written.nal_unit_type, unit, sets)

    new = new_references(source, written)
    used = new.num_pic_total_curr
    entries = [
        tuple(source.randrange(used) for _ in range(size)) if source.random() < 0.6 else None
        for size in written.active
        if size
    ]
    rewritten = rewrite_slice_segment(unit, header, bits, new, entries)
    assert rewritten.endswith(data)
    assert len(rewritten) < len(unit) + 100
    new_sets = (
        old[0],
        rewrite_sequence_parameter_set(header.sps),
        rewrite_picture_parameter_set(header.pps),
    )
    traced_old = traced_sets(*old, unit)
    traced = traced_sets(*new_sets, rewritten)

    assert kept(traced[1], IN_SPS + OF_SETS) == kept(traced_old[1], IN_SPS + OF_SETS)
    assert [traced[1][name] for name in IN_SPS] == [12, 0, 0]
    assert kept(traced[2], ("lists_modification_present_flag",)) == kept(
        traced_old[2], ("lists_modification_present_flag",)
    )
    assert traced[2]["lists_modification_present_flag"] == 1

    changed = IN_SLICE + OF_SETS
    if new.nal_unit_type == 19:
        changed += ("slice_temporal_mvp_enabled_flag",)
    assert kept(traced[3], changed) == kept(traced_old[3], changed)
    assert traced[3]["nal_unit_type"] == new.nal_unit_type
    assert traced[3]["nuh_temporal_id_plus1"] == 1 + new.temporal_id
    if new.nal_unit_type >= 16:
        assert traced[3]["no_output_of_prior_pics_flag"] == 0
    if dependent or new.nal_unit_type == 19:
        assert "slice_pic_order_cnt_lsb" not in traced[3]
        return
    assert traced[3]["slice_pic_order_cnt_lsb"] == new.slice_pic_order_cnt_lsb
    assert traced[3]["short_term_ref_pic_set_sps_flag"] == 0
    assert traced[3]["num_negative_pics"] == len(new.negative_pics)
    assert traced[3]["num_positive_pics"] == len(new.positive_pics)
    for number, found in enumerate(entries):
        name = f"list_entry_l{number}"
        assert tuple(traced[3].all(name)) == ((found or ()) if used > 1 else ())
        if used > 1:
            flag = traced[3][f"ref_pic_list_modification_flag_l{number}"]
            assert flag == (found is not None)


def new_references(source, written):
    """Something that a rewriter might ask for."""
    nal_unit_type = written.nal_unit_type
    if nal_unit_type in (16, 21) or (written.slice_type == 2 and source.random() < 0.5):
        nal_unit_type = source.choice((19, 21))
    if nal_unit_type == 19 or written.nal_unit_type == 19:
        return NewReferences(19, 0, 0, (), ())
    sides = []
    for sign in (-1, 1):
        deltas = source.sample(range(1, 30), source.randint(0, 5))
        sides.append(tuple((sign * delta, source.random() < 0.5) for delta in sorted(deltas)))
    if not any(used for side in sides for _, used in side):
        sides = [((-source.randint(1, 32768), True),), ()]
    lsb = source.randrange(1 << 16)
    return NewReferences(nal_unit_type, 0, lsb, sides[0], sides[1])


def test_an_hvcc_gives_the_same_stream():
    indexed = Indexed(count=20)
    units = split_annexb(to_annexb(split_annexb(indexed.stream.access_units[0])[:3]))
    record = bytes([1]) + bytes(20) + bytes([0b11111111, len(units)])
    for unit in units:
        record += bytes([unit[0] >> 1, 0, 1]) + len(unit).to_bytes(2, "big") + unit
    rewriter = HevcRewriter(record)
    assert rewriter.configuration == indexed.rewriter.configuration
    pictures = indexed.closure(12)
    prefixed = [
        replace(
            picture,
            access_unit=b"".join(
                len(unit).to_bytes(4, "big") + unit for unit in split_annexb(picture.access_unit)
            ),
        )
        for picture in pictures
    ]
    assert rewriter.rewrite(prefixed) == indexed.rewriter.rewrite(pictures)


def test_contradictions_are_named():
    indexed = Indexed(count=20)
    rewriter = indexed.rewriter
    pictures = indexed.closure(12)
    assert len(pictures) > 4
    with pytest.raises(DataError, match="not in the closure before it"):
        rewriter.rewrite(pictures[1:])
    with pytest.raises(DataError, match="the closure before it has"):
        rewriter.rewrite([pictures[0], *pictures[2:]])
    with pytest.raises(DataError, match=r"stored with order count 0, its slice_pic_order_cnt_lsb"):
        rewriter.rewrite([pictures[0], replace(pictures[1], order_count=0)])
    with pytest.raises(DataError, match="its slice says 1"):
        rewriter.rewrite([pictures[0], replace(pictures[1], reference_lists=((0, 0),))])
    with pytest.raises(DataError, match="more lists"):
        rewriter.rewrite([pictures[0], replace(pictures[1], reference_lists=((0,), (0,), (0,)))])
    with pytest.raises(DataError, match="no slice segment"):
        rewriter.rewrite([replace(pictures[0], access_unit=rewriter.configuration)])
    idr = replace(pictures[0], position=pictures[1].position)
    again = replace(pictures[2], reference_lists=((0,),))
    with pytest.raises(DataError, match="begins a sequence by its NAL type"):
        rewriter.rewrite([pictures[0], idr, again])


def test_order_counts_too_far_apart_are_refused():
    indexed = Indexed("bframes=0:ref=1", 4)
    first, second, third, _ = indexed.closure(3)
    near = replace(second, order_count=second.order_count + 0x7F00)
    assert len(indexed.rewriter.rewrite([first, near])) == 2
    far = replace(second, order_count=second.order_count + 0x8000)
    with pytest.raises(UnsupportedStreamError) as error:
        indexed.rewriter.rewrite([first, far])
    assert error.value.kind == "order counts too far apart"
    with pytest.raises(UnsupportedStreamError):
        indexed.rewriter.rewrite(
            [first, near, replace(third, order_count=third.order_count + 3 * 0x7F00)]
        )


@settings(max_examples=60)
@given(st.data())
def test_nothing_but_named_errors_escapes(data):
    indexed = Indexed("slices=2:ref=2", 12)
    pictures = indexed.closure(9)
    for _ in range(data.draw(st.integers(1, 4))):
        number = data.draw(st.integers(0, len(pictures) - 1))
        unit = bytearray(pictures[number].access_unit[:160])
        unit[data.draw(st.integers(0, len(unit) - 1))] = data.draw(st.integers(0, 255))
        pictures[number] = replace(pictures[number], access_unit=bytes(unit))
    with contextlib.suppress(BitstreamError, UnsupportedStreamError, DataError):
        indexed.rewriter.rewrite(pictures)


def test_a_configuration_with_damage_is_an_error():
    configuration = Indexed(count=4).rewriter.configuration
    sps = split_annexb(configuration)[1]
    with pytest.raises(BitstreamError, match="SPS"):
        HevcRewriter(to_annexb([sps[:20]]))


@pytest.mark.shared_data
def test_closures_of_an_open_gop_file(shared):
    with av.open(str(shared / "data/cases/open_gop_hevc.mp4")) as container:
        video = container.streams.video[0]
        record = bytes(video.codec_context.extradata)
        units = [bytes(packet) for packet in container.demux(video) if packet.size]
    indexer = HevcIndexer(record)
    pictures = [found for unit in units for found in indexer.push(unit)]
    expected = decode([list(enumerate(units))], record)
    assert len(expected) == len(pictures)
    rewriter = HevcRewriter(record)
    groups = []
    for target in random.Random(0).sample(range(len(pictures)), 20):
        needed = [
            ClosurePicture(at, pictures[at].order_count, pictures[at].reference_lists, units[at])
            for at in closure(pictures, [target])
        ]
        rewritten = rewriter.rewrite(needed)
        groups.append(list(zip([p.position for p in needed], rewritten, strict=True)))
    for group in groups:
        for position, frame in decode([group], rewriter.configuration).items():
            assert frame == expected[position]
    assert sum(map(len, groups)) == sum(len(decode([g], rewriter.configuration)) for g in groups)
