"""Writes small LeRobot datasets without LeRobot; ``tools/make_lerobot.py`` is the way in."""
