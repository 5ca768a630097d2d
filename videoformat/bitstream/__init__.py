"""Bytes in, frozen values out: parsers of H.264, HEVC and AV1 headers. Standard library only, no I/O."""
