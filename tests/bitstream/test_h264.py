"""The H.264 indexer: framing, random access, refusals, damage, and closures proved by pixels."""

import contextlib
from pathlib import Path

import av
import pytest
from bitstream import h264_syntax
from bitstream.h264_streams import (
    EncodedStream,
    decode,
    encode,
    stream,
)
from bitstream.h264_syntax import B, I, P, coded_slice, nal_unit, unit
from hypothesis import given, settings
from hypothesis import strategies as st

from videoformat.bitstream.bits import ue_bits
from videoformat.bitstream.h264 import H264Indexer
from videoformat.bitstream.nal import escape, split_annexb, to_annexb, unescape
from videoformat.bitstream.picture import Picture
from videoformat.errors import BitstreamError, UnsupportedStreamError

SPS, PPS = h264_syntax.sps(), h264_syntax.pps()
IDR = coded_slice(I, 0, 0, idr=True)
DELIMITER = nal_unit(0x09, "111")


def recovery_point(recovery_frame_cnt: int) -> bytes:
    payload = ue_bits(recovery_frame_cnt) + "1000"  # exact match, no broken link, slice group idc
    payload += "1" + "0" * (-(len(payload) + 1) % 8)
    return nal_unit(0x06, f"{6:08b}{len(payload) // 8:08b}" + payload)


def index(encoded: EncodedStream) -> list[Picture]:
    indexer = H264Indexer(encoded.configuration)
    return [picture for unit in encoded.access_units for picture in indexer.push(unit)]


def closure(pictures: list[Picture], target: int) -> list[int]:
    needed, found = [target], {target}
    while needed:
        for reference in pictures[needed.pop()].references:
            if reference not in found:
                found.add(reference)
                needed.append(reference)
    return sorted(found)


def test_an_idr_picture() -> None:
    access_unit = unit(DELIMITER, SPS, PPS, IDR)
    indexer = H264Indexer()
    assert indexer.sequence_parameter_set is None
    [picture] = indexer.push(access_unit)
    assert picture._replace(detail=None) == Picture(
        position=0,
        order_count=0,
        picture_type="I",
        is_random_access=True,
        is_reference=True,
        is_shown=True,
        references=(),
        reference_lists=(),
        start=0,
        end=len(access_unit),
    )
    assert picture.detail[0].sps is indexer.sequence_parameter_set
    assert indexer.sequence_parameter_set.width == 96
    assert indexer.configuration_nal_units == (SPS, PPS)


def test_parameter_sets_from_an_avcc_record() -> None:
    record = b"\1\x4d\0\x1e\xff\xe1" + len(SPS).to_bytes(2, "big") + SPS
    record += b"\1" + len(PPS).to_bytes(2, "big") + PPS
    indexer = H264Indexer(record)
    assert indexer.sequence_parameter_set.height == 64
    access_unit = b"".join(len(each).to_bytes(4, "big") + each for each in (DELIMITER, IDR))
    [picture] = indexer.push(access_unit)
    assert (picture.start, picture.end) == (0, len(access_unit))
    assert indexer.configuration_nal_units == (SPS, PPS)


def test_x264_in_byte_stream_and_in_mp4_framing_gives_the_same_pictures() -> None:
    in_band = encode("bframes=3", 40)
    pictures = index(in_band)
    byte_stream = encode("bframes=3", 40, global_header=True)
    assert byte_stream.configuration
    units = split_annexb(byte_stream.configuration)
    sps, pps = (next(u for u in units if u[0] & 31 == kind) for kind in (7, 8))
    record = b"\1" + sps[1:4] + b"\xff\xe1" + len(sps).to_bytes(2, "big") + sps
    record += b"\1" + len(pps).to_bytes(2, "big") + pps
    prefixed = EncodedStream(
        tuple(
            b"".join(len(u).to_bytes(4, "big") + u for u in split_annexb(access_unit))
            for access_unit in byte_stream.access_units
        ),
        byte_stream.pts,
        record,
    )
    for other in (byte_stream, prefixed):
        for picture, same in zip(pictures, index(other), strict=True):
            assert picture.reference_lists == same.reference_lists
            assert picture.order_count == same.order_count


def test_the_version_of_the_encoder_stays_with_the_configuration() -> None:
    for global_header in (False, True):
        encoded = encode("", 3, global_header=global_header)
        indexer = H264Indexer(encoded.configuration)
        for access_unit in encoded.access_units:
            indexer.push(access_unit)
        kinds = [each[0] & 31 for each in indexer.configuration_nal_units]
        assert kinds == [6, 7, 8]
        assert b"x264" in indexer.configuration_nal_units[0]


@pytest.mark.parametrize(
    ("units", "random_access"),
    [
        ([IDR], True),
        ([coded_slice(I, 0, 0)], False),
        ([recovery_point(0), coded_slice(I, 0, 0)], True),
        (
            [nal_unit(0x06, f"{4:08b}{1:08b}" + "1" * 8), recovery_point(0), coded_slice(I, 0, 0)],
            True,
        ),
        ([recovery_point(3), coded_slice(I, 0, 0)], False),
        ([recovery_point(0), coded_slice(I, 0, 0, reference=False)], True),
    ],
)
def test_random_access(units: list[bytes], random_access: bool) -> None:
    [picture] = H264Indexer(unit(SPS, PPS)).push(unit(*units))
    assert picture.is_random_access == random_access


def test_a_recovery_point_on_a_picture_that_refers_is_none() -> None:
    indexer = H264Indexer(unit(SPS, PPS))
    indexer.push(unit(IDR))
    assert not indexer.push(unit(recovery_point(0), coded_slice(P, 1, 2)))[0].is_random_access
    mixed = unit(recovery_point(0), coded_slice(I, 2, 4), coded_slice(P, 2, 4, first_mb=12))
    [picture] = indexer.push(mixed)
    assert (picture.picture_type, picture.is_random_access) == ("P", False)
    assert picture.reference_lists == ((1,),)


def test_slices_of_all_types_make_a_b_picture() -> None:
    indexer = H264Indexer(unit(SPS, PPS))
    indexer.push(unit(IDR))
    indexer.push(unit(coded_slice(P, 1, 8)))
    slices = (
        coded_slice(P, 2, 4),
        coded_slice(B, 2, 4, first_mb=6),
        coded_slice(I, 2, 4, first_mb=9),
    )
    [picture] = indexer.push(unit(*slices))
    assert picture.picture_type == "B"
    assert picture.reference_lists == ((1,), (0,), (1,))
    assert picture.references == (0, 1)


def sei_message(payload_type: int, payload: bytes) -> bytes:
    return nal_unit(
        0x06, "".join(f"{octet:08b}" for octet in bytes([payload_type, len(payload)]) + payload)
    )


# film_grain_characteristics: cancel_flag 0, frequency filtering, additive, one component.
FILM_GRAIN = sei_message(19, bytes.fromhex("0240400ff00141020080"))


REFUSED = [
    ("film grain", [FILM_GRAIN, IDR]),
    ("data partitioning", [nal_unit(0x62, "1" * 40)]),
    ("auxiliary pictures", [IDR, nal_unit(0x13, "1" * 40)]),
    ("scalable or multiview extensions", [nal_unit(0x6E, "1" * 40), IDR]),
    ("scalable or multiview extensions", [nal_unit(0x6F, "1" * 40), IDR]),
    ("scalable or multiview extensions", [IDR, nal_unit(0x74, "1" * 40)]),
    ("two pictures in one access unit", [IDR, coded_slice(P, 1, 2)]),
    ("two pictures in one access unit", [IDR, IDR]),
    (
        "two pictures in one access unit",
        [IDR, coded_slice(I, 0, 0, idr=True, idr_pic_id=1, first_mb=3)],
    ),
    ("two pictures in one access unit", [IDR, coded_slice(I, 0, 2, idr=True, first_mb=3)]),
    (
        # pic_parameter_set_id differs (7.4.1.2.4).
        "two pictures in one access unit",
        [
            h264_syntax.pps(identifier=1),
            IDR,
            coded_slice(I, 0, 0, idr=True, first_mb=3, pps_identifier=1),
        ],
    ),
    ("arbitrary slice order", [coded_slice(I, 0, 0, idr=True, first_mb=12)]),
    (
        "arbitrary slice order",
        [IDR, *(coded_slice(I, 0, 0, idr=True, first_mb=first) for first in (12, 6))],
    ),
    ("parameter sets that change", [h264_syntax.sps(width_in_mbs=7), IDR]),
    ("parameter sets that change", [h264_syntax.pps(active=(2, 1)), IDR]),
]


@pytest.mark.parametrize(("kind", "units"), REFUSED)
def test_what_is_refused_by_name(kind: str, units: list[bytes]) -> None:
    with pytest.raises(UnsupportedStreamError) as refused:
        H264Indexer(unit(SPS, PPS)).push(unit(*units))
    assert refused.value.kind == kind


def test_a_stream_that_switches_to_another_sps_is_refused() -> None:
    other = (
        h264_syntax.sps(identifier=1, width_in_mbs=7),
        h264_syntax.pps(identifier=1, sps_identifier=1),
    )
    indexer = H264Indexer(unit(SPS, PPS, *other))
    assert indexer.sequence_parameter_set is None  # which of the two is not known yet
    indexer.push(unit(IDR))
    assert indexer.sequence_parameter_set.width == 96
    with pytest.raises(UnsupportedStreamError) as refused:
        indexer.push(unit(coded_slice(I, 0, 0, idr=True, pps_identifier=1)))
    assert refused.value.kind == "parameter sets that change"


@pytest.mark.parametrize(
    ("message", "access_unit"),
    [
        ("an access unit of 0 bytes without a slice", b""),
        ("an access unit of 7 bytes without a slice", unit(DELIMITER) + b"\0"),
        ("forbidden_zero_bit is set", unit(b"\xe5" + IDR[1:])),
        ("no start code in 4 bytes", b"abcd"),
        ("slice_type of an IDR picture is 0", unit(coded_slice(P, 0, 0, idr=True))),
        ("pic_parameter_set_id is 1", unit(coded_slice(I, 0, 0, idr=True, pps_identifier=1))),
        ("SEI: payloadSize at byte 1 is cut off", unit(b"\x06\x05", IDR)),
        ("SEI: payload 5 of 9 bytes, 1 are left", unit(b"\x06\x05\x09\x01\x80", IDR)),
        (
            "dec_ref_pic_marking differs",
            unit(coded_slice(I, 0, 0), coded_slice(I, 0, 0, first_mb=3, operations=((4, 0),))),
        ),
    ],
)
def test_what_breaks_the_syntax(message: str, access_unit: bytes) -> None:
    with pytest.raises(BitstreamError, match=message):
        H264Indexer(unit(SPS, PPS)).push(access_unit)


def test_film_grain_that_is_cancelled_is_none() -> None:
    [picture] = H264Indexer(unit(SPS, PPS)).push(unit(sei_message(19, b"\x80"), IDR))
    assert picture.is_random_access


def test_only_the_version_of_the_encoder_is_kept() -> None:
    other = sei_message(5, bytes(16) + b"a clock")
    version = sei_message(5, bytes(16) + b"x264 - core 164")
    indexer = H264Indexer(unit(SPS, PPS))
    indexer.push(unit(other, IDR))
    assert indexer.configuration_nal_units == (SPS, PPS)
    indexer.push(unit(other, version, IDR))
    assert indexer.configuration_nal_units == (version, SPS, PPS)


def test_types_that_decoders_pass_over() -> None:
    others = [nal_unit(kind, "1" * 40) for kind in (0x0C, 0x0A, 0x0B, 0x6D, 0x10, 0x18, 0x1F)]
    indexer = H264Indexer(unit(SPS, PPS, *others))
    assert indexer.push(unit(DELIMITER, IDR, *others))[0].is_random_access


def _index_until_refused(access_units: list[bytes], configuration: bytes = b"") -> int:
    pushed = 0
    with contextlib.suppress(BitstreamError, UnsupportedStreamError):
        indexer = H264Indexer(configuration)
        for access_unit in access_units:
            for picture in indexer.push(access_unit):
                assert picture.position == pushed
                assert all(reference < pushed for reference in picture.references)
            pushed += 1
    return pushed


@settings(max_examples=150)
@given(st.data())
def test_damage_anywhere_is_read_or_refused(data) -> None:
    name = data.draw(st.sampled_from(["default", "slices", "MBAFF CAVLC temporal", "no B"]))
    access_units = list(stream(name).access_units[:12])
    for _ in range(data.draw(st.integers(1, 4))):
        which = data.draw(st.integers(0, len(access_units) - 1))
        damaged = bytearray(access_units[which])
        # Near the start, where the headers are; and cut, doubled or replaced bytes.
        at = data.draw(st.integers(0, min(len(damaged), 60) - 1))
        end = at + data.draw(st.integers(0, 3))
        damaged[at:end] = data.draw(st.binary(max_size=4))
        access_units[which] = bytes(damaged)
    assert 0 <= _index_until_refused(access_units) <= 12


@given(
    st.sampled_from(["default", "no B"]), st.integers(1, 11), st.sampled_from(["0" * 30, "1" * 30])
)
def test_what_follows_the_marking_is_read_only_where_headers_are_kept(
    name: str, at: int, end: str
) -> None:
    """Without headers kept, neither is it looked at nor does it change what is indexed."""
    encoded = stream(name)
    units = list(encoded.access_units[: at + 1])
    full = H264Indexer(encoded.configuration)
    whole = [picture for unit in units for picture in full.push(unit)]
    positions = whole[-1].detail[0].positions
    nal_units = split_annexb(units[-1])
    (which,) = [n for n, each in enumerate(nal_units) if each[0] & 31 in (1, 5)]
    rbsp = unescape(nal_units[which][1:])
    bits = f"{int.from_bytes(rbsp, 'big'):0{8 * len(rbsp)}b}"
    bits = bits[: positions.marking_end] + end + bits[positions.marking_end + len(end) :]
    damaged = escape(int(bits, 2).to_bytes(len(rbsp), "big"))
    nal_units[which] = nal_units[which][:1] + damaged
    units[-1] = to_annexb(nal_units)

    quick = H264Indexer(encoded.configuration, keep_headers=False)
    indexed = [picture for unit in units[:-1] for picture in quick.push(unit)]
    # The first header of its kind is parsed to its end.
    with contextlib.suppress(BitstreamError):
        indexed += quick.push(units[-1])
    if len(indexed) == at:
        with pytest.raises(BitstreamError, match=r"cabac_init_idc|slice_qp_delta|deblock|_div2"):
            full.push(units[-1])
        return
    assert [picture._replace(end=0, detail=None) for picture in indexed] == [
        picture._replace(end=0, detail=None) for picture in whole
    ]


@given(st.lists(st.binary(max_size=60), max_size=3), st.binary(max_size=30))
def test_any_bytes_are_read_or_refused(units: list[bytes], configuration: bytes) -> None:
    _index_until_refused([to_annexb(units), *units], configuration)
    _index_until_refused([to_annexb(units)], b"\1" + configuration)


def ddra(interval: int) -> str:
    """Each frame between two intra anchors is predicted from those two only."""
    return (
        f"keyint={interval}:min-keyint={interval}:scenecut=0:open-gop=1:bframes={interval - 1}:"
        f"b-adapt=0:b-pyramid=none:ref=1:rc-lookahead={interval + 2}:weightp=0:sliced-threads=0"
    )


@pytest.mark.parametrize("interval", [2, 3, 8, 16, 17])
def test_ddra_closures_are_at_most_three_pictures_and_decode_exactly(interval: int) -> None:
    count = 2 * interval + 5
    encoded = encode(ddra(interval), count, last_frame_intra=True, global_header=True)
    pictures = index(encoded)
    whole = decode([list(enumerate(encoded.access_units))], encoded.configuration)
    assert len(whole) == count
    indexer = H264Indexer(encoded.configuration)
    indexer.push(encoded.access_units[0])
    version = to_annexb(indexer.configuration_nal_units[:1])
    groups = []
    for target in range(count):
        needed = closure(pictures, target)
        assert len(needed) <= 3
        assert all(pictures[each].picture_type == "I" for each in needed if each != target)
        first, *others = needed
        group = [(first, version + encoded.access_units[first])]
        groups.append(group + [(each, encoded.access_units[each]) for each in others])
    for target, group in enumerate(groups):
        assert decode([group], encoded.configuration)[target] == whole[target]
    # One decoder for all of them, drained and flushed in between, gives the same.
    assert decode(groups, encoded.configuration) == whole


@pytest.mark.parametrize("name", ["default", "veryslow", "slices", "MBAFF", "CAVLC", "open GOP"])
def test_pictures_that_are_no_references_can_be_left_out(name: str) -> None:
    encoded = stream(name)
    pictures = index(encoded)
    whole = decode([list(enumerate(encoded.access_units))])
    others = [picture.position for picture in pictures if not picture.is_reference]
    assert others
    for target in others[:: max(1, len(others) // 8)]:
        # From the last IDR picture on, as the closure lies behind it.
        start = max(p.position for p in pictures[: target + 1] if p.detail[0].is_idr)
        assert start <= min(closure(pictures, target))
        fed = [p.position for p in pictures[start:target] if p.is_reference] + [target]
        group = [(each, encoded.access_units[each]) for each in fed]
        if start:
            configuration = to_annexb(split_annexb(encoded.access_units[0])[:2])
            assert decode([group], configuration)[target] == whole[target]
        else:
            assert decode([group])[target] == whole[target]


def test_references_are_what_the_decoder_needs() -> None:
    # Without one picture of its closure, a target is wrong or missing: lists are not too long.
    encoded = encode(ddra(8), 17, last_frame_intra=True, global_header=True)
    pictures = index(encoded)
    target = next(p.position for p in pictures if p.position > 10 and p.picture_type == "B")
    first, second, _ = closure(pictures, target)
    whole = decode([list(enumerate(encoded.access_units))], encoded.configuration)
    for kept in (first, second):
        group = [(each, encoded.access_units[each]) for each in (kept, target)]
        assert decode([group], encoded.configuration).get(target) != whole[target]


@pytest.mark.shared_data
@pytest.mark.parametrize(
    "path",
    [
        "cases/ok_g10_bf0.mp4",
        "cases/bframes_default_x264.mp4",
        "cases/start_offset.mp4",
        "lerobot/gr00t_v20/videos/chunk-000/observation.images.ego_view/episode_000000.mp4",
        (
            "lerobot/syn_v30_h264_g30_bframes_drift/videos/observation.images.front/"
            "chunk-000/file-000.mp4"
        ),
    ],
)
def test_files_from_elsewhere(shared: Path, path: str) -> None:
    with av.open(str(shared / "data" / path)) as container:
        video = container.streams.video[0]
        indexer = H264Indexer(video.codec_context.extradata)
        packets = [packet for packet in container.demux(video) if packet.size]
        pictures = [indexer.push(bytes(packet))[0] for packet in packets]
        sps = indexer.sequence_parameter_set
        assert (sps.width, sps.height) == (video.width, video.height)
        assert all(
            picture.is_random_access == packet.is_keyframe
            for picture, packet in zip(pictures, packets, strict=True)
        )
        # Order counts put pictures between two IDR pictures in the order of their timestamps.
        period = 0
        keys = []
        for picture in pictures:
            period += picture.detail[0].is_idr
            keys.append((period, picture.order_count))
        by_pts = sorted(range(len(packets)), key=lambda at: packets[at].pts)
        assert [keys[at] for at in by_pts] == sorted(keys)
