"""Lists every file of the product with the first line of its docstring: docs/files.md."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("adapters", "bot", "memory")
HEAD = """# Every file

Printed by `make docs` from the first line of each module's docstring. [architecture.md](architecture.md) is the map.
"""


def files_page() -> str:
    """Return docs/files.md."""
    parts = [HEAD]
    folders = sorted({file.parent for package in PACKAGES for file in (ROOT / package).rglob("*.py")})
    for folder in folders:
        parts.append(f"\n## {folder.relative_to(ROOT).as_posix()}/\n\n{summary(folder / '__init__.py')}\n\n")
        parts += [
            f"- `{file.name}`: {summary(file)}\n"
            for file in sorted(folder.glob("*.py"))
            if file.name != "__init__.py"
        ]
    return "".join(parts)


def summary(file: Path) -> str:
    """Return the first line of a module's docstring, "" where it has none."""
    docstring = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "" if file.is_file() else ""
    return docstring.partition("\n")[0]
