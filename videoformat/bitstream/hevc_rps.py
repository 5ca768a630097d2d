"""Short-term reference picture sets (ITU-T H.265 7.3.7, 7.4.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from videoformat.bitstream.bits import BitReader

__all__ = ["MAXIMUM_PICTURES", "ShortTermRefPicSet", "parse_st_ref_pic_set"]

# MaxDpbSize is at most 16 (A.4.2), and the current picture takes one.
MAXIMUM_PICTURES = 15


@dataclass(frozen=True, slots=True)
class ShortTermRefPicSet:
    """One short-term reference picture set.

    Each entry is (order count relative to the current picture, whether the current picture may
    use it): ``negative_pics`` are DeltaPocS0 and UsedByCurrPicS0, ``positive_pics`` DeltaPocS1 and
    UsedByCurrPicS1, each nearest first.
    """

    negative_pics: tuple[tuple[int, bool], ...] = ()
    positive_pics: tuple[tuple[int, bool], ...] = ()

    @property
    def used_by_curr_pic(self) -> int:
        """How many entries the current picture may use."""
        return sum(used for _, used in self.negative_pics) + sum(
            used for _, used in self.positive_pics
        )


def parse_st_ref_pic_set(
    reader: BitReader, candidates: Sequence[ShortTermRefPicSet], *, in_slice_header: bool
) -> ShortTermRefPicSet:
    """``st_ref_pic_set(stRpsIdx)``, where stRpsIdx is the number of ``candidates``.

    In an SPS the candidates for prediction are the sets before it, and the last of them is taken.
    In a slice segment header they are all sets of the SPS, and ``delta_idx_minus1`` says which.
    """
    if candidates and reader.flag("inter_ref_pic_set_prediction_flag"):
        delta_idx = 1
        if in_slice_header:
            delta_idx += reader.ue("delta_idx_minus1", len(candidates) - 1)
        return _predicted(reader, candidates[len(candidates) - delta_idx])
    num_negative_pics = reader.ue("num_negative_pics", MAXIMUM_PICTURES)
    num_positive_pics = reader.ue("num_positive_pics", MAXIMUM_PICTURES - num_negative_pics)
    delta = 0
    negative = []
    for _ in range(num_negative_pics):
        delta -= reader.ue("delta_poc_s0_minus1", 0x7FFF) + 1
        negative.append((delta, reader.flag("used_by_curr_pic_s0_flag")))
    delta = 0
    positive = []
    for _ in range(num_positive_pics):
        delta += reader.ue("delta_poc_s1_minus1", 0x7FFF) + 1
        positive.append((delta, reader.flag("used_by_curr_pic_s1_flag")))
    return ShortTermRefPicSet(tuple(negative), tuple(positive))


def _predicted(reader: BitReader, reference: ShortTermRefPicSet) -> ShortTermRefPicSet:
    delta_rps_sign = reader.flag("delta_rps_sign")
    delta_rps = reader.ue("abs_delta_rps_minus1", 0x7FFF) + 1
    if delta_rps_sign:
        delta_rps = -delta_rps
    # The flags come for the reference set's entries, S0 before S1, then for the picture that the
    # reference set belonged to. (7-61) and (7-62) visit the same sums in the order of their size;
    # sums are distinct, since the entries of a set are distinct and none is 0.
    sums = [delta + delta_rps for delta, _ in reference.negative_pics + reference.positive_pics]
    kept = []
    for delta in [*sums, delta_rps]:
        used = reader.flag("used_by_curr_pic_flag")
        if used or reader.flag("use_delta_flag"):
            kept.append((delta, used))
    kept.sort()
    negative = tuple(entry for entry in reversed(kept) if entry[0] < 0)
    positive = tuple(entry for entry in kept if entry[0] > 0)
    if len(negative) + len(positive) > MAXIMUM_PICTURES:
        raise reader.error(
            "st_ref_pic_set",
            f"a set of {len(negative) + len(positive)} pictures",
            f"at most {MAXIMUM_PICTURES}",
        )
    return ShortTermRefPicSet(negative, positive)
