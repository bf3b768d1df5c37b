"""Which vector searcher is chosen, and the reason given if it is not the best."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
OPEN = """
import sys
for name in {missing!r}:
    sys.modules[name] = None
{before}
from memory.index.vector_search.factory import open_vector_searcher
nearest = open_vector_searcher(lasting={lasting})
print(nearest.name, "|", nearest.reason, "|", "numpy" in sys.modules and sys.modules["numpy"] is not None)
"""


def opened(*, lasting: bool, missing: tuple[str, ...] = (), before: str = "") -> tuple[str, str, str]:
    code = OPEN.format(lasting=lasting, missing=missing, before=before)
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    name, reason, numpy = (part.strip() for part in run.stdout.split("|"))
    return name, reason, numpy


def test_one_search_is_sqlite_vecs_and_imports_no_numpy() -> None:
    pytest.importorskip("sqlite_vec")
    assert opened(lasting=False) == ("sqlite-vec", "", "False")


def test_a_service_takes_numpy() -> None:
    assert opened(lasting=True) == ("numpy", "", "False")  # the first search imports it


def test_a_missing_extension_is_named() -> None:
    assert opened(lasting=False, missing=("sqlite_vec",)) == ("numpy", "sqlite-vec is not installed", "False")


@pytest.mark.thorough
def test_the_reason_says_why_the_extension_does_not_load(tmp_path: Path) -> None:
    pytest.importorskip("sqlite_vec")
    package = tmp_path / "sqlite_vec"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "vec0.so").write_bytes(b"no library")
    name, reason, _ = opened(lasting=False, before=f"sys.path.insert(0, {str(tmp_path)!r})")
    assert name == "numpy"
    assert reason.startswith("sqlite-vec does not load (")
    assert "vec0" in reason
