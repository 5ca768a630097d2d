"""The specification's text: short, whole, and equal to the code wherever it lists names."""

import re
from pathlib import Path

import minimal_reader
import pytest

from videoformat.bitstream.codecs import INDEXERS, byte_stream
from videoformat.index.features import RESERVED_COLUMNS
from videoformat.index.pictures import ACCESS_KINDS
from videoformat.media.color import MATRICES, PRIMARIES, RANGES, TRANSFERS
from videoformat.media.decoder import DECODERS
from videoformat.media.gop import DDRA_CLOSURE_BOUND

SPEC = Path(__file__).parents[2] / "spec"
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in (SPEC / "v1").glob("*.md")}


def section(title: str) -> str:
    return TEXTS["registry.md"].split(f"\n## {title}\n")[1].split("\n## ")[0]


def first_column(title: str) -> list[str]:
    cells = re.findall(r"^\| (`[^|]*`) \|", section(title), re.MULTILINE)
    return [name for cell in cells[1:] for name in re.findall(r"`([^`]+)`", cell)]


def test_it_is_short() -> None:
    assert sum(len(text.splitlines()) for text in TEXTS.values()) <= 600


@pytest.mark.parametrize("path", sorted(SPEC.rglob("*.md")), ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        found = path.parent / name if name else path
        assert found.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", found.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in [heading.lower().replace(" ", "-") for heading in headings], target


def test_the_registry_names_the_codecs_and_their_decoders() -> None:
    table = re.findall(r"^\| `(\w+)` \| [^|]+ \| `(\w+)` \|", section("Codecs"), re.MULTILINE)
    assert dict(table) == DECODERS
    assert set(DECODERS) == set(INDEXERS)


def test_the_registry_names_the_framings() -> None:
    names = first_column("Framings")
    assert len(names) >= 3
    for name in names:
        byte_stream(name)


def test_the_registry_names_the_access_kinds() -> None:
    assert first_column("Access kinds") == list(ACCESS_KINDS)


def test_the_registry_names_the_colours() -> None:
    rows = dict(re.findall(r"^\| `(color_\w+)` \| (.+) \|$", section("Colour names"), re.MULTILINE))
    for field, known in (
        ("color_matrix", MATRICES),
        ("color_primaries", PRIMARIES),
        ("color_transfer", TRANSFERS),
    ):
        named = {name: int(code) for name, code in re.findall(r"`([\w-]+)` (\d+)", rows[field])}
        assert named == known
    assert re.findall(r"`(\w+)`", rows["color_range"]) == list(RANGES)


def test_the_weights_of_the_matrices_are_those_of_the_minimal_reader() -> None:
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([\d.]+) \| ([\d.]+) \|$",
                      TEXTS["bitstream.md"], re.MULTILINE)  # fmt: skip
    weights = {
        name: (float(kr), float(kb))
        for names, kr, kb in rows
        for name in re.findall(r"`(\w+)`", names)
    }
    assert weights == minimal_reader.MATRICES
    assert set(weights) == set(MATRICES) - {"gbr"}


def test_reserved_columns_are_those_of_the_table() -> None:
    table = TEXTS["table.md"].split("\n## 1. ")[1].split("\n## ")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == RESERVED_COLUMNS


def test_the_bound_of_ddra_is_the_codes() -> None:
    assert f"`closure_bound` is at most {DDRA_CLOSURE_BOUND}" in TEXTS["bitstream.md"]


def test_every_vector_is_listed() -> None:
    listed = (SPEC / "vectors/README.md").read_text(encoding="utf-8")
    folders = {path.name for path in (SPEC / "vectors").iterdir() if path.is_dir()} - {"bad"}
    table = listed.split("| vector | shows |")[1].split("\n## ")[0]
    assert folders
    assert set(re.findall(r"`((?:av1|h264|hevc|lance)-[\w-]+)`", table)) == folders


def test_the_vectors_are_small() -> None:
    sizes = [path.stat().st_size for path in (SPEC / "vectors").rglob("*") if path.is_file()]
    assert sum(sizes) < 2**20
