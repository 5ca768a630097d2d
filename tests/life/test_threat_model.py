"""Every line of the threat model names tests that exist."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "spec/threat_model.md").read_text()
LINES = [line for line in TEXT.splitlines() if line.startswith("| ")][1:]


def functions(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_line_names_a_test_that_exists() -> None:
    assert len(LINES) > 10
    for line in LINES:
        _, threat, _, tests, _ = line.split("|")
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", tests)
        assert named, threat
        assert len(named) == tests.count("`") // 2
        for path, name in named:
            assert name in functions(path), (threat, name)
