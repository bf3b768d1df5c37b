"""What README.md and the other pages promise is so: transcripts, make targets, links."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]


def test_the_transcript_is_what_happens() -> None:
    command = [sys.executable, str(ROOT / "scripts/print_transcript.py"), "--check"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_targets_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), flags=re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", text, flags=re.MULTILINE)) <= targets
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", prose)
    assert [link for link in links if not (page.parent / link).exists()] == []
