"""Verifying what is stored: checksums, counts, structure, the index against the bytes, decoding."""

from videoformat.verify.report import Problem, VerifyProgress, VerifyReport
from videoformat.verify.run import verify

__all__ = ["Problem", "VerifyProgress", "VerifyReport", "verify"]
