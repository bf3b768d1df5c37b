"""Real questions over real conversations: the lines that answer are found."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory.embeddings.llama_cpp import is_installed

ROOT = Path(__file__).parent.parent
FOLDER = os.environ.get("EVAL_FOLDER", "")
MODEL_FILE = os.environ.get("MODEL_FILE", "")
LEAST = {
    "locomo-dev, own": 0.86,
    "locomo-dev, merged": 0.84,
    "locomo-dev, merged, flat": 0.84,
    "zh-dev, own": 0.97,
}
"""What was found when this was written, and a little less."""
MIN_RECALL_BY_MEANING = {
    "locomo-dev, own": 0.88,
    "locomo-dev, merged": 0.865,
    "locomo-dev, merged, flat": 0.865,
}
"""The same with all-MiniLM-L6-v2 beside the words."""

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not FOLDER, reason="EVAL_FOLDER names no folder with questions and evaluate.py"),
]


def too_low(minimum: dict[str, float], *options: str) -> dict[str, float]:
    run = subprocess.run(
        [sys.executable, "benchmarks/retrieval.py", FOLDER, "--json", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    recall = {name: figures["recall@4000c"] for name, figures in json.loads(run.stdout).items()}
    return {name: recall[name] for name, wanted in minimum.items() if recall[name] < wanted}


def test_the_lines_that_answer_are_within_the_first_4000_characters() -> None:
    assert too_low(LEAST) == {}


@pytest.mark.skipif(not (is_installed() and MODEL_FILE), reason="MODEL_FILE names no real embedding model")
def test_with_vectors_more_of_them_are() -> None:
    assert too_low(MIN_RECALL_BY_MEANING, "--only", "locomo-dev", "--model", MODEL_FILE) == {}
