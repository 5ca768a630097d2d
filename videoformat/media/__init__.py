"""Encoders, decoders, demuxers and colour: everything that touches FFmpeg."""
