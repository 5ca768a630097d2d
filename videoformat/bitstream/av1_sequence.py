"""The sequence header of AV1 (clause 5.5)."""

from __future__ import annotations

from dataclasses import dataclass, field

from videoformat.bitstream.av1_color import Av1ColorConfig, parse_color_config
from videoformat.bitstream.bits import BitReader

__all__ = [
    "SELECT",
    "Av1DecoderModelInfo",
    "Av1OperatingPoint",
    "Av1SequenceHeader",
    "Av1TimingInfo",
    "parse_sequence_header",
]

SELECT = 2
"""``SELECT_SCREEN_CONTENT_TOOLS`` and ``SELECT_INTEGER_MV`` (AV1 3): each frame says for itself."""


@dataclass(frozen=True, slots=True)
class Av1TimingInfo:
    """``timing_info`` (AV1 5.5.3)."""

    num_units_in_display_tick: int
    time_scale: int
    equal_picture_interval: bool
    num_ticks_per_picture_minus_1: int


@dataclass(frozen=True, slots=True)
class Av1DecoderModelInfo:
    """``decoder_model_info`` (AV1 5.5.4)."""

    buffer_delay_length_minus_1: int
    num_units_in_decoding_tick: int
    buffer_removal_time_length_minus_1: int
    frame_presentation_time_length_minus_1: int


@dataclass(frozen=True, slots=True)
class Av1OperatingPoint:
    """One operating point: which layers it decodes (AV1 6.4.1).

    ``operating_parameters_info`` (decoder and encoder buffer delay, low delay mode) may change
    within a coded video sequence (AV1 7.5), so it takes no part in comparisons. It is None where
    ``decoder_model_present_for_this_op`` is 0.
    """

    operating_point_idc: int
    seq_level_idx: int
    seq_tier: int
    decoder_model_present_for_this_op: bool
    operating_parameters_info: tuple[int, int, bool] | None = field(compare=False)
    initial_display_delay_minus_1: int | None


@dataclass(frozen=True, slots=True)
class Av1SequenceHeader:
    """A sequence header, in the spelling and order of the specification (AV1 5.5.1).

    Two headers are equal where a decoder may go on with the coded video sequence (AV1 7.5).
    ``delta_frame_id_length`` and ``id_length`` (``idLen``) are the sizes in bits of frame ids, 0
    where there are none.
    """

    seq_profile: int
    still_picture: bool
    reduced_still_picture_header: bool
    timing_info: Av1TimingInfo | None
    decoder_model_info: Av1DecoderModelInfo | None
    operating_points: tuple[Av1OperatingPoint, ...]
    frame_width_bits: int
    frame_height_bits: int
    max_frame_width: int
    max_frame_height: int
    frame_id_numbers_present_flag: bool
    delta_frame_id_length: int
    id_length: int
    use_128x128_superblock: bool
    enable_filter_intra: bool
    enable_intra_edge_filter: bool
    enable_interintra_compound: bool
    enable_masked_compound: bool
    enable_warped_motion: bool
    enable_dual_filter: bool
    enable_order_hint: bool
    enable_jnt_comp: bool
    enable_ref_frame_mvs: bool
    seq_force_screen_content_tools: int
    seq_force_integer_mv: int
    order_hint_bits: int
    enable_superres: bool
    enable_cdef: bool
    enable_restoration: bool
    color_config: Av1ColorConfig
    film_grain_params_present: bool

    @property
    def frame_presentation_time_length(self) -> int:
        """Bits of ``temporal_point_info`` in a frame header, 0 where it is absent (AV1 5.9.2)."""
        if self.decoder_model_info is None or self.timing_info is None:
            return 0
        if self.timing_info.equal_picture_interval:
            return 0
        return self.decoder_model_info.frame_presentation_time_length_minus_1 + 1


def parse_sequence_header(payload: bytes) -> Av1SequenceHeader:
    """Parses ``sequence_header_obu`` (AV1 5.5.1) and the first of its trailing bits."""
    r = BitReader(payload, "sequence header")
    seq_profile = r.u(3, "seq_profile")
    if seq_profile > 2:
        raise r.error("seq_profile", seq_profile, "0 to 2")
    still_picture = r.flag("still_picture")
    reduced = r.flag("reduced_still_picture_header")
    if reduced and not still_picture:
        raise r.error("reduced_still_picture_header", 1, "0 where still_picture is 0")
    timing_info = None
    model = None
    if reduced:
        points: tuple[Av1OperatingPoint, ...] = (
            Av1OperatingPoint(0, r.u(5, "seq_level_idx"), 0, False, None, None),  # noqa: FBT003
        )
    else:
        if r.flag("timing_info_present_flag"):
            timing_info = _timing_info(r)
            if r.flag("decoder_model_info_present_flag"):
                model = _decoder_model_info(r)
        points = _operating_points(r, model)
    frame_width_bits = r.u(4, "frame_width_bits_minus_1") + 1
    frame_height_bits = r.u(4, "frame_height_bits_minus_1") + 1
    max_frame_width = r.u(frame_width_bits, "max_frame_width_minus_1") + 1
    max_frame_height = r.u(frame_height_bits, "max_frame_height_minus_1") + 1
    frame_ids = not reduced and r.flag("frame_id_numbers_present_flag")
    delta_frame_id_length = id_length = 0
    if frame_ids:
        delta_frame_id_length = r.u(4, "delta_frame_id_length_minus_2") + 2
        id_length = r.u(3, "additional_frame_id_length_minus_1") + 1 + delta_frame_id_length
        if id_length > 16:
            raise r.error("idLen", id_length, "at most 16")
    use_128x128_superblock = r.flag("use_128x128_superblock")
    enable_filter_intra = r.flag("enable_filter_intra")
    enable_intra_edge_filter = r.flag("enable_intra_edge_filter")
    interintra = masked = warped = dual_filter = order_hint = jnt_comp = ref_frame_mvs = False
    screen_content_tools = integer_mv = SELECT
    order_hint_bits = 0
    if not reduced:
        interintra = r.flag("enable_interintra_compound")
        masked = r.flag("enable_masked_compound")
        warped = r.flag("enable_warped_motion")
        dual_filter = r.flag("enable_dual_filter")
        order_hint = r.flag("enable_order_hint")
        if order_hint:
            jnt_comp = r.flag("enable_jnt_comp")
            ref_frame_mvs = r.flag("enable_ref_frame_mvs")
        if not r.flag("seq_choose_screen_content_tools"):
            screen_content_tools = r.u(1, "seq_force_screen_content_tools")
        if screen_content_tools > 0 and not r.flag("seq_choose_integer_mv"):
            integer_mv = r.u(1, "seq_force_integer_mv")
        if order_hint:
            order_hint_bits = r.u(3, "order_hint_bits_minus_1") + 1
    enable_superres = r.flag("enable_superres")
    enable_cdef = r.flag("enable_cdef")
    enable_restoration = r.flag("enable_restoration")
    color_config = parse_color_config(r, seq_profile)
    film_grain_params_present = r.flag("film_grain_params_present")
    if not r.flag("trailing_one_bit"):
        raise r.error("trailing_one_bit", 0, "1")
    return Av1SequenceHeader(
        seq_profile=seq_profile,
        still_picture=still_picture,
        reduced_still_picture_header=reduced,
        timing_info=timing_info,
        decoder_model_info=model,
        operating_points=points,
        frame_width_bits=frame_width_bits,
        frame_height_bits=frame_height_bits,
        max_frame_width=max_frame_width,
        max_frame_height=max_frame_height,
        frame_id_numbers_present_flag=frame_ids,
        delta_frame_id_length=delta_frame_id_length,
        id_length=id_length,
        use_128x128_superblock=use_128x128_superblock,
        enable_filter_intra=enable_filter_intra,
        enable_intra_edge_filter=enable_intra_edge_filter,
        enable_interintra_compound=interintra,
        enable_masked_compound=masked,
        enable_warped_motion=warped,
        enable_dual_filter=dual_filter,
        enable_order_hint=order_hint,
        enable_jnt_comp=jnt_comp,
        enable_ref_frame_mvs=ref_frame_mvs,
        seq_force_screen_content_tools=screen_content_tools,
        seq_force_integer_mv=integer_mv,
        order_hint_bits=order_hint_bits,
        enable_superres=enable_superres,
        enable_cdef=enable_cdef,
        enable_restoration=enable_restoration,
        color_config=color_config,
        film_grain_params_present=film_grain_params_present,
    )


def _timing_info(r: BitReader) -> Av1TimingInfo:
    num_units_in_display_tick = r.u(32, "num_units_in_display_tick")
    time_scale = r.u(32, "time_scale")
    equal_picture_interval = r.flag("equal_picture_interval")
    ticks = r.uvlc("num_ticks_per_picture_minus_1") if equal_picture_interval else 0
    return Av1TimingInfo(num_units_in_display_tick, time_scale, equal_picture_interval, ticks)


def _decoder_model_info(r: BitReader) -> Av1DecoderModelInfo:
    return Av1DecoderModelInfo(
        buffer_delay_length_minus_1=r.u(5, "buffer_delay_length_minus_1"),
        num_units_in_decoding_tick=r.u(32, "num_units_in_decoding_tick"),
        buffer_removal_time_length_minus_1=r.u(5, "buffer_removal_time_length_minus_1"),
        frame_presentation_time_length_minus_1=r.u(5, "frame_presentation_time_length_minus_1"),
    )


def _operating_points(
    r: BitReader, model: Av1DecoderModelInfo | None
) -> tuple[Av1OperatingPoint, ...]:
    display_delays = r.flag("initial_display_delay_present_flag")
    points = []
    for _ in range(r.u(5, "operating_points_cnt_minus_1") + 1):
        idc = r.u(12, "operating_point_idc")
        seq_level_idx = r.u(5, "seq_level_idx")
        seq_tier = r.u(1, "seq_tier") if seq_level_idx > 7 else 0
        info = None
        if model is not None and r.flag("decoder_model_present_for_this_op"):
            bits = model.buffer_delay_length_minus_1 + 1
            decoder_buffer_delay = r.u(bits, "decoder_buffer_delay")
            encoder_buffer_delay = r.u(bits, "encoder_buffer_delay")
            info = (decoder_buffer_delay, encoder_buffer_delay, r.flag("low_delay_mode_flag"))
        delay = None
        if display_delays and r.flag("initial_display_delay_present_for_this_op"):
            delay = r.u(4, "initial_display_delay_minus_1")
        points.append(
            Av1OperatingPoint(idc, seq_level_idx, seq_tier, info is not None, info, delay)
        )
    return tuple(points)
