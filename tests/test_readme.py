"""What README.md and the other pages lead to is there: make targets, links, benchmarks."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_targets_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), flags=re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", text, flags=re.MULTILINE)) <= targets
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"`[^`\n]+`", "", prose)
    links = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", prose)
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_benchmark_is_in_the_list_that_make_bench_runs() -> None:
    folder = ROOT / "benchmarks"
    scripts = {path.stem for path in folder.glob("*.py") if "__main__" in path.read_text("utf-8")}
    scripts -= {
        "all",
        "platform_bot",
        "under_attack",
        "watched_bot",
    }  # one runs them, the others are run by some of them
    assert scripts == set(re.findall(r'Benchmark\("(\w+)"', (folder / "all.py").read_text("utf-8")))


@pytest.mark.parametrize(
    ("data", "reason"), [({}, " is not set"), ({"EVAL_FOLDER": "/nowhere"}, "=/nowhere does not exist")]
)
def test_a_benchmark_without_its_data_is_skipped_by_name(data: dict[str, str], reason: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "EVAL_FOLDER"} | data
    command = [sys.executable, str(ROOT / "benchmarks/all.py"), "retrieval"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == f"\n=== retrieval: skipped, EVAL_FOLDER{reason}\n"
