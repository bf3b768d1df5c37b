"""Print code metrics: files, lines, function lengths, import cycles, duplicate class names.

`--check` exits with 1 if two classes share a name, or if imports in `bot/`, including those inside functions,
form a cycle or point upwards. `--names` lists the violations. Reads the tree beside it; writes nothing.
"""

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).parent.parent
PRODUCT = ("adapters", "bot", "memory")
TOP = ("bot.app", "bot.cli", "bot.service")
"""Modules that only `bot/__main__.py` and these may import: they assemble everything else."""


@dataclass(frozen=True, slots=True)
class Import:
    """An import of one module by another."""

    module: str
    line: int


def files(*folders: str) -> list[Path]:
    """Return the Python files of folders, sorted."""
    return sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))


@cache
def tree_of(file: Path) -> ast.Module:
    """Parse a file."""
    return ast.parse(file.read_text("utf-8"))


def module_name(file: Path) -> str:
    """Return `bot.models` for `bot/models/__init__.py`."""
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports_of(file: Path, modules: Mapping[str, Path]) -> Iterator[Import]:
    """Yield the imports of `modules` in a file, also inside functions, except those for type checking only."""

    def walk(node: ast.AST) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            match child:
                case ast.Import(names=aliases, lineno=line):
                    names = [alias.name for alias in aliases]
                case ast.ImportFrom(module=str(module), names=aliases, lineno=line):
                    # `from bot import phrases` names a module, `from bot.access import Access` an object in
                    # one.
                    inner = [f"{module}.{alias.name}" for alias in aliases]
                    names = [name if name in modules else module for name in inner]
                case _:
                    names, line = [], 0
            yield from (Import(name, line) for name in dict.fromkeys(names) if name in modules)
            yield from walk(child)

    yield from walk(tree_of(file))


def import_graph(modules: Mapping[str, Path]) -> dict[str, set[str]]:
    """Return for each module which others it imports."""
    return {
        name: {each.module for each in imports_of(file, modules)} - {name} for name, file in modules.items()
    }


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or indirectly (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found)


def upward_imports(modules: Mapping[str, Path]) -> list[str]:
    """Return the imports of `bot.service` and `bot.cli` by other packages of `bot/`."""

    def is_top(name: str) -> bool:
        return name == "bot.__main__" or any(name == top or name.startswith(f"{top}.") for top in TOP)

    return [
        f"{file.relative_to(ROOT)}:{each.line} imports {each.module}"
        for name, file in modules.items()
        if name.startswith("bot.") and not is_top(name)
        for each in imports_of(file, modules)
        if is_top(each.module)
    ]


def homonyms(sources: Sequence[Path]) -> list[str]:
    """Return the names of top-level classes that several modules define, with their files.

    Classes of the same name in `adapters/telegram` and `adapters/discord` count as one.
    """
    places: dict[str, dict[str, str]] = defaultdict(dict)
    for file in sources:
        path = file.relative_to(ROOT).as_posix()
        channel = re.sub(r"^adapters/(telegram|discord)/.*", "adapters/channel", path)
        for node in tree_of(file).body:
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")][channel] = path
    return [
        f"{name}: {', '.join(where.values())}" for name, where in sorted(places.items()) if len(where) > 1
    ]


def lengths_of_functions(sources: Sequence[Path]) -> list[int]:
    """Return the length in lines of each function and method."""
    return [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for file in sources
        for node in ast.walk(tree_of(file))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def described(numbers: Sequence[int]) -> str:
    """Return `median 7, p90 24, longest 96`."""
    return f"median {median(numbers):.0f}, p90 {quantiles(numbers, n=10)[-1]:.0f}, longest {max(numbers)}"


def main(arguments: Sequence[str]) -> int:
    """Print the figures; return 1 if `--check` finds a violation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 where something is wrong")
    parser.add_argument("--names", action="store_true", help="list what is wrong")
    options = parser.parse_args(arguments)
    product, tests = files(*PRODUCT), files("tests")
    modules = {module_name(file): file for file in product}
    for title, sources in (("product", product), ("tests", tests)):
        lines = [len(file.read_text("utf-8").splitlines()) for file in sources]
        print(f"{title}: {len(sources)} files, {sum(lines)} lines; of a file {described(lines)}", end="; ")
        print(f"of a function {described(lengths_of_functions(sources))}")
    wrong = {
        "circles of imports": [" ↔ ".join(each) for each in circles(import_graph(modules))],
        "imports that point up": upward_imports(modules),
        "names of two classes": homonyms(product),
    }
    for title, found in wrong.items():
        print(f"{title}: {len(found)}")
        if options.names or options.check:
            print(*(f"  {each}" for each in found), sep="\n", end="\n" if found else "")
    return 1 if options.check and any(wrong.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
