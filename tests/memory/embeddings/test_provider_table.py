import subprocess
import sys
import typing
from pathlib import Path

import pytest

from memory.embeddings.provider_table import PROVIDERS
from memory.settings import EmbeddingProviderName

ROOT = Path(__file__).parents[3]


def test_each_provider_of_the_settings_has_a_row() -> None:
    assert {*PROVIDERS, "none"} == set(typing.get_args(EmbeddingProviderName))


@pytest.mark.thorough
def test_choosing_imports_nothing_heavy_and_no_provider() -> None:
    code = """
import sys
import memory.embeddings.provider_choice, memory.embeddings.embedder
heavy = {"httpx", "numpy", "llama_cpp", "memory.embeddings.http"}
print(*sorted(heavy & sys.modules.keys()))
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert run.stdout.split() == []
