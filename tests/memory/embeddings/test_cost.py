"""The client's cost of embedding."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory.embeddings.embedder import EmbeddedBatch, Embedder
from memory.embeddings.options import ProviderOptions
from memory.embeddings.provider_table import PROVIDERS
from tests.fakes.embedding_server import KEY, PREFIXES

ROOT = Path(__file__).parents[3]
CHUNKS = [f"chunk {number} " + "of some sixteen hundred letters " * 50 for number in range(600)]


@pytest.fixture
def other_process() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.fakes.embedding_server"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process.stdout.readline().strip()
        process.terminate()


@pytest.mark.thorough
def test_600_chunks_are_6_requests_and_less_than_a_second(other_process: str) -> None:
    sizes: list[int] = []

    async def embed() -> None:
        async def on_done(batch: EmbeddedBatch) -> None:
            sizes.append(len(batch.vectors))

        options = ProviderOptions("openai", "text-embedding-3-small", other_process + PREFIXES["openai"], KEY)
        embedder = Embedder(PROVIDERS["openai"].open(options), batch_size=100)
        await embedder.embed_documents(CHUNKS, on_done=on_done)
        await embedder.close()

    before = time.process_time()
    asyncio.run(embed())
    seconds = time.process_time() - before

    assert sizes == [100] * 6
    assert seconds < 1.0
