"""Checks Python, the libraries, and SQLite with its extension."""

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import apsw

from bot.doctor.check import Check, Topic, format_list
from bot.version import VERSION
from memory.index.vector_search.sqlite_vec import ExtensionMissing, load_extension
from memory.installation import how_to_install, how_to_reinstall

TOPIC = Topic("program")
MIN_PYTHON = (3, 11)

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;)]*)\)?\s*(;.*)?")
_BOUND = re.compile(r"(>=|<|==)\s*([0-9][0-9.]*)")


def check_program() -> Iterator[Check]:
    """Check what is installed, without network."""
    yield TOPIC.ok("commonplace", VERSION)
    python = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < MIN_PYTHON:
        yield TOPIC.fail("Python", f"{python} is too old", "install Python 3.11 or newer")
    else:
        yield TOPIC.ok("Python", python)
    yield _check_libraries(_read_requirements())
    yield from _check_sqlite()


def _how_to_mend() -> str:
    return f"reinstall Commonplace in its own environment: run {how_to_reinstall()}"


def _read_requirements() -> list[str]:
    """Return the requirements of the installed package, or of pyproject.toml in a source tree."""
    try:
        return requires("commonplace") or []
    except PackageNotFoundError:
        pass
    try:
        text = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    except OSError:
        return []
    return list(tomllib.loads(text).get("project", {}).get("dependencies", []))


def _check_libraries(requirements: list[str]) -> Check:
    faults = list(filter(None, map(library_problem, requirements)))
    if faults:
        return TOPIC.fail("libraries", format_list(faults), _how_to_mend())
    if not requirements:
        return TOPIC.warn("libraries", "the requirements of this version are unknown", _how_to_mend())
    return TOPIC.ok("libraries", "all installed, in compatible versions")


def library_problem(requirement: str) -> str:
    """Return what is wrong with the library of a line such as `apsw>=3.50,<4`, "" for nothing.

    Requirements with a marker, such as of an extra, are skipped.
    """
    match = _REQUIREMENT.fullmatch(requirement)
    if match is None or match[3]:
        return ""
    name, bounds = match[1], match[2]
    try:
        installed = version(name)
    except PackageNotFoundError:
        return f"{name} is not installed"
    there = _parse_version(installed)
    for sign, wanted in _BOUND.findall(bounds):
        bound = _parse_version(wanted)
        length = max(len(bound), 1)
        fits = {
            ">=": there >= bound,
            "<": there[:length] < bound,
            "==": there[:length] == bound,
        }[sign]
        if not fits:
            return f"{name} {installed} is incompatible, it must be {sign}{wanted}"
    return ""


def _parse_version(text: str) -> tuple[int, ...]:
    """Parse `3.54.1.post2` as (3, 54, 1)."""
    found = re.match(r"[0-9]+(?:\.[0-9]+)*", text)
    return tuple(map(int, found[0].split("."))) if found else ()


def _check_sqlite() -> Iterator[Check]:
    db = apsw.Connection(":memory:")
    try:
        yield TOPIC.ok("SQLite", apsw.sqlite_lib_version())
        try:
            db.execute("CREATE VIRTUAL TABLE words USING fts5 (text, content = '', contentless_delete = 1)")
        except apsw.Error as error:
            detail = f"SQLite has no full-text search (FTS5): {error}"
            yield TOPIC.fail("full text", detail, f"notes cannot be found by words: {_how_to_mend()}")
        else:
            yield TOPIC.ok("full text", "FTS5 available")
        try:
            load_extension(db)
            yield TOPIC.ok("sqlite-vec", str(db.execute("SELECT vec_version()").get))
        except (ExtensionMissing, apsw.Error) as missing:
            yield TOPIC.warn(
                "sqlite-vec",
                f"{missing}; vectors are compared by numpy, more slowly",
                f"run {how_to_install('--force-reinstall', 'sqlite-vec')}",
            )
    finally:
        db.close()
