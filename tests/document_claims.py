"""What documents claim: their sections and tables, and the tests and benchmarks that hold what they say."""

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent


@cache
def functions_in(file: str) -> set[str]:
    """Return the names of all functions in a Python file."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {each.name for each in ast.walk(tree) if isinstance(each, functions)}


def missing(named: Iterable[str]) -> list[str]:
    """Return those that do not exist of `tests/test_x.py::test_y` and `benchmarks/x.py`."""
    return [each for each in named if not _exists(*each.partition("::")[::2])]


def _exists(file: str, test: str) -> bool:
    if not (ROOT / file).is_file():
        return False
    if file.startswith("benchmarks/"):
        return not test
    return test.startswith("test_") and test in functions_in(file)


def sections(page: str) -> dict[str, str]:
    """Return the text below each heading of the second level."""
    found = re.split(r"^## (.+)\n", page, flags=re.MULTILINE)[1:]
    return dict(zip(found[::2], found[1::2], strict=True))


def table_rows(section: str) -> list[list[str]]:
    """Return the cells of all tables in a section, row by row, without the tables' heads."""
    tables = re.findall(r"(?:^\|.*\n?)+", section, flags=re.MULTILINE)
    lines = [line for table in tables for line in table.splitlines()[2:]]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
