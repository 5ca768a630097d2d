"""What the README and the report say of reading is what the committed results hold."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "tools/bench/results"


@pytest.fixture(scope="module")
def report() -> ModuleType:
    spec = importlib.util.spec_from_file_location("report", ROOT / "tools/bench/report.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_readme_says_what_was_measured(report: ModuleType) -> None:
    begin, end = report.MARKERS
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    said = text.partition(begin)[2].partition(end)[0]
    assert said.strip() == report.reports(RESULTS)[1].strip()


def test_the_report_says_what_was_measured(report: ModuleType) -> None:
    said = (RESULTS / "reading.md").read_text(encoding="utf-8")
    assert said == report.reports(RESULTS)[0]
