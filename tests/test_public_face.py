"""What ``import videoformat as vf`` offers: pinned names, documented, without heavy imports."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import videoformat as vf

# A name that is added or removed here is a decision about compatibility.
NAMES = [
    "DDRA",
    "ChunkBounds",
    "ConvertReport",
    "CopyReport",
    "Dataset",
    "EditReport",
    "ExportReport",
    "ReadOptions",
    "ReadPlan",
    "ReadReport",
    "Recorder",
    "RecoverReport",
    "Star",
    "VacuumReport",
    "VideoFormatError",
    "Writer",
    "add_feature",
    "convert",
    "create",
    "delete_episodes",
    "export",
    "log",
    "merge",
    "open",
    "recover",
    "set_episode_metadata",
    "split",
    "subset",
    "tag",
    "undelete",
    "untag",
    "vacuum",
]


def test_the_names_are_pinned() -> None:
    assert vf.__all__ == NAMES
    for name in NAMES:
        assert getattr(vf, name) is not None


# These need the torch extra.
WITH_TORCH = ("videoformat.torch", "videoformat.lerobot")


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.iter_modules(vf.__path__, "videoformat."):
        if found.name == "videoformat.__main__" or found.name in WITH_TORCH:
            continue
        module = importlib.import_module(found.name)
        yield module
        if found.ispkg:
            for inner in pkgutil.walk_packages(module.__path__, f"{found.name}."):
                yield importlib.import_module(inner.name)


MODULES = {module.__name__: module for module in modules()}


@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES)
def test_a_module_lists_what_it_offers_in_order(module: ModuleType) -> None:
    """Constants, then classes, then functions, as the linter sorts them; each of them there."""
    assert module.__doc__
    names = getattr(module, "__all__", [])
    assert list(names) == sorted(names, key=lambda n: (not n.isupper(), not n[:1].isupper(), n))
    assert len(set(names)) == len(names)
    for name in names:
        assert hasattr(module, name)


def documented(item: Any, name: str) -> Iterator[tuple[str, Any]]:
    """A public thing, and what is public in it if it is a class of ours."""
    yield name, item
    if inspect.isclass(item):
        for key, member in vars(item).items():
            function = getattr(member, "fget", None) or getattr(member, "func", member)
            function = getattr(function, "__func__", function)
            if not key.startswith("_") and inspect.isfunction(function):
                yield f"{name}.{key}", function


@pytest.mark.parametrize("name", NAMES)
def test_everything_public_has_a_docstring_that_begins_with_a_sentence(name: str) -> None:
    for where, item in documented(getattr(vf, name), name):
        text = inspect.getdoc(item)
        assert text, where
        first = text.split("\n\n")[0]
        assert first[0].isupper() or first[0] in "`(", where
        assert first.rstrip().endswith((".", "::", ":")), where


def test_what_a_public_call_raises_is_an_error_of_the_package() -> None:
    assert issubclass(vf.VideoFormatError, Exception)
    for act in (
        lambda: vf.open("/nowhere/at/all"),
        lambda: vf.create("/nowhere", fps=0, features={"n": {"dtype": "bool"}}),
        lambda: vf.DDRA(interval=0),
        lambda: vf.ChunkBounds(frames=0),
        lambda: vf.ReadOptions(decode_threads=0),
        lambda: vf.convert("/nowhere/at/all", "/nowhere"),
    ):
        with pytest.raises(vf.VideoFormatError):
            act()


def test_options_are_keyword_only() -> None:
    for name in ("create", "convert", "open"):
        parameters = inspect.signature(getattr(vf, name)).parameters.values()
        positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        assert positional[:1] in (["uri"], ["source"])
        assert len(positional) <= 3, name


def test_importing_the_package_imports_no_torch_and_says_nothing() -> None:
    script = (
        "import sys, videoformat; "
        "print(sorted({'torch', 'matplotlib', 'PIL', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
