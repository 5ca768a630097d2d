"""Reading and writing the bit-level primitives of H.264, HEVC and AV1.

Descriptors: ``u(n)``, ``ue(v)``, ``se(v)`` are clause 7.2 and 9.1 of ITU-T H.264 (7.2 and 9.2 of
H.265); ``f(n)`` is AV1's name for ``u(n)``, and ``su``, ``ns``, ``le``, ``leb128``, ``uvlc`` are
clause 4.10 of the AV1 specification.

Strategy: the bytes are turned into one string of ``0`` and ``1`` once; every read is then a slice
and an ``int(…, 2)``, which in CPython is several times faster than shifting bytes, and a writer can
copy a run of syntax elements that it does not change as a substring.
"""

from __future__ import annotations

from videoformat.errors import BitstreamError

__all__ = ["BitReader", "OutOfBitsError", "bits_to_bytes", "se_bits", "u_bits", "ue_bits"]


class OutOfBitsError(BitstreamError):
    """The data ended inside a syntax element."""


class BitReader:
    """Reads syntax elements in order; every read carries the element's name for the error.

    ``where`` says what is being read (``"SPS"``, ``"slice header of NAL type 1"``). ``position`` is
    in bits from the start of the data.
    """

    __slots__ = ("bits", "position", "where")

    def __init__(self, data: bytes, where: str = "bitstream") -> None:
        # The leading 1 keeps leading zero bits.
        self.bits: str = bin(int.from_bytes(b"\x01" + data, "big"))[3:]
        self.position: int = 0
        self.where = where

    @property
    def remaining(self) -> int:
        """Bits that are left."""
        return len(self.bits) - self.position

    def _out_of_bits(self, name: str, needed: int) -> OutOfBitsError:
        return OutOfBitsError(
            f"{self.where}: {name} at bit {self.position} needs {needed} bits, "
            f"{max(self.remaining, 0)} are left"
        )

    def error(self, name: str, value: object, expected: str) -> BitstreamError:
        """An error about the element that was just read."""
        return BitstreamError(
            f"{self.where}: {name} before bit {self.position} is {value}, expected {expected}"
        )

    def u(self, bits: int, name: str) -> int:
        """``u(n)`` / ``f(n)``: an unsigned integer, most significant bit first."""
        if bits == 0:
            return 0
        start = self.position
        end = start + bits
        if end > len(self.bits):
            raise self._out_of_bits(name, bits)
        self.position = end
        return int(self.bits[start:end], 2)

    def flag(self, name: str) -> bool:
        """``u(1)`` as a bool."""
        start = self.position
        if start >= len(self.bits):
            raise self._out_of_bits(name, 1)
        self.position = start + 1
        return self.bits[start] == "1"

    def skip(self, bits: int, name: str) -> None:
        """Passes over bits whose value does not matter here."""
        if self.position + bits > len(self.bits):
            raise self._out_of_bits(name, bits)
        self.position += bits

    def ue(self, name: str, maximum: int = 2**32 - 2) -> int:
        """``ue(v)``: an unsigned Exp-Golomb code (H.264 9.1), refused above ``maximum``."""
        start = self.position
        bits = self.bits
        one = bits.find("1", start)
        if one == start:  # the commonest code of all is the 0
            self.position = start + 1
            return 0
        end = 2 * one - start + 1
        if one < 0 or end > len(bits):
            needed = end - start if one > 0 else max(self.remaining, 0) + 1
            raise self._out_of_bits(name, needed)
        if one - start > 32:
            raise BitstreamError(
                f"{self.where}: {name} at bit {start} has {one - start} leading zeros, "
                "at most 32 are legal"
            )
        self.position = end
        value = int(bits[one:end], 2) - 1
        if value > maximum:
            raise self.error(name, value, f"at most {maximum}")
        return value

    def se(self, name: str) -> int:
        """``se(v)``: a signed Exp-Golomb code; 1, 2, 3, 4 map to 1, -1, 2, -2 (H.264 table 9-3)."""
        value = self.ue(name)
        return (value + 1) >> 1 if value & 1 else -(value >> 1)

    def su(self, bits: int, name: str) -> int:
        """AV1 ``su(n)``: an ``n``-bit two's-complement integer (AV1 4.10.6)."""
        value = self.u(bits, name)
        return value - (1 << bits) if value & (1 << (bits - 1)) else value

    def ns(self, count: int, name: str) -> int:
        """AV1 ``ns(n)``: a value below ``count`` in a non-symmetric code (AV1 4.10.7)."""
        width = count.bit_length()
        short = (1 << width) - count
        value = self.u(width - 1, name)
        if value < short:
            return value
        return (value << 1) - short + self.u(1, name)

    def le(self, octets: int, name: str) -> int:
        """AV1 ``le(n)``: ``n`` bytes, least significant first (AV1 4.10.4)."""
        return int.from_bytes(self.u(8 * octets, name).to_bytes(octets, "big"), "little")

    def leb128(self, name: str) -> int:
        """AV1 ``leb128()``: at most eight bytes and at most 2³² - 1 (AV1 4.10.5)."""
        value = 0
        for index in range(8):
            octet = self.u(8, name)
            value |= (octet & 0x7F) << (7 * index)
            if not octet & 0x80:
                if value > 0xFFFFFFFF:
                    raise self.error(name, value, "at most 4294967295")
                return value
        raise self.error(name, "a leb128 of more than 8 bytes", "at most 8 bytes")

    def uvlc(self, name: str) -> int:
        """AV1 ``uvlc()`` (AV1 4.10.3)."""
        zeros = 0
        while not self.flag(name):
            zeros += 1
        if zeros >= 32:
            return 2**32 - 1
        return (1 << zeros) - 1 + self.u(zeros, name)

    @property
    def byte_aligned(self) -> bool:
        """Whether the position is at a byte's first bit."""
        return self.position % 8 == 0

    def more_rbsp_data(self) -> bool:
        """``more_rbsp_data()``: whether anything precedes ``rbsp_trailing_bits`` (H.264 7.2)."""
        return self.bits.rfind("1") > self.position


def u_bits(value: int, bits: int) -> str:
    """``u(n)`` as a string of bits; the value must fit."""
    if not 0 <= value < 1 << bits:
        raise BitstreamError(f"{value} does not fit in u({bits})")
    return format(value, f"0{bits}b") if bits else ""


def ue_bits(value: int) -> str:
    """``ue(v)`` as a string of bits."""
    if 0 <= value < len(_SHORT_CODES):
        return _SHORT_CODES[value]
    if not 0 <= value <= 2**32 - 2:
        raise BitstreamError(f"{value} is outside the range of ue(v)")
    return _exp_golomb(value)


def _exp_golomb(value: int) -> str:
    code = f"{value + 1:b}"
    return "0" * (len(code) - 1) + code


_SHORT_CODES = tuple(_exp_golomb(value) for value in range(64))


def se_bits(value: int) -> str:
    """``se(v)`` as a string of bits."""
    return ue_bits(2 * value - 1 if value > 0 else -2 * value)


def bits_to_bytes(bits: str) -> bytes:
    """A string of bits, a whole number of bytes long, as bytes."""
    if len(bits) % 8:
        raise BitstreamError(f"{len(bits)} bits are not a whole number of bytes")
    return int("1" + bits, 2).to_bytes(len(bits) // 8 + 1, "big")[1:]
