"""How Commonplace was installed, and so where its documents are and what to type to add a library."""

import shlex
import sys
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Literal

from memory.translatable import Translatable

IMAGE_PREFIX = Path("/opt/commonplace")
"""The environment in the image that the Dockerfile makes."""

INSTALLED_DOCUMENTS = "share/doc/commonplace"
"""Where the wheel puts them, below the environment; pyproject.toml says so."""


class Installation(Enum):
    """A way to install Commonplace."""

    CLONE = "clone"
    IMAGE = "image"
    PIPX = "pipx"
    UV_TOOL = "uv tool"
    PIP = "pip"


Extra = Literal["local", "mcp", "postgres"]
"""Libraries that only some people need: an extra in pyproject.toml, and a target in the Makefile."""


@cache
def this_installation() -> Installation:
    """Return how the Commonplace that runs here was installed."""
    return find_installation(Path(__file__).resolve().parent.parent, Path(sys.prefix))


def find_installation(source: Path, prefix: Path) -> Installation:
    """Return how Commonplace was installed, whose packages are in `source` and whose environment is `prefix`."""
    if (source / "Makefile").is_file() and (source / "pyproject.toml").is_file():
        return Installation.CLONE
    if prefix == IMAGE_PREFIX:
        return Installation.IMAGE
    if (prefix / "pipx_metadata.json").is_file():
        return Installation.PIPX
    if (prefix / "uv-receipt.toml").is_file():
        return Installation.UV_TOOL
    return Installation.PIP


def documents_folder(installation: Installation | None = None) -> Path | None:
    """Return the folder that holds README.md and docs/; None if they were left out, as in the image."""
    if (installation or this_installation()) is Installation.CLONE:
        return Path(__file__).resolve().parent.parent
    folder = Path(sys.prefix) / INSTALLED_DOCUMENTS
    return folder if (folder / "README.md").is_file() else None


def how_to_add(extra: Extra, installation: Installation | None = None) -> str:
    """Return what to type to install the libraries of an extra, for after "run".

    No command asks for `commonplace[mcp]`: in a registry, `commonplace` is another program.
    """
    match installation or this_installation():
        case Installation.CLONE:
            return Translatable("{command}, in your clone", command=f"make {extra}")
        case Installation.IMAGE:
            command = f"docker/setup {extra.upper()}=true && docker compose build"
            return Translatable("{command}, in your clone", command=command)
        case Installation.PIPX:  # it remembers what was injected, and installs it again with each upgrade
            return shlex.join(["pipx", "inject", "commonplace", *_requirements(extra)])
        case other:
            return how_to_install(*_requirements(extra), installation=other)


def how_to_install(*arguments: str, installation: Installation | None = None) -> str:
    """Return what to type to call pip's `install` in the environment that Commonplace runs in."""
    match installation or this_installation():
        case Installation.PIPX:
            command = ["pipx", "runpip", "commonplace", "install"]
        case Installation.UV_TOOL:
            command = ["uv", "pip", "install", "--python", sys.executable]
        case _:
            command = [sys.executable, "-m", "pip", "install"]
    return shlex.join([*command, *arguments])


def how_to_reinstall(installation: Installation | None = None) -> str:
    """Return how to install Commonplace once more with all that it needs, for after "run"."""
    match installation or this_installation():
        case Installation.CLONE:
            return "make clean and make install, in your clone"
        case Installation.IMAGE:
            return "docker compose build, in your clone"
        case Installation.PIPX:
            return "pipx reinstall commonplace"
        case Installation.UV_TOOL:
            return "uv tool upgrade --reinstall commonplace"
        case Installation.PIP:
            return f"{shlex.join([sys.executable, '-m', 'pip', 'install', '--force-reinstall'])} WHEEL"


def _requirements(extra: Extra) -> list[str]:
    """Return the libraries of an extra, such as `mcp>=2.3,<3`, by the metadata of what is installed."""
    from importlib.metadata import requires

    lines = (line.partition(";") for line in requires("commonplace") or ())
    return [
        library.strip() for library, _, marker in lines if f"extra == '{extra}'" in marker.replace('"', "'")
    ]
