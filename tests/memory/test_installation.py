"""What people are told to type fits how Commonplace was installed."""

import shlex
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from memory.installation import (
    IMAGE_PREFIX,
    Extra,
    Installation,
    find_installation,
    how_to_add,
    how_to_install,
    how_to_reinstall,
    this_installation,
)

ROOT = Path(__file__).parents[2]


def test_this_is_a_clone() -> None:
    assert this_installation() is Installation.CLONE
    assert how_to_add("local") == "make local, in your clone"


@pytest.mark.parametrize(
    ("mark", "installation"),
    [
        ("pipx_metadata.json", Installation.PIPX),
        ("uv-receipt.toml", Installation.UV_TOOL),
        ("pyvenv.cfg", Installation.PIP),
    ],
)
def test_an_installed_one_is_known_by_what_its_tool_left(
    tmp_path: Path, mark: str, installation: Installation
) -> None:
    (tmp_path / mark).touch()
    packages = tmp_path / "lib/python3.13/site-packages"
    assert find_installation(packages, tmp_path) is installation
    assert find_installation(packages, IMAGE_PREFIX) is Installation.IMAGE
    assert find_installation(ROOT, tmp_path) is Installation.CLONE


def test_the_image_has_its_environment_where_it_is_looked_for() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    assert f"python -m venv --without-pip {IMAGE_PREFIX}\n" in dockerfile
    for extra in ("local", "mcp", "postgres"):
        assert f"\nARG {extra.upper()}=false\n" in dockerfile
        command = f"docker/setup {extra.upper()}=true && docker compose build"
        assert how_to_add(extra, Installation.IMAGE) == f"{command}, in your clone"


@pytest.mark.parametrize("extra", ["local", "mcp", "postgres"])
def test_outside_a_clone_the_libraries_are_those_of_the_extra(extra: Extra) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = list(map(Requirement, project["optional-dependencies"][extra]))
    for installation, command in {
        Installation.PIPX: ["pipx", "inject", "commonplace"],
        Installation.UV_TOOL: ["uv", "pip", "install", "--python", sys.executable],
        Installation.PIP: [sys.executable, "-m", "pip", "install"],
    }.items():
        words = shlex.split(how_to_add(extra, installation))
        assert words[: len(command)] == command
        assert list(map(Requirement, words[len(command) :])) == wanted


def test_no_command_asks_a_registry_for_commonplace() -> None:
    """In PyPI that is another program."""
    told = [how_to_reinstall(each) for each in Installation]
    told += [how_to_install("--upgrade", "apsw", installation=each) for each in Installation]
    told += [how_to_add("mcp", each) for each in Installation]
    for line in told:
        assert "commonplace[" not in line
        assert not ("pip install" in line and " commonplace" in line.partition("install")[2]), line
