"""A model on an Ollama server, over HTTP."""

from memory.embeddings.http import HttpProvider
from memory.embeddings.ollama import OllamaDialect, ollama_root


class OllamaModel(HttpProvider):
    """An `EmbeddingProvider` that can be asked whether it is there while it computes."""

    _dialect: OllamaDialect

    async def ping(self) -> None:
        """Ask for the server's version, a constant that it gives at once, whatever model it loads or runs meanwhile.

        Raises EmbeddingError.
        """
        await self._get(f"{ollama_root(self._dialect.base_url)}/api/version")
