from collections.abc import AsyncIterator, Callable

import pytest

from memory.embeddings.options import ProviderOptions
from memory.embeddings.protocol import EmbeddingProvider
from memory.embeddings.provider_table import PROVIDERS, error_fixes
from tests.fakes.clock import FakeClock
from tests.fakes.embedding_server import KEY, EmbeddingServer

Open = Callable[..., EmbeddingProvider]


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingServer]:
    async with EmbeddingServer() as running:
        yield running


@pytest.fixture
def time() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def open_at(server: EmbeddingServer) -> AsyncIterator[Open]:
    """Open a provider by name at the fake server, with its defaults except for what is given."""
    opened: list[EmbeddingProvider] = []

    def open_it(
        name: str, *, model: str = "", dimensions: int = 0, key: str = KEY, base_url: str = ""
    ) -> EmbeddingProvider:
        row = PROVIDERS[name]
        options = ProviderOptions(
            provider=name,
            model=model or row.model,
            base_url=base_url or server.base_url(name),
            api_key=key,
            dimensions=dimensions,
            needs_key=bool(row.key_variables),
            model_is_default=not model,
            fixes=error_fixes(name),
        )
        opened.append(row.open(options))
        return opened[-1]

    yield open_it
    for provider in opened:
        await provider.close()
