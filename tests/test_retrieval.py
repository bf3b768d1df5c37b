"""Real questions over real conversations, through the command line: the lines that answer are found."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDER = os.environ.get("EVAL_FOLDER")
LEAST = {
    "locomo-dev, own": 0.75,
    "locomo-dev, merged": 0.73,
    "locomo-dev, merged, flat": 0.73,
    "zh-dev, own": 0.95,
}


@pytest.mark.skipif(not FOLDER, reason="EVAL_FOLDER names no folder with questions and evaluate.py")
def test_the_lines_that_answer_are_within_the_first_4000_characters() -> None:
    assert FOLDER is not None
    run = subprocess.run(
        [sys.executable, "benchmarks/retrieval.py", FOLDER, "--json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    recall = {name: figures["recall@4000c"] for name, figures in json.loads(run.stdout).items()}
    assert {name: recall[name] for name, least in LEAST.items() if recall[name] < least} == {}
