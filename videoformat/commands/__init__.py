"""The commands of ``videoformat``, one a module."""
