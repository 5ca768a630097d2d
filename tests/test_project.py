"""The repository keeps its own rules: scripts, licence, changelog, pins, layers."""

import hashlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = [
    ".ci/run",
    "tools/bench/run",
    "tools/check",
    "tools/demo",
    "tools/setup-env",
    "tools/test",
]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(ROOT / script)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_can_be_executed_and_stops_at_the_first_error(script: str) -> None:
    path = ROOT / script
    assert os.access(path, os.X_OK)
    assert "\nset -euo pipefail\n" in path.read_text(encoding="utf-8")


def test_every_script_is_syntax_checked() -> None:
    """tools/check names the scripts; one that is added must be among them."""
    scripts = {
        str(path.relative_to(ROOT))
        for folder in ("tools", "tools/bench", ".ci")
        for path in (ROOT / folder).iterdir()
        if path.is_file() and path.read_bytes().startswith(b"#!/usr/bin/env bash")
    }
    assert scripts == set(SCRIPTS)
    named = re.search(r"bash -n (.*)", (ROOT / "tools/check").read_text(encoding="utf-8"))
    assert named is not None
    assert set(named[1].split()) == scripts


def test_an_up_to_date_environment_is_reused_and_named_on_standard_output(tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin/python").symlink_to(sys.executable)
    (environment / "pyvenv.cfg").touch()
    hashed = hashlib.sha256()
    for name in ("pyproject.toml", "tools/setup-env", "tools/azurite/package.json"):
        hashed.update((ROOT / name).read_bytes())
    hashed.update(f"{ROOT}\n".encode())
    (environment / "videoformat-stamp").write_text(f"{hashed.hexdigest()}  -\n")
    done = run("tools/setup-env", VIDEOFORMAT_VENV=str(environment))
    assert (done.returncode, done.stdout) == (0, f"{environment}\n")
    assert "unchanged" in done.stderr


def test_a_folder_that_is_no_environment_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine")
    done = run("tools/setup-env", VIDEOFORMAT_VENV=str(tmp_path))
    assert done.returncode == 1
    assert "is not a virtual environment" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_an_interpreter_that_is_too_old_is_refused_by_name(tmp_path: Path) -> None:
    old = tmp_path / "python3.9"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    done = run(
        "tools/setup-env",
        VIDEOFORMAT_VENV=str(tmp_path / "environment"),
        VIDEOFORMAT_PYTHON=str(old),
    )
    assert done.returncode == 1
    assert f"VIDEOFORMAT_PYTHON={old} is not a Python 3.11 or newer" in done.stderr
    assert not (tmp_path / "environment").exists()


@pytest.mark.parametrize(
    ("user", "message"),
    [
        (1000, "has no venv module; on Debian or Ubuntu: apt-get install {package}"),
        (0, "apt-get could not install {package}"),
    ],
    ids=["user", "root"],
)
def test_a_missing_venv_module_is_named_by_its_package(
    tmp_path: Path, user: int, message: str
) -> None:
    programs = {
        "python": f'case "$*" in *ensurepip*) exit 1 ;; *) exec {sys.executable} "$@" ;; esac',
        "id": f"echo {user}",
        "apt-get": f'echo "$*" >>{tmp_path}/apt-get.log; [ "$1" = update ]',
    }
    for name, body in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    done = run(
        "tools/setup-env",
        PATH=f"{tmp_path}:{os.environ['PATH']}",
        VIDEOFORMAT_VENV=str(tmp_path / "environment"),
        VIDEOFORMAT_PYTHON=str(tmp_path / "python"),
    )
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    assert done.returncode == 1
    assert message.format(package=package) in done.stderr
    asked = tmp_path / "apt-get.log"
    assert asked.exists() == (user == 0)
    if user == 0:
        assert asked.read_text() == f"update -qq\ninstall -y -qq {package}\n"


def test_tools_are_pinned() -> None:
    for requirement in PROJECT["project"]["optional-dependencies"]["dev"]:
        assert re.fullmatch(r"[a-z0-9-]+==[0-9.]+", requirement), requirement


def test_dependencies_have_bounds() -> None:
    for requirement in PROJECT["project"]["dependencies"]:
        assert ">=" in requirement, requirement


def test_the_licence_is_the_one_that_the_package_names() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert PROJECT["project"]["license"] == "Apache-2.0"
    assert "Apache License\n                           Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_changelog_has_an_unreleased_section_on_top() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)[0] == "Unreleased"


def test_every_package_is_declared_to_be_typed() -> None:
    assert (ROOT / "videoformat/py.typed").exists()
    assert PROJECT["tool"]["setuptools"]["package-data"]["videoformat"] == ["py.typed"]


def test_every_module_has_its_place_in_the_layers() -> None:
    """A module outside the contract could import anything; so a new one must be named there."""
    layers = PROJECT["tool"]["importlinter"]["contracts"][0]["layers"]
    named = {name.strip("() ") for layer in layers for name in layer.split("|")}
    modules = {
        f"videoformat.{path.stem}"
        for path in (ROOT / "videoformat").iterdir()
        if path.stem != "__init__" and (path.suffix == ".py" or (path / "__init__.py").exists())
    }
    assert modules <= named
