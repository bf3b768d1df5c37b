"""The house keeps its shape: adapters → bot → memory, never back, and the picture of it is true."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from scripts.house import (
    Import,
    circles,
    files,
    homonyms,
    import_graph,
    module_name,
    tree_of,
    upward_imports,
)

ROOT = Path(__file__).parent.parent
PACKAGES = ("adapters", "bot", "memory")
MAY_IMPORT = {"memory": {"memory"}, "bot": {"bot", "memory"}, "adapters": {"adapters", "bot", "memory"}}
COMPOSITION_ROOT = "bot.service.adapters"
HEAVY = {"aiohttp", "discord", "httpx", "numpy", "prompt_toolkit", "rich", "telegram"}
LIGHT_MODULES = ("bot.cli.main", "bot.config.settings", "memory.memory")
VAGUE_FILES = re.compile(r"(utils?|helpers?|common|misc|managers?|handlers?)")
VAGUE_CLASSES = re.compile(r"\w+(Manager|Handler|Helper|Utils)")
HANDLERS = ROOT / "bot/log/setup.py"
"""Handlers as the standard library's logging means them."""


FILES = files(*PACKAGES)
MODULES = {module_name(file): file for file in FILES}


def imports_in(node: ast.AST, package: str) -> Iterator[Import]:
    """Every import below `node`: at the top, in functions, and `import_module("…")` with a literal name."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=names):
                yield from (Import(alias.name, child.lineno) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                parent = package.split(".")[: len(package.split(".")) - level + 1] if level else []
                origin = ".".join([*parent, *([module] if module else [])])
                # `from bot import cli` may name a module or a thing inside one: both are told.
                yield Import(origin, child.lineno)
                yield from (Import(f"{origin}.{alias.name}", child.lineno) for alias in names)
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__")
            ):
                match child.args:
                    case [ast.Constant(value=str(name)), *_]:
                        yield Import(name, child.lineno)
        yield from imports_in(child, package)


@cache
def imports_of(module: str) -> list[Import]:
    file = MODULES[module]
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    return list(imports_in(tree_of(file), package))


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_point_one_way(package: str) -> None:
    wrong = [
        f"{MODULES[module].relative_to(ROOT)}:{found.line} imports {found.module}"
        for module in MODULES
        if module.split(".")[0] == package
        for found in imports_of(module)
        if (top := found.module.split(".")[0]) in PACKAGES
        and top not in MAY_IMPORT[package]
        and not (module == COMPOSITION_ROOT and top == "adapters")
    ]
    assert wrong == []


def test_importing_makes_no_circle() -> None:
    """Imports inside functions count, too: they hide a circle, and do not end it."""
    assert circles(import_graph(MODULES)) == []


def test_no_two_classes_share_a_name() -> None:
    assert homonyms(FILES) == []


def test_only_the_top_reaches_for_what_puts_everything_together() -> None:
    assert upward_imports(MODULES) == []


@pytest.mark.parametrize("module", LIGHT_MODULES)
def test_importing_brings_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({HEAVY!r} & sys.modules.keys()))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr, run.stdout.split()) == (0, "", [])


def test_importing_does_nothing(tmp_path: Path) -> None:
    names = [name for name in MODULES if name != "bot.__main__"]
    code = f"import importlib\nfor name in {names!r}: importlib.import_module(name)"
    environment = {"HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(
        # discord.py's own, on Python 3.11 and 3.12.
        [sys.executable, "-W", "error", "-W", "ignore:'audioop' is deprecated", "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout + run.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_names_say_what_a_thing_is() -> None:
    named = [file for file in FILES if file != HANDLERS]
    vague = [str(file.relative_to(ROOT)) for file in named if VAGUE_FILES.fullmatch(file.stem)]
    for file in named:
        classes = [node.name for node in ast.walk(tree_of(file)) if isinstance(node, ast.ClassDef)]
        vague += [f"{file.relative_to(ROOT)}: {name}" for name in classes if VAGUE_CLASSES.fullmatch(name)]
    assert vague == []


def test_every_module_says_what_it_holds() -> None:
    assert [str(file.relative_to(ROOT)) for file in FILES if not ast.get_docstring(tree_of(file))] == []


def drawn_paths(drawing: str) -> set[str]:
    """The paths of an indented tree. A line: names, two blanks, what it is; a folder ends in `/`."""
    paths: set[str] = set()
    folders: list[str] = []
    for line in drawing.splitlines():
        names = re.split(r"\s{2,}", line.strip())[0].split()
        depth = (len(line) - len(line.lstrip())) // 2
        folders = folders[:depth]
        paths.update("".join([*folders, name]) for name in names)
        if names and names[-1].endswith("/"):
            folders.append(names[-1])
    return paths


def test_the_picture_shows_every_folder() -> None:
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    drawn = drawn_paths(text.split("```text\n", 1)[1].split("```", 1)[0])
    ignored = [
        line.strip("/") for line in (ROOT / ".gitignore").read_text("utf-8").split() if line.endswith("/")
    ]
    folders = {
        f"{path.name}/"
        for path in ROOT.iterdir()
        if path.is_dir() and path.name[0] != "." and not any(map(path.match, ignored))
    }
    packages = {f"{file.parent.relative_to(ROOT)}/" for file in FILES}
    assert sorted((folders | packages) - drawn) == [], "missing in docs/architecture.md"
    assert sorted(path for path in drawn if not (ROOT / path).exists()) == [], (
        "in docs/architecture.md, but gone"
    )
