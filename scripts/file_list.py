"""Lists every file of the product with the first line of its docstring: docs/files.md."""

import ast
from pathlib import Path

from scripts.house import PRODUCT, ROOT, files, tree_of

HEAD = """# Every file

Printed by `make docs` from the first line of each module's docstring. [architecture.md](architecture.md) is the map.
"""


def files_page() -> str:
    """Return docs/files.md."""
    parts = [HEAD]
    for folder in sorted({file.parent for file in files(*PRODUCT)}):
        parts.append(f"\n## {folder.relative_to(ROOT).as_posix()}/\n\n{summary(folder / '__init__.py')}\n\n")
        parts += [
            f"- `{file.name}`: {summary(file)}\n"
            for file in sorted(folder.glob("*.py"))
            if file.name != "__init__.py"
        ]
    return "".join(parts)


def summary(file: Path) -> str:
    """Return the first line of a module's docstring, "" where it has none."""
    docstring = ast.get_docstring(tree_of(file)) or "" if file.is_file() else ""
    return docstring.partition("\n")[0]
