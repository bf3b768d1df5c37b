"""`make test` tries the same at each run, whatever a worker has done before."""

import importlib.util
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(derandomize=True, database=None, max_examples=300)
@given(st.text(), st.integers())
def draw(drawn: list[tuple[str, int]], text: str, number: int) -> None:
    drawn.append((text, number))


def examples() -> list[tuple[str, int]]:
    drawn: list[tuple[str, int]] = []
    draw(drawn)
    return drawn


def test_examples_do_not_depend_on_the_modules_that_are_loaded(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if request.config.getoption("--thorough"):
        pytest.skip("`make check` tries others at each run")
    before = examples()
    file = tmp_path / "loaded_meanwhile.py"
    file.write_text("WORDS = ['one of our words', 'another of them']\nNUMBERS = [123_457, 7_654_321]\n")
    spec = importlib.util.spec_from_file_location("loaded_meanwhile", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "loaded_meanwhile", module)
    spec.loader.exec_module(module)
    assert examples() == before
