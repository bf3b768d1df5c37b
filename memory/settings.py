"""Settings of the memory: each key with its default and, below it, its explanation for the user."""

from pathlib import PurePath, PurePosixPath
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, Strict, field_validator, model_validator

EmbeddingProviderName = Literal["local", "openai", "gemini", "voyage", "ollama", "zhipu", "llm", "none"]

Texts = Annotated[tuple[str, ...], Strict(False)]
"""A list of strings. Sections are strict about types, but TOML and JSON have lists where we keep tuples."""

MAX_COUNT = 1_000_000


class SettingsConflict(ValueError):
    """A value that conflicts with another setting: the key to change, and what it must be."""

    def __init__(self, key: str, allowed: str) -> None:
        super().__init__(allowed)
        self.key = key


class Section(BaseModel):
    """A table of the settings file: frozen, strict about types, without unknown keys."""

    # defer_build: one validator for the outermost model costs a third of the CPU of one for each section.
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        defer_build=True,
    )


def section_field() -> Any:
    """Return the default of a field that is itself a section: a missing table counts as empty."""
    return Field(default_factory=dict, validate_default=True)


class ChunkSettings(Section):
    """How notes are split into chunks for the index."""

    target_tokens: int = Field(default=400, ge=1, le=MAX_COUNT)
    """Chunk size in tokens (a token is about four English letters, or one Chinese character)."""
    overlap_tokens: int = Field(default=80, ge=0, le=MAX_COUNT)
    """Tokens of a chunk that are repeated at the start of the next one; less than target_tokens."""

    @model_validator(mode="after")
    def _overlap_is_smaller(self) -> Self:
        if self.overlap_tokens >= self.target_tokens:
            raise SettingsConflict(
                "overlap_tokens", f"less than target_tokens, which is {self.target_tokens}"
            )
        return self


class LocalEmbeddingSettings(Section):
    """The embedding model that runs on this machine. `commonplace doctor` says how to install what it needs."""

    model_path: str = ""
    """A GGUF file, or "hf:owner/repository/file.gguf" to download one (never with "auto"); empty for the default."""
    cache_dir: str = "~/.cache/commonplace/models"
    """Folder for downloaded models."""


class EmbeddingCacheSettings(Section):
    """Vectors are cached, so text that moves or comes back needs no new request."""

    max_entries: int = Field(default=50_000, ge=1, le=1_000_000_000)
    """Vectors to keep. Those of current notes are always kept; of the rest, the least recently used go first."""


class EmbeddingSettings(Section):
    """Semantic search: vectors let notes be found by meaning. Without them, full-text search still works."""

    provider: Literal["auto", EmbeddingProviderName] = "auto"
    """Who makes vectors; "auto" is the first available of local, openai, gemini, voyage, llm (your chat provider)."""
    fallback: EmbeddingProviderName = "none"
    """Provider to use while the first one fails, with its own default URL and key."""
    fallback_model: str = ""
    """Model of the fallback provider (for "local", a file as in model_path); empty for its default."""
    model: str = ""
    """Embedding model; empty for the provider's default."""
    base_url: str = ""
    """URL of the provider's API; empty for its default."""
    api_key: SecretStr = SecretStr("")
    """API key; if empty, the api_key under [providers], or else a variable such as OPENAI_API_KEY."""
    dimensions: int = Field(default=0, ge=0, le=65_536)
    """Dimensions of a vector; 0 for the model's default."""
    batch_size: int = Field(default=100, ge=1, le=10_000)
    """Texts per request."""
    local: LocalEmbeddingSettings = section_field()
    cache: EmbeddingCacheSettings = section_field()

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str) -> str:
        return check_web_address(value)


class SearchSettings(Section):
    """How search results are ranked: by meaning, if there are vectors, and by words."""

    vector_weight: float = Field(default=0.7, ge=0, le=1)
    """Weight of similarity in meaning, from 0 to 1."""
    text_weight: float = Field(default=0.3, ge=0, le=1)
    """Weight of matching words, from 0 to 1."""
    vector_top_k: int = Field(default=10, ge=1, le=MAX_COUNT)
    """Candidates from semantic search; never fewer than the results asked for."""
    fts_top_k: int = Field(default=10, ge=1, le=MAX_COUNT)
    """Candidates from full-text search; never fewer than the results asked for."""
    final_top_k: int = Field(default=5, ge=1, le=MAX_COUNT)
    """Results that a search returns by default."""
    snippet_max_chars: int = Field(default=700, ge=1, le=MAX_COUNT)
    """Maximum length of a result, in characters."""
    min_similarity: float = Field(default=0.3, ge=0, le=1)
    """Minimum cosine similarity, from 0 to 1, for semantic search; results that match by words are kept anyway."""

    @model_validator(mode="after")
    def _something_counts(self) -> Self:
        if not self.vector_weight and not self.text_weight:
            raise SettingsConflict("text_weight", "more than 0, since vector_weight is 0 too")
        return self


class WatchSettings(Section):
    """The service watches the folder for notes that you edit. A search also picks up changes by itself."""

    enabled: bool = True
    """Whether to pick up changes as they happen."""
    debounce_seconds: float = Field(default=1.5, ge=0, le=3600)
    """Seconds that a file must stay unchanged before it is read again."""


class ReindexSettings(Section):
    """A regular scan of all notes by the service, for changes that the watcher missed."""

    interval_minutes: int = Field(default=60, ge=1, le=525_600)
    """Minutes between two scans."""


class FolderSettings(Section):
    """Another folder of notes, such as an Obsidian vault: searched in place, and only read unless you allow more."""

    path: str = Field(examples=["~/Obsidian/Vault"])
    """The folder, which must not overlap the folder of your own notes. A relative path starts at the settings file's
    folder."""
    name: str = Field(default="", examples=["vault"])
    """What the paths of its notes begin with, as in vault/trips/oslo.md; empty for the folder's own name."""
    write: bool = False
    """Whether notes in it may be changed. If not, nothing in it is ever written."""
    exclude: Texts = Field(default=(), examples=[["Templates/", "*.excalidraw.md"]])
    """Files and folders to leave out: patterns as in a .gitignore file."""

    @property
    def shown_name(self) -> str:
        """The name of the folder among the notes."""
        return self.name or PurePath(self.path).name

    @field_validator("path")
    @classmethod
    def _some_folder(cls, value: str) -> str:
        if not value.strip():
            raise ValueError('a folder, such as "~/Obsidian/Vault"')
        return value

    @field_validator("name")
    @classmethod
    def _one_name(cls, value: str) -> str:
        from memory.folder_checks import check_name

        if value:
            check_name(value)
        return value

    @field_validator("exclude")
    @classmethod
    def _patterns(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        from memory.folder_checks import check_patterns

        check_patterns(value)
        return value


class MemorySettings(Section):
    """Your notes."""

    path: str = "memory"
    """Folder of your notes, inside the workspace."""
    folders: Annotated[tuple[FolderSettings, ...], Strict(False)] = ()
    """Other folders of notes, each a table [[memory.folders]]."""
    chunk: ChunkSettings = section_field()
    embedding: EmbeddingSettings = section_field()
    search: SearchSettings = section_field()
    watch: WatchSettings = section_field()
    reindex: ReindexSettings = section_field()

    @model_validator(mode="after")
    def _folders_differ(self) -> Self:
        if self.folders:
            from memory.folder_checks import check_names

            try:
                check_names(
                    [(folder.shown_name, folder.path) for folder in self.folders],
                    own=PurePosixPath(self.path).name,
                )
            except ValueError as error:
                raise SettingsConflict("folders", str(error)) from error
        return self

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
    """Where the search index is stored."""

    url: SecretStr = SecretStr("")
    """Empty for a file in the workspace, or postgresql://user:password@host/database for PostgreSQL with pgvector,
    which several instances can share."""

    @field_validator("url")
    @classmethod
    def _server(cls, value: SecretStr) -> SecretStr:
        from memory.postgres.url import parse_postgres_url

        parse_postgres_url(value.get_secret_value())
        return value


def check_web_address(value: str) -> str:
    """Return an http(s) URL, or the empty string, unchanged. Raises ValueError for anything else."""
    scheme, _, rest = value.partition("://")
    plain = value.isprintable() and " " not in value and not rest.startswith(("/", "?", "#", ":"))
    if value and not (scheme.lower() in {"http", "https"} and rest and plain and _has_host(value)):
        raise ValueError("a URL that begins with http:// or https://")
    return value


def _has_host(address: str) -> bool:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(address)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # an incomplete IPv6 address, or a port that is not a number
        return False
