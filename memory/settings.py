"""Settings of the memory: every key, its default, and below it what it means to the person who sets it."""

from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, Strict, field_validator, model_validator

EmbeddingProviderName = Literal["local", "openai", "gemini", "voyage", "ollama", "zhipu", "llm", "none"]

Texts = Annotated[tuple[str, ...], Strict(False)]
"""A list of text; strict as they are otherwise, the sections take a list for a tuple here."""

MAX_COUNT = 1_000_000


class SettingsConflict(ValueError):
    """A value that does not go together with another one: the key to change, and what it must be."""

    def __init__(self, key: str, allowed: str) -> None:
        super().__init__(allowed)
        self.key = key


class Section(BaseModel):
    """A table of the settings file: frozen, strict about types, closed to keys that it does not know."""

    # defer_build: the outermost model builds one validator for all; each its own costs three times the CPU.
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        defer_build=True,
    )


def section_field() -> Any:
    """Default of a field that is itself a section: an absent table counts as an empty one."""
    return Field(default_factory=dict, validate_default=True)


class ChunkSettings(Section):
    """How notes are cut into the passages that are indexed."""

    target_tokens: int = Field(default=400, ge=1, le=MAX_COUNT)
    """Size of a chunk, in tokens (about four letters of English, or one Chinese character)."""
    overlap_tokens: int = Field(default=80, ge=0, le=MAX_COUNT)
    """How much of a chunk is repeated at the start of the next one; less than target_tokens."""

    @model_validator(mode="after")
    def _overlap_is_smaller(self) -> Self:
        if self.overlap_tokens >= self.target_tokens:
            raise SettingsConflict(
                "overlap_tokens", f"less than target_tokens, which is {self.target_tokens}"
            )
        return self


class LocalEmbeddingSettings(Section):
    """The embedding model that runs on this machine; "make local" installs what it needs."""

    model_path: str = ""
    """A GGUF file, or "hf:owner/repository/file.gguf", which is fetched, but not for "auto"; empty: a usual one."""
    cache_dir: str = "~/.cache/commonplace/models"
    """Where fetched models are kept."""


class EmbeddingCacheSettings(Section):
    """Vectors that were paid for once are kept, for text that comes back or moves."""

    max_entries: int = Field(default=50_000, ge=1, le=1_000_000_000)
    """How many vectors are kept. Those that notes need now always are; of the others, the longest unused go first."""


class EmbeddingSettings(Section):
    """Vectors, for finding by meaning. Without them, or while nobody makes any, notes are found by their words."""

    provider: Literal["auto", EmbeddingProviderName] = "auto"
    """Who makes them; "auto" is the first at hand of local, openai, gemini, voyage, llm (whoever chats first), none."""
    fallback: EmbeddingProviderName = "none"
    """Another provider to use while the first one fails; with its own usual address and key."""
    fallback_model: str = ""
    """The fallback's model, or for "local" a file as in model_path; empty for its usual one."""
    model: str = ""
    """The provider's model; empty for its usual one."""
    base_url: str = ""
    """Address of the provider's server; empty for its usual one."""
    api_key: SecretStr = SecretStr("")
    """Key for the provider; else api_key in its table under providers, else its variable, such as OPENAI_API_KEY."""
    dimensions: int = Field(default=0, ge=0, le=65_536)
    """Length of a vector; 0 for the model's usual one."""
    batch_size: int = Field(default=100, ge=1, le=10_000)
    """How many texts go into one request."""
    local: LocalEmbeddingSettings = section_field()
    cache: EmbeddingCacheSettings = section_field()

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str) -> str:
        return check_web_address(value)


class SearchSettings(Section):
    """How notes are found: by meaning, where there are vectors, and by words."""

    vector_weight: float = Field(default=0.7, ge=0, le=1)
    """How much likeness in meaning counts, from 0 to 1."""
    text_weight: float = Field(default=0.3, ge=0, le=1)
    """How much the words themselves count, from 0 to 1."""
    vector_top_k: int = Field(default=10, ge=1, le=MAX_COUNT)
    """How many parts of notes the search by meaning proposes; at least as many as a search is to give back."""
    fts_top_k: int = Field(default=10, ge=1, le=MAX_COUNT)
    """How many chunks the search by words proposes; at least as many as a search is to give back."""
    final_top_k: int = Field(default=5, ge=1, le=MAX_COUNT)
    """How many passages a search gives back when it is not told a number."""
    snippet_max_chars: int = Field(default=700, ge=1, le=MAX_COUNT)
    """The longest a passage may be, in characters."""
    min_similarity: float = Field(default=0.3, ge=0, le=1)
    """What is less alike in meaning than this (a cosine, from 0 to 1) is not proposed; what has the words stays."""

    @model_validator(mode="after")
    def _something_counts(self) -> Self:
        if not self.vector_weight and not self.text_weight:
            raise SettingsConflict("text_weight", "more than 0, since vector_weight is 0 too")
        return self


class WatchSettings(Section):
    """Watching the folder, by the service, for notes that you edit yourself. A search looks by itself too."""

    enabled: bool = True
    """Whether changes are noticed as they happen."""
    debounce_seconds: float = Field(default=1.5, ge=0, le=3600)
    """How long a file must rest before it is read again."""


class ReindexSettings(Section):
    """A regular look at all notes, by the service, for what the watch may have missed."""

    interval_minutes: int = Field(default=60, ge=1, le=525_600)
    """Minutes from one look to the next."""


class MemorySettings(Section):
    """Your notes."""

    path: str = "memory"
    """Folder of the notes, inside the workspace."""
    chunk: ChunkSettings = section_field()
    embedding: EmbeddingSettings = section_field()
    search: SearchSettings = section_field()
    watch: WatchSettings = section_field()
    reindex: ReindexSettings = section_field()

    @field_validator("path")
    @classmethod
    def _inside_the_workspace(cls, value: str) -> str:
        parts = PurePosixPath(value).parts
        if (
            not parts
            or value != value.strip()
            or not value.isprintable()
            or "\\" in value
            or ".." in parts
            or parts[0] in {"/", "//", ".commonplace"}
            or parts[0].startswith("~")
        ):
            raise ValueError('a folder inside the workspace, such as "memory" (relative, without "..")')
        return value


class IndexSettings(Section):
    """Where the index lives."""

    url: SecretStr = SecretStr("")
    """Empty for a file in the workspace; postgresql://user:password@host/database for PostgreSQL with pgvector,
    which several instances may share."""

    @field_validator("url")
    @classmethod
    def _server(cls, value: SecretStr) -> SecretStr:
        from memory.postgres.url import parse_postgres_url

        parse_postgres_url(value.get_secret_value())
        return value


def check_web_address(value: str) -> str:
    """Give back an http(s) address, or the empty text; raise ValueError for anything else."""
    scheme, _, rest = value.partition("://")
    plain = value.isprintable() and " " not in value and not rest.startswith(("/", "?", "#", ":"))
    if value and not (scheme.lower() in {"http", "https"} and rest and plain and _has_host(value)):
        raise ValueError("an address that begins with http:// or https://")
    return value


def _has_host(address: str) -> bool:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(address)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # half an IPv6 address, or a port that is no number
        return False
