"""Numbers, tables and progress for people."""

import io

import pytest

from videoformat.commands.progress import ProgressLine
from videoformat.commands.text import aligned, byte_text, duration_text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.00 kB"),
        (9_994, "9.99 kB"),
        (9_996, "10.0 kB"),
        (99_960, "100 kB"),
        (999_499, "999 kB"),
        (999_500, "1.00 MB"),
        (1_230_000, "1.23 MB"),
        (5 * 10**18, "5000 PB"),
    ],
)
def test_bytes_have_three_digits(count: int, text: str) -> None:
    assert byte_text(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (8.24, "8.2 s"), (60, "1:00"), (187, "3:07"), (7387.2, "2:03:07")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_a_table_is_aligned() -> None:
    assert aligned([("name", "n"), ("a", 100), ("longer", 5)]) == [
        "name      n",
        "a       100",
        "longer    5",
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_one_line_in_place_and_wipes_it() -> None:
    stream, now = Terminal(), [0.0]
    with ProgressLine(stream, lambda: now[0]) as line:
        line.update("one")
        line.update("too soon")
        now[0] = 0.15
        line.update("two")
    assert stream.getvalue() == "\r\x1b[Kone\r\x1b[Ktwo\r\x1b[K"


def test_a_log_gets_a_line_every_ten_seconds() -> None:
    stream, now = io.StringIO(), [0.0]
    with ProgressLine(stream, lambda: now[0]) as line:
        for second in range(25):
            now[0] = float(second)
            line.update(f"at {second}")
    assert stream.getvalue() == "at 10\nat 20\n"
