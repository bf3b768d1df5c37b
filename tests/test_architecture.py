"""The house keeps its shape: adapters → bot → memory, never back, and the picture of it is true."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from scripts import house

ROOT = Path(__file__).parent.parent
PACKAGES = ("adapters", "bot", "memory")
MAY_IMPORT = {"memory": {"memory"}, "bot": {"bot", "memory"}, "adapters": {"adapters", "bot", "memory"}}
COMPOSITION_ROOT = "bot.service.adapters"
HEAVY = {"aiohttp", "discord", "httpx", "numpy", "prompt_toolkit", "rich", "telegram"}
LIGHT_MODULES = ("bot.cli.main", "bot.config.settings", "memory.memory")
VAGUE_FILES = re.compile(r"(utils?|helpers?|common|misc|managers?)")
VAGUE_CLASSES = re.compile(r"\w+(Manager|Helper|Utils)")


@dataclass(frozen=True, slots=True)
class Import:
    """One name that a module imports; `lazy` where the import stands inside a function."""

    name: str
    line: int
    lazy: bool


def module_name(file: Path) -> str:
    """`bot/models/__init__.py` is `bot.models`."""
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


FILES = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
MODULES = {module_name(file): file for file in FILES}


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def name_of(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in {name_of(each) for each in ast.walk(node.test)}


def imports_in(node: ast.AST, package: str, lazy: bool = False) -> Iterator[Import]:
    """Every import below `node`: at the top, in functions, and `import_module("…")` with a literal name."""
    for child in ast.iter_child_nodes(node):
        inside = (
            lazy
            or is_type_checking(child)
            or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        )
        match child:
            case ast.Import(names=names):
                yield from (Import(alias.name, child.lineno, lazy) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                parent = package.split(".")[: len(package.split(".")) - level + 1] if level else []
                origin = ".".join([*parent, *([module] if module else [])])
                # `from bot import cli` may name a module or a thing inside one: both are told.
                yield Import(origin, child.lineno, lazy)
                yield from (Import(f"{origin}.{alias.name}", child.lineno, lazy) for alias in names)
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__")
            ):
                match child.args:
                    case [ast.Constant(value=str(name)), *_]:
                        yield Import(name, child.lineno, lazy)
        yield from imports_in(child, package, inside)


@cache
def imports_of(module: str) -> list[Import]:
    file = MODULES[module]
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    return list(imports_in(tree_of(file), package))


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_point_one_way(package: str) -> None:
    wrong = [
        f"{MODULES[module].relative_to(ROOT)}:{found.line} imports {found.name}"
        for module in MODULES
        if module.split(".")[0] == package
        for found in imports_of(module)
        if (top := found.name.split(".")[0]) in PACKAGES
        and top not in MAY_IMPORT[package]
        and not (module == COMPOSITION_ROOT and top == "adapters")
    ]
    assert wrong == []


def test_importing_makes_no_circle() -> None:
    """Imports inside functions count, too: they hide a circle, and do not end it."""
    graph = {
        name: {each.module for each in house.imports_of(file, MODULES)} - {name}
        for name, file in MODULES.items()
    }
    assert house.circles(graph) == []


def test_no_two_classes_share_a_name() -> None:
    assert house.homonyms(FILES) == []


def test_only_the_top_reaches_for_what_puts_everything_together() -> None:
    assert house.upward_imports(MODULES) == []


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
    vague = [str(file.relative_to(ROOT)) for file in FILES if VAGUE_FILES.fullmatch(file.stem)]
    for file in FILES:
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
