"""Embeddings by whichever embedding model an Ollama server has; it is asked at the first text, not before."""

from collections.abc import Sequence
from dataclasses import replace

from memory.embeddings.errors import ModelUnknown, NoModelInstalled
from memory.embeddings.ollama import OllamaDialect, ollama_root
from memory.embeddings.ollama_server import OllamaModel
from memory.embeddings.protocol import Purpose, Vector

KNOWN_MODELS = (
    "nomic-embed-text",
    "mxbai-embed-large",
    "bge-m3",
    "all-minilm",
    "snowflake-arctic-embed",
    "snowflake-arctic-embed2",
    "embeddinggemma",
    "qwen3-embedding",
    "granite-embedding",
    "paraphrase-multilingual",
    "bge-large",
)
"""Embedding models of Ollama's library; the first one that is installed is used."""


class InstalledOllamaModel(OllamaModel):
    """An `EmbeddingProvider` whose `model` is "" until the server was asked which models it has.

    Raises `NoModelInstalled` while it has none for embeddings; it is asked again with the next text.
    """

    def __init__(self, dialect: OllamaDialect, *, dimensions: int, seconds: float) -> None:
        """Ask nobody yet."""
        super().__init__(dialect, dimensions=dimensions, key=dialect.key, version=None, seconds=seconds)
        self._wanted_dimensions = dimensions

    @property
    def version(self) -> str | None:
        """What its vectors depend on; None while nobody knows which model it is."""
        return self._dialect.version if self._dialect.model else None

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        """Ask once for all texts, and before that, while it is not known, for the installed models."""
        if not self._dialect.model:
            self._dialect = replace(self._dialect, model=await self._installed_model())
        try:
            return await super().embed(texts, purpose=purpose)
        except ModelUnknown:  # it was removed since
            self._dialect = replace(self._dialect, model="")
            self._dimensions = self._wanted_dimensions
            raise

    async def _installed_model(self) -> str:
        """Return the name of an embedding model that the server has; raises `NoModelInstalled`."""
        answer = await self._get(f"{ollama_root(self._dialect.base_url)}/api/tags")
        match answer:
            case {"models": list(models)}:
                names = [
                    str(model["name"]) for model in models if isinstance(model, dict) and "name" in model
                ]
            case _:
                names = []
        if model := embedding_model_of(names):
            return model
        raise self._error(NoModelInstalled, "has no embedding model")


def embedding_model_of(names: Sequence[str]) -> str:
    """Return which of the installed models makes vectors, without `:latest`; "" where none is known to."""
    plain = {name.rpartition("/")[2].partition(":")[0]: name for name in reversed(names)}
    found = next((plain[known] for known in KNOWN_MODELS if known in plain), "")
    found = found or next((name for name in names if "embed" in name), "")
    return found.removesuffix(":latest")
