"""Find the texts that are marked in the source: templates of `Translatable`, and of errors whose text is one."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from memory.translatable import Translatable, TranslatableError

ROOT = Path(__file__).parent.parent
PACKAGES = ("memory", "bot", "adapters")


def list_marked_texts() -> Iterator[tuple[str, str]]:
    """Yield each marked text with the file that has it."""
    trees = {
        file: ast.parse(file.read_text())
        for package in PACKAGES
        for file in sorted((ROOT / package).rglob("*.py"))
    }
    marks = {Translatable.__name__, *list_error_classes(trees.values())}
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _name_of(node.func) in marks and (text := _first_text(node)):
                yield str(file.relative_to(ROOT)), text


def list_error_classes(trees: Iterable[ast.Module]) -> set[str]:
    """Return the names of all classes below `TranslatableError`."""
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    known, before = {TranslatableError.__name__}, set[str]()
    while known != before:
        before = set(known)
        known |= {each.name for each in classes if known.intersection(map(_name_of, each.bases))}
    return known


def _name_of(called: ast.expr) -> str:
    match called:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _first_text(call: ast.Call) -> str:
    match call.args:
        case [ast.Constant(value=str() as text), *_]:
            return text
    return ""
