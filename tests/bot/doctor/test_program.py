import importlib.metadata
import sys
import tomllib
from pathlib import Path

import pytest

from bot.doctor.program import check_program, library_problem
from tests.bot.doctor.sample_state import find_check, statuses
from tests.fakes.table_test import table_test

ROOT = Path(__file__).parents[3]


def test_here_all_is_well() -> None:
    checks = list(check_program())
    assert statuses(checks) == {"ok"}
    assert find_check(checks, "sqlite-vec").detail.startswith("v0.")


def test_every_library_that_this_version_needs_is_looked_for() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    assert [fault for line in wanted if (fault := library_problem(line))] == []


@table_test(
    ("line", "fault"),
    [
        ("no-such-library>=1", "no-such-library is not installed"),
        ("no-such-library>=1; extra == 'local'", ""),
        ("apsw>=3.50", ""),
        ("apsw>=999", "apsw {} is incompatible, it must be >=999"),
        ("apsw>=3.50,<3.51", "apsw {} is incompatible, it must be <3.51"),
        ("apsw (>=3.50,<4)", ""),
        ("httpx[http2]==0.1", "httpx {} is incompatible, it must be ==0.1"),
        ("???", ""),
    ],
)
def test_a_library_that_is_missing_or_does_not_fit_is_told(line: str, fault: str) -> None:
    name = line.partition("[")[0].partition(">")[0].partition(" ")[0]
    number = importlib.metadata.version(name) if "{}" in fault else ""
    assert library_problem(line) == fault.format(number)


def test_what_is_missing_fails_with_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.doctor.program.requires", lambda _: ["no-such-library>=1", "apsw>=3"])
    check = find_check(check_program(), "libraries")
    assert (check.status, check.detail) == ("fail", "no-such-library is not installed")
    assert "make clean" in check.fix
    assert "pip install" not in check.fix  # on PyPI, that is another program


def test_without_sqlite_vec_it_is_told_what_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sqlite_vec", None)
    check = find_check(check_program(), "sqlite-vec")
    assert check.status == "warn"
    assert "not installed" in check.detail
    assert "numpy" in check.detail
    assert check.fix == f"run {sys.executable} -m pip install --force-reinstall sqlite-vec"
