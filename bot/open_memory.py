"""Opens the memory by the settings, for a command."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bot.index_server import index_server
from memory.memory import Memory

if TYPE_CHECKING:
    from bot.config.settings import Settings
    from memory.embeddings.factory import Embedding


@asynccontextmanager
async def open_memory(
    settings: "Settings", *, embedding: "Embedding | None" = None, lasting: bool = False
) -> AsyncIterator[Memory]:
    """Open the memory, and the server of its index if the settings name one; close both at the end.

    For `embedding` and `lasting` see `Memory`. Raises IndexUnavailable if the server's library is missing.
    """
    server = index_server(settings)
    try:
        async with Memory(
            settings.memory,
            workspace=settings.workspace,
            now=settings.now,
            embedding=embedding,
            lasting=lasting,
            server=server,
            instance=settings.instance.name,
        ) as memory:
            yield memory
    finally:
        if server:
            server.close()
