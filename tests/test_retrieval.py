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
MIN_RECALL = {
    "locomo-dev, own": 0.855,
    "locomo-dev, merged": 0.85,
    "locomo-dev, merged, flat": 0.85,
    "updates-dev, own": 0.7,
    "xquad-dev/list, own": 0.975,
    "xquad-dev/list, merged": 0.97,
    "xquad-dev/prose, own": 0.98,
    "xquad-dev/prose, merged": 0.975,
    "zh-dev, own": 0.985,
}
"""What was found when this was written, and a little less."""
QUESTIONS = {"locomo-dev": 1, "updates-dev": 1, "xquad-dev": 8, "zh-dev": 1}
"""Of each data set, every how many questions one is asked."""
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
    """Return the recall of each data set below its minimum."""
    run = subprocess.run(
        [sys.executable, "benchmarks/retrieval.py", FOLDER, "--json", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    recall = {name: figures["recall@4000c"] for name, figures in json.loads(run.stdout).items()}
    assert recall.keys() <= minimum.keys()
    return {name: found for name, found in recall.items() if found < minimum[name]}


@pytest.mark.parametrize(("data", "every"), QUESTIONS.items())
def test_the_lines_that_answer_are_within_the_first_4000_characters(data: str, every: int) -> None:
    assert too_low(MIN_RECALL, "--only", data, "--every", str(every)) == {}


@pytest.mark.skipif(not (is_installed() and MODEL_FILE), reason="MODEL_FILE names no real embedding model")
def test_with_vectors_more_of_them_are() -> None:
    assert too_low(MIN_RECALL_BY_MEANING, "--only", "locomo-dev", "--model", MODEL_FILE) == {}
