"""HevcIndexer against a second derivation, and against what FFmpeg decodes from closures."""

import contextlib
import random

import av
import av.logging
import pytest
from bitstream.hevc_oracle import derive
from bitstream.hevc_streams import HEIGHT, WIDTH, closure, ddra, decode, decode_all, encode
from bitstream.hevc_syntax import nal_unit
from hypothesis import given, settings
from hypothesis import strategies as st

from videoformat.bitstream.hevc import HevcIndexer
from videoformat.bitstream.nal import split_annexb, split_length_prefixed, to_annexb
from videoformat.errors import BitstreamError, UnsupportedStreamError

STREAMS = {
    "ddra 8": {"params": ddra(8)},
    "ddra 16": {"params": ddra(16)},
    "default": {},
    "ultrafast": {"preset": "ultrafast"},
    "slower": {"preset": "slower", "params": "bframes=5"},
    "open gop": {"params": "keyint=20:min-keyint=20:open-gop=1:scenecut=0:bframes=4"},
    "closed gop": {"params": "keyint=20:min-keyint=20:open-gop=0:bframes=4"},
    "intra pictures that are no access points": {"params": "keyint=300:min-keyint=150"},
    "temporal layers": {"params": "temporal-layers=3:bframes=7:b-adapt=0:keyint=32:min-keyint=32"},
    "slices": {"params": "slices=2:ref=2"},
    "10 bit": {"pixel_format": "yuv420p10le"},
    "4:4:4 without wpp": {"pixel_format": "yuv444p", "params": "no-wpp=1"},
    "weights": {"params": "weightb=1:ref=4:bframes=3"},
    "low delay": {"tune": "zerolatency"},
    "4-bit order counts": {"params": "log2-max-poc-lsb=4:bframes=2:ref=2"},
}
END_OF_SEQUENCE = b"\0\0\0\1" + nal_unit(36, "")[:2]


@pytest.fixture(autouse=True)
def _quiet_ffmpeg():
    level = av.logging.get_level()
    av.logging.set_level(av.logging.PANIC)
    yield
    av.logging.set_level(level)


def index(access_units, configuration=b""):
    indexer = HevcIndexer(configuration)
    return [picture for unit in access_units for picture in indexer.push(unit)]


def configuration_of(stream):
    """The parameter sets that are in band, by themselves."""
    units = split_annexb(stream.access_units[0])
    return to_annexb(unit for unit in units if unit[0] >> 1 in (32, 33, 34))


@pytest.mark.parametrize("name", STREAMS)
def test_references_agree_with_a_second_derivation(name):
    stream = encode(**STREAMS[name])
    pictures = index(stream.access_units)
    expected = derive(stream.access_units)
    assert [picture.order_count for picture in pictures] == [p.order_count for p in expected]
    assert [picture.reference_lists for picture in pictures] == [p.lists for p in expected]
    for position, (picture, oracle) in enumerate(zip(pictures, expected, strict=True)):
        assert picture.position == position
        assert picture.references == tuple(sorted({r for found in oracle.lists for r in found}))
        assert picture.picture_type == "BPI"[min(oracle.slice_types)]
        assert picture.is_random_access == (16 <= oracle.nal_unit_type <= 23)
        assert picture.is_shown
        assert (picture.start, picture.end) == (0, len(stream.access_units[position]))
        assert picture.detail.nal_unit_type == oracle.nal_unit_type


@pytest.mark.parametrize("name", STREAMS)
def test_order_counts_give_the_order_of_presentation(name):
    stream = encode(**STREAMS[name])
    pictures = index(stream.access_units)
    sequence = 0
    keys = []
    for picture in pictures:
        sequence += picture.order_count == 0  # an IDR picture begins a coded video sequence
        keys.append((sequence, picture.order_count))
    by_key = sorted(range(len(pictures)), key=keys.__getitem__)
    assert by_key == sorted(range(len(pictures)), key=stream.pts.__getitem__)


@pytest.mark.parametrize("name", STREAMS)
def test_unreferenced_pictures_are_in_no_list(name):
    pictures = index(encode(**STREAMS[name]).access_units)
    named = {reference for picture in pictures for reference in picture.references}
    assert named <= {picture.position for picture in pictures if picture.is_reference}


@pytest.mark.parametrize("name", STREAMS)
def test_closures_decode_exactly(name):
    stream = encode(**STREAMS[name])
    pictures = index(stream.access_units)
    expected = decode_all(stream)
    assert len(expected) == len(pictures)
    targets = random.Random(name).sample(range(len(pictures)), 25)
    groups = []
    for target in targets:
        needed = closure(pictures, [target])
        groups.append([(position, stream.access_units[position]) for position in needed])
    # FFmpeg 8 refuses a picture whose set names an absent picture, even one that no list has.
    for group, target in zip(groups, targets, strict=True):
        decoded = decode([group], configuration_of(stream), flags="+output_corrupt")
        assert decoded[target] == expected[target]


@pytest.mark.parametrize("interval", [2, 5, 16])
def test_ddra_closures_hold_at_most_three_pictures(interval):
    count = 3 * interval + 1
    pictures = index(encode(ddra(interval), count).access_units)
    assert max(len(closure(pictures, [position])) for position in range(count)) == 3
    anchors = [picture.order_count for picture in pictures if picture.is_random_access]
    assert anchors == [0, interval, 2 * interval, 3 * interval]


def test_a_frame_between_two_cra_pictures_needs_both():
    stream = encode(STREAMS["open gop"]["params"])
    pictures = index(stream.access_units)
    leading = [picture for picture in pictures if picture.detail.nal_unit_type in (8, 9)]
    assert leading
    for picture in leading:
        starts = [p for p in closure(pictures, [picture.position]) if pictures[p].is_random_access]
        assert len(starts) == 2


def test_facts_of_the_sequence():
    stream = encode(
        "range=full:colorprim=bt709:transfer=bt709:colormatrix=bt709", 2, pixel_format="yuv420p10le"
    )
    indexer = HevcIndexer()
    assert indexer.sequence_parameter_set is None
    assert indexer.configuration_nal_units == ()
    indexer.push(stream.access_units[0])
    sps = indexer.sequence_parameter_set
    assert (sps.width, sps.height) == (WIDTH, HEIGHT)
    assert (sps.chroma_format_idc, sps.bit_depth_luma, sps.bit_depth_chroma) == (1, 10, 10)
    assert sps.video_full_range_flag
    assert (sps.colour_primaries, sps.transfer_characteristics, sps.matrix_coefficients) == (
        1,
        1,
        1,
    )
    assert HevcIndexer(configuration_of(stream)).sequence_parameter_set == sps
    assert to_annexb(indexer.configuration_nal_units) == configuration_of(stream)


def hvcc(stream):
    """An ``hvcC`` record (ISO/IEC 14496-15 8.3.3.1.2) with lengths of four bytes."""
    record = bytes([1]) + bytes(20) + bytes([0b11111111])
    units = list(split_annexb(configuration_of(stream)))
    record += bytes([len(units)])
    for unit in units:
        record += bytes([unit[0] >> 1, 0, 1]) + len(unit).to_bytes(2, "big") + unit
    return record


@pytest.mark.parametrize("version", [0, 1])
def test_hvcc_and_length_prefixes(version):
    stream = encode()
    prefixed = []
    for access_unit in stream.access_units:
        units = [unit for unit in split_annexb(access_unit) if unit[0] >> 1 not in (32, 33, 34)]
        prefixed.append(b"".join(len(unit).to_bytes(4, "big") + unit for unit in units))
        assert split_length_prefixed(prefixed[-1], 4) == units
    pictures = index(prefixed, bytes([version]) + hvcc(stream)[1:])
    expected = index(stream.access_units)
    for picture, other in zip(pictures, expected, strict=True):
        assert picture.reference_lists == other.reference_lists
        assert picture.order_count == other.order_count
        assert picture.end == len(prefixed[picture.position])


def test_a_stream_that_starts_at_a_cra_picture():
    stream = encode(STREAMS["open gop"]["params"])
    whole = index(stream.access_units)
    start = next(p.position for p in whole if p.detail.nal_unit_type == 21)
    part = index(stream.access_units[start:], configuration_of(stream))
    skipped = [p for p in part if not p.is_shown]
    assert skipped
    for picture, other in zip(part, whole[start:], strict=True):
        if picture in skipped:
            assert picture.detail.nal_unit_type in (8, 9)
            assert not picture.detail.is_decodable
            assert picture.reference_lists == ()
        else:
            shifted = tuple(position + start for position in picture.references)
            assert shifted == other.references
    decoded = decode([list(enumerate(stream.access_units[start:]))], configuration_of(stream))
    assert set(decoded) == {p.position for p in part if p.is_shown}


def test_bla_pictures_begin_sequences():
    stream = encode(STREAMS["open gop"]["params"])
    units = []
    for access_unit in stream.access_units:
        nal_units = split_annexb(access_unit)
        spliced = [
            bytes([16 << 1, unit[1]]) + unit[2:] if unit[0] >> 1 == 21 else unit
            for unit in nal_units
        ]
        units.append(to_annexb(spliced))
    pictures = index(units)
    starts = [p for p in pictures if p.detail.nal_unit_type == 16]
    assert len(starts) > 1
    # The most significant bits of the order count start anew (8.3.1).
    assert all(p.order_count == p.detail.slice_segments[0].slice_pic_order_cnt_lsb for p in starts)
    decoded = decode([list(enumerate(units))])
    assert set(decoded) == {p.position for p in pictures if p.is_shown}
    assert any(not p.is_shown for p in pictures)
    whole = decode_all(stream)
    assert decoded == {position: whole[position] for position in decoded}


def test_leading_pictures_after_an_end_of_sequence_are_not_decodable():
    stream = encode(STREAMS["open gop"]["params"] + ":bframes=2")
    units = list(stream.access_units)
    whole = index(units)
    start = next(p.position for p in whole if p.detail.nal_unit_type == 21)
    units[start] = END_OF_SEQUENCE + units[start]
    with pytest.raises(UnsupportedStreamError) as error:
        index(units)
    assert error.value.kind == "pictures dropped from output"
    # FFmpeg does drop some that were decoded before: what is refused is real.
    decoded = decode([list(enumerate(units))])
    assert any(position < start for position in set(range(len(units))) - set(decoded))


def test_a_sequence_after_an_end_of_sequence_without_reordering():
    stream = encode("keyint=10:min-keyint=10:open-gop=1:bframes=0:scenecut=0", 30)
    whole = index(stream.access_units)
    start = next(p.position for p in whole if p.is_random_access and p.position)
    first = list(stream.access_units[:start])
    first[-1] += END_OF_SEQUENCE
    joined = index(first + list(stream.access_units))
    assert [p.order_count for p in joined[start:]] == [p.order_count for p in whole]
    for picture, other in zip(joined[start:], whole, strict=True):
        assert picture.references == tuple(position + start for position in other.references)


def test_layers_above_the_base_are_passed_over():
    stream = encode(count=10)
    layered = []
    for access_unit in stream.access_units:
        extra = bytearray(split_annexb(access_unit)[-1])
        extra[1] |= 1 << 3  # nuh_layer_id 1
        layered.append(access_unit + to_annexb([bytes(extra)]))
    for picture, other in zip(index(layered), index(stream.access_units), strict=True):
        assert picture.reference_lists == other.reference_lists


def refused(access_units):
    with pytest.raises(UnsupportedStreamError) as error:
        index(access_units)
    return error.value.kind


def test_kinds_that_are_refused():
    stream = encode()
    units = stream.access_units
    assert refused([units[0], units[1] + units[2]]) == "several pictures in an access unit"
    other = encode(preset="ultrafast")
    assert refused([units[0], other.access_units[0]]) == "parameter sets that change"
    assert refused([units[0], *units[2:]]) == "missing reference"
    indexer = HevcIndexer(configuration_of(stream))
    with pytest.raises(UnsupportedStreamError) as error:
        indexer.push(units[1])
    assert error.value.kind == "no random access point"
    fields = encode("interlace=tff:field=1", 10)
    assert refused(fields.access_units) == "field pictures"


def test_damage_is_named():
    stream = encode(count=10)
    with pytest.raises(BitstreamError, match="no slice segment"):
        index([configuration_of(stream)])
    with pytest.raises(BitstreamError, match="no start code"):
        index([b"\1\2\3\4"])
    first = split_annexb(stream.access_units[0])[-1]
    with pytest.raises(BitstreamError, match="forbidden_zero_bit"):
        index([to_annexb([bytes([first[0] | 0x80]) + first[1:]])])
    with pytest.raises(BitstreamError, match="nuh_temporal_id_plus1"):
        index([to_annexb([bytes([first[0], 0]) + first[2:]])])
    sliced = encode("slices=2", 4)
    second = to_annexb(split_annexb(sliced.access_units[0])[-1:])
    with pytest.raises(BitstreamError, match="begins at slice_segment_address"):
        index([configuration_of(sliced) + second])
    with pytest.raises(BitstreamError, match="slice_segment_address 12 follows 12"):
        index([sliced.access_units[0] + second])


@settings(max_examples=150)
@given(st.data())
def test_nothing_but_named_errors_escapes(data):
    stream = encode("slices=2:temporal-layers=3:bframes=3:b-adapt=0", 12)
    units = [bytearray(unit[:160]) for unit in stream.access_units]
    for _ in range(data.draw(st.integers(1, 6))):
        unit = data.draw(st.sampled_from(units))
        position = data.draw(st.integers(0, len(unit) - 1))
        unit[position] = data.draw(st.integers(0, 255))
    with contextlib.suppress(BitstreamError, UnsupportedStreamError):
        index([bytes(unit) for unit in units])


@given(st.binary(max_size=80))
def test_no_bytes_break_the_configuration(data):
    with contextlib.suppress(BitstreamError, UnsupportedStreamError):
        HevcIndexer(data)
    with contextlib.suppress(BitstreamError, UnsupportedStreamError):
        HevcIndexer(b"\0\0\1\x42\1" + data)
    with contextlib.suppress(BitstreamError, UnsupportedStreamError):
        HevcIndexer(b"\0\0\1\x44\1" + data)


@pytest.mark.shared_data
def test_open_gop_file(shared):
    with av.open(str(shared / "data/cases/open_gop_hevc.mp4")) as container:
        video = container.streams.video[0]
        configuration = bytes(video.codec_context.extradata)
        packets = [packet for packet in container.demux(video) if packet.size]
        pts = [packet.pts for packet in packets]
        pictures = index([bytes(packet) for packet in packets], configuration)
    order = sorted(range(len(pts)), key=pts.__getitem__)
    assert [pictures[position].order_count for position in order] == list(range(len(order)))
    assert sum(picture.is_random_access for picture in pictures) > 1


@pytest.mark.parametrize(("first_octet", "is_refused"), [(0x00, True), (0x80, False)])
def test_film_grain_is_refused(first_octet, is_refused):
    stream = encode(count=2)
    # payloadType 19, payloadSize 2; film_grain_characteristics_cancel_flag is the first bit.
    message = to_annexb([bytes([39 << 1, 1, 19, 2, first_octet, 0x55, 0x80])])
    indexer = HevcIndexer(stream.configuration)
    if is_refused:
        with pytest.raises(UnsupportedStreamError, match="film grain"):
            indexer.push(message + stream.access_units[0])
    else:
        indexer.push(message + stream.access_units[0])
