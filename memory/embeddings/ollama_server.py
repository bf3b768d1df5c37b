"""Embeddings by an Ollama server over HTTP, by a given model or one that is installed."""

from collections.abc import Sequence
from dataclasses import replace

from memory.embeddings.errors import ModelUnknown, NoModelInstalled
from memory.embeddings.http import HttpProvider
from memory.embeddings.ollama import OllamaEmbeddingDialect, ollama_root, pull_hint
from memory.embeddings.options import ProviderOptions
from memory.embeddings.protocol import Purpose, Vector
from memory.translatable import Translatable

DEFAULT_MODEL = "nomic-embed-text"
SECONDS = 300.0
"""Time limit in seconds: a model may have to be loaded first, and computes on this machine."""
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
"""Embedding models in Ollama's library; the first one that is installed is used."""


class OllamaModel(HttpProvider):
    """An `EmbeddingProvider` that can be pinged while it computes."""

    _dialect: OllamaEmbeddingDialect

    async def ping(self) -> None:
        """Request the server's version, which it answers at once even while it loads or runs a model.

        Raises `EmbeddingError`.
        """
        await self._get_json(f"{ollama_root(self._dialect.base_url)}/api/version")


class InstalledOllamaModel(OllamaModel):
    """An `EmbeddingProvider` whose `model` is "" until the server has listed its models.

    Raises `NoModelInstalled` while it has no embedding model; the next text asks again.
    """

    def __init__(self, dialect: OllamaEmbeddingDialect, *, dimensions: int, seconds: float) -> None:
        """Make no request yet; `seconds` limits each request."""
        super().__init__(dialect, dimensions=dimensions, key=dialect.key, version=None, seconds=seconds)
        self._wanted_dimensions = dimensions

    @property
    def version(self) -> str | None:
        """What its vectors depend on; None while the model is unknown."""
        return self._dialect.version if self._dialect.model else None

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        """Embed all texts by one request, after finding the installed model if it is unknown.

        Raises `EmbeddingError`.
        """
        if not self._dialect.model:
            self._dialect = replace(self._dialect, model=await self._find_installed_model())
        try:
            return await super().embed(texts, purpose=purpose)
        except ModelUnknown:  # it was removed meanwhile
            self._dialect = replace(self._dialect, model="")
            self._dimensions = self._wanted_dimensions
            raise

    async def _find_installed_model(self) -> str:
        """Return the name of an installed embedding model. Raises `NoModelInstalled`."""
        answer = await self._get_json(f"{ollama_root(self._dialect.base_url)}/api/tags")
        match answer:
            case {"models": list(models)}:
                names = [
                    str(model["name"]) for model in models if isinstance(model, dict) and "name" in model
                ]
            case _:
                names = []
        if model := find_embedding_model(names):
            return model
        raise self._make_error(NoModelInstalled, Translatable("has no embedding model"))


def is_embedding_model(name: str) -> bool:
    """Return whether an installed model makes vectors, by its name, and so cannot chat."""
    return name.rpartition("/")[2].partition(":")[0] in KNOWN_MODELS or "embed" in name


def find_embedding_model(names: Sequence[str]) -> str:
    """Return an embedding model among these names, without `:latest`; "" if none is known to be one."""
    plain = {name.rpartition("/")[2].partition(":")[0]: name for name in reversed(names)}
    found = next((plain[known] for known in KNOWN_MODELS if known in plain), "")
    found = found or next((name for name in names if "embed" in name), "")
    return found.removesuffix(":latest")


def open_ollama(options: ProviderOptions) -> OllamaModel:
    """Open the server at `base_url`; without a `model`, one that is installed there is used.

    The length of the vectors is known after the first response.
    """
    if not options.model:
        return InstalledOllamaModel(make_dialect(options), dimensions=options.dimensions, seconds=SECONDS)
    dialect = make_dialect(options)
    return OllamaModel(
        dialect,
        dimensions=options.dimensions,
        key=options.api_key,
        version=dialect.version,
        seconds=SECONDS,
    )


def make_dialect(options: ProviderOptions) -> OllamaEmbeddingDialect:
    """Return the dialect for the server and the chosen model."""
    pull = pull_hint(options.model or DEFAULT_MODEL)
    return OllamaEmbeddingDialect(
        base_url=options.base_url,
        model=options.model,
        key=options.api_key,
        dimensions=options.dimensions,
        fixes={**options.fixes, ModelUnknown: pull, NoModelInstalled: pull},
    )
